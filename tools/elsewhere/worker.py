"""The demo function as a worker: a process that polls the emulator by itself."""

import json
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from emulators import REGION, until

from .payloads import wait_for
from .scene import NOTE, PATIENCE, Elsewhere, Orders, Queue, environment, equal, same, says

# Seconds after which a failed order comes back.
BACKOFF = json.dumps({"kind": "exponential", "delay": 1, "max": 1})


def a_worker_handles_orders_and_backs_off_and_writes_letters(elsewhere: Elsewhere) -> None:
    orders = elsewhere.orders()
    gateways = ["up"] * 12 + [{"down_for": 1}, "refuses", "down"]
    for gateway in gateways:
        orders.queue.send(order(gateway))
    with worker(elsewhere, orders.queue, REDRIVE_LAST_DELIVERY="dead-letter") as (process, log):
        wait_for(orders, ((0, 0), (2, 0)))
        end(process, log)
        lines = logged(log)
    equal(sum("charged" in line["message"] for line in lines), 13, "the orders that were charged")
    retried = [line for line in lines if "to be retried" in line["message"]]
    same([line["attempt"] for line in retried], [1, 1, 2], "the attempts that failed")
    letters = [json.loads(letter["MessageAttributes"][NOTE]["StringValue"]) for letter in orders.dead.take()]
    same([(note["reason"], note["attempts"]) for note in letters], [("card-refused", 1), ("exhausted", 3)], "the letters")


def a_worker_that_is_told_to_end_settles_what_it_has_in_hand(elsewhere: Elsewhere) -> None:
    orders = elsewhere.orders()
    with worker(elsewhere, orders.queue, REDRIVE_DRAIN="3") as (process, log):
        orders.queue.send(order("hangs"))
        orders.queue.send(order("up"))
        until(PATIENCE, lambda: "charged" in log.read_text(), "no order is charged")
        until(PATIENCE, lambda: orders.queue.counts() == (0, 1), "no order is in hand")
        end(process, log)
        says("handlers are canceled", log.read_text())
    # It was handed back at once, and not after the queue's 30 s.
    [back] = orders.queue.receive()
    equal((json.loads(back["Body"])["gateway"], back["Attributes"]["ApproximateReceiveCount"]), ("hangs", "2"), "it")


def a_worker_handles_the_orders_of_a_group_one_after_the_other(elsewhere: Elsewhere) -> None:
    orders = elsewhere.orders(fifo=True)
    for number in range(6):
        gateway = {"down_for": 1} if number == 1 else "up"
        orders.queue.send(order(gateway, f"A-{number}"), MessageGroupId="A", MessageDeduplicationId=str(number))
    with worker(elsewhere, orders.queue) as (process, log):
        wait_for(orders, ((0, 0), (0, 0)))
        end(process, log)
        charged = [line["order_id"] for line in logged(log) if line["message"] == "charged"]
    equal(charged, [f"A-{number}" for number in range(6)], "the orders that were charged")


def a_worker_without_its_queue_ends_with_one_line(elsewhere: Elsewhere) -> None:
    queue = elsewhere.queue("for-its-url")
    missing = Queue(elsewhere.sqs, "missing", queue.url.replace(queue.name, "no-such-queue"))
    with worker(elsewhere, missing) as (process, log):
        equal(process.wait(timeout=PATIENCE), 1, "the exit code")
        last = log.read_text().splitlines()[-1]
    says(f"Error: the queue {missing.url} cannot be read: ", last)


def order(gateway, order_id: str = "A-1") -> str:
    return json.dumps({"order_id": order_id, "lines": [{"sku": "tea", "quantity": 1}], "gateway": gateway})


@contextmanager
def worker(elsewhere: Elsewhere, queue: Queue, **variables: str) -> Iterator[tuple[subprocess.Popen, Path]]:
    """The process, and the file of what it writes."""
    own = {
        "AWS_ENDPOINT_URL": elsewhere.endpoint,
        "AWS_REGION": REGION,
        "REDRIVE_BACKOFF": BACKOFF,
        "REDRIVE_DRAIN": "5",
        "REDRIVE_METRICS": "off",
        "REDRIVE_QUEUE_URL": queue.url,
        **variables,
    }
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        with log.open("wb") as output:
            command = [str(elsewhere.redrive.parent / "orders")]
            process = subprocess.Popen(command, env=environment() | own, stdout=output, stderr=output)
        try:
            yield process, log
        finally:
            process.kill()
            process.wait(timeout=PATIENCE)


def end(process: subprocess.Popen, log: Path) -> None:
    process.send_signal(signal.SIGTERM)
    equal(process.wait(timeout=PATIENCE), 0, f"the exit code ({log.read_text()[-2000:]})")


def logged(log: Path) -> list[dict]:
    return [json.loads(line) for line in log.read_text().splitlines() if line.startswith("{")]
