"""Bodies in S3, as Python's extended client of SQS writes and reads them: the example `payloads` takes them, letters keep them."""

import json
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from emulators import KEYS, REGION, client
from sqs_extended_client import SQSExtendedClientSession

from .scene import PATIENCE, Elsewhere, Orders, environment, equal, says

# The one that the example names.
BUCKET = "documents-payloads"
LINES = ["Zoë \U0001f600" * 10_000] * 3
TEMPLATE = """
Resources:
  Dead: {{Type: AWS::SQS::Queue, Properties: {{QueueName: {dead}}}}}
  Documents:
    Type: AWS::SQS::Queue
    Properties:
      QueueName: {queue}
      VisibilityTimeout: 30
      RedrivePolicy: {{deadLetterTargetArn: !GetAtt Dead.Arn, maxReceiveCount: 3}}
  Index:
    Type: AWS::Serverless::Function
    Properties:
      Timeout: 20
      Environment: {{Variables: {{REDRIVE_DEAD_LETTER_QUEUE_URL: !Ref Dead, REDRIVE_MAX_RECEIVE_COUNT: "3"}}}}
      Events:
        Documents:
          Type: SQS
          Properties: {{Queue: !GetAtt Documents.Arn, FunctionResponseTypes: [ReportBatchItemFailures]}}
"""


def what_the_extended_client_sends_is_handled_and_a_letter_keeps_it(elsewhere: Elsewhere) -> None:
    orders, sender = elsewhere.orders(), extended(elsewhere)
    legacy = extended(elsewhere)
    legacy.use_legacy_attribute = True
    send(sender, orders, {"title": "large", "lines": LINES})
    send(legacy, orders, {"title": "legacy", "lines": LINES})
    send(sender, orders, {"title": "small", "lines": ["a"]})
    refused = {"title": "x" * 300_000, "lines": []}
    send(sender, orders, refused)
    with function(elsewhere, orders):
        wait_for(orders, ((0, 0), (1, 0)))
    [line] = orders.run("list", "--json").lines
    equal((line["reason"], line["error"]), ("empty-document", "a document must have a line"), "the letter")
    shown = json.loads(orders.run("show", line["id"], "--no-logs", "--json", "--payload").stdout)
    equal(json.loads(shown["payload"]["body"]), refused, "what the letter points to")
    equal(json.loads(shown["body"])[1]["s3Key"], shown["payload"]["key"], "where it points")
    # To another queue: a poll of the function that has ended may still take what arrives in this one.
    others = elsewhere.orders()
    orders.retry("--to", others.queue.name)
    [back] = receive(sender, others)
    equal(json.loads(back["Body"]), refused, "what the extended client reads once it is back")


def a_payload_that_is_gone_is_a_letter_at_once(elsewhere: Elsewhere) -> None:
    orders, sender = elsewhere.orders(), extended(elsewhere)
    sender.send_message(
        QueueUrl=orders.queue.url,
        MessageBody="x" * 300_000,
        MessageAttributes={"S3Key": {"DataType": "String", "StringValue": f"gone-{orders.queue.name}"}},
    )
    client("s3", elsewhere.endpoint).delete_object(Bucket=BUCKET, Key=f"gone-{orders.queue.name}")
    with function(elsewhere, orders):
        wait_for(orders, ((0, 0), (1, 0)))
    [line] = orders.run("list", "--json").lines
    equal((line["reason"], line["attempts"]), ("payload-missing", 1), "the letter")
    says("does not exist", orders.run("show", line["id"], "--no-logs", "--payload", code=1).stderr)


def what_redrive_sends_is_read_by_the_extended_client(elsewhere: Elsewhere) -> None:
    orders, receiver = elsewhere.orders(), extended(elsewhere)
    bodies = ["small", json.dumps({"lines": LINES})]
    given = "".join(json.dumps({"body": body, "attributes": {"tenant": "acme"}}) + "\n" for body in bodies)
    told = elsewhere.run("send", "--queue", orders.queue.name, "-", "--payload-bucket", f"{BUCKET}/sent", given=given)
    says(f"2 messages sent to {orders.queue.name}, 1 with its body in s3://{BUCKET}", told.stdout)
    arrived = {message["Body"]: message for message in receive(receiver, orders)}
    equal(set(arrived), set(bodies), "the bodies")
    for message in arrived.values():
        equal(list(message["MessageAttributes"]), ["tenant"], "the attributes that are left")
    says("sent/redrive-", arrived[bodies[1]]["ReceiptHandle"])


def extended(emulator: Elsewhere):
    """A client that stores large bodies in the bucket."""
    client("s3", emulator.endpoint).create_bucket(Bucket=BUCKET)
    session = SQSExtendedClientSession(region_name=REGION, **KEYS)
    sqs = session.client("sqs", endpoint_url=emulator.endpoint)
    sqs.s3_client = client("s3", emulator.endpoint)
    sqs.large_payload_support = BUCKET
    return sqs


def send(sender, orders: Orders, document: dict) -> None:
    sender.send_message(QueueUrl=orders.queue.url, MessageBody=json.dumps(document))


def receive(receiver, orders: Orders) -> list[dict]:
    found = receiver.receive_message(
        QueueUrl=orders.queue.url, MaxNumberOfMessages=10, MessageAttributeNames=["All"], WaitTimeSeconds=1
    )
    return found["Messages"]


@contextmanager
def function(elsewhere: Elsewhere, orders: Orders) -> Iterator[None]:
    """The example, as `redrive local` runs it with the queues of the emulator."""
    with tempfile.TemporaryDirectory() as folder:
        template = Path(folder) / "template.yaml"
        template.write_text(TEMPLATE.format(queue=orders.queue.name, dead=orders.dead.name))
        command = [str(elsewhere.redrive), "local", "--template", str(template), "--endpoint-url", elsewhere.endpoint]
        command += ["--region", REGION, "--json", "--binary", str(elsewhere.redrive.parent / "examples" / "payloads")]
        quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        running = subprocess.Popen(command, env=environment(), cwd=folder, **quiet)
        try:
            yield
        finally:
            running.terminate()
            running.wait(timeout=PATIENCE)


def wait_for(orders: Orders, counts: tuple) -> None:
    deadline = time.monotonic() + PATIENCE
    while (found := orders.counts()) != counts:
        if time.monotonic() > deadline:
            raise AssertionError(f"what is where after {PATIENCE} s: {found} instead of {counts}")
        time.sleep(0.2)
