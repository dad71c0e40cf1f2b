"""History, snoozes and journal in a DynamoDB table, from several machines: each run here has a home of its own."""

import json
import re
import subprocess
import threading
import time
import urllib.request
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import yaml
from emulators import client, until

from .scene import PATIENCE, Elsewhere, Orders, Ran, environment, equal, same, says

OTHER_REGION = "eu-west-1"
PAGE = Path(__file__).parents[2] / "docs/dead-letters.md"


def the_history_has_what_others_did(elsewhere: Elsewhere) -> None:
    table, orders = Table.of(elsewhere), elsewhere.orders()
    orders.write(30)
    for arguments in (("retry", "--max", "28"), ("delete", "--all")):
        table.run("ada", "dlq", *arguments, "--queue", orders.queue.name, "--yes")
    entries = table.run("bob", "fleet", "--history", "--json").lines
    found = [(entry["user"], entry["verb"], entry.get("sent"), entry.get("deleted")) for entry in entries]
    equal(found, [("ada", "retry", 28, None), ("ada", "delete", None, 2)], "the history")
    equal(table.open_letters(), [], "the letters that are open")
    equal({"expiration" in item for item in table.items()}, {True}, "whether all expire")


def a_table_is_reached_in_the_region_of_its_arn(elsewhere: Elsewhere) -> None:
    table, orders = Table.of(elsewhere), elsewhere.orders()
    orders.write(1)
    by_arn = replace(table, name=table.arn)
    by_arn.run("ada", "dlq", "retry", "--queue", orders.queue.name, "--yes")
    there = replace(elsewhere, region=OTHER_REGION)
    entries = replace(by_arn, elsewhere=there).run("bob", "fleet", "--history", "--json").lines
    equal([entry["user"] for entry in entries], ["ada"], "the history")


def a_snooze_is_for_all_until_one_wakes_the_queue(elsewhere: Elsewhere) -> None:
    table, orders = Table.of(elsewhere), elsewhere.orders()
    orders.write(1)

    def snoozed() -> dict | None:
        fleet = json.loads(table.run("bob", "fleet", "--json").stdout)
        [queue] = [queue for queue in fleet["queues"] if queue["arn"] == orders.dead.arn]
        return queue["snoozed"]

    for reason in ("known", "fix is in review"):
        table.run("ada", "fleet", "snooze", orders.dead.name, "--for", "2d", "--reason", reason)
    equal([(snooze["user"], snooze["reason"]) for snooze in [snoozed()]], [("ada", "fix is in review")], "the snooze")
    table.run("bob", "fleet", "wake", orders.dead.name)
    equal(snoozed(), None, "the snooze after the queue was woken")


def after_a_kill_another_machine_names_the_letters_that_may_be_twice(elsewhere: Elsewhere) -> None:
    table, orders = Table.of(elsewhere), elsewhere.orders()
    ids = orders.write(3)
    before_send, handles = [], []

    def hang(operation: str, body: dict) -> dict | None:
        if operation == "SendMessageBatch":
            before_send.extend(item["id"]["S"].split("#")[0] for item in table.items())
        if operation != "DeleteMessageBatch":
            return None
        handles.extend(one["ReceiptHandle"] for one in body["Entries"])
        time.sleep(PATIENCE)
        return {}

    with proxied(elsewhere.endpoint, hang) as endpoint:
        at_proxy = replace(table, elsewhere=replace(elsewhere, endpoint=endpoint))
        process = subprocess.Popen(
            at_proxy.elsewhere.command(*retry(orders)),
            env=at_proxy.machine("ada"),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            is_sent = lambda: [line.count('"sent"') for line in table.open_letters()] == [1, 1, 1]
            until(PATIENCE, lambda: handles and is_sent(), "the letters are not sent")
        finally:
            process.kill()
            process.wait(PATIENCE)
    same(before_send, ["history"] + 3 * ["letters"], "what was written before letters were sent")
    # Nobody else would receive them for a minute.
    for handle in handles:
        elsewhere.sqs.change_message_visibility(QueueUrl=orders.dead.url, ReceiptHandle=handle, VisibilityTimeout=0)
    for code, more in ((0, ("--dry-run",)), (1, ())):
        same(named(table.run("bob", *retry(orders), *more, code=code)), ids, "the letters that are named")
    same(orders.queue.bodies(), ["0", "0", "1", "1", "2", "2"], "what arrived")
    equal(table.open_letters(), [], "the letters that are open")


def letters_that_were_not_deleted_are_open_though_dynamodb_takes_some_of_them_later(elsewhere: Elsewhere) -> None:
    table, orders = Table.of(elsewhere), elsewhere.orders()
    ids = orders.write(30)
    delayed = []

    def refuse(operation: str, body: dict) -> dict | None:
        if operation == "DeleteMessageBatch":
            entry = {"Code": "ReceiptHandleIsInvalid", "SenderFault": True}
            return {"Successful": [], "Failed": [entry | {"Id": one["Id"]} for one in body["Entries"]]}
        if operation == "BatchWriteItem" and len(delayed) < 3:
            delayed.append(body)
            return {"UnprocessedItems": body["RequestItems"]}
        return None

    with proxied(elsewhere.endpoint, refuse) as endpoint:
        at_proxy = replace(table, elsewhere=replace(elsewhere, endpoint=endpoint))
        equal("warning" in at_proxy.run("ada", *retry(orders), code=1).stderr, False, "whether a write failed")
    equal(len(delayed), 3, "the writes that were delayed")
    same(named(table.run("bob", *retry(orders), code=1)), ids, "the letters that are named")
    equal(table.open_letters(), [], "the letters that are open")


def what_dynamodb_did_not_take_is_written_at_the_end(elsewhere: Elsewhere) -> None:
    table, orders = Table.of(elsewhere), elsewhere.orders()
    ids = orders.write(3)
    deletes = []

    def refuse(operation: str, body: dict) -> dict | None:
        if operation == "DeleteMessageBatch":
            deletes.append(body)
            entry = {"Code": "ReceiptHandleIsInvalid", "SenderFault": True}
            return {"Successful": [], "Failed": [entry | {"Id": one["Id"]} for one in body["Entries"]]}
        if operation == "BatchWriteItem" and not deletes:
            return {"UnprocessedItems": body["RequestItems"]}
        return None

    with proxied(elsewhere.endpoint, refuse) as endpoint:
        at_proxy = replace(table, elsewhere=replace(elsewhere, endpoint=endpoint))
        ran = at_proxy.run("ada", *retry(orders), code=1)
    equal(ran.stderr.count("warning: no journal: could not write to the table"), 1, "the warnings")
    same(named(table.run("bob", *retry(orders), code=1)), ids, "the letters that are named")


def retry(orders: Orders) -> tuple[str, ...]:
    return ("dlq", "retry", "--queue", orders.queue.name, "--yes")


def named(ran: Ran) -> list[str]:
    """The letters that may arrive twice."""
    return re.findall(r"possible duplicate: an earlier run sent letter (\S+) ", ran.stderr)


def a_table_that_is_missing_is_said_before_anything_is_done(elsewhere: Elsewhere) -> None:
    orders, table = elsewhere.orders(), Table(elsewhere, "no-such-table")
    orders.write(1)
    for verb in (("retry",), ("delete", "--all"), ("purge",)):
        ran = table.run("ada", "dlq", *verb, "--queue", orders.queue.name, "--yes", code=1)
        says("could not read the table no-such-table: not found (", ran.stderr)
    equal(orders.counts(), ((0, 0), (1, 0)), "what is where")
    says("could not read the history: could not read the table", table.run("ada", "fleet", "--history", code=1).stderr)


def a_table_without_the_sort_key_is_refused_before_anything_is_done(elsewhere: Elsewhere) -> None:
    orders, table = elsewhere.orders(), Table(elsewhere, f"idempotency-{uuid.uuid4().hex[:8]}")
    orders.write(1)
    key = {"AttributeDefinitions": [{"AttributeName": "id", "AttributeType": "S"}], "KeySchema": [{"AttributeName": "id", "KeyType": "HASH"}]}
    table.dynamodb.create_table(TableName=table.name, BillingMode="PAY_PER_REQUEST", **key)
    for verb in (("retry",), ("delete", "--all")):
        ran = table.run("ada", "dlq", *verb, "--queue", orders.queue.name, "--yes", code=1)
        says(f"could not read the table {table.name}", ran.stderr)
    equal(orders.counts(), ((0, 0), (1, 0)), "what is where")


@dataclass(frozen=True)
class Table:
    elsewhere: Elsewhere
    name: str

    @classmethod
    def of(cls, elsewhere: Elsewhere) -> "Table":
        """As docs/dead-letters.md defines it, under another name."""
        [text] = re.findall(r"```yaml\n(  RedriveJournal:\n.*?)```", PAGE.read_text(), re.DOTALL)
        properties = yaml.safe_load(text)["RedriveJournal"]["Properties"]
        table = cls(elsewhere, f"{properties['TableName']}-{uuid.uuid4().hex[:8]}")
        expiring = properties.pop("TimeToLiveSpecification")
        table.dynamodb.create_table(**properties | {"TableName": table.name})
        waiter = table.dynamodb.get_waiter("table_exists")
        waiter.wait(TableName=table.name, WaiterConfig={"Delay": 1, "MaxAttempts": PATIENCE})
        table.dynamodb.update_time_to_live(TableName=table.name, TimeToLiveSpecification=expiring)
        return table

    @property
    def dynamodb(self):
        return client("dynamodb", self.elsewhere.endpoint)

    @property
    def arn(self) -> str:
        return self.dynamodb.describe_table(TableName=self.name)["Table"]["TableArn"]

    def items(self) -> list[dict]:
        return self.dynamodb.scan(TableName=self.name, ConsistentRead=True)["Items"]

    def open_letters(self) -> list[str]:
        return [item["lines"]["S"] for item in self.items() if item["id"]["S"].startswith("letters#")]

    def machine(self, user: str) -> dict[str, str]:
        own = {"USER": user, "HOME": f"/nonexistent/{user}", "REDRIVE_JOURNAL": f"dynamodb:{self.name}"}
        return environment() | own

    def run(self, user: str, *arguments: str, code: int = 0) -> Ran:
        command, own = self.elsewhere.command(*arguments), self.machine(user)
        done = subprocess.run(command, env=own, input="", capture_output=True, text=True, timeout=PATIENCE)
        equal(done.returncode, code, f"the exit code of redrive {' '.join(arguments)} ({done.stdout}{done.stderr})")
        return Ran(done.returncode, done.stdout, done.stderr)


@contextmanager
def proxied(endpoint: str, answer: Callable[[str, dict], dict | None]) -> Iterator[str]:
    """A proxy in front of an emulator. `answer` gets the operation and the body of each call, and may answer it itself."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            own = answer(self.headers["x-amz-target"].split(".")[1], json.loads(body))
            found = self.forward(body) if own is None else json.dumps(own).encode()
            self.send_response(200)
            self.send_header("content-type", "application/x-amz-json-1.0")
            self.send_header("content-length", str(len(found)))
            self.end_headers()
            self.wfile.write(found)

        def forward(self, body: bytes) -> bytes:
            headers = {name: value for name, value in self.headers.items() if name.lower() != "host"}
            request = urllib.request.Request(endpoint + self.path, body, headers, method="POST")
            with urllib.request.urlopen(request, timeout=PATIENCE) as answered:
                return answered.read()

        def log_message(self, *_) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        # Clients that were killed are no errors.
        server.handle_error = lambda *_: None
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
