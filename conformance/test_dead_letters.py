import json

import pytest

from aws import refused, text
from sources import DEAD_LETTER_REDRIVE, DEAD_LETTERS, MEASURED_SQS, MEASURED_SQS_TESTS, source, sqs

SET = sqs("SetQueueAttributes")
ALLOW = sqs("CreateQueue")
REFUSAL = "InvalidParameterValue|AWS.SimpleQueueService.NonExistentQueue"


def policy(arn: str, most=2) -> str:
    return json.dumps({"deadLetterTargetArn": arn, "maxReceiveCount": most})


def pair(aws, most=2, fifo=False, **attributes):
    """A queue and the dead-letter queue behind it."""
    extra = {"ContentBasedDeduplication": "true"} if fifo else {}
    dead = aws.queue(fifo=fifo, **extra)
    return aws.queue(fifo=fifo, RedrivePolicy=policy(dead.arn, most), **extra, **attributes), dead


def fail(queue, times: int) -> None:
    for _ in range(times):
        queue.hide(queue.take(), 0)


@source(DEAD_LETTERS, MEASURED_SQS)
def test_the_receive_after_the_last_one_moves_a_message(aws):
    queue, dead = pair(aws)
    attributes = {"channel": text("web"), "bytes": {"DataType": "Binary", "BinaryValue": b"\x00\xff"}}
    trace = {"AWSTraceHeader": text("Root=1-5759e988-bd862e3fe1be46a994272793")}
    sent = queue.send("tea", MessageAttributes=attributes, MessageSystemAttributes=trace)
    fail(queue, 2)
    assert dead.counts() == (0, 0, 0)
    assert queue.receive() == []
    letter = dead.take()
    assert (letter["MessageId"], letter["Body"]) == (sent["MessageId"], "tea")
    assert letter["MessageAttributes"] == attributes
    assert letter["Attributes"]["AWSTraceHeader"] == trace["AWSTraceHeader"]["StringValue"]
    assert queue.counts() == (0, 0, 0)


@source(MEASURED_SQS)
def test_the_receive_count_goes_on_in_the_dead_letter_queue(aws):
    queue, dead = pair(aws, most=1)
    queue.send()
    fail(queue, 1)
    assert queue.receive() == []
    assert dead.take()["Attributes"]["ApproximateReceiveCount"] == "2"


@source(MEASURED_SQS)
def test_a_dead_letter_says_which_queue_it_comes_from(aws):
    queue, dead = pair(aws, most=1)
    queue.send()
    before = queue.take()
    queue.hide(before, 0)
    queue.receive()
    letter = dead.take()["Attributes"]
    assert letter["DeadLetterQueueSourceArn"] == queue.arn
    assert "DeadLetterQueueSourceArn" not in before["Attributes"]
    assert letter["SentTimestamp"] == before["Attributes"]["SentTimestamp"]


@source(DEAD_LETTERS)
def test_a_fifo_dead_letter_keeps_its_group_and_lets_the_next_message_through(aws):
    queue, dead = pair(aws, most=1, fifo=True)
    queue.send_all("1", "2", group="a")
    queue.hide(queue.take(most=1), 0)
    assert queue.bodies(most=1, WaitTimeSeconds=1) == ["2"]
    letter = dead.take()
    assert (letter["Body"], letter["Attributes"]["MessageGroupId"]) == ("1", "a")


@source(DEAD_LETTER_REDRIVE)
def test_a_fifo_dead_letter_has_its_message_id_as_deduplication_id(aws):
    queue, dead = pair(aws, most=1, fifo=True)
    sent = queue.send(group="a", MessageDeduplicationId="one")
    fail(queue, 1)
    assert queue.receive() == []
    assert dead.take()["Attributes"]["MessageDeduplicationId"] == sent["MessageId"]


@source(SET)
def test_a_redrive_policy_to_a_queue_that_does_not_exist_is_refused(aws):
    arn = aws.queue().arn + "-nowhere"
    refused(REFUSAL, aws.queue, RedrivePolicy=policy(arn))
    refused(REFUSAL, aws.queue().set, RedrivePolicy=policy(arn))


@source(SET, MEASURED_SQS_TESTS)
@pytest.mark.parametrize("most", [0, 1001, -1, "many", None])
def test_a_max_receive_count_that_is_not_from_1_to_1000_is_refused(aws, most):
    refused("InvalidParameterValue", aws.queue, RedrivePolicy=policy(aws.queue().arn, most))


@source(SET, MEASURED_SQS_TESTS)
@pytest.mark.parametrize("text", ['{"maxReceiveCount": 3}', "{", "[]"], ids=["no target", "no json", "a list"])
def test_a_redrive_policy_that_is_none_is_refused(aws, text):
    refused("InvalidParameterValue", aws.queue().set, RedrivePolicy=text)


@source(SET)
def test_a_max_receive_count_may_be_a_number_or_text_from_1_to_1000(aws):
    dead = aws.queue()
    for most in (1, 1000, "5"):
        found = json.loads(aws.queue(RedrivePolicy=policy(dead.arn, most)).attribute("RedrivePolicy"))
        assert int(found["maxReceiveCount"]) == int(most)


@source(SET, DEAD_LETTERS)
@pytest.mark.parametrize("fifo", [False, True], ids=["standard to fifo", "fifo to standard"])
def test_a_dead_letter_queue_of_the_other_type_is_refused(aws, fifo):
    dead = aws.queue(fifo=not fifo)
    refused("InvalidParameterValue", aws.queue, fifo=fifo, RedrivePolicy=policy(dead.arn))


@source(MEASURED_SQS_TESTS)
def test_an_empty_redrive_policy_takes_it_away(aws):
    queue, dead = pair(aws, most=1)
    queue.set(RedrivePolicy="")
    assert queue.attribute("RedrivePolicy") is None
    queue.send()
    fail(queue, 3)
    assert dead.counts() == (0, 0, 0)


@source(ALLOW, DEAD_LETTERS)
def test_a_dead_letter_queue_that_allows_nobody_is_enforced(aws):
    dead = aws.queue(RedriveAllowPolicy=json.dumps({"redrivePermission": "denyAll"}))
    refused("InvalidParameterValue", aws.queue, RedrivePolicy=policy(dead.arn))


@source(ALLOW, DEAD_LETTERS)
def test_a_dead_letter_queue_that_allows_some_queues_is_enforced(aws):
    friend, stranger = aws.queue(), aws.queue()
    allowed = {"redrivePermission": "byQueue", "sourceQueueArns": [friend.arn]}
    dead = aws.queue(RedriveAllowPolicy=json.dumps(allowed))
    friend.set(RedrivePolicy=policy(dead.arn))
    refused("InvalidParameterValue", stranger.set, RedrivePolicy=policy(dead.arn))


@source(ALLOW)
@pytest.mark.parametrize(
    "allowed",
    [
        {"redrivePermission": "somebody"},
        {"redrivePermission": "byQueue"},
        {"redrivePermission": "allowAll", "sourceQueueArns": ["arn:aws:sqs:eu-west-1:123456789012:a"]},
        {
            "redrivePermission": "byQueue",
            "sourceQueueArns": [f"arn:aws:sqs:eu-west-1:123456789012:q{each}" for each in range(11)],
        },
    ],
    ids=["unknown word", "by no queue", "all and some", "11 queues"],
)
def test_a_redrive_allow_policy_that_breaks_the_rules_is_refused(aws, allowed):
    codes = "InvalidParameterValue|InvalidAttributeValue"
    refused(codes, aws.queue, RedriveAllowPolicy=json.dumps(allowed))


@source(sqs("ListDeadLetterSourceQueues"))
def test_the_sources_of_a_dead_letter_queue_are_listed_in_pages(aws):
    dead = aws.queue()
    urls = {aws.queue(RedrivePolicy=policy(dead.arn)).url for _ in range(3)}
    first = aws.sqs.list_dead_letter_source_queues(QueueUrl=dead.url, MaxResults=2)
    token = first["NextToken"]
    second = aws.sqs.list_dead_letter_source_queues(QueueUrl=dead.url, MaxResults=2, NextToken=token)
    assert len(first["queueUrls"]) == 2
    assert set(first["queueUrls"] + second["queueUrls"]) == urls
