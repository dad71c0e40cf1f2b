"""Where a check plays: two queues of its own in an emulator, letters in them, and redrive."""

import json
import os
import subprocess
import uuid
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from emulators import KEYS, REGION, client

# No run takes longer, waits for empty queues included.
PATIENCE = 60
NOTE, ORIGIN = "redrive.dead-letter", "redrive.origin"


@dataclass(frozen=True)
class Elsewhere:
    """An emulator that runs, and the redrive to try on it."""

    endpoint: str
    redrive: Path
    region: str = REGION

    @cached_property
    def sqs(self):
        return client("sqs", self.endpoint, self.region)

    def orders(self, fifo: bool = False) -> "Orders":
        """A queue with dead letters, as nobody else has it."""
        name, kind = f"orders-{uuid.uuid4().hex[:8]}", {"FifoQueue": "true"} if fifo else {}
        end = ".fifo" if fifo else ""
        dead = self.queue(f"{name}-dead{end}", **kind)
        policy = json.dumps({"deadLetterTargetArn": dead.arn, "maxReceiveCount": 3})
        return Orders(self, self.queue(name + end, **kind, RedrivePolicy=policy), dead)

    def queue(self, name: str, **attributes: str) -> "Queue":
        return Queue(self.sqs, name, self.sqs.create_queue(QueueName=name, Attributes=attributes)["QueueUrl"])

    def command(self, *arguments: str) -> list[str]:
        return [str(self.redrive), *arguments, "--endpoint-url", self.endpoint, "--region", self.region]

    def run(self, *arguments: str, code: int = 0, given: str = "") -> "Ran":
        command = self.command(*arguments)
        done = subprocess.run(
            command, env=environment(), input=given, capture_output=True, text=True, timeout=PATIENCE
        )
        ran = Ran(done.returncode, done.stdout, done.stderr)
        equal(ran.code, code, f"the exit code of redrive {' '.join(arguments)} ({ran.stdout}{ran.stderr})")
        return ran


@dataclass(frozen=True)
class Ran:
    code: int
    stdout: str
    stderr: str

    @property
    def lines(self) -> list[dict]:
        return [json.loads(line) for line in self.stdout.splitlines()]


@dataclass(frozen=True)
class Queue:
    sqs: object
    name: str
    url: str

    @property
    def arn(self) -> str:
        return self.attributes("QueueArn")["QueueArn"]

    def attributes(self, *names: str) -> dict[str, str]:
        return self.sqs.get_queue_attributes(QueueUrl=self.url, AttributeNames=list(names))["Attributes"]

    def counts(self) -> tuple[int, int]:
        """How many messages are visible, and how many in flight."""
        names = ("ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible")
        found = self.attributes(*names)
        return int(found[names[0]]), int(found[names[1]])

    def send(self, body: str, **more) -> str:
        return self.sqs.send_message(QueueUrl=self.url, MessageBody=body, **more)["MessageId"]

    def receive(self, hidden: int = 600) -> list[dict]:
        names = {"MessageAttributeNames": ["All"], "MessageSystemAttributeNames": ["All"]}
        received = self.sqs.receive_message(
            QueueUrl=self.url, MaxNumberOfMessages=10, VisibilityTimeout=hidden, **names
        )
        return received.get("Messages", [])

    def take(self) -> list[dict]:
        """Everything, off the queue: of a FIFO queue the next of a group come once those before are gone."""
        taken = []
        while received := self.receive():
            taken += received
            handles = [{"Id": str(at), "ReceiptHandle": one["ReceiptHandle"]} for at, one in enumerate(received)]
            self.sqs.delete_message_batch(QueueUrl=self.url, Entries=handles)
        return taken

    def bodies(self) -> list[str]:
        return [message["Body"] for message in self.take()]


@dataclass(frozen=True)
class Orders:
    """A queue and its dead letters."""

    elsewhere: Elsewhere
    queue: Queue
    dead: Queue

    def write(self, count: int, reasons: tuple[str, ...] = ("panic",)) -> list[str]:
        """Letters with notes, as redrive writes them: bodies `0`, `1`, and so on, reasons in turns. Their ids."""
        return [self.letter(str(at), reason=reasons[at % len(reasons)]) for at in range(count)]

    def letter(self, body: str, message: str = "", reason: str = "panic", attributes=None, **more) -> str:
        note = {
            "reason": reason,
            "error": "card refused",
            "exception": "shop::Refused",
            "failed_at": "2026-11-21T07:50:00.000Z",
            "attempts": 3,
            "message_id": message or f"message-{body}",
            "source": self.queue.arn,
        }
        attributes = {**(attributes or {}), NOTE: text(json.dumps(note))}
        return self.dead.send(body, MessageAttributes=attributes, **more)

    def run(self, verb: str, *more: str, **how) -> Ran:
        return self.elsewhere.run("dlq", verb, "--queue", self.queue.name, *more, **how)

    def retry(self, *more: str, **how) -> Ran:
        return self.run("retry", "--yes", *more, **how)

    def counts(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """Those of the queue, and those of its dead letters."""
        return self.queue.counts(), self.dead.counts()


def environment() -> dict[str, str]:
    """Nothing of whoever runs this."""
    own = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "REDRIVE_JOURNAL": "off"}
    own |= {"AWS_EC2_METADATA_DISABLED": "true"}
    return own | {name.upper(): value for name, value in KEYS.items()}


def text(value: str, kind: str = "String") -> dict[str, str]:
    return {"DataType": kind, "StringValue": value}


def equal(found, expected, what: str) -> None:
    if found != expected:
        raise AssertionError(f"{what}: {found!r} instead of {expected!r}")


def same(found: list, expected: list, what: str) -> None:
    """In any order."""
    more, less = Counter(found) - Counter(expected), Counter(expected) - Counter(found)
    if more or less:
        raise AssertionError(f"{what}: {sorted(more.elements())} too many, {sorted(less.elements())} missing")


def says(words: str, found: str) -> None:
    if words not in found:
        raise AssertionError(f"{found!r} does not say {words!r}")
