"""Talks to the SQS of redrive-local as any boto3 program would, and checks what it says. Usage: check_endpoint.py URL

Every digest is computed anew, since botocore checks none. Raises at the first thing that is not as SQS has it.
"""

import hashlib
import json
import struct
import sys

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

ATTRIBUTES = {
    "channel": {"DataType": "String", "StringValue": "web – früh"},
    "cents": {"DataType": "Number.int", "StringValue": "450"},
    "receipt": {"DataType": "Binary", "BinaryValue": bytes(range(256))},
}
TRACE = {"AWSTraceHeader": {"DataType": "String", "StringValue": "Root=1-5759e988-bd862e3fe1be46a994272793"}}


def md5(text: str) -> str:
    return hashlib.md5(text.encode()).hexdigest()


def md5_of_attributes(attributes: dict) -> str:
    """https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-message-metadata.html"""
    digest = hashlib.md5()

    def add(data: bytes) -> None:
        digest.update(struct.pack(">I", len(data)) + data)

    for name, attribute in sorted(attributes.items()):
        add(name.encode())
        add(attribute["DataType"].encode())
        binary = "BinaryValue" in attribute
        digest.update(b"\x02" if binary else b"\x01")
        add(attribute["BinaryValue"] if binary else attribute["StringValue"].encode())
    return digest.hexdigest()


def equal(found, expected, what: str) -> None:
    if found != expected:
        raise AssertionError(f"{what} is {found!r} instead of {expected!r}")


def refused(exception: type, code: str, call, **parameters) -> None:
    try:
        call(**parameters)
    except ClientError as error:
        equal(type(error), exception, code)
        equal(error.response["Error"]["Code"], code, "the error's code")
        equal(error.response["ResponseMetadata"]["HTTPStatusCode"], 400, "its status")
        return
    raise AssertionError(f"nothing was refused; {code} was expected")


def queues(sqs) -> tuple[str, str]:
    dead = sqs.create_queue(QueueName="tea-dead")["QueueUrl"]
    arn = sqs.get_queue_attributes(QueueUrl=dead, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    policy = json.dumps({"deadLetterTargetArn": arn, "maxReceiveCount": 2})
    queue = sqs.create_queue(QueueName="tea", Attributes={"RedrivePolicy": policy, "VisibilityTimeout": "77"})["QueueUrl"]
    equal(sqs.get_queue_url(QueueName="tea")["QueueUrl"], queue, "the queue's URL")
    equal(sqs.list_queues(QueueNamePrefix="tea")["QueueUrls"], [queue, dead], "the list of queues")
    sqs.set_queue_attributes(QueueUrl=queue, Attributes={"VisibilityTimeout": "900"})
    attributes = sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=["All"])["Attributes"]
    equal(attributes["VisibilityTimeout"], "900", "the visibility timeout")
    equal(json.loads(attributes["RedrivePolicy"]), json.loads(policy), "the redrive policy")
    return queue, dead


def receive(sqs, queue: str) -> list[dict]:
    names = {"MessageAttributeNames": ["All"], "MessageSystemAttributeNames": ["All"]}
    return sqs.receive_message(QueueUrl=queue, MaxNumberOfMessages=10, **names).get("Messages", [])


def life_of_a_message(sqs, queue: str, dead: str) -> None:
    body = 'tea, "früh" \U0001f375\n'
    sent = sqs.send_message(
        QueueUrl=queue, MessageBody=body, MessageAttributes=ATTRIBUTES, MessageSystemAttributes=TRACE
    )
    equal(sent["MD5OfMessageBody"], md5(body), "the body's digest")
    equal(sent["MD5OfMessageAttributes"], md5_of_attributes(ATTRIBUTES), "the attributes' digest")
    equal(sent["MD5OfMessageSystemAttributes"], md5_of_attributes(TRACE), "the system attributes' digest")
    for attempt in "12":
        [message] = receive(sqs, queue)
        equal((message["MessageId"], message["Body"]), (sent["MessageId"], body), "the message")
        equal(message["MD5OfBody"], md5(body), "the body's digest")
        equal(message["MD5OfMessageAttributes"], md5_of_attributes(ATTRIBUTES), "the attributes' digest")
        equal(message["MessageAttributes"], ATTRIBUTES, "the attributes")
        equal(message["Attributes"]["ApproximateReceiveCount"], attempt, "the receive count")
        equal(message["Attributes"]["AWSTraceHeader"], TRACE["AWSTraceHeader"]["StringValue"], "the trace header")
        equal(receive(sqs, queue), [], "what can be received while it is in flight")
        sqs.change_message_visibility(QueueUrl=queue, ReceiptHandle=message["ReceiptHandle"], VisibilityTimeout=0)
    equal(receive(sqs, queue), [], "what is left after two deliveries")
    [letter] = receive(sqs, dead)
    equal((letter["MessageId"], letter["Body"]), (sent["MessageId"], body), "the dead letter")
    equal(letter["Attributes"]["DeadLetterQueueSourceArn"].rsplit(":", 1)[1], "tea", "where it comes from")
    sqs.delete_message(QueueUrl=dead, ReceiptHandle=letter["ReceiptHandle"])


def batches(sqs, queue: str) -> None:
    entries = [{"Id": f"e{at}", "MessageBody": f"cup {at}"} for at in range(9)]
    result = sqs.send_message_batch(QueueUrl=queue, Entries=[*entries, {"Id": "bad", "MessageBody": "\x00"}])
    equal([entry["Id"] for entry in result["Failed"]], ["bad"], "what is refused")
    equal(result["Failed"][0]["SenderFault"], True, "whose fault it is")
    digests = {entry["Id"]: entry["MD5OfMessageBody"] for entry in result["Successful"]}
    equal(digests, {entry["Id"]: md5(entry["MessageBody"]) for entry in entries}, "the digests")
    messages = receive(sqs, queue)
    equal(sorted(message["Body"] for message in messages), [entry["MessageBody"] for entry in entries], "the bodies")
    handles = [{"Id": str(at), "ReceiptHandle": message["ReceiptHandle"]} for at, message in enumerate(messages)]
    hidden = [{**handle, "VisibilityTimeout": 0} for handle in handles]
    equal(len(sqs.change_message_visibility_batch(QueueUrl=queue, Entries=hidden)["Successful"]), 9, "shown again")
    again = receive(sqs, queue)
    equal(len(again), 9, "received again")
    handles = [{"Id": str(at), "ReceiptHandle": message["ReceiptHandle"]} for at, message in enumerate(again)]
    result = sqs.delete_message_batch(QueueUrl=queue, Entries=[*handles, {"Id": "x", "ReceiptHandle": "garbage"}])
    equal(len(result["Successful"]), 9, "deleted")
    equal([(e["Id"], e["Code"]) for e in result["Failed"]], [("x", "ReceiptHandleIsInvalid")], "what is refused")


def errors(sqs, queue: str) -> None:
    nowhere, known = queue.rsplit("/", 1)[0] + "/nowhere", sqs.exceptions
    missing = "AWS.SimpleQueueService.NonExistentQueue"
    refused(known.QueueDoesNotExist, missing, sqs.send_message, QueueUrl=nowhere, MessageBody="tea")
    refused(known.QueueDoesNotExist, missing, sqs.get_queue_url, QueueName="nowhere")
    handle = {"QueueUrl": queue, "ReceiptHandle": "garbage"}
    refused(known.ReceiptHandleIsInvalid, "ReceiptHandleIsInvalid", sqs.delete_message, **handle)
    refused(
        known.ReceiptHandleIsInvalid,
        "ReceiptHandleIsInvalid",
        sqs.change_message_visibility,
        **handle,
        VisibilityTimeout=1,
    )
    batch = "AWS.SimpleQueueService."
    entries = [{"Id": str(at), "MessageBody": "tea"} for at in range(11)]
    refused(
        known.TooManyEntriesInBatchRequest,
        batch + "TooManyEntriesInBatchRequest",
        sqs.send_message_batch,
        QueueUrl=queue,
        Entries=entries,
    )
    twice = [entries[0], entries[0]]
    refused(
        known.BatchEntryIdsNotDistinct,
        batch + "BatchEntryIdsNotDistinct",
        sqs.send_message_batch,
        QueueUrl=queue,
        Entries=twice,
    )


def main(url: str) -> None:
    access = {"aws_access_key_id": "test", "aws_secret_access_key": "test"}
    limits = Config(connect_timeout=5, read_timeout=30, retries={"total_max_attempts": 1})
    sqs = boto3.client("sqs", endpoint_url=url, region_name="eu-west-1", config=limits, **access)
    queue, dead = queues(sqs)
    life_of_a_message(sqs, queue, dead)
    batches(sqs, queue)
    errors(sqs, queue)
    sqs.send_message(QueueUrl=queue, MessageBody="dregs")
    sqs.purge_queue(QueueUrl=queue)
    equal(receive(sqs, queue), [], "what a purge leaves")
    sqs.delete_queue(QueueUrl=queue)
    equal(sqs.list_queues(QueueNamePrefix="tea")["QueueUrls"], [dead], "the queues that are left")


if __name__ == "__main__":
    main(sys.argv[1])
