"""Requests made from the service model of SQS: each field of each operation left out, null, of another type, and too long."""

from collections.abc import Iterator

import pytest
from botocore.loaders import Loader

from aws import redrive_policy, unused
from sources import JSON_PROTOCOL, NULLS, source, sqs
from wire import Answer, aws_json

MODEL = Loader().load_service_model("sqs", "service-2")
SHAPES, OPERATIONS = MODEL["shapes"], sorted(MODEL["operations"])
OTHERS = {"string": [{"a": "b"}, ["a"]], "integer": ["many", [1], {"a": 1}], "list": ["a", 1, {"a": "b"}], "map": ["a", 1, ["a"]]}
# Longest texts in characters, by the pages of the operations that take them.
LONGEST = {"QueueName": 80, "Label": 80, "MessageBody": 1_048_576}
LONGEST |= dict.fromkeys(("MessageDeduplicationId", "MessageGroupId", "ReceiveRequestAttemptId"), 128)


def fields(operation: str) -> dict[str, str]:
    """Returns the types of an operation's fields."""
    members = shape(operation)["members"]
    return {name: SHAPES[member["shape"]]["type"] for name, member in members.items()}


def required(operation: str) -> list[str]:
    return shape(operation).get("required", [])


def shape(operation: str) -> dict:
    return SHAPES[MODEL["operations"][operation]["input"]["shape"]]


def valid(aws, operation: str) -> dict:
    """Returns a request that succeeds, with queues and a message of its own."""
    dead = aws.fifo() if operation in ("ReceiveMessage", "SendMessage") else aws.queue("tea")
    queue = aws.queue("tea", RedrivePolicy=redrive_policy(dead, 9)) if not dead.name.endswith(".fifo") else dead
    values = {"QueueUrl": queue.url, "Label": "all", "AWSAccountIds": ["123456789012"], "Actions": ["SendMessage"]}
    values |= {"QueueName": queue.name, "MessageBody": "tea", "VisibilityTimeout": 30, "SourceArn": dead.arn, "TagKeys": ["team"]}
    values |= {"Attributes": {"VisibilityTimeout": "60"}, "Tags": {"team": "shop"}}
    if operation == "CreateQueue":
        return {"QueueName": unused()}
    if operation == "SendMessage":
        return {"QueueUrl": queue.url, "MessageBody": "tea", "MessageGroupId": "a"}
    if operation == "RemovePermission":
        aws.sqs.add_permission(QueueUrl=queue.url, Label="all", AWSAccountIds=["123456789012"], Actions=["SendMessage"])
    if operation == "CancelMessageMoveTask":
        slow = {"SourceArn": dead.arn, "MaxNumberOfMessagesPerSecond": 1}
        return {"TaskHandle": aws.sqs.start_message_move_task(**slow)["TaskHandle"]}
    if "ReceiptHandle" in fields(operation) or operation in ("ChangeMessageVisibilityBatch", "DeleteMessageBatch"):
        values["ReceiptHandle"] = queue.take()["ReceiptHandle"]
        values["Entries"] = [{"Id": "a", "ReceiptHandle": values["ReceiptHandle"], "VisibilityTimeout": 30}]
    if operation == "DeleteMessageBatch":
        del values["Entries"][0]["VisibilityTimeout"]
    if operation == "SendMessageBatch":
        values["Entries"] = [{"Id": "a", "MessageBody": "tea"}]
    return {name: values[name] for name in required(operation)}


def ask(aws, operation: str, request: dict) -> Answer:
    return aws_json(aws.url, f"AmazonSQS.{operation}", request)


def is_refused(answer: Answer) -> bool:
    return 400 <= answer.status < 500 and "__type" in answer.json


def different(aws, operation: str, variants: Iterator[tuple[str, object]], expected) -> list[str]:
    """Returns the variants of a valid request whose answers are not as expected."""
    found = []
    for name, value in variants:
        answer = ask(aws, operation, {**valid(aws, operation), name: value})
        if not expected(answer):
            found.append(f"{name}={str(value)[:40]}: {answer.status} {answer.body[:200]}")
    return found


operations = pytest.mark.parametrize("operation", OPERATIONS)


@source(JSON_PROTOCOL)
@operations
def test_a_request_with_the_required_fields_is_accepted(aws, operation):
    answer = ask(aws, operation, valid(aws, operation))
    assert answer.status == 200, answer.body


@source(JSON_PROTOCOL, NULLS)
@operations
def test_a_request_without_a_required_field_is_refused_and_null_is_as_if_it_were_left_out(aws, operation):
    for name in required(operation):
        request = valid(aws, operation)
        answers = [ask(aws, operation, request | {name: None}), ask(aws, operation, {key: request[key] for key in request if key != name})]
        assert all(is_refused(answer) for answer in answers), (name, answers)
        assert answers[0].json["__type"] == answers[1].json["__type"], (name, answers)
    given = valid(aws, operation)
    optional = [(name, None) for name in fields(operation) if name not in given]
    assert different(aws, operation, optional, lambda answer: answer.status == 200) == []


@source(JSON_PROTOCOL)
@operations
def test_a_value_of_another_type_is_refused(aws, operation):
    variants = [(name, value) for name, kind in fields(operation).items() for value in OTHERS[kind]]
    assert different(aws, operation, variants, is_refused) == []


@pytest.mark.parametrize("operation", [operation for operation in OPERATIONS if LONGEST.keys() & fields(operation).keys()])
@source(sqs("SendMessage"), sqs("ReceiveMessage"), sqs("CreateQueue"), sqs("AddPermission"))
def test_a_text_that_is_too_long_is_refused(aws, operation):
    variants = [(name, "a" * (longest + 1)) for name, longest in LONGEST.items() if name in fields(operation)]
    assert different(aws, operation, variants, is_refused) == []
