import pytest

from aws import redrive_policy, refused
from sources import DEAD_LETTER_RETENTION, MEASURED_SQS, MEASURED_SQS_TESTS, source, sqs

PURGE = sqs("PurgeQueue")
RETENTION = sqs("SetQueueAttributes")
IN_PROGRESS = "AWS.SimpleQueueService.PurgeQueueInProgress"


@source(RETENTION, MEASURED_SQS_TESTS)
@pytest.mark.parametrize("kind", ["standard", "fifo"])
def test_a_message_is_gone_when_its_retention_period_ends(aws, kind):
    make = aws.fifo if kind == "fifo" else aws.queue
    queue = make("tea", MessageRetentionPeriod=60)
    assert queue.counts(after=58) == (1, 0, 0)
    assert queue.receive(after=3) == []
    assert queue.counts() == (0, 0, 0)


@source(RETENTION, MEASURED_SQS_TESTS)
def test_a_message_in_flight_is_gone_when_its_retention_period_ends(aws):
    queue = aws.queue("tea", MessageRetentionPeriod=60, VisibilityTimeout=59)
    queue.take()
    assert queue.receive(after=62) == []


@source(RETENTION)
def test_messages_are_kept_for_4_days_by_default(one):
    assert one.counts(after=4 * 86_400 - 60) == (1, 0, 0)
    assert one.counts(after=120) == (0, 0, 0)


@source(DEAD_LETTER_RETENTION)
@pytest.mark.parametrize(("kind", "kept"), [("standard", 0), ("fifo", 1)])
def test_the_retention_period_of_a_dead_letter_begins_anew_on_a_fifo_queue_only(aws, clock, kind, kept):
    make = aws.fifo if kind == "fifo" else aws.queue
    dead = make(MessageRetentionPeriod=600)
    queue = make("tea", RedrivePolicy=redrive_policy(dead, 1), MessageRetentionPeriod=3_600)
    clock.let_pass(500)
    queue.fail()
    assert queue.receive() == []
    assert dead.counts() == (1, 0, 0)
    assert dead.counts(after=200) == (kept, 0, 0)


@source(PURGE, MEASURED_SQS_TESTS)
def test_a_purge_takes_visible_delayed_and_in_flight_messages(aws, clock):
    queue = aws.queue("in flight")
    queue.take()
    queue.send("visible")
    queue.send("delayed", DelaySeconds=60)
    queue.purge()
    clock.until(lambda: queue.counts() == (0, 0, 0), seconds=60)


@source(PURGE, MEASURED_SQS)
def test_a_second_purge_within_60_seconds_is_refused(queue):
    queue.purge()
    reason = f"Only one PurgeQueue operation on {queue.name} is allowed every 60 seconds."
    refused(f"{IN_PROGRESS}: {reason}", queue.purge, status=403)


@source(PURGE)
def test_a_second_purge_after_60_seconds_is_taken(queue, clock):
    queue.purge()
    clock.let_pass(61)
    queue.purge()


@source(sqs("GetQueueAttributes"))
def test_counts_tell_visible_in_flight_and_delayed_messages_apart(aws):
    queue = aws.queue("1", "2", "3")
    queue.send("4", DelaySeconds=60)
    assert queue.counts() == (3, 0, 1)
    queue.receive(most=1)
    assert queue.counts() == (2, 1, 1)
