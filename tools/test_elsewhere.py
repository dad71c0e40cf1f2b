"""A gap in an emulator is told, and one that has closed is a failure. Usage: python -m unittest test_elsewhere, in tools/"""

import unittest

from elsewhere.__main__ import MODULES
from elsewhere.gaps import GAPS
from elsewhere.result import checks_in, judge


def it_works(elsewhere) -> None:
    """Nothing is wrong."""


def it_fails(elsewhere) -> None:
    raise AssertionError("no such action")


def it_breaks(elsewhere) -> None:
    raise KeyError("no such key")


class Results(unittest.TestCase):
    def result(self, check, *gap: str) -> str:
        gaps = {("moto", check.__name__): gap} if gap else {}
        return judge("moto", check, None, gaps).status

    def test_what_is_not_known_to_be_missing_passes_or_fails(self):
        self.assertEqual([self.result(check) for check in (it_works, it_fails, it_breaks)], ["passed", "failed", "failed"])

    def test_a_gap_is_told_with_what_the_emulator_answered(self):
        result = judge("moto", it_fails, None, {("moto", "it_fails"): ("it has no tasks", "no such action")})
        self.assertEqual(result.line, "gap     moto       it fails: it has no tasks (no such action)")

    def test_a_gap_that_closed_or_answers_otherwise_is_a_failure(self):
        self.assertEqual(self.result(it_works, "it has no tasks", "no such action"), "failed")
        self.assertEqual(self.result(it_fails, "it has no tasks", "not implemented"), "failed")

    def test_a_gap_of_one_emulator_is_none_of_another(self):
        gaps = {("MiniStack", "it_fails"): ("it has no tasks", "no such action")}
        self.assertEqual(judge("moto", it_fails, None, gaps).status, "failed")


class Checks(unittest.TestCase):
    def test_each_gap_is_one_of_a_check_that_there_is(self):
        names = [check.__name__ for module in MODULES for check in checks_in(module)]
        self.assertEqual(len(set(names)), len(names))
        self.assertEqual({name for _, name in GAPS} - set(names), set())


if __name__ == "__main__":
    unittest.main()
