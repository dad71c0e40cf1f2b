import time
import uuid

import pytest

from aws import refused
from sources import MEASURED_SQS, MEASURED_SQS_TESTS, QUEUE_QUOTAS, source, sqs

CREATE = sqs("CreateQueue")
NONEXISTENT = "AWS.SimpleQueueService.NonExistentQueue"
DEFAULTS = {
    "DelaySeconds": "0",
    "MaximumMessageSize": "1048576",
    "MessageRetentionPeriod": "345600",
    "ReceiveMessageWaitTimeSeconds": "0",
    "VisibilityTimeout": "30",
}
LIMITS = {
    "DelaySeconds": (0, 900),
    "MaximumMessageSize": (1_024, 1_048_576),
    "MessageRetentionPeriod": (60, 1_209_600),
    "ReceiveMessageWaitTimeSeconds": (0, 20),
    "VisibilityTimeout": (0, 43_200),
}
each_attribute = pytest.mark.parametrize("name", LIMITS)


def unused() -> str:
    return f"q-{uuid.uuid4().hex[:12]}"


@source(CREATE)
def test_a_queue_without_attributes_has_the_defaults(aws):
    queue = aws.queue()
    found = queue.attributes()
    assert {name: found.get(name) for name in DEFAULTS} == DEFAULTS
    assert found["QueueArn"].startswith("arn:aws:sqs:eu-west-1:")
    assert found["QueueArn"].endswith(f":{queue.name}")
    assert abs(int(found["CreatedTimestamp"]) - time.time()) < 86_400
    assert "FifoQueue" not in found


@source(CREATE)
def test_a_fifo_queue_without_attributes_has_the_defaults(aws):
    found = aws.queue(fifo=True).attributes()
    expected = {
        "FifoQueue": "true",
        "ContentBasedDeduplication": "false",
        "DeduplicationScope": "queue",
        "FifoThroughputLimit": "perQueue",
    }
    assert {name: found.get(name) for name in expected} == expected


@source(CREATE)
@each_attribute
def test_attributes_at_their_limits_are_taken(aws, name):
    for value in LIMITS[name]:
        assert aws.queue(**{name: value}).attribute(name) == str(value)


@source(CREATE)
@each_attribute
def test_a_queue_with_an_attribute_beyond_its_limits_is_refused(aws, name):
    low, high = LIMITS[name]
    for value in (low - 1, high + 1, "soon"):
        says = f"Invalid value for the parameter {name}."
        refused("InvalidAttributeValue", aws.queue, **{name: value}, says=says)


@source(sqs("SetQueueAttributes"))
@each_attribute
def test_a_change_of_an_attribute_beyond_its_limits_is_refused(aws, name):
    queue = aws.queue()
    refused("InvalidAttributeValue", queue.set, **{name: LIMITS[name][1] + 1})
    assert queue.attribute(name) == DEFAULTS[name]


@source(sqs("SetQueueAttributes"))
def test_a_changed_attribute_holds_for_what_comes_after(aws):
    queue = aws.queue()
    queue.set(VisibilityTimeout=0)
    assert queue.attribute("VisibilityTimeout") == "0"
    queue.send()
    assert queue.take()["MessageId"] == queue.take()["MessageId"]


@source(MEASURED_SQS)
def test_an_unknown_attribute_is_refused(aws):
    refused("InvalidAttributeName", aws.queue, Color="green", says="Unknown Attribute Color.")
    refused("InvalidAttributeName", aws.queue().attributes, "Color", says="Unknown Attribute Color.")


@source(MEASURED_SQS)
@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("FifoQueue", "Unknown Attribute FifoQueue."),
        ("ContentBasedDeduplication", "Unknown Attribute ContentBasedDeduplication."),
        ("DeduplicationScope", "You can specify the DeduplicationScope only when FifoQueue is set to true."),
        ("FifoThroughputLimit", "You can specify the FifoThroughputLimit only when FifoQueue is set to true."),
    ],
    ids=["FifoQueue", "ContentBasedDeduplication", "DeduplicationScope", "FifoThroughputLimit"],
)
def test_a_standard_queue_with_an_attribute_of_fifo_queues_is_refused(aws, name, says):
    values = {"DeduplicationScope": "queue", "FifoThroughputLimit": "perQueue"}
    value = "false" if name == "FifoQueue" else values.get(name, "true")
    refused("InvalidAttributeName", aws.queue, **{name: value}, says=says)


@source(MEASURED_SQS)
def test_the_type_of_a_queue_cannot_be_changed(aws):
    reason = "Unknown Attribute FifoQueue."
    refused("InvalidAttributeName", aws.queue().set, FifoQueue="true", says=reason)
    reason = "Invalid value for the parameter FifoQueue. Reason: Modifying queue type is not supported."
    refused("InvalidAttributeValue", aws.fifo().set, FifoQueue="false", says=reason)


@source(CREATE, MEASURED_SQS_TESTS)
def test_creating_a_queue_again_with_the_same_attributes_gives_the_same_url(aws):
    queue = aws.queue(DelaySeconds=7)
    again = aws.sqs.create_queue(QueueName=queue.name, Attributes={"DelaySeconds": "7"})
    assert again["QueueUrl"] == queue.url
    assert aws.sqs.create_queue(QueueName=queue.name)["QueueUrl"] == queue.url


@source(CREATE, MEASURED_SQS)
def test_creating_a_queue_again_with_another_attribute_is_refused(aws):
    queue = aws.queue(DelaySeconds=7)
    reason = "A queue already exists with the same name and a different value for attribute DelaySeconds"
    create = aws.sqs.create_queue
    refused("QueueAlreadyExists", create, QueueName=queue.name, Attributes={"DelaySeconds": "8"}, says=reason)


@source(QUEUE_QUOTAS)
@pytest.mark.parametrize("name", ["", "a b", "a/b", "a.b", "q" * 81], ids=["empty", "space", "slash", "dot", "81"])
def test_a_name_that_breaks_the_rules_is_refused(aws, name):
    refused("InvalidParameterValue|MissingParameter", aws.sqs.create_queue, QueueName=name)


@source(QUEUE_QUOTAS)
def test_a_name_may_have_80_characters(aws):
    name = (unused() + "-_").ljust(80, "Z")
    assert aws.sqs.create_queue(QueueName=name)["QueueUrl"].endswith(f"/{name}")


@source(CREATE, MEASURED_SQS_TESTS)
def test_a_fifo_queue_has_a_name_that_ends_in_fifo_and_a_standard_queue_has_not(aws):
    create = aws.sqs.create_queue
    refused("InvalidParameterValue", create, QueueName=unused(), Attributes={"FifoQueue": "true"})
    refused("InvalidParameterValue", create, QueueName=unused() + ".fifo")


@source(sqs("ListQueues"), MEASURED_SQS_TESTS)
def test_queues_are_listed_by_prefix_and_in_pages(aws):
    prefix = unused()
    urls = {aws.sqs.create_queue(QueueName=f"{prefix}-{each}")["QueueUrl"] for each in range(3)}
    first = aws.sqs.list_queues(QueueNamePrefix=prefix, MaxResults=2)
    second = aws.sqs.list_queues(QueueNamePrefix=prefix, MaxResults=2, NextToken=first["NextToken"])
    assert len(first["QueueUrls"]) == 2
    assert set(first["QueueUrls"] + second["QueueUrls"]) == urls
    assert "NextToken" not in second
    assert "QueueUrls" not in aws.sqs.list_queues(QueueNamePrefix=unused())


@source(sqs("GetQueueUrl"))
def test_a_queue_is_found_by_its_name(aws):
    queue = aws.queue()
    assert aws.sqs.get_queue_url(QueueName=queue.name)["QueueUrl"] == queue.url


@source(sqs("GetQueueUrl"), MEASURED_SQS)
def test_a_queue_that_does_not_exist_is_named_as_such(aws):
    reason = "The specified queue does not exist."
    error = refused(NONEXISTENT, aws.sqs.get_queue_url, QueueName=unused(), says=reason)
    assert error["Error"]["QueryErrorCode"] == "QueueDoesNotExist"
    url = aws.queue().url + "-nowhere"
    refused(NONEXISTENT, aws.sqs.send_message, QueueUrl=url, MessageBody="tea", says=reason)
    refused(NONEXISTENT, aws.sqs.receive_message, QueueUrl=url, says=reason)


@source(sqs("DeleteQueue"))
def test_a_deleted_queue_is_gone(aws):
    queue = aws.queue()
    aws.sqs.delete_queue(QueueUrl=queue.url)
    refused(NONEXISTENT, queue.send)
    assert "QueueUrls" not in aws.sqs.list_queues(QueueNamePrefix=queue.name)


@source(CREATE, MEASURED_SQS_TESTS)
def test_the_name_of_a_deleted_queue_is_taken_for_60_seconds(aws, clock):
    queue = aws.queue()
    aws.sqs.delete_queue(QueueUrl=queue.url)
    reason = "You must wait 60 seconds after deleting a queue before you can create another with the same name."
    code = "AWS.SimpleQueueService.QueueDeletedRecently"
    refused(code, aws.sqs.create_queue, QueueName=queue.name, says=reason)
    clock.let_pass(61)
    aws.sqs.create_queue(QueueName=queue.name)


@source(sqs("TagQueue"), MEASURED_SQS_TESTS)
def test_tags_are_set_overwritten_and_taken_away(aws):
    name = unused()
    url = aws.sqs.create_queue(QueueName=name, tags={"a": "1", "b": "2"})["QueueUrl"]
    aws.sqs.tag_queue(QueueUrl=url, Tags={"b": "3", "B": "4"})
    aws.sqs.untag_queue(QueueUrl=url, TagKeys=["a", "nowhere"])
    assert aws.sqs.list_queue_tags(QueueUrl=url)["Tags"] == {"b": "3", "B": "4"}
