"""Tests the report of `make bench ONLY=worker`, and that the page shows what was measured."""

import json
import unittest
from pathlib import Path

import table
from client import percentile
from goals import CONTENDERS, HANDLERS, LEAST, LOOP, ONE, REDRIVE, TEN, rows
from scenarios import Moment, between

HERE = Path(__file__).parent


def results(**of_redrive: float) -> dict:
    """Returns results of three rounds. The machine did something else in one of them, and all goals are just met."""
    goals = {"per_cpu_second": 5.0, "requests": 0.25, "a_day_and_poller": 4320.0, "first_mib": 20.0, "last_mib": 21.0}
    figures = set(goals) | set(table.LOADED.values()) | set(table.STEADY.values()) | set(table.IDLE.values())
    scenarios = [f"{kind}, {handler}" for kind in ("load", "steady") for handler in HANDLERS]
    found = {}
    for scenario in [*scenarios, "idle", "memory"]:
        ours = dict.fromkeys(figures, 1.0) | goals | of_redrive
        theirs = dict.fromkeys(figures, 1.0)
        others = [it for it in CONTENDERS if it != REDRIVE]
        disturbed = {figure: value * 1000 for figure, value in ours.items()}
        found[scenario] = {REDRIVE: [ours, disturbed, ours]} | {other: [theirs] * 3 for other in others}
    return found


class Goals(unittest.TestCase):
    def verdicts(self, **of_redrive: float) -> list[str]:
        return [row.met for row in rows(results(**of_redrive))]

    def test_goals_are_met_up_to_their_limits(self):
        self.assertEqual(self.verdicts(), ["yes", "yes", "-", "yes"] * 2 + ["yes"] * 4)

    def test_goals_are_missed_beyond(self):
        no = "**no**"
        self.assertEqual(self.verdicts(per_cpu_second=4.9)[:8], [no, no, "-", "yes"] * 2)
        self.assertEqual(self.verdicts(per_cpu_second=0.79)[:4], [no, no, "-", no])
        self.assertEqual(self.verdicts(requests=0.26)[8:], [no, no, "yes", "yes"])
        self.assertEqual(self.verdicts(a_day_and_poller=4321)[8:], ["yes", "yes", no, "yes"])
        self.assertEqual(self.verdicts(last_mib=21.1)[8:], ["yes", "yes", "yes", no])

    def test_each_contender_is_beside_redrive(self):
        compared = [row.other for row in rows(results())[:4]]
        self.assertEqual(compared, [f"{other} 1.00" for other in (ONE, TEN, LOOP, LEAST)])


class Figures(unittest.TestCase):
    def test_a_percentile_is_a_time_that_so_many_kept(self):
        times = {3: 1, 1: 98, 900: 1}
        self.assertEqual([percentile(times, it) for it in (0.5, 0.98, 0.99, 1)], [1, 1, 3, 900])

    def test_figures_are_of_what_happened_between_two_moments(self):
        before = Moment(at=1.0, cpu=2.0, server_cpu=0.0, done=100, requests=50)
        after = Moment(at=3.0, cpu=2.5, server_cpu=1.0, done=1100, requests=250)
        expected = {"per_cpu_second": 2000, "cpu_us": 500, "per_second": 500, "requests": 0.2, "server_cpu_us": 1000}
        self.assertEqual(between(before, after), expected)


class Page(unittest.TestCase):
    def test_only_what_is_between_the_marks_is_replaced(self):
        page = "# Title\n<!-- make bench ONLY=worker -->\nold\n<!-- /make bench ONLY=worker -->the end\n"
        once = table.inserted(page, "new\n")
        self.assertEqual(once, page.replace("old", "new"))
        self.assertEqual(table.inserted(once, "new\n"), once)

    def test_the_page_shows_the_figures_that_were_measured(self):
        machine, *figures = map(json.loads, (HERE / "results.jsonl").read_text().splitlines())
        measured = {}
        for scenario, contender, rounds in figures:
            measured.setdefault(scenario, {})[contender] = rounds
        page = (HERE.parent / "README.md").read_text()
        self.assertEqual(page, table.inserted(page, table.markdown(measured, machine)))


if __name__ == "__main__":
    unittest.main()
