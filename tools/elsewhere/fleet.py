"""All dead-letter queues at a time, and letters that are sent in stages. Each check is alone with the emulator, because
`dlq list --all` receives letters of all queues.
"""

import json
import subprocess
import time
import urllib.request
from collections.abc import Callable
from dataclasses import replace

from .scene import PATIENCE, Elsewhere, Orders, environment, equal, says
from .sharing import OTHER_REGION, Table


def dead_letter_queues_of_two_regions_are_listed(elsewhere: Elsewhere) -> None:
    near, far = elsewhere.orders(), replace(elsewhere, region=OTHER_REGION).orders()
    near.write(3)
    far.write(2)
    elsewhere.sqs.tag_queue(QueueUrl=near.dead.url, Tags={"Owner": "payments"})
    ran = elsewhere.run("fleet", "--json", "--region", OTHER_REGION)
    found = {queue["arn"]: queue for queue in json.loads(ran.stdout)["queues"]}
    for orders, letters, owner in ((near, 3, "payments"), (far, 2, None)):
        queue = found[orders.dead.arn]
        shown = [queue[name] for name in ("name", "letters", "owner", "sources")]
        equal(shown, [orders.dead.name, letters, owner, [orders.queue.arn]], "the queue")


def the_errors_of_two_queues_are_grouped(elsewhere: Elsewhere) -> None:
    both = [elsewhere.orders(), elsewhere.orders()]
    for orders in both:
        orders.write(2)
    ran = elsewhere.run("dlq", "list", "--all", "--json")
    for orders in both:
        found = [line["error"] for line in ran.lines if line["queue"] == orders.dead.arn]
        equal(found, ["card refused"] * 2, "the letters of a queue")
        equal(orders.counts(), ((0, 0), (2, 0)), "what is where")
    says("card refused", elsewhere.run("dlq", "list", "--all").stdout)


def letters_that_sqs_moves_again_end_the_first_stage(elsewhere: Elsewhere) -> None:
    orders = elsewhere.orders()
    orders.write(5)

    done = staged(orders, lambda: orders.queue.receive(hidden=0))
    equal(done.returncode, 1, f"the exit code ({done.stdout}{done.stderr})")
    says("2 letters came back: ", done.stderr)
    equal(done.stdout, f"2 sent from {orders.dead.name} to {orders.queue.name}\n", "what is said")


def letters_that_a_worker_handles_are_all_sent(elsewhere: Elsewhere) -> None:
    orders = elsewhere.orders()
    orders.write(5)
    handled = []
    done = staged(orders, lambda: handled.extend(orders.queue.bodies()))
    equal(done.returncode, 0, f"the exit code ({done.stdout}{done.stderr})")
    equal(sorted(handled), [str(at) for at in range(5)], "what was handled")
    equal(orders.counts(), ((0, 0), (0, 0)), "what is left")


def the_console_lists_queues_and_letters_and_retries_them(elsewhere: Elsewhere) -> None:
    orders = elsewhere.orders()
    ids = sorted(orders.write(3))
    handled = []
    command, table = elsewhere.command("console", "--port", "0"), Table.of(elsewhere)
    process = subprocess.Popen(command, env=table.machine("ada"), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        page, key = process.stdout.readline().strip().split("/#key=")

        def ask(path: str, body: dict | None = None) -> str:
            headers = {"content-type": "application/json", "x-redrive-key": key}
            sent = None if body is None else json.dumps(body).encode()
            with urllib.request.urlopen(urllib.request.Request(page + path, sent, headers), timeout=PATIENCE) as answer:
                return answer.read().decode()

        [queue] = [queue for queue in json.loads(ask("/api/fleet"))["fleet"]["queues"] if queue["arn"] == orders.dead.arn]
        equal(queue["letters"], 3, "the letters of the queue")
        told = [json.loads(line) for line in ask("/api/letters", {"queue": queue["arn"]}).splitlines()]
        equal(sorted(line["letter"]["id"] for line in told if "letter" in line), ids, "the letters")
        ask("/api/unlock", {"queue": queue["arn"], "account": queue["account"]})
        action = {"verb": "retry", "queue": queue["arn"], "ids": ids, "stages": "1,all", "wait": "2s"}
        run, progress = json.loads(ask("/api/runs", action))["number"], {"ended": None}
        deadline = time.monotonic() + PATIENCE
        while progress["ended"] is None and time.monotonic() < deadline:
            handled.extend(orders.queue.bodies())
            time.sleep(0.1)
            progress = json.loads(ask(f"/api/runs/{run}"))["progress"]
        equal(progress["ended"], 0, f"the exit code ({progress})")
        history = json.loads(ask("/api/history"))
        done = [(entry["user"], entry["sent"]) for entry in history["entries"]]
        equal((history["place"], done), (f"table {table.name}", [("ada", 1), ("ada", 2)]), "the history")
    finally:
        process.terminate()
        process.communicate(timeout=PATIENCE)
    equal(sorted(handled), ["0", "1", "2"], "what was handled")
    equal(orders.counts(), ((0, 0), (0, 0)), "what is left")


def staged(orders: Orders, consume: Callable[[], object]) -> subprocess.CompletedProcess:
    """A retry in stages while `consume` receives from the queue."""
    more = ("--yes", "--watch", "--stages", "2,all", "--wait", "8s")
    command = orders.elsewhere.command("dlq", "retry", "--queue", orders.queue.name, *more)
    process = subprocess.Popen(command, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + PATIENCE
    while process.poll() is None and time.monotonic() < deadline:
        consume()
        time.sleep(0.1)
    stdout, stderr = process.communicate(timeout=PATIENCE)
    return subprocess.CompletedProcess(command, process.returncode, stdout, stderr)

