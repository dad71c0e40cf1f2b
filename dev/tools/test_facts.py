"""Tests that a page that differs from the code is found. Usage: python -m unittest test_facts, in dev/tools/"""

import tempfile
import unittest
from pathlib import Path

import check_docs
import facts


class Facts(unittest.TestCase):
    PAGES = check_docs.pages()

    def found(self, check, page: str, old: str, new: str) -> list[str]:
        """Returns what a check finds if a page has different words."""
        path = facts.ROOT / page
        self.assertIn(old, self.PAGES[path])
        return list(check(self.PAGES | {path: self.PAGES[path].replace(old, new, 1)}))

    def test_the_pages_are_as_the_code(self):
        self.assertEqual(list(facts.problems(self.PAGES)), [])

    def test_each_check_finds_a_difference(self):
        changes = (
            (facts.titles, "docs/SUMMARY.md", "[Doctor]", "[The doctor]"),
            (facts.titles, "docs/doctor.md", "# Doctor", "# The doctor"),
            (facts.log_lines, "docs/metrics.md", "`message done, but not recorded`", "`message done, not recorded`"),
            (facts.log_lines, "docs/metrics.md", "`… panicked`", "`… has panicked`"),
            (facts.log_lines, "docs/metrics.md", "`leases are not extended;", "`a lease is not extended;"),
            (facts.log_lines, "docs/metrics.md", "| `lease-lost` |", "| `lost-lease` |"),
            (facts.error_texts, "docs/troubleshooting.md", "`AWS_REGION is not set`", "`AWS_REGION is missing`"),
            (facts.error_texts, "docs/troubleshooting.md", "the queue … cannot be read", "the queue … cannot be found"),
            (facts.error_texts, "docs/troubleshooting.md", "`17 threads are blocked", "`17 threads are stuck"),
            (facts.error_texts, "docs/troubleshooting.md", "allowed: not set beside", "allowed: not used beside"),
            (facts.error_texts, "docs/troubleshooting.md", "`signal: 6`", "`signal: 7`"),
            (facts.worker_metrics, "docs/worker.md", "`redrive_messages_total`", "`redrive_messages`"),
            (facts.worker_metrics, "docs/outages.md", "`redrive_dependencies_down`", "`redrive_down`"),
            (facts.figures, "docs/limits.md", "12 hours from a receive", "10 hours from a receive"),
            (facts.figures, "docs/limits.md", "| 16 blocked threads", "| 17 blocked threads"),
            (facts.figures, "docs/queues.md", "up to five minutes", "up to ten minutes"),
            (facts.reasons, "docs/runbook.md", "| `panic` | the function has a bug |", "| `panic` | |"),
            (facts.reasons, "docs/runbook.md", "| `key-reused` |", "| `key-used` |"),
            (facts.reasons, "docs/reference.md", "`origin-sender`, ", ""),
            (facts.urgent_alarms, "docs/runbook.md", "[QueueAge](#queueage)", "[Age](#age)"),
            (facts.urgent_alarms, "docs/runbook.md", "[Outage](#outage) (after 4 hours), ", ""),
            (facts.urgent_alarms, "docs/runbook.md", "   - [DeadLettered](#deadlettered), [FunctionErrors]", "     and [DeadLettered]"),
            (facts.flags, "docs/any-language.md", "`--concurrency`, 10 by default", "`--concurrency`, 20 by default"),
            (facts.costs, "docs/cost.md", "| 0.70 |", "| 0.80 |"),
            (facts.costs, "docs/cost.md", "**9.10**", "**9.20**"),
            (facts.paths, "ARCHITECTURE.md", "`src/run.rs`", "`src/runs.rs`"),
            (facts.paths, "docs/layer.md", "`examples/any`", "`examples/none`"),
        )
        for check, page, old, new in changes:
            self.assertTrue(self.found(check, page, old, new), f"{check.__name__}: {new}")
        tested = {check.__name__ for check, *_ in changes}
        self.assertEqual(tested, {check.__name__ for check in facts.CHECKS})

    def test_a_limit_without_a_constant_is_found(self):
        row = "| 10 panics in a row |"
        self.assertIn("no constant for: 5 tries", self.found(facts.figures, "docs/limits.md", row, f"| 5 tries | it ends | redrive |\n{row}")[0])

    def test_examples_that_do_not_parse_are_found(self):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "policy.json").write_text("{")
            (Path(folder) / "build.sh").write_text("if true\n")
            self.assertEqual(len(list(facts.examples(Path(folder)))), 2)


class Rust(unittest.TestCase):
    def test_strings_are_found_in_code_but_not_in_comments(self):
        code = """// "comment"\nlet a: &'a str = "one \\\n    line"; let b = ['"', 'x']; let c = r#"a "raw" string"#; "an \\"escaped\\" one";"""
        strings = [text for text in facts.strings_of(code) if text]
        self.assertEqual(strings, ["one line", 'a "raw" string', 'an "escaped" one'])

    def test_the_values_of_constants_are_read(self):
        for code, value in (
            ("const MOST: usize = 10_000;\nconst TOGETHER: usize = MOST / 16;", 10_000),
            ("const MOST: u64 = 8 * 1024 * 1_024;", 8 << 20),
            ("const MOST: usize = 64 << 20;", 64 << 20),
            ("const MOST: Duration = Duration::from_secs(5 * 60);", 300),
            ("const MOST: RangeInclusive<u32> = 1..=1_000;", 1_000),
            ("const MOST_IN_FLIGHT: usize = 1;", None),
        ):
            self.assertEqual(facts.number(code, "MOST"), value, code)

    def test_wildcards_of_a_page_match(self):
        for text, string in (("… panicked", "panicked"), ("17 threads", "{} threads"), ("the queue … is", "the queue {url} is")):
            self.assertTrue(facts.pattern(text).fullmatch(string), text)
        self.assertFalse(facts.pattern("call failed").fullmatch("call timed out"))

    def test_defaults_of_flags_are_read(self):
        self.assertIn("300", facts.defaults("wait"))
        self.assertIn("10", facts.defaults("concurrency"))


if __name__ == "__main__":
    unittest.main()
