"""Case 28: all letters arrive though several retry at once, no more go than were asked for, and those that only were looked at stay."""

import json
import subprocess
from collections import Counter

from .scene import PATIENCE, Elsewhere, environment, equal, same, says

PROCESSES = 4


def fifty_letters_by_four_processes_at_once_all_arrive(elsewhere: Elsewhere) -> None:
    orders = elsewhere.orders()
    orders.write(50)
    command = elsewhere.command("dlq", "retry", "--queue", orders.queue.name, "--yes", "--json")
    piped = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    running = [subprocess.Popen(command, env=environment(), **piped) for _ in range(PROCESSES)]
    reported = Counter()
    for process in running:
        stdout, stderr = process.communicate(timeout=PATIENCE)
        results = Counter(json.loads(line).get("result") for line in stdout.splitlines())
        doubtful = results["possible-duplicate"] + results["perhaps-sent"]
        equal(process.returncode, int(doubtful > 0), f"the exit code beside {results} ({stderr})")
        reported += results
    arrived = Counter(orders.queue.bodies())
    same(list(arrived), [str(at) for at in range(50)], "what arrived")
    twice = arrived.total() - 50
    if twice > reported["possible-duplicate"] + reported["perhaps-sent"]:
        raise AssertionError(f"{twice} arrived twice, reported is {reported}")
    equal(orders.dead.counts(), (0, 0), "what is left")


def a_maximum_of_two_of_three_leaves_one(elsewhere: Elsewhere) -> None:
    orders = elsewhere.orders()
    orders.write(3)
    ran = orders.retry("--max", "2")
    equal(ran.stdout, f"2 sent from {orders.dead.name} to {orders.queue.name}\n", "what is said")
    equal(orders.counts(), ((2, 0), (1, 0)), "what is where")


def a_dry_run_moves_none(elsewhere: Elsewhere) -> None:
    orders = elsewhere.orders()
    orders.write(4, reasons=("rejected", "panic"))
    for verb in ("retry", "delete"):
        says("2 would be ", orders.run(verb, "--dry-run", "--where", "reason = panic").stdout)
    equal(orders.counts(), ((0, 0), (4, 0)), "what is where")


def listed_letters_are_visible_again_at_once(elsewhere: Elsewhere) -> None:
    orders = elsewhere.orders()
    ids = orders.write(3)
    found = orders.run("list", "--json").lines
    equal(orders.counts(), ((0, 0), (3, 0)), "what is where")
    same([line["id"] for line in found], ids, "the letters")
    same([letter["MessageId"] for letter in orders.dead.receive()], ids, "what can be received")


def only_letters_of_which_the_conditions_hold_go(elsewhere: Elsewhere) -> None:
    orders = elsewhere.orders()
    orders.write(15, reasons=("rejected", "panic"))
    orders.retry("--where", "reason = panic")
    equal(orders.counts(), ((7, 0), (8, 0)), "what is where")
    same(orders.queue.bodies(), [str(at) for at in range(1, 15, 2)], "what arrived")


def a_letter_that_the_queue_refuses_stays_and_the_others_go(elsewhere: Elsewhere) -> None:
    orders = elsewhere.orders()
    elsewhere.sqs.set_queue_attributes(QueueUrl=orders.queue.url, Attributes={"MaximumMessageSize": "1024"})
    orders.write(3)
    orders.letter("x" * 2000)
    ran = orders.retry(code=1)
    equal(ran.stderr.count(" stays: "), 1, f"letters named in {ran.stderr!r}")
    equal(orders.counts(), ((3, 0), (1, 0)), "what is where")
    equal(orders.dead.bodies(), ["x" * 2000], "what stays")
