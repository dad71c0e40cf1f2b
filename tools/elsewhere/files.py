"""Letters listed, shown, deleted, purged, and written to a file and back."""

import json
import tempfile
from pathlib import Path

from .keeping import ATTRIBUTES, BODY, fifo_letter
from .scene import NOTE, Elsewhere, Queue, equal, same, says


def a_list_tells_reasons_and_errors_of_chosen_letters(elsewhere: Elsewhere) -> None:
    orders = elsewhere.orders()
    ids = orders.write(12, reasons=("rejected", "panic"))
    lines = orders.run("list", "--json", "--where", "reason = panic").lines
    same([line["id"] for line in lines], ids[1::2], "the letters")
    same([line["body"] for line in lines], [str(at) for at in range(1, 12, 2)], "their bodies")
    equal({(line["reason"], line["error"], line["attempts"]) for line in lines}, {("panic", "card refused", 3)}, "why")
    table = orders.run("list").stdout
    says("rejected", table)
    says("card refused", table)


def a_letter_is_shown_by_the_id_of_its_message(elsewhere: Elsewhere) -> None:
    orders = elsewhere.orders()
    orders.write(2)
    letter = orders.letter(BODY, message="m1", attributes=ATTRIBUTES)
    shown = json.loads(orders.run("show", "--no-logs", "--json", "m1").stdout)
    equal((shown["id"], shown["body"], shown["source"]), (letter, BODY, orders.queue.arn), "the letter")
    equal(orders.counts(), ((0, 0), (3, 0)), "what is where")
    says("no letter nobody among the 3", orders.run("show", "--no-logs", "nobody", code=1).stderr)


def chosen_letters_are_deleted_and_no_others(elsewhere: Elsewhere) -> None:
    orders = elsewhere.orders()
    orders.write(12, reasons=("rejected", "panic"))
    orders.run("delete", "--yes", "--where", "reason = panic")
    equal(orders.counts(), ((0, 0), (6, 0)), "what is where")
    same(orders.dead.bodies(), [str(at) for at in range(0, 12, 2)], "what is left")


def ids_of_a_list_choose_what_is_deleted_and_what_goes_back(elsewhere: Elsewhere) -> None:
    orders = elsewhere.orders()
    orders.write(4)
    listed = {line["body"]: json.dumps(line) for line in orders.run("list", "--json").lines}
    orders.retry("--ids", "-", given=listed["1"])
    orders.run("delete", "--yes", "--ids", "-", given=listed["2"])
    says("not found: ", orders.run("delete", "--yes", "--ids", "-", given=listed["2"], code=1).stderr)
    same(orders.queue.bodies(), ["1"], "what arrived")
    same(orders.dead.bodies(), ["0", "3"], "what is left")


def a_purge_leaves_nothing_and_a_dry_one_everything(elsewhere: Elsewhere) -> None:
    orders = elsewhere.orders()
    orders.write(3)
    orders.run("purge", "--yes", "--dry-run")
    equal(orders.dead.counts(), (3, 0), "after a dry run")
    orders.run("purge", "--yes")
    equal(orders.counts(), ((0, 0), (0, 0)), "what is where")


def an_export_and_an_import_give_the_same_letters(elsewhere: Elsewhere) -> None:
    orders = elsewhere.orders()
    orders.write(23)
    orders.letter(BODY, message="m1", attributes=ATTRIBUTES)
    with tempfile.TemporaryDirectory() as folder:
        file = str(Path(folder) / "letters.jsonl")
        orders.run("export", file)
        equal(orders.dead.counts(), (24, 0), "after the export")
        before = contents(orders.dead)
        orders.run("import", file)
        same(contents(orders.dead), before, "the letters that came back")


def letters_of_a_fifo_queue_come_back_in_their_groups_and_once(elsewhere: Elsewhere) -> None:
    orders = elsewhere.orders(fifo=True)
    for at in range(6):
        fifo_letter(orders, str(at), "ab"[at % 2])
    exported = orders.run("export", "-").stdout
    orders.dead.take()
    for _ in range(2):
        orders.run("import", "--yes", "-", given=exported)
    groups = {"a": [], "b": []}
    for letter in orders.dead.take():
        groups[letter["Attributes"]["MessageGroupId"]].append(letter["Body"])
    equal(groups, {"a": ["0", "2", "4"], "b": ["1", "3", "5"]}, "the groups")


def a_dead_letter_queue_alone_leads_to_its_queue(elsewhere: Elsewhere) -> None:
    orders = elsewhere.orders()
    orders.write(2)
    elsewhere.run("dlq", "retry", "--queue", orders.dead.name, "--yes")
    equal(orders.counts(), ((2, 0), (0, 0)), "what is where")


def contents(dead: Queue) -> list[str]:
    """Bodies, attributes and notes, as texts that can be compared."""
    letters = dead.take()
    for letter in letters:
        equal(NOTE in letter["MessageAttributes"], True, "whether the note is there")
    return [f"{letter['Body']} {sorted(letter['MessageAttributes'].items())}" for letter in letters]
