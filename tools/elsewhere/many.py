"""Case 28: all letters arrive though several retry at once, and no more go than were asked for."""

import json
import subprocess
import tempfile
from collections import Counter

import proxy
from proxy import Proxy

from .faults import MOVING, Held
from .scene import PATIENCE, Elsewhere, Orders, environment, equal, same, says
from .terminal import terminal

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
    with proxy.before(elsewhere.endpoint) as listening:
        for verb in ("retry", "delete"):
            ran = orders.run(verb, "--dry-run", "--where", "reason = panic", at=listening.url)
            says("2 would be ", ran.stdout)
    equal({call.action for call in listening.calls} & MOVING, set(), "the calls that move")
    equal(orders.counts(), ((0, 0), (4, 0)), "what is where")


def only_letters_of_which_the_conditions_hold_go(elsewhere: Elsewhere) -> None:
    orders = elsewhere.orders()
    orders.write(15, reasons=("rejected", "panic"))
    orders.retry("--where", "reason = panic")
    equal(orders.counts(), ((7, 0), (8, 0)), "what is where")
    same(orders.queue.bodies(), [str(at) for at in range(1, 15, 2)], "what arrived")


def ctrl_c_in_a_retry_makes_held_letters_visible_again(elsewhere: Elsewhere) -> None:
    """While the second batch is on its way."""
    orders = elsewhere.orders()
    orders.write(25)
    held = Held("SendMessageBatch", after=1)
    with proxy.before(elsewhere.endpoint, held) as slow:
        interrupt(orders.elsewhere.command("dlq", "retry", "--queue", orders.queue.name, "--yes", at=slow.url), held)
    (arrived, _), (left, hidden) = orders.counts()
    equal((arrived + left, hidden), (25, 0), "the letters in both queues, and those that are hidden")
    same(orders.queue.bodies() + orders.dead.bodies(), [str(at) for at in range(25)], "all letters")


def ctrl_c_in_a_list_makes_held_letters_visible_again(elsewhere: Elsewhere) -> None:
    orders = elsewhere.orders()
    orders.write(15)
    held = Held("ReceiveMessage", after=1)
    with proxy.before(elsewhere.endpoint, held) as slow:
        interrupt(elsewhere.command("dlq", "list", "--queue", orders.queue.name, at=slow.url), held)
    equal(orders.counts(), ((0, 0), (15, 0)), "what is where")


def a_run_that_is_killed_loses_nothing_and_the_next_one_finishes(elsewhere: Elsewhere) -> None:
    orders = elsewhere.orders()
    orders.write(25)
    held = Held("SendMessageBatch", after=1)
    with tempfile.TemporaryDirectory() as journal:
        retry = ("dlq", "retry", "--queue", orders.queue.name, "--yes", "--journal", journal)
        with proxy.before(elsewhere.endpoint, held) as slow:
            command = elsewhere.command(*retry, at=slow.url)
            killed = subprocess.Popen(command, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            equal(held.came.wait(PATIENCE), True, "whether the call came")
            killed.kill()
            killed.wait(PATIENCE)
            held.free.set()
        show_again(orders, slow)
        says("messages may arrive twice", elsewhere.run(*retry, code=1).stderr)
    arrived = orders.queue.bodies()
    same(sorted(set(arrived)), sorted(str(at) for at in range(25)), "what arrived")
    equal(len(arrived) <= 2 * 25, True, f"whether {len(arrived)} are no more than twice as many")
    equal(orders.dead.counts(), (0, 0), "what is left")


def show_again(orders: Orders, listening: Proxy) -> None:
    """What would happen by itself after a minute."""
    for call, answer in listening.log:
        received = answer.output.get("Messages", []) if answer and call.action == "ReceiveMessage" else []
        entries = [
            {"Id": str(at), "ReceiptHandle": message["ReceiptHandle"], "VisibilityTimeout": 0}
            for at, message in enumerate(received)
        ]
        if entries:
            # Those that were deleted before the end are refused.
            orders.elsewhere.sqs.change_message_visibility_batch(QueueUrl=orders.dead.url, Entries=entries)


def interrupt(command: list[str], held: Held) -> None:
    """Types Ctrl-C once a call is held, and lets it go then."""
    with terminal(command) as shown:
        equal(held.came.wait(PATIENCE), True, "whether the call came")
        shown.type("\x03")
        held.free.set()
        equal(shown.end(), 130, f"the exit code ({shown.shown})")
    says("redrive: interrupted", shown.shown)
