"""Concise clients, queues and a clock for the checks."""

import hashlib
import json
import struct
import time
import urllib.request
import uuid
from contextlib import suppress
from functools import cached_property

import boto3
import botocore.session
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from sources import source

REGION = "eu-west-1"
NO_QUEUE = "AWS.SimpleQueueService.NonExistentQueue"
KEYS = {"aws_access_key_id": "test", "aws_secret_access_key": "test"}
# Longest wait of a check in real time, in seconds.
PATIENCE = 5


class Access:
    """How the checks call: an emulator takes any keys, and as many requests as there are."""

    keys, region, prefix, budget, requests = KEYS, REGION, "q-", None, 0
    # The URLs of all queues that were created.
    created: set[str] = set()

    @classmethod
    def count(cls, **_) -> None:
        cls.requests += 1
        if cls.budget and cls.requests > cls.budget:
            pytest.exit(f"more than {cls.budget} requests: raise --budget", returncode=1)

    @classmethod
    def note(cls, parsed, **_) -> None:
        cls.created.update({parsed["QueueUrl"]} if "QueueUrl" in parsed else ())


class Aws:
    """An endpoint of AWS or an emulator."""

    def __init__(self, url: str, skips_time: bool, region: str | None = None):
        self.url, self.region = url, region or Access.region
        self.clock = Clock(url if skips_time else None)

    @cached_property
    def sqs(self):
        return self.client("sqs")

    @cached_property
    def cloudwatch(self):
        return self.client("cloudwatch")

    def client(self, service: str, protocol: str | None = None, **options):
        """Returns a client that does not check parameters and tries once. It can be limited to one of its protocols."""
        session = boto3.Session(botocore_session=botocore.session.Session())
        if protocol:
            loader = session._session.get_component("data_loader")
            metadata = loader.load_service_model(service, "service-2")["metadata"]
            metadata.update(protocol=protocol, protocols=[protocol])
        once = {"retries": {"total_max_attempts": 1}, "connect_timeout": 5, "read_timeout": 30}
        config = Config(parameter_validation=False, **once, **options)
        client = session.client(service, endpoint_url=self.url, region_name=self.region, config=config, **Access.keys)
        client.meta.events.register("before-send", Access.count)
        client.meta.events.register("after-call.sqs.CreateQueue", Access.note)
        return client

    def delete_created(self) -> None:
        """Deletes the queues that checks have left. A client does not see those that were created from bytes."""
        budget, Access.budget = Access.budget, None  # which may be used up
        left = Access.created | set(self.sqs.list_queues(QueueNamePrefix=Access.prefix).get("QueueUrls", []))
        for url in left:
            with suppress(ClientError):  # if a check has deleted it
                self.sqs.delete_queue(QueueUrl=url)
        Access.created.clear()
        Access.budget = budget

    def queue(self, *bodies: str, fifo: bool = False, group: str | None = None, **attributes) -> "Queue":
        """Creates a queue with these messages."""
        name = unused() + (".fifo" if fifo else "")
        attributes = {**attributes, "FifoQueue": "true"} if fifo else attributes
        url = self.sqs.create_queue(QueueName=name, Attributes=texts(attributes))["QueueUrl"]
        queue = Queue(self, name, url)
        queue.send_all(*bodies, group=group)
        return queue

    def fifo(self, *bodies: str, group: str = "a", **attributes) -> "Queue":
        """Creates a FIFO queue with deduplication by content, with these messages of one group."""
        attributes = {"ContentBasedDeduplication": "true", **attributes}
        return self.queue(*bodies, fifo=True, group=group, **attributes)

    def pair(self, most: int = 2, fifo: bool = False, **attributes) -> tuple["Queue", "Queue"]:
        """Creates a queue and its dead-letter queue."""
        make = self.fifo if fifo else self.queue
        dead = make()
        return make(RedrivePolicy=redrive_policy(dead, most), **attributes), dead


class Queue:
    """A queue. Reads can let some seconds pass first, given as `after`."""

    def __init__(self, aws: Aws, name: str, url: str):
        self.sqs, self.clock, self.name, self.url = aws.sqs, aws.clock, name, url

    @cached_property
    def arn(self) -> str:
        return self.attribute("QueueArn")

    def attribute(self, name: str) -> str | None:
        return self.attributes(name).get(name)

    def attributes(self, *names: str) -> dict:
        return self.sqs.get_queue_attributes(QueueUrl=self.url, AttributeNames=names or ["All"]).get("Attributes", {})

    def counts(self, after: float = 0) -> tuple[int, ...]:
        """Returns the numbers of visible, in-flight and delayed messages."""
        self.clock.let_pass(after)
        names = [f"ApproximateNumberOfMessages{which}" for which in ("", "NotVisible", "Delayed")]
        found = self.attributes(*names)
        return tuple(int(found[name]) for name in names)

    def set(self, **attributes) -> None:
        self.sqs.set_queue_attributes(QueueUrl=self.url, Attributes=texts(attributes))

    def send(self, body: str = "tea", group: str | None = None, **parameters) -> dict:
        if group:
            parameters["MessageGroupId"] = group
        return self.sqs.send_message(QueueUrl=self.url, MessageBody=body, **parameters)

    def send_all(self, *bodies: str, **parameters) -> None:
        for body in bodies:
            self.send(body, **parameters)

    def send_batch(self, bodies: dict[str, str]) -> dict:
        """Sends bodies by the ids of their entries."""
        return self.batch("send_message", *({"Id": id, "MessageBody": body} for id, body in bodies.items()))

    def batch(self, operation: str, *entries: dict) -> dict:
        return getattr(self.sqs, f"{operation}_batch")(QueueUrl=self.url, Entries=list(entries))

    def receive(self, most: int = 10, after: float = 0, **parameters) -> list[dict]:
        self.clock.let_pass(after)
        names = {"MessageAttributeNames": ["All"], "MessageSystemAttributeNames": ["All"]}
        parameters = {**names, "MaxNumberOfMessages": most, **parameters}
        return self.sqs.receive_message(QueueUrl=self.url, **parameters).get("Messages", [])

    def take(self, **parameters) -> dict:
        """Receives the only message."""
        messages = self.receive(**parameters)
        assert len(messages) == 1, f"{len(messages)} messages were received instead of 1"
        return messages[0]

    def bodies(self, **parameters) -> list[str]:
        return [message["Body"] for message in self.receive(**parameters)]

    def hide(self, message: dict, seconds: int) -> None:
        handle = message["ReceiptHandle"]
        self.sqs.change_message_visibility(QueueUrl=self.url, ReceiptHandle=handle, VisibilityTimeout=seconds)

    def fail(self, times: int = 1, **parameters) -> None:
        """Receives a message this many times, and shows it again each time."""
        for _ in range(times):
            self.hide(self.take(**parameters), 0)

    def delete(self, message: dict) -> None:
        self.sqs.delete_message(QueueUrl=self.url, ReceiptHandle=message["ReceiptHandle"])

    def purge(self) -> None:
        self.sqs.purge_queue(QueueUrl=self.url)

    def remove(self) -> None:
        self.sqs.delete_queue(QueueUrl=self.url)


class Clock:
    """Lets time pass. redrive-local skips it, others have to wait."""

    def __init__(self, url: str | None):
        self.url = url

    def let_pass(self, seconds: float) -> None:
        if not seconds:
            return
        if self.url:
            self.skip(seconds)
        elif seconds <= PATIENCE:
            time.sleep(seconds)
        else:
            pytest.skip(f"{seconds} s would have to pass, and there is no time control")

    def skip(self, seconds: float) -> float:
        """Skips time, and returns the new time in seconds."""
        request = urllib.request.Request(f"{self.url}/_redrive/skip", data=str(seconds).encode())
        with urllib.request.urlopen(request, timeout=30) as answer:
            return float(answer.read())

    def leave_the_edge(self) -> None:
        """Lets time pass to the middle of a minute, so that no minute ends during a check."""
        if self.url:
            self.at(30)

    def at(self, second: int) -> None:
        """Lets time pass until this second of a minute."""
        if not self.url:
            pytest.skip("it matters where in a minute it is, and there is no time control")
        self.skip((60 + second - self.skip(0) % 60) % 60)

    def until(self, is_so, seconds: float, step: float = 1):
        """Lets time pass until the condition holds, for at most this many seconds."""
        end = time.monotonic() + 30
        while not is_so() and seconds > 0 and time.monotonic() < end:
            self.let_pass(step)
            seconds -= step
        assert is_so(), "it did not become so in time"


def refused(error: str, call, *arguments, status: int | None = 400, **parameters) -> dict:
    """Returns the error of a call that must fail as in `Code: part of the message`. `Code|Other` accepts two codes, and an
    empty text if any error of the client's will."""
    codes, _, says = error.partition(": ")
    try:
        call(*arguments, **parameters)
    except ClientError as refusal:
        found, answer = refusal.response["Error"], refusal.response["ResponseMetadata"]["HTTPStatusCode"]
        # A missing operation does not count as a refusal.
        known = found["Code"] not in ("UnknownOperationException", "InvalidAction")
        assert known if not codes else found["Code"] in codes.split("|"), f"{found} instead of {codes or 'a refusal'}"
        assert answer == status or (status is None and 400 <= answer < 500), f"status {answer}: {found}"
        assert says in found.get("Message", ""), f"{found} does not say: {says}"
        return refusal.response
    raise AssertionError(f"it was not refused; {codes or 'an error'} was expected")


def refusal(error: str, fixture: str, call, *sources: str, cases=(), **expected):
    """Returns a check that a call with a fixture is refused. With cases, which may have names, it is a check for each of them:
    the call takes the case too, and `{}` in the error is the case."""

    def alone(request):
        refused(error, call, request.getfixturevalue(fixture), **expected)

    def each(request, case):
        refused(error.replace("{}", str(case)), call, request.getfixturevalue(fixture), case, **expected)

    values, ids = (cases.values(), list(cases)) if isinstance(cases, dict) else (cases, None)
    check = pytest.mark.parametrize("case", values, ids=ids)(each) if cases else alone
    return source(*sources)(pytest.mark.usefixtures(fixture)(check))


def unused() -> str:
    """Returns a name that no queue has."""
    return f"{Access.prefix}{uuid.uuid4().hex[:12]}"


def texts(attributes: dict) -> dict[str, str]:
    return {name: str(value) for name, value in attributes.items()}


def redrive_policy(dead: Queue | str, most=2) -> str:
    """Returns a redrive policy for a dead-letter queue, or for the queue of an ARN."""
    arn = dead.arn if isinstance(dead, Queue) else dead
    return json.dumps({"deadLetterTargetArn": arn, "maxReceiveCount": most})


def md5(text: str) -> str:
    return hashlib.md5(text.encode()).hexdigest()


def md5_of_attributes(attributes: dict) -> str:
    digest = hashlib.md5()
    for name, attribute in sorted(attributes.items()):
        binary = "BinaryValue" in attribute
        value = attribute["BinaryValue"] if binary else attribute["StringValue"].encode()
        for part in (name.encode(), attribute["DataType"].encode(), value):
            if part is value:
                digest.update(b"\x02" if binary else b"\x01")
            digest.update(struct.pack(">I", len(part)) + part)
    return digest.hexdigest()


def text(value: str, kind: str = "String") -> dict:
    return {"DataType": kind, "StringValue": value}
