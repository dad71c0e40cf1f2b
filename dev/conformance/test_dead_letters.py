import json

import pytest

from aws import NO_QUEUE, redrive_policy, refusal, refused, text
from sources import DEAD_LETTER_REDRIVE, DEAD_LETTERS, MEASURED_SQS, MEASURED_SQS_TESTS, source, sqs

SET = sqs("SetQueueAttributes")
ALLOW = sqs("CreateQueue")
REFUSAL = f"InvalidParameterValue|{NO_QUEUE}"
SOME_ARN = "arn:aws:sqs:eu-west-1:123456789012:a"


@source(DEAD_LETTERS, MEASURED_SQS)
def test_the_receive_after_the_last_one_moves_a_message(aws):
    queue, dead = aws.pair()
    attributes = {"channel": text("web"), "bytes": {"DataType": "Binary", "BinaryValue": b"\x00\xff"}}
    trace = {"AWSTraceHeader": text("Root=1-5759e988-bd862e3fe1be46a994272793")}
    sent = queue.send("tea", MessageAttributes=attributes, MessageSystemAttributes=trace)
    queue.fail(2)
    assert dead.counts() == (0, 0, 0)
    assert queue.receive() == []
    letter = dead.take()
    assert (letter["MessageId"], letter["Body"]) == (sent["MessageId"], "tea")
    assert letter["MessageAttributes"] == attributes
    assert letter["Attributes"]["AWSTraceHeader"] == trace["AWSTraceHeader"]["StringValue"]
    assert queue.counts() == (0, 0, 0)


@source(MEASURED_SQS)
def test_the_receive_count_goes_on_in_the_dead_letter_queue(aws):
    queue, dead = aws.pair(most=1)
    queue.send()
    queue.fail()
    assert queue.receive() == []
    assert dead.take()["Attributes"]["ApproximateReceiveCount"] == "2"


@source(MEASURED_SQS)
def test_a_dead_letter_says_which_queue_it_comes_from(aws):
    queue, dead = aws.pair(most=1)
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
    queue, dead = aws.pair(most=1, fifo=True)
    queue.send_all("1", "2", group="a")
    queue.fail(most=1)
    assert queue.bodies(most=1, WaitTimeSeconds=1) == ["2"]
    letter = dead.take()
    assert (letter["Body"], letter["Attributes"]["MessageGroupId"]) == ("1", "a")


@source(DEAD_LETTER_REDRIVE)
def test_a_fifo_dead_letter_has_its_message_id_as_deduplication_id(aws):
    queue, dead = aws.pair(most=1, fifo=True)
    sent = queue.send(group="a", MessageDeduplicationId="one")
    queue.fail()
    assert queue.receive() == []
    assert dead.take()["Attributes"]["MessageDeduplicationId"] == sent["MessageId"]


@source(SET)
def test_a_redrive_policy_to_a_queue_that_does_not_exist_is_refused(aws, queue):
    for give in (aws.queue, queue.set):
        refused(REFUSAL, give, RedrivePolicy=redrive_policy(queue.arn + "-nowhere"))


@source(SET, MEASURED_SQS_TESTS)
@pytest.mark.parametrize("most", [0, 1001, -1, "many", None])
def test_a_max_receive_count_that_is_not_from_1_to_1000_is_refused(aws, queue, most):
    refused("InvalidParameterValue", aws.queue, RedrivePolicy=redrive_policy(queue, most))


test_a_redrive_policy_that_is_none_is_refused = refusal(
    "InvalidParameterValue", "queue", lambda queue, text: queue.set(RedrivePolicy=text), SET, MEASURED_SQS_TESTS,
    cases={"no target": '{"maxReceiveCount": 3}', "no json": "{", "a list": "[]"})


@source(SET)
def test_a_max_receive_count_may_be_a_number_or_text_from_1_to_1000(aws, queue):
    for most in (1, 1000, "5"):
        found = json.loads(aws.queue(RedrivePolicy=redrive_policy(queue, most)).attribute("RedrivePolicy"))
        assert int(found["maxReceiveCount"]) == int(most)


@source(SET, DEAD_LETTERS)
@pytest.mark.parametrize("fifo", [False, True], ids=["standard to fifo", "fifo to standard"])
def test_a_dead_letter_queue_of_the_other_type_is_refused(aws, fifo):
    dead = aws.queue(fifo=not fifo)
    refused("InvalidParameterValue", aws.queue, fifo=fifo, RedrivePolicy=redrive_policy(dead))


@source(MEASURED_SQS_TESTS)
def test_an_empty_redrive_policy_takes_it_away(aws):
    queue, dead = aws.pair(most=1)
    queue.set(RedrivePolicy="")
    assert queue.attribute("RedrivePolicy") is None
    queue.send()
    queue.fail(3)
    assert dead.counts() == (0, 0, 0)


@source(MEASURED_SQS_TESTS)
@pytest.mark.parametrize("fifo", [False, True], ids=["standard", "fifo"])
def test_a_queue_may_be_its_own_dead_letter_queue(aws, fifo):
    """`test_set_empty_redrive_policy`. Nobody has recorded what happens to a message there."""
    queue = aws.queue(fifo=fifo)
    queue.set(RedrivePolicy=redrive_policy(queue))
    assert json.loads(queue.attribute("RedrivePolicy"))["deadLetterTargetArn"] == queue.arn
    queue.set(RedrivePolicy="")
    assert queue.attribute("RedrivePolicy") is None


@source(ALLOW, DEAD_LETTERS)
def test_a_dead_letter_queue_that_allows_nobody_is_enforced(aws):
    dead = aws.queue(RedriveAllowPolicy=json.dumps({"redrivePermission": "denyAll"}))
    refused("InvalidParameterValue", aws.queue, RedrivePolicy=redrive_policy(dead))


@source(ALLOW, DEAD_LETTERS)
def test_a_dead_letter_queue_that_allows_some_queues_is_enforced(aws):
    friend, stranger = aws.queue(), aws.queue()
    allowed = {"redrivePermission": "byQueue", "sourceQueueArns": [friend.arn]}
    dead = aws.queue(RedriveAllowPolicy=json.dumps(allowed))
    friend.set(RedrivePolicy=redrive_policy(dead))
    refused("InvalidParameterValue", stranger.set, RedrivePolicy=redrive_policy(dead))


test_a_redrive_allow_policy_that_breaks_the_rules_is_refused = refusal(
    "InvalidParameterValue|InvalidAttributeValue", "aws",
    lambda aws, allowed: aws.queue(RedriveAllowPolicy=json.dumps(allowed)), ALLOW,
    cases={
        "unknown word": {"redrivePermission": "somebody"},
        "by no queue": {"redrivePermission": "byQueue"},
        "all and some": {"redrivePermission": "allowAll", "sourceQueueArns": [SOME_ARN]},
        "11 queues": {"redrivePermission": "byQueue", "sourceQueueArns": [f"{SOME_ARN}{each}" for each in range(11)]},
    })


@source(sqs("ListDeadLetterSourceQueues"))
def test_the_sources_of_a_dead_letter_queue_are_listed_in_pages(aws, queue):
    urls = {aws.queue(RedrivePolicy=redrive_policy(queue)).url for _ in range(3)}
    ask = {"QueueUrl": queue.url, "MaxResults": 2}
    first = aws.sqs.list_dead_letter_source_queues(**ask)
    second = aws.sqs.list_dead_letter_source_queues(**ask, NextToken=first["NextToken"])
    assert len(first["queueUrls"]) == 2
    assert set(first["queueUrls"] + second["queueUrls"]) == urls
