"""Tests that faults of a page are found. Usage: python -m unittest test_check_docs, in dev/tools/"""

import unittest

import book
import check_docs
import permissions
import terraform
import tics

DOCS = check_docs.DOCS.resolve()


class Links(unittest.TestCase):
    def problem(self, link: str) -> str:
        page = DOCS / "bulk.md"
        pages = {page: "# A page\n\n## What `it` is, and why\n\n## Twice\n\n## Twice\n"}
        return check_docs.problem_of(link, page, pages, {("serde", "1.0.0")})

    def test_a_link_that_leads_somewhere_is_fine(self):
        for link in ("#what-it-is-and-why", "#twice-1", "testing.md#test-a-retry", "../template.yaml", "https://aws.amazon.com"):
            self.assertEqual(self.problem(link), "", link)
        self.assertEqual(self.problem("https://docs.rs/serde/1.0.0/serde/trait.Deserialize.html"), "")

    def test_a_link_that_leads_nowhere_is_found(self):
        for link in ("#why", "no-page.md", "testing.md#no-heading", "../../no-such-folder", "http://example.org", "docs.rs"):
            self.assertNotEqual(self.problem(link), "", link)
        self.assertNotEqual(self.problem("https://docs.rs/serde/2.0.0/serde/trait.Deserialize.html"), "")

    def test_what_stands_in_code_is_no_link_and_no_heading(self):
        page = "```sh\n# [no](link.md)\n```\n\n[a `code` link](real.md)\n"
        self.assertEqual((book.links(page), book.anchors(page)), (["real.md"], set()))


class Outside(unittest.TestCase):
    def problems(self, name: str, text: str) -> list[str]:
        return list(check_docs.outside({check_docs.ROOT.resolve() / name: text}))

    def test_relative_links_do_not_reach_rustdoc_or_a_registry(self):
        for link in ("docs/bulk.md", "bulk.md#a", "../template.yaml", "./cli"):
            self.assertEqual(len(self.problems("src/crate.md", f"[it]({link})\n")), 1, link)
            self.assertEqual(len(self.problems("src/run.rs", f"    /// [it]({link})\nfn f() {{}}\n")), 1, link)

    def test_items_of_rust_and_addresses_do(self):
        for link in ("crate::Failure", "https://docs.rs/x", "#settings", "Self::run"):
            self.assertEqual(self.problems("src/run.rs", f"/// [it]({link})\n"), [], link)

    def test_a_link_into_our_published_files_leads_to_one(self):
        path = check_docs.DOCS.resolve() / "bulk.md"
        def problem(link: str) -> str:
            return check_docs.problem_of(f"https://docs.rs/crate/redrive/{link}", path, {}, {("redrive", "0.1.0")})

        self.assertEqual(problem("0.1.0/source/docs/bulk.md"), "")
        for link in ("0.1.0/source/docs/no.md", "0.1.0/source/crates/cli/src/main.rs", "9.9.9/source/docs/bulk.md"):
            self.assertEqual(problem(link), "is no file of ours", link)


class Code(unittest.TestCase):
    def problems(self, page: str) -> list[str]:
        return list(check_docs.code({check_docs.ROOT / "docs" / "new-page.md": page}))

    def test_rust_that_no_test_compiles_is_found(self):
        self.assertIn("is compiled by no test", self.problems("```rust,no_run\nfn main() {}\n```\n")[0])

    def test_text_that_its_language_does_not_read_is_found(self):
        for language, text in (("python", "def"), ("json", "{"), ("toml", "a ="), ("sh", "if")):
            self.assertEqual(len(self.problems(f"```{language}\n{text}\n```\n")), 1, language)
        self.assertEqual(self.problems("```python\nx = 1\n```\n\n```sh\nls\n```\n"), [])


class Permissions(unittest.TestCase):
    POLICIES = permissions.policies()

    def test_the_statements_allow_what_the_code_calls(self):
        self.assertEqual(list(permissions.problems(self.POLICIES)), [])
        self.assertIn("lambda:UpdateEventSourceMapping", permissions.called(permissions.OPERATOR))
        of_both = {"sqs:SendMessage", "sqs:ChangeMessageVisibility", "cloudwatch:PutMetricData"}
        of_worker = {"sqs:GetQueueAttributes", "sqs:ReceiveMessage", "sqs:DeleteMessage"}
        self.assertEqual(permissions.called(permissions.FUNCTION), of_both | of_worker)

    def test_a_statement_that_allows_less_or_more_is_found(self):
        for action in ("sqs:PurgeQueue", "lambda:GetEventSourceMapping", "sqs:ChangeMessageVisibility", "kms:GenerateDataKey", "dynamodb:GetItem"):
            changed = {name: policy.replace(action, "sqs:TagQueue") for name, policy in self.POLICIES.items()}
            self.assertTrue(list(permissions.problems(changed)), action)


class Terraform(unittest.TestCase):
    CODE = terraform.FILE.read_text()

    def test_the_configuration_is_its_plan_and_the_template(self):
        self.assertEqual(list(terraform.problems(self.CODE)), [])

    def test_what_differs_is_found(self):
        changes = (
            ('resource "aws_sns_topic" "pager"', 'resource "aws_sns_topic" "other"'),
            ("604800", "604801"),
            ("batch_size              = 10", "batch_size              = 100"),
            ('["ReportBatchItemFailures"]', '["Nothing"]'),
            ("default = 180", "default = 30"),
            ("sqs:ChangeMessageVisibility", "sqs:PurgeQueue"),
            ("dynamodb:UpdateItem", "dynamodb:DeleteItem"),
            ("count = var.idempotency ? 1 : 0", "count = 1"),
            ('"Throttles", "Sum"', '"Throttles", "Maximum"'),
        )
        for old, new in changes:
            self.assertIn(old, self.CODE)
            self.assertTrue(list(terraform.problems(self.CODE.replace(old, new))), old)


class Output(unittest.TestCase):
    PRINTED = " 0:00:26  #1  0a1b2c3d  received  attempt 1\n      1     44s  panic\n 0:00:28  #1  0a1b2c3d  done  attempt 2\n wall time  0.1 s\n"

    def test_ids_and_times_may_differ(self):
        page = " 0:00:31  #1  ffffffff  received  attempt 1\n ...\n      1      9s  panic\n 0:00:33  #1  ffffffff  done  att...\n wall time  9.9 s\n"
        self.assertEqual(book.missing(page, self.PRINTED), [])

    def test_anything_else_may_not(self):
        self.assertEqual(book.missing(" 0:00:28  #1  0a1b2c3d  done  attempt 3\n", self.PRINTED)[0].split()[-1], "3")

    def test_a_block_has_the_mark_above_it(self):
        marks = [block.mark for block in book.blocks("<!-- run -->\n```sh\nls\n```\n\n```sh\nls\n```\n")]
        self.assertEqual(marks, ["run", ""])


class Tics(unittest.TestCase):
    def found(self, page: str) -> list[tuple[int, str]]:
        return [(place.line, place.tic) for place in tics.candidates(page)]

    def test_each_tic_is_found_with_its_line(self):
        sentences = (
            ("verb + no, none, nothing", "The worker starts no more messages. There is none.", 1),
            ("come for arrive, return, happen", "A message that\ncomes again is ignored.", 1),
            ("also, too as an afterthought", "It deletes the others,\ntoo. It works on Lambda, also in a worker.", 2),
            ("a service that gets", "SQS gets a request.", 1),
            ("another for different", "It has another key than this one.", 1),
            ("that of, those of", "Its role is that of the function.", 1),
            ("go on for continue", "The run goes on.", 1),
            ("now for immediately", "The message is deleted now.", 1),
            ("So do, So must", "It waits. So do the others.", 1),
            ("where for a contrast", "It sends 625 where 640 are allowed.", 1),
            ("for as many", "It asks for as many.", 1),
        )
        self.assertEqual([tic for tic, *_ in sentences], list(tics.TICS))
        for tic, sentence, count in sentences:
            self.assertEqual([found for _, found in self.found(sentence)], [tic] * count, sentence)
        self.assertEqual(self.found("# A page\n\n```sh\nls\n```\n\nThe run\ngoes on.\n"), [(8, "go on for continue")])

    def test_natural_wording_and_code_are_no_tics(self):
        for sentence in (
            "The queue has no policy. If no worker runs, it waits. It no longer runs.",
            "Messages come from SNS. Another worker may have them.",
            "It also works in a worker. Two retries are too many.",
            "You are now on call. So the message returns.",
            "`it goes on` in [a log](that/goes/on)",
            "```text\nit goes on\n```",
            "<!-- it goes on -->",
        ):
            self.assertEqual(self.found(sentence), [], sentence)

    def test_a_page_with_many_of_them_is_found(self):
        path = check_docs.DOCS.resolve() / "bulk.md"
        few, many = "word " * 399 + "\n\nIt goes on.\n" * 2, "It goes on. " * 3
        self.assertEqual(list(check_docs.wording({path: few})), [])
        self.assertEqual(len(list(check_docs.wording({path: many}))), 1)


class Tables(unittest.TestCase):
    def pages(self, page: str, old: str, new: str):
        path = check_docs.ROOT.resolve() / page
        pages = check_docs.pages()
        self.assertIn(old, pages[path])
        return pages | {path: pages[path].replace(old, new, 1)}

    def test_a_readme_that_is_long_or_says_another_thing_is_found(self):
        self.assertEqual(list(check_docs.readme(check_docs.pages())), [])
        self.assertEqual(len(list(check_docs.readme(self.pages("README.md", "| is deleted |", "| is kept |")))), 1)
        self.assertEqual(len(list(check_docs.readme(self.pages("README.md", "# redrive\n", "word " * 701)))), 1)
        self.assertEqual(len(list(check_docs.readme(self.pages("README.md", "all 765", "all 576")))), 1)

    def test_an_incident_page_that_does_not_answer_first_is_found(self):
        self.assertEqual(list(check_docs.incident(check_docs.pages())), [])
        changed = self.pages("docs/dead-letters.md", "Whom to call", "Details")
        self.assertEqual(len(list(check_docs.incident(changed))), 1)

    def test_a_benchmark_in_the_book_is_found(self):
        self.assertEqual(list(check_docs.generated(check_docs.pages())), [])
        for mark in ("<!-- make bench -->\n", "| MiniStack 1.5.33 |\n"):
            self.assertEqual(len(list(check_docs.generated(self.pages("docs/performance.md", "# Tune performance\n", mark)))), 1)

    def test_an_alarm_that_the_template_does_not_have_is_found(self):
        self.assertTrue(list(check_docs.alarms(self.pages("docs/metrics.md", "the sum is above 5", "the sum is above 6"))))
        self.assertTrue(list(check_docs.alarms(self.pages("docs/metrics.md", "| [Throttles]", "| [Brakes]"))))
        self.assertTrue(list(check_docs.alarms(self.pages("docs/cost.md", "| alarms of the template | 7 |", "| alarms of the template | 6 |"))))


if __name__ == "__main__":
    unittest.main()
