"""Clients, queues and a clock for the checks, in as few words as possible."""

import hashlib
import struct
import time
import urllib.request
import uuid
from functools import cached_property

import boto3
import botocore.session
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

REGION = "eu-west-1"
KEYS = {"aws_access_key_id": "test", "aws_secret_access_key": "test"}
# A check waits this long in real time, and no longer.
PATIENCE = 5


class Aws:
    """An endpoint that says it is AWS."""

    def __init__(self, url: str, skips_time: bool):
        self.url = url
        self.clock = Clock(url if skips_time else None)

    @cached_property
    def sqs(self):
        return self.client("sqs")

    @cached_property
    def cloudwatch(self):
        return self.client("cloudwatch")

    def client(self, service: str, protocol: str | None = None, **options):
        """A client that checks no parameters itself and tries once. It may be held to one of its protocols."""
        session = boto3.Session(botocore_session=botocore.session.Session())
        if protocol:
            loader = session._session.get_component("data_loader")
            metadata = loader.load_service_model(service, "service-2")["metadata"]
            metadata.update(protocol=protocol, protocols=[protocol])
        limits = Config(
            connect_timeout=5,
            read_timeout=30,
            retries={"total_max_attempts": 1},
            parameter_validation=False,
            **options,
        )
        return session.client(service, endpoint_url=self.url, region_name=REGION, config=limits, **KEYS)

    def queue(self, fifo: bool = False, **attributes) -> "Queue":
        name = f"q-{uuid.uuid4().hex[:12]}" + (".fifo" if fifo else "")
        if fifo:
            attributes["FifoQueue"] = "true"
        attributes = {key: str(value) for key, value in attributes.items()}
        return Queue(self.sqs, name, self.sqs.create_queue(QueueName=name, Attributes=attributes)["QueueUrl"])

    def fifo(self, **attributes) -> "Queue":
        return self.queue(fifo=True, **{"ContentBasedDeduplication": "true", **attributes})


class Queue:
    def __init__(self, sqs, name: str, url: str):
        self.sqs, self.name, self.url = sqs, name, url

    @cached_property
    def arn(self) -> str:
        return self.attribute("QueueArn")

    def attribute(self, name: str) -> str | None:
        return self.attributes(name).get(name)

    def attributes(self, *names: str) -> dict:
        return self.sqs.get_queue_attributes(QueueUrl=self.url, AttributeNames=names or ["All"]).get("Attributes", {})

    def counts(self) -> tuple[int, int, int]:
        """How many messages are visible, in flight and delayed."""
        names = "ApproximateNumberOfMessages"
        found = self.attributes(names, names + "NotVisible", names + "Delayed")
        return int(found[names]), int(found[names + "NotVisible"]), int(found[names + "Delayed"])

    def set(self, **attributes) -> None:
        attributes = {name: str(value) for name, value in attributes.items()}
        self.sqs.set_queue_attributes(QueueUrl=self.url, Attributes=attributes)

    def send(self, body: str = "tea", group: str | None = None, **parameters) -> dict:
        if group:
            parameters["MessageGroupId"] = group
        return self.sqs.send_message(QueueUrl=self.url, MessageBody=body, **parameters)

    def send_all(self, *bodies: str, **parameters) -> None:
        for body in bodies:
            self.send(body, **parameters)

    def receive(self, most: int = 10, **parameters) -> list[dict]:
        names = {"MessageAttributeNames": ["All"], "MessageSystemAttributeNames": ["All"]}
        parameters = {**names, "MaxNumberOfMessages": most, **parameters}
        return self.sqs.receive_message(QueueUrl=self.url, **parameters).get("Messages", [])

    def take(self, **parameters) -> dict:
        """Receives the one message that there is."""
        messages = self.receive(**parameters)
        assert len(messages) == 1, f"{len(messages)} messages were received instead of 1"
        return messages[0]

    def bodies(self, **parameters) -> list[str]:
        return [message["Body"] for message in self.receive(**parameters)]

    def hide(self, message: dict, seconds: int) -> None:
        self.sqs.change_message_visibility(
            QueueUrl=self.url, ReceiptHandle=message["ReceiptHandle"], VisibilityTimeout=seconds
        )

    def delete(self, message: dict) -> None:
        self.sqs.delete_message(QueueUrl=self.url, ReceiptHandle=message["ReceiptHandle"])


class Clock:
    """Lets time pass: redrive-local skips it, others have to wait."""

    def __init__(self, url: str | None):
        self.url = url

    def let_pass(self, seconds: float) -> None:
        if self.url:
            self.skip(seconds)
        elif seconds <= PATIENCE:
            time.sleep(seconds)
        else:
            pytest.skip(f"{seconds} s would have to pass, and there is no time control")

    def skip(self, seconds: float) -> float:
        """Skips time, and says in seconds what time it is then."""
        request = urllib.request.Request(f"{self.url}/_redrive/skip", data=str(seconds).encode())
        with urllib.request.urlopen(request, timeout=30) as answer:
            return float(answer.read())

    def leave_the_edge(self) -> None:
        """Lets time pass to the middle of a minute, so that none ends while a check runs."""
        if self.url:
            self.skip((90 - self.skip(0) % 60) % 60)

    def until(self, is_so, seconds: float, step: float = 1):
        """Lets time pass until it is so, for at most so many seconds."""
        end = time.monotonic() + 30
        while not is_so() and seconds > 0 and time.monotonic() < end:
            self.let_pass(step)
            seconds -= step
        assert is_so(), "it did not become so in time"


def refused(codes: str, call, *arguments, status: int | None = 400, says: str = "", **parameters) -> dict:
    """The error of a call that must fail with one of the codes, apart by `|`; any client error if there is none."""
    try:
        call(*arguments, **parameters)
    except ClientError as error:
        found, answer = error.response["Error"], error.response["ResponseMetadata"]["HTTPStatusCode"]
        # That an operation is missing is no refusal.
        known = found["Code"] not in ("UnknownOperationException", "InvalidAction")
        assert known if not codes else found["Code"] in codes.split("|"), f"{found} instead of {codes or 'a refusal'}"
        assert answer == status or (status is None and 400 <= answer < 500), f"status {answer}: {found}"
        assert says in found.get("Message", ""), f"{found} does not say: {says}"
        return error.response
    raise AssertionError(f"it was not refused; {codes or 'an error'} was expected")


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
