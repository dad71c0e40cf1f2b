import pytest

from aws import refused
from sources import DEAD_LETTER_RETENTION, MEASURED_SQS, MEASURED_SQS_TESTS, source, sqs

PURGE = sqs("PurgeQueue")
RETENTION = sqs("SetQueueAttributes")
IN_PROGRESS = "AWS.SimpleQueueService.PurgeQueueInProgress"


@source(RETENTION, MEASURED_SQS_TESTS)
@pytest.mark.parametrize("kind", ["standard", "fifo"])
def test_a_message_is_gone_when_its_retention_period_ends(aws, clock, kind):
    fifo = kind == "fifo"
    queue = aws.fifo(MessageRetentionPeriod=60) if fifo else aws.queue(MessageRetentionPeriod=60)
    queue.send(group="a" if fifo else None)
    clock.let_pass(58)
    assert queue.counts() == (1, 0, 0)
    clock.let_pass(3)
    assert queue.receive() == []
    assert queue.counts() == (0, 0, 0)


@source(RETENTION, MEASURED_SQS_TESTS)
def test_a_message_in_flight_is_gone_when_its_retention_period_ends(aws, clock):
    queue = aws.queue(MessageRetentionPeriod=60, VisibilityTimeout=59)
    queue.send()
    queue.take()
    clock.let_pass(62)
    assert queue.receive() == []


@source(RETENTION)
def test_messages_are_kept_for_4_days_by_default(aws, clock):
    queue = aws.queue()
    queue.send()
    clock.let_pass(4 * 86_400 - 60)
    assert queue.counts() == (1, 0, 0)
    clock.let_pass(120)
    assert queue.counts() == (0, 0, 0)


@source(DEAD_LETTER_RETENTION)
@pytest.mark.parametrize(("kind", "kept"), [("standard", 0), ("fifo", 1)])
def test_the_retention_period_of_a_dead_letter_begins_anew_on_a_fifo_queue_only(aws, clock, kind, kept):
    fifo = {"ContentBasedDeduplication": "true", "fifo": True} if kind == "fifo" else {}
    dead = aws.queue(**fifo, MessageRetentionPeriod=600)
    policy = f'{{"deadLetterTargetArn": "{dead.arn}", "maxReceiveCount": 1}}'
    queue = aws.queue(**fifo, RedrivePolicy=policy, MessageRetentionPeriod=3_600)
    queue.send(group="a" if fifo else None)
    clock.let_pass(500)
    queue.hide(queue.take(), 0)
    assert queue.receive() == []
    assert dead.counts() == (1, 0, 0)
    clock.let_pass(200)
    assert dead.counts() == (kept, 0, 0)


@source(PURGE, MEASURED_SQS_TESTS)
def test_a_purge_takes_visible_delayed_and_in_flight_messages(aws):
    queue = aws.queue()
    queue.send("in flight")
    queue.take()
    queue.send("visible")
    queue.send("delayed", DelaySeconds=60)
    aws.sqs.purge_queue(QueueUrl=queue.url)
    aws.clock.until(lambda: queue.counts() == (0, 0, 0), seconds=60)


@source(PURGE, MEASURED_SQS)
def test_a_second_purge_within_60_seconds_is_refused(aws):
    queue = aws.queue()
    aws.sqs.purge_queue(QueueUrl=queue.url)
    reason = f"Only one PurgeQueue operation on {queue.name} is allowed every 60 seconds."
    refused(IN_PROGRESS, aws.sqs.purge_queue, QueueUrl=queue.url, status=403, says=reason)


@source(PURGE)
def test_a_second_purge_after_60_seconds_is_taken(aws, clock):
    queue = aws.queue()
    aws.sqs.purge_queue(QueueUrl=queue.url)
    clock.let_pass(61)
    aws.sqs.purge_queue(QueueUrl=queue.url)


@source(sqs("GetQueueAttributes"))
def test_counts_tell_visible_in_flight_and_delayed_messages_apart(aws):
    queue = aws.queue()
    queue.send_all("1", "2", "3")
    queue.send("4", DelaySeconds=60)
    assert queue.counts() == (3, 0, 1)
    queue.receive(most=1)
    assert queue.counts() == (2, 1, 1)
