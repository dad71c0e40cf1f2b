from hashlib import sha256

from aws import md5, refusal, refused, text
from sources import FIFO, MEASURED_SQS, MEASURED_SQS_TESTS, RECEIVE, SEND, source, sqs_guide

DEDUPLICATION = sqs_guide("using-messagededuplicationid-property")
HIGH_THROUGHPUT = sqs_guide("high-throughput-fifo")
MINUTES = 60
ONE = {"MessageDeduplicationId": "one"}
IN_G = {"group": "g", **ONE}


@source(SEND, DEDUPLICATION)
def test_a_second_message_with_the_same_id_is_accepted_but_not_delivered(fifo):
    first, second = fifo.send("a", **IN_G), fifo.send("b", **IN_G)
    assert second["MD5OfMessageBody"] == md5("b"), "clients compare it with what they have sent"
    assert second["MessageId"] == first["MessageId"]
    assert second["SequenceNumber"] == first["SequenceNumber"]
    assert fifo.bodies() == ["a"]


@source(SEND, DEDUPLICATION)
def test_after_5_minutes_an_id_may_be_used_again(fifo, clock):
    for body, later in [("a", 5 * MINUTES - 2), ("b", 4), ("c", 0)]:
        fifo.send(body, **IN_G)
        clock.let_pass(later)
    assert fifo.bodies() == ["a", "c"]


@source(SEND, MEASURED_SQS_TESTS)
def test_an_id_is_remembered_after_its_message_was_deleted(fifo):
    fifo.send("a", **IN_G)
    fifo.delete(fifo.take())
    fifo.send("b", **IN_G)
    assert fifo.receive() == []


@source(SEND)
def test_content_based_deduplication_looks_at_the_body_and_not_at_the_attributes(fifo):
    first, second = (fifo.send("same", group="g", MessageAttributes={"a": text(value)}) for value in "12")
    fifo.send("other", group="g")
    assert second["MessageId"] == first["MessageId"]
    ids = {each["Body"]: each["Attributes"]["MessageDeduplicationId"] for each in fifo.receive()}
    assert ids == {body: sha256(body.encode()).hexdigest() for body in ("same", "other")}


@source(SEND)
def test_an_id_of_its_own_wins_over_the_content(fifo):
    for id in ("one", "two"):
        fifo.send("same", group="g", MessageDeduplicationId=id)
    assert fifo.bodies() == ["same", "same"]


@source(SEND, MEASURED_SQS)
def test_without_content_based_deduplication_an_id_is_required(aws):
    queue = aws.fifo(ContentBasedDeduplication="false")
    reason = "should either have ContentBasedDeduplication enabled or MessageDeduplicationId provided explicitly"
    refused(f"InvalidParameterValue: The queue {reason}", queue.send, group="g")


@source(HIGH_THROUGHPUT)
def test_an_id_counts_for_the_whole_queue(fifo):
    for group in "gh":
        fifo.send(f"in {group}", group=group, **ONE)
    assert fifo.bodies() == ["in g"]


@source(HIGH_THROUGHPUT, MEASURED_SQS_TESTS)
def test_an_id_may_count_for_its_group_only(aws):
    queue = aws.fifo(DeduplicationScope="messageGroup", FifoThroughputLimit="perMessageGroupId")
    for group in "gh":
        queue.send(f"in {group}", group=group, **ONE)
    assert sorted(queue.bodies()) == ["in g", "in h"]


test_an_id_that_breaks_the_rules_is_refused = refusal(
    "InvalidParameterValue: "
    "MessageDeduplicationId can only include alphanumeric and punctuation characters. 1 to 128 in length.",
    "fifo", lambda queue, bad: queue.send(group="g", MessageDeduplicationId=bad), MEASURED_SQS,
    cases={"empty": "", "129 characters": "i" * 129, "space": "group 123"})


@source(SEND)
def test_an_id_may_have_128_characters(fifo):
    fifo.send(group="g", MessageDeduplicationId="i" * 128)
    assert fifo.take()["Attributes"]["MessageDeduplicationId"] == "i" * 128


@source(MEASURED_SQS_TESTS)
def test_a_purge_forgets_ids(fifo):
    fifo.send("a", **IN_G)
    fifo.purge()
    fifo.send("b", **IN_G)
    assert fifo.bodies(WaitTimeSeconds=1) == ["b"]


@source(RECEIVE, FIFO)
def test_a_receive_that_is_repeated_with_its_attempt_id_gives_the_same_messages(aws):
    queue = aws.fifo("1", "2")
    first, again = (queue.receive(ReceiveRequestAttemptId="attempt") for _ in range(2))
    assert [message["MessageId"] for message in again] == [message["MessageId"] for message in first]
    assert len(first) == 2
    assert queue.receive(ReceiveRequestAttemptId="another") == []


test_an_attempt_id_that_breaks_the_rules_is_refused = refusal(
    "InvalidParameterValue", "fifo", lambda queue, bad: queue.receive(ReceiveRequestAttemptId=bad), RECEIVE,
    cases={"empty": "", "129 characters": "i" * 129, "space": "a b", "beyond ASCII": "é"})


@source(RECEIVE)
def test_an_attempt_id_is_good_for_5_minutes(aws):
    queue = aws.fifo("tea", VisibilityTimeout=3_600)
    assert len(queue.receive(ReceiveRequestAttemptId="attempt")) == 1
    assert queue.receive(ReceiveRequestAttemptId="attempt", after=5 * MINUTES + 1) == []


test_a_deduplication_id_on_a_standard_queue_is_refused = refusal(
    "InvalidParameterValue: MessageDeduplicationId", "queue", lambda queue: queue.send(**ONE), SEND)
