import pytest

from aws import refused, text
from sources import FIFO, MEASURED_SQS, MEASURED_SQS_TESTS, source, sqs, sqs_guide

SEND = sqs("SendMessage")
RECEIVE = sqs("ReceiveMessage")
DEDUPLICATION = sqs_guide("using-messagededuplicationid-property")
HIGH_THROUGHPUT = sqs_guide("high-throughput-fifo")
MINUTES = 60


@source(SEND, DEDUPLICATION)
def test_a_second_message_with_the_same_id_is_accepted_but_not_delivered(aws):
    queue = aws.fifo()
    first = queue.send("a", group="g", MessageDeduplicationId="one")
    second = queue.send("b", group="g", MessageDeduplicationId="one")
    assert second["MessageId"] == first["MessageId"]
    assert second["SequenceNumber"] == first["SequenceNumber"]
    assert queue.bodies() == ["a"]


@source(SEND, DEDUPLICATION)
def test_after_5_minutes_an_id_may_be_used_again(aws, clock):
    queue = aws.fifo()
    queue.send("a", group="g", MessageDeduplicationId="one")
    clock.let_pass(5 * MINUTES - 2)
    queue.send("b", group="g", MessageDeduplicationId="one")
    clock.let_pass(4)
    queue.send("c", group="g", MessageDeduplicationId="one")
    assert queue.bodies() == ["a", "c"]


@source(SEND, MEASURED_SQS_TESTS)
def test_an_id_is_remembered_after_its_message_was_deleted(aws):
    queue = aws.fifo()
    queue.send("a", group="g", MessageDeduplicationId="one")
    queue.delete(queue.take())
    queue.send("b", group="g", MessageDeduplicationId="one")
    assert queue.receive() == []


@source(SEND)
def test_content_based_deduplication_looks_at_the_body_and_not_at_the_attributes(aws):
    queue = aws.fifo()
    first = queue.send("same", group="g", MessageAttributes={"a": text("1")})
    second = queue.send("same", group="g", MessageAttributes={"a": text("2")})
    queue.send("other", group="g")
    assert second["MessageId"] == first["MessageId"]
    assert queue.bodies() == ["same", "other"]


@source(SEND)
def test_an_id_of_its_own_wins_over_the_content(aws):
    queue = aws.fifo()
    queue.send("same", group="g", MessageDeduplicationId="one")
    queue.send("same", group="g", MessageDeduplicationId="two")
    assert queue.bodies() == ["same", "same"]


@source(SEND, MEASURED_SQS)
def test_without_content_based_deduplication_an_id_is_required(aws):
    queue = aws.fifo(ContentBasedDeduplication="false")
    reason = (
        "The queue should either have ContentBasedDeduplication enabled or MessageDeduplicationId provided explicitly"
    )
    refused("InvalidParameterValue", queue.send, group="g", says=reason)


@source(HIGH_THROUGHPUT)
def test_an_id_counts_for_the_whole_queue(aws):
    queue = aws.fifo()
    for group in "gh":
        queue.send(f"in {group}", group=group, MessageDeduplicationId="one")
    assert queue.bodies() == ["in g"]


@source(HIGH_THROUGHPUT, MEASURED_SQS_TESTS)
def test_an_id_may_count_for_its_group_only(aws):
    queue = aws.fifo(DeduplicationScope="messageGroup", FifoThroughputLimit="perMessageGroupId")
    for group in "gh":
        queue.send(f"in {group}", group=group, MessageDeduplicationId="one")
    assert sorted(queue.bodies()) == ["in g", "in h"]


@source(MEASURED_SQS)
@pytest.mark.parametrize("bad", ["", "i" * 129, "group 123"], ids=["empty", "129 characters", "space"])
def test_an_id_that_breaks_the_rules_is_refused(aws, bad):
    reason = "MessageDeduplicationId can only include alphanumeric and punctuation characters. 1 to 128 in length."
    refused("InvalidParameterValue", aws.fifo().send, group="g", MessageDeduplicationId=bad, says=reason)


@source(SEND)
def test_an_id_may_have_128_characters(aws):
    queue = aws.fifo()
    queue.send(group="g", MessageDeduplicationId="i" * 128)
    assert queue.take()["Attributes"]["MessageDeduplicationId"] == "i" * 128


@source(MEASURED_SQS_TESTS)
def test_a_purge_forgets_ids(aws):
    queue = aws.fifo()
    queue.send("a", group="g", MessageDeduplicationId="one")
    aws.sqs.purge_queue(QueueUrl=queue.url)
    queue.send("b", group="g", MessageDeduplicationId="one")
    assert queue.bodies(WaitTimeSeconds=1) == ["b"]


@source(RECEIVE, FIFO)
def test_a_receive_that_is_repeated_with_its_attempt_id_gives_the_same_messages(aws):
    queue = aws.fifo()
    queue.send_all("1", "2", group="g")
    first = queue.receive(ReceiveRequestAttemptId="attempt")
    again = queue.receive(ReceiveRequestAttemptId="attempt")
    assert [message["MessageId"] for message in again] == [message["MessageId"] for message in first]
    assert len(first) == 2
    assert queue.receive(ReceiveRequestAttemptId="another") == []


@source(RECEIVE)
def test_an_attempt_id_is_good_for_5_minutes(aws, clock):
    queue = aws.fifo(VisibilityTimeout=3_600)
    queue.send(group="g")
    assert len(queue.receive(ReceiveRequestAttemptId="attempt")) == 1
    clock.let_pass(5 * MINUTES + 1)
    assert queue.receive(ReceiveRequestAttemptId="attempt") == []


@source(SEND)
def test_a_deduplication_id_on_a_standard_queue_is_refused(aws):
    refused("InvalidParameterValue", aws.queue().send, MessageDeduplicationId="one", says="MessageDeduplicationId")
