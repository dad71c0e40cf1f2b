"""A diagram says what happened, or is refused. Usage: python -m unittest test_check_docs test_diagrams, in tools/"""

import unittest
from xml.etree import ElementTree

from diagram_svg import svg
from diagrams import FOLDER, confirm, difference, parse, told

TEXT = """title: A failure & more
message: A {"body": "x"}

0:00 A sent
0:00 A received, attempt 1
  (queue: a note)
0:00 A failed, attempt 1, back in 2 s
0:02 A received, attempt 2
0:02 A done, attempt 2
"""


def line(at: float, kind: str, **more) -> dict:
    return {"at": at, "kind": kind, "queue": "orders", "message_id": "id"} | more


RUN = [
    line(0.0, "sent"),
    line(0.1, "received", attempt=1),
    line(0.2, "failed", attempt=1),
    line(0.2, "back_in", seconds=2),
    line(2.3, "received", attempt=2),
    line(2.4, "done", attempt=2),
]


class Comparing(unittest.TestCase):
    def test_a_run_that_goes_as_described_is_the_same(self):
        self.assertEqual(difference(parse(TEXT), list(told(RUN, ["A"]))), "")

    def test_another_number_time_or_event_is_not(self):
        faults = (
            [*RUN[:3], line(0.2, "back_in", seconds=3), *RUN[4:]],
            [*RUN[:5], line(4.4, "done", attempt=2)],
            [*RUN[:5], line(2.4, "done", attempt=3)],
            RUN[:5],
            [*RUN, line(9, "invocation_ended", outcome={"result": "timed_out"})],
        )
        for fault in faults:
            self.assertNotEqual(difference(parse(TEXT), list(told(fault, ["A"]))), "")

    def test_a_run_on_a_busy_machine_is_tried_again_and_one_that_is_always_different_is_not_confirmed(self):
        late = list(told([*RUN[:5], line(4.4, "done", attempt=2)], ["A"]))
        runs = iter([late, late, list(told(RUN, ["A"]))])
        self.assertEqual(confirm(parse(TEXT), lambda: next(runs)), "")
        self.assertNotEqual(confirm(parse(TEXT), lambda: late), "")

    def test_a_line_that_is_none_is_refused(self):
        with self.assertRaises(ValueError):
            parse("0:00 A\n")


class Drawing(unittest.TestCase):
    def test_every_picture_is_well_formed_and_knows_light_and_dark(self):
        for text in [TEXT, *(file.read_text() for file in FOLDER.glob("*.txt"))]:
            drawn = svg(parse(text))
            ElementTree.fromstring(drawn)
            self.assertIn("prefers-color-scheme: dark", drawn)

    def test_the_words_of_a_picture_are_those_of_its_text(self):
        words = [element.text for element in ElementTree.fromstring(svg(parse(TEXT))).iter() if element.text]
        for said in ("A failure & more", "hide A: 2 s", "2 s later", "receive A (count 2)", "delete A", "a note"):
            self.assertIn(said, words)


if __name__ == "__main__":
    unittest.main()
