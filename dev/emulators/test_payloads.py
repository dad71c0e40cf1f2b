"""Tests bodies in S3 with Python's extended client of SQS, and in the example `payloads`."""

import json

from aws import KEYS
from shop import Shop, lines
from sqs_extended_client import SQSExtendedClientSession

# The bucket that the example names.
BUCKET = "documents-payloads"
LINES = ["Zoë \U0001f600" * 10_000] * 3


def test_what_the_extended_client_sends_is_handled_and_letters_keep_it(shop):
    sender, legacy = extended(shop), extended(shop)
    legacy.use_legacy_attribute = True
    refused, gone = ({"title": "x" * 300_000, "lines": lines} for lines in ([], ["gone"]))
    for client, document in ((sender, {"title": "a", "lines": LINES}), (legacy, {"title": "b", "lines": LINES}), (sender, refused)):
        client.send_message(QueueUrl=shop.queue.url, MessageBody=json.dumps(document))
    key = {"S3Key": {"DataType": "String", "StringValue": f"gone-{shop.queue.name}"}}
    sender.send_message(QueueUrl=shop.queue.url, MessageBody=json.dumps(gone), MessageAttributes=key)
    shop.aws.client("s3").delete_object(Bucket=BUCKET, Key=key["S3Key"]["StringValue"])
    with shop.aws.worker("examples/payloads", shop.queue):
        shop.wait_for_letters(2)
    letters = {line["reason"]: line["id"] for line in lines(shop.dlq("list", "--json"))}
    assert set(letters) == {"empty-document", "payload-missing"}
    shown = json.loads(shop.dlq("show", letters["empty-document"], "--no-logs", "--json", "--payload").stdout)
    assert json.loads(shown["payload"]["body"]) == refused
    assert "does not exist" in shop.dlq("show", letters["payload-missing"], "--no-logs", "--payload", code=1).stderr
    # A poll of the ended worker may receive messages that arrive in its own queue.
    other = Shop(shop.aws)
    shop.retry("--where", "reason = empty-document", "--to", other.queue.name)
    [back] = received(sender, other)
    assert json.loads(back["Body"]) == refused


def test_the_extended_client_reads_what_redrive_sends(shop):
    client = extended(shop)
    bodies = ["small", json.dumps({"lines": LINES})]
    given = "\n".join(json.dumps({"body": body, "attributes": {"tenant": "acme"}}) for body in bodies)
    shop.aws.redrive("send", "--queue", shop.queue.name, "-", "--payload-bucket", f"{BUCKET}/sent", given=given)
    arrived = {message["Body"]: message for message in received(client, shop)}
    assert set(arrived) == set(bodies)
    assert [list(message["MessageAttributes"]) for message in arrived.values()] == [["tenant"]] * 2
    assert "sent/redrive-" in arrived[bodies[1]]["ReceiptHandle"]


def extended(shop: Shop):
    """Returns a client that stores large bodies in the bucket."""
    aws = shop.aws
    aws.bucket(BUCKET)
    sqs = SQSExtendedClientSession(region_name=aws.region, **KEYS).client("sqs", endpoint_url=aws.url)
    sqs.s3_client, sqs.large_payload_support = aws.client("s3"), BUCKET
    return sqs


def received(client, shop: Shop) -> list[dict]:
    how = {"MaxNumberOfMessages": 10, "MessageAttributeNames": ["All"], "WaitTimeSeconds": 1}
    return client.receive_message(QueueUrl=shop.queue.url, **how)["Messages"]
