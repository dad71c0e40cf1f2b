import time

import pytest

from aws import Access, NO_QUEUE, refusal, refused, unused
from sources import MEASURED_SQS, MEASURED_SQS_TESTS, QUEUE_QUOTAS, source, sqs, sqs_guide

CREATE = sqs("CreateQueue")
CHANGE = sqs("SetQueueAttributes")
NOWHERE = f"{NO_QUEUE}: The specified queue does not exist."
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


@source(CREATE)
def test_a_queue_without_attributes_has_the_defaults(queue):
    found = queue.attributes()
    assert {name: found.get(name) for name in DEFAULTS} == DEFAULTS
    assert found["QueueArn"].startswith(f"arn:aws:sqs:{Access.region}:")
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
        refused(f"InvalidAttributeValue: Invalid value for the parameter {name}.", aws.queue, **{name: value})


@source(CHANGE)
@each_attribute
def test_a_change_of_an_attribute_beyond_its_limits_is_refused(queue, name):
    refused("InvalidAttributeValue", queue.set, **{name: LIMITS[name][1] + 1})
    assert queue.attribute(name) == DEFAULTS[name]


@source(CHANGE)
def test_a_changed_attribute_holds_for_what_comes_after(queue):
    queue.set(VisibilityTimeout=0)
    assert queue.attribute("VisibilityTimeout") == "0"
    queue.send()
    assert queue.take()["MessageId"] == queue.take()["MessageId"]


@source(MEASURED_SQS)
def test_an_unknown_attribute_is_refused(aws, queue):
    refused("InvalidAttributeName: Unknown Attribute Color.", aws.queue, Color="green")
    refused("InvalidAttributeName: Unknown Attribute Color.", queue.attributes, "Color")


@source(MEASURED_SQS)
@pytest.mark.parametrize(("name", "value", "says"), [
    pytest.param(name, value, says.format(name), id=name) for name, value, says in [
        ("FifoQueue", "false", "Unknown Attribute {}."),
        ("ContentBasedDeduplication", "true", "Unknown Attribute {}."),
        ("DeduplicationScope", "queue", "You can specify the {} only when FifoQueue is set to true."),
        ("FifoThroughputLimit", "perQueue", "You can specify the {} only when FifoQueue is set to true."),
    ]
])
def test_a_standard_queue_with_an_attribute_of_fifo_queues_is_refused(aws, name, value, says):
    refused(f"InvalidAttributeName: {says}", aws.queue, **{name: value})


BOTH_KEYS = {"KmsMasterKeyId": "testKeyId", "SqsManagedSseEnabled": "true"}


@source(MEASURED_SQS)
def test_keys_of_kms_and_of_sqs_together_are_refused(aws, queue):
    """`test_sse_kms_and_sqs_are_mutually_exclusive`."""
    reason = "You can use one type of server-side encryption (SSE) at one time. You can either enable KMS SSE or SQS SSE."
    refused(f"InvalidAttributeName: {reason}", queue.set, **BOTH_KEYS)
    refused(f"InvalidAttributeName: {reason}", aws.queue, **BOTH_KEYS)


@source(MEASURED_SQS)
def test_a_queue_tells_by_which_key_it_is_encrypted(queue):
    """`test_sse_queue_attributes`, `test_set_queue_attributes_default_values`."""
    names = ["SqsManagedSseEnabled", "KmsMasterKeyId", "KmsDataKeyReusePeriodSeconds"]
    told = lambda: tuple(queue.attributes(*names).get(name) for name in names)
    assert told() == ("true", None, None)
    queue.set(KmsMasterKeyId="testKeyId", KmsDataKeyReusePeriodSeconds=6000)
    assert told() == ("false", "testKeyId", "6000")
    queue.set(KmsMasterKeyId="", KmsDataKeyReusePeriodSeconds=300)
    assert told() == ("false", None, None)


test_an_attribute_that_breaks_the_rules_is_refused = refusal(
    "InvalidAttributeValue", "fifo", lambda queue, bad: queue.set(**bad), CHANGE,
    cases={
        "a key for 59 s": {"KmsDataKeyReusePeriodSeconds": 59},
        "a key for more than a day": {"KmsDataKeyReusePeriodSeconds": 86_401},
        "SqsManagedSseEnabled perhaps": {"SqsManagedSseEnabled": "perhaps"},
        "a policy that is not JSON": {"Policy": "yes"},
        "a limit by group without its scope": {"FifoThroughputLimit": "perMessageGroupId"},
    })


@source(CHANGE)
def test_a_policy_is_kept_as_it_is_and_an_empty_one_taken_away(queue):
    policy = '{ "Version": "2012-10-17" }'
    queue.set(Policy=policy, DelaySeconds=5)
    assert queue.attribute("Policy") == policy
    queue.set(Policy="")
    assert (queue.attribute("Policy"), queue.attribute("DelaySeconds")) == (None, "5")


@source(MEASURED_SQS)
def test_a_queue_that_is_changed_keeps_its_scope_of_deduplication(fifo):
    fifo.set(DeduplicationScope="messageGroup", FifoThroughputLimit="perMessageGroupId")
    assert fifo.attribute("DeduplicationScope") == "messageGroup"
    fifo.send("in g", group="g", MessageDeduplicationId="one")
    fifo.send("in h", group="h", MessageDeduplicationId="one")
    assert fifo.bodies() == ["in g"]


@source(sqs_guide("sqs-delay-queues"))
@pytest.mark.parametrize(("fifo", "after"), [(False, (0, 0, 1)), (True, (1, 0, 0))], ids=["standard", "fifo"])
def test_a_new_delay_reaches_what_is_delayed_already_on_a_fifo_queue_only(aws, fifo, after):
    make = aws.fifo if fifo else aws.queue
    queue = make("tea", DelaySeconds=900)
    queue.set(DelaySeconds=0)
    assert queue.counts() == after


@source(sqs("GetQueueAttributes"))
def test_a_queue_tells_when_it_was_changed(queue, clock):
    clock.let_pass(2)
    queue.set(DelaySeconds=5)
    assert int(queue.attribute("LastModifiedTimestamp")) > int(queue.attribute("CreatedTimestamp"))


@source(sqs("GetQueueAttributes"))
def test_without_names_there_are_no_attributes(aws, queue):
    assert "Attributes" not in aws.sqs.get_queue_attributes(QueueUrl=queue.url)


@source(MEASURED_SQS)
def test_the_type_of_a_queue_cannot_be_changed(queue, fifo):
    refused("InvalidAttributeName: Unknown Attribute FifoQueue.", queue.set, FifoQueue="true")
    reason = "Invalid value for the parameter FifoQueue. Reason: Modifying queue type is not supported."
    refused(f"InvalidAttributeValue: {reason}", fifo.set, FifoQueue="false")


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
    again = {"QueueName": queue.name, "Attributes": {"DelaySeconds": "8"}}
    refused(f"QueueAlreadyExists: {reason}", aws.sqs.create_queue, **again)


test_a_name_that_breaks_the_rules_is_refused = refusal(
    "InvalidParameterValue|MissingParameter",
    "aws", lambda aws, name: aws.sqs.create_queue(QueueName=name), QUEUE_QUOTAS,
    cases={"empty": "", "space": "a b", "slash": "a/b", "dot": "a.b", "81": "q" * 81})


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


test_a_page_of_queues_has_1_to_1000 = refusal(
    "InvalidParameterValue", "aws", lambda aws, most: aws.sqs.list_queues(MaxResults=most), sqs("ListQueues"),
    cases=[-1, 0, 1_001])


@source(sqs("GetQueueUrl"))
def test_a_queue_is_found_by_its_name_in_its_account(aws, queue):
    find = lambda **owner: aws.sqs.get_queue_url(QueueName=queue.name, **owner)["QueueUrl"]
    assert find() == find(QueueOwnerAWSAccountId=queue.arn.split(":")[4]) == queue.url
    refused(NO_QUEUE, find, QueueOwnerAWSAccountId="999999999999")


@source(sqs("GetQueueUrl"), MEASURED_SQS)
def test_a_queue_that_does_not_exist_is_named_as_such(aws, queue):
    error = refused(NOWHERE, aws.sqs.get_queue_url, QueueName=unused())
    assert error["Error"]["QueryErrorCode"] == "QueueDoesNotExist"
    queue.url += "-nowhere"
    message = {"ReceiptHandle": "none"}
    for call in (queue.send, queue.receive, queue.counts, queue.purge, queue.remove):
        refused(NOWHERE, call)
    refused(NOWHERE, queue.delete, message)
    refused(NOWHERE, queue.hide, message, 0)


@source(sqs("DeleteQueue"))
def test_a_deleted_queue_is_gone(aws, queue):
    queue.remove()
    refused(NO_QUEUE, queue.send)
    assert "QueueUrls" not in aws.sqs.list_queues(QueueNamePrefix=queue.name)


@source(CREATE, MEASURED_SQS_TESTS)
def test_the_name_of_a_deleted_queue_is_taken_for_60_seconds(aws, queue, clock):
    queue.remove()
    reason = "You must wait 60 seconds after deleting a queue before you can create another with the same name."
    refused(f"AWS.SimpleQueueService.QueueDeletedRecently: {reason}", aws.sqs.create_queue, QueueName=queue.name)
    clock.let_pass(61)
    aws.sqs.create_queue(QueueName=queue.name)


@source(sqs("TagQueue"), MEASURED_SQS_TESTS)
def test_tags_are_set_overwritten_and_taken_away(aws):
    name = unused()
    url = aws.sqs.create_queue(QueueName=name, tags={"a": "1", "b": "2"})["QueueUrl"]
    assert aws.sqs.create_queue(QueueName=name, tags={"c": "7"})["QueueUrl"] == url
    aws.sqs.tag_queue(QueueUrl=url, Tags={"b": "3", "B": "4"})
    aws.sqs.untag_queue(QueueUrl=url, TagKeys=["a", "nowhere"])
    assert aws.sqs.list_queue_tags(QueueUrl=url)["Tags"] == {"b": "3", "B": "4"}
