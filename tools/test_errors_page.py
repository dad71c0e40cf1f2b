"""The index of errors has what the pages and the code have: python -m unittest test_errors_page, in tools/"""

import unittest

import book
import errors_page

TROUBLE = """# Troubleshooting

## A section

| symptom | likely cause |
| --- | --- |
| the queue grows | `REDRIVE_X` |

### When it *ends*

| message | what it means, and what to do |
| --- | --- |
| `first`, ``the `second` `` | a cause: [Below](#below), [there](worker.md#there) |
"""


def entries(page: str, name: str = "troubleshooting.md", first: str = "message"):
    return [(entry.heading, entry.meaning, entry.link) for entry in errors_page.of_head(page, name, first)]


class Entries(unittest.TestCase):
    def test_each_code_of_a_row_is_an_entry_whose_links_lead_there_from_elsewhere(self):
        meaning = "A cause: [Below](troubleshooting.md#below), [there](worker.md#there)."
        link = "troubleshooting.md#when-it-ends"
        self.assertEqual(entries(TROUBLE.replace("*", "")), [("`first`", meaning, link), ("``the `second` ``", meaning, link)])

    def test_a_level_stands_behind_the_meaning(self):
        page = "# P\n\n| line | level | what |\n| --- | --- | --- |\n| `a` | WARN | it is so |\n"
        self.assertEqual(entries(page, "metrics.md", "line"), [("`a`", "It is so (WARN).", "metrics.md#p")])

    def test_a_mistake_is_found_by_its_message_without_the_place_in_the_input(self):
        page = (
            "# M\n\n## Sending\n\n| what was typed | what it says | code | what to do |\n| --- | --- | --- | --- |\n"
            "| `redrive send` where `m.jsonl` has<br>`x` | `redrive: m.jsonl: line 1: column 8: unknown field` | 2 | add it |\n"
            "| `redrive doctor` | `warning lease-short at t.yaml:6`<br>`The timeout is short.` | 0 |  |\n"
        )
        (mistake,) = errors_page.of_mistakes(page)
        self.assertEqual(mistake.heading, "`unknown field`")
        self.assertEqual(mistake.meaning, "Said by `redrive send`, with the exit code 2. Add it.")
        self.assertEqual(mistake.link, "mistakes.md#sending")

    def test_one_heading_has_all_that_is_said_of_it(self):
        page = errors_page.written(errors_page.read)
        both = page.split("### `DeadLettered`\n")[1].split("\n### ")[0]
        self.assertIn("runbook.md#deadlettered", both)
        self.assertIn("reference.md#metrics", both)

    def test_numbers_are_sorted_by_their_size(self):
        headings = [f"Exit code `{code}` of the command" for code in (2, 129)]
        self.assertEqual(sorted(headings, key=lambda it: errors_page.alphabetical(errors_page.Entry(it, "", "", ""))), headings)

    def test_every_finding_of_the_doctor_is_in_it(self):
        findings = book.anchors(errors_page.read("doctor.md").split("\n## Findings\n")[1])
        self.assertGreater(len(findings), 60)
        self.assertLessEqual(findings, book.anchors(errors_page.written(errors_page.read)))


class Code(unittest.TestCase):
    def problems(self, name: str, text: str) -> list[str]:
        code = errors_page.sources()
        return list(errors_page.untold(errors_page.PAGE.read_text(), code | {name: code.get(name, "") + text}))

    def test_the_code_says_nothing_that_the_pages_do_not_have(self):
        self.assertEqual(errors_page.problems(errors_page.PAGE.read_text()), [])

    def test_a_new_line_of_the_log_is_found(self):
        text = 'fn f() { warn!(\n  queue = url.of("x"),\n  a = b(),\n  "a \\"new\\" line"\n); }'
        self.assertEqual(self.problems("src/new.rs", text), ["docs/metrics.md has no row for the line 'a \"new\" line'"])

    def test_a_line_that_an_example_logs_is_not_redrives(self):
        self.assertEqual(self.problems("src/new.rs", '/// tracing::info!(id, "placed");\n    //! info!("placed");\n'), [])

    def test_a_line_that_no_code_writes_is_found(self):
        page = errors_page.PAGE.read_text() + "\n### `an old line`\n"
        self.assertEqual(list(errors_page.untold(page, errors_page.sources())), ["docs/metrics.md has the line 'an old line', which no code writes"])

    def test_a_new_code_of_aws_and_a_new_error_are_found(self):
        refused = errors_page.sources()["sqs/src/refusal.rs"].replace('"OptInRequired"', '"QueueIsTired"')
        found = list(errors_page.untold(errors_page.PAGE.read_text(), errors_page.sources() | {"sqs/src/refusal.rs": refused}))
        self.assertEqual(found, ["docs/troubleshooting.md has no row for the code QueueIsTired of AWS"])
        found = self.problems("src/error.rs", 'Kind::New => "NewError", Kind::Other => f.write_str(\n "the moon is full",\n)')
        self.assertEqual([problem.rsplit(" ", 3)[-1] for problem in found], ["'NewError'", "full'"])

    def test_a_page_that_was_not_written_anew_is_found(self):
        self.assertIn("out of date", errors_page.problems(errors_page.PAGE.read_text().replace("Exit code `3`", "Exit code 3"))[-1])


if __name__ == "__main__":
    unittest.main()
