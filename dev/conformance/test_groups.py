import pytest

from aws import refusal, refused
from sources import FAIR_QUEUES, FIFO, MEASURED_SQS, MEASURED_SQS_TESTS, SEND, source

NO_GROUP = "The request must contain the parameter MessageGroupId."


@source(FIFO)
def test_messages_of_a_group_come_in_the_order_in_which_they_were_sent(aws):
    queue = aws.fifo("1", "2", "3")
    assert queue.bodies(most=2) == ["1", "2"]


@source(FIFO)
def test_a_group_with_a_message_in_flight_gives_no_other(aws):
    queue = aws.fifo("a1", "a2")
    queue.send("b1", group="b")
    assert queue.bodies(most=1) == ["a1"]
    assert queue.bodies() == ["b1"]
    assert queue.receive() == []


@source(MEASURED_SQS_TESTS)
def test_deleting_all_messages_in_flight_frees_their_group_and_deleting_some_does_not(aws):
    queue = aws.fifo("1", "2", "3")
    first, second = queue.receive(most=2)
    queue.delete(first)
    assert queue.receive() == []
    queue.delete(second)
    assert queue.bodies() == ["3"]


@source(MEASURED_SQS_TESTS)
def test_a_receive_takes_several_messages_of_a_group_and_keeps_groups_together(fifo):
    for body in ("a1", "b1", "a2", "a3"):
        fifo.send(body, group=body[0])
    received = fifo.bodies()
    assert sorted(received, key=lambda body: body[0]) == ["a1", "a2", "a3", "b1"]
    assert received in (["a1", "a2", "a3", "b1"], ["b1", "a1", "a2", "a3"])


@source(MEASURED_SQS)
@pytest.mark.parametrize("position", [0, 1, 2])
def test_a_longer_timeout_of_one_message_holds_back_all_that_come_after_it(aws, unit, position):
    queue = aws.fifo("1", "2", "3", VisibilityTimeout=unit)
    queue.hide(queue.receive()[position], 20 * unit)
    assert queue.bodies(after=1.5 * unit) == ["1", "2", "3"][:position]


@source(MEASURED_SQS)
def test_a_message_that_is_shown_early_comes_alone(aws):
    queue = aws.fifo("1", "2")
    queue.hide(queue.receive()[0], 0)
    assert queue.bodies() == ["1"]
    assert queue.receive() == []


@source(MEASURED_SQS_TESTS)
def test_messages_come_in_order_again_after_their_visibility_timeout(aws, unit):
    queue = aws.fifo("1", "2", "3", VisibilityTimeout=unit)
    assert queue.bodies() == ["1", "2", "3"]
    assert queue.bodies(after=1.3 * unit) == ["1", "2", "3"]


@source(MEASURED_SQS_TESTS)
def test_a_receive_that_hides_nothing_leaves_its_groups_free(aws):
    queue = aws.fifo("1", "2")
    assert queue.bodies(VisibilityTimeout=0) == ["1", "2"]
    assert queue.bodies() == ["1", "2"]


test_a_fifo_message_without_a_group_is_refused = refusal(
    f"MissingParameter: {NO_GROUP}", "fifo", lambda queue: queue.send(), SEND, MEASURED_SQS)


@source(MEASURED_SQS)
def test_a_fifo_batch_with_a_message_without_a_group_is_refused(fifo):
    entries = [{"Id": "a", "MessageBody": "1", "MessageGroupId": "a"}, {"Id": "b", "MessageBody": "2"}]
    refused(f"InvalidParameterValue: {NO_GROUP}", fifo.batch, "send_message", *entries)
    assert fifo.counts() == (0, 0, 0)


@source(MEASURED_SQS, SEND)
def test_a_fifo_batch_with_a_message_without_a_deduplication_id_is_refused(aws):
    queue = aws.fifo(ContentBasedDeduplication="false")
    entries = [{"Id": each, "MessageBody": each, "MessageGroupId": "a"} for each in "ab"]
    entries[0]["MessageDeduplicationId"] = "one"
    refused("InvalidParameterValue: The queue should", queue.batch, "send_message", *entries)
    assert queue.counts() == (0, 0, 0)


@source(SEND)
def test_a_fifo_message_carries_group_deduplication_id_and_sequence_number(fifo):
    sent = fifo.send(group="a", MessageDeduplicationId="one")
    attributes = fifo.take()["Attributes"]
    assert (attributes["MessageGroupId"], attributes["MessageDeduplicationId"]) == ("a", "one")
    assert attributes["SequenceNumber"] == sent["SequenceNumber"]


@source(SEND, MEASURED_SQS_TESTS)
def test_sequence_numbers_rise_and_have_20_digits(fifo):
    numbers = [fifo.send(str(each), group="a")["SequenceNumber"] for each in range(5)]
    assert all(len(number) == 20 and number.isdigit() for number in numbers), numbers
    assert sorted(set(numbers)) == numbers


@source(FAIR_QUEUES, MEASURED_SQS)
def test_a_group_on_a_standard_queue_arrives_without_a_sequence_number(queue):
    assert "SequenceNumber" not in queue.send(group="tenant")
    attributes = queue.take()["Attributes"]
    assert attributes["MessageGroupId"] == "tenant"
    assert not {"SequenceNumber", "MessageDeduplicationId"} & set(attributes)


@source(FAIR_QUEUES)
def test_messages_of_a_group_on_a_standard_queue_do_not_wait_for_each_other(aws):
    queue = aws.queue("1", "2", group="tenant")
    queue.receive(most=1)
    assert len(queue.receive(most=1)) == 1


@source(MEASURED_SQS)
@pytest.mark.parametrize("kind", ["standard", "fifo"])
@pytest.mark.parametrize("group", ["g" * 129, "group 123"], ids=["129 characters", "space"])
def test_a_group_id_that_breaks_the_rules_is_refused(aws, kind, group):
    queue = aws.fifo() if kind == "fifo" else aws.queue()
    reason = "MessageGroupId can only include alphanumeric and punctuation characters. 1 to 128 in length."
    refused(f"InvalidParameterValue: {reason}", queue.send, group=group)


@source(SEND)
def test_a_group_id_may_have_128_characters_and_punctuation(fifo):
    group = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~".ljust(128, "g")
    fifo.send(group=group)
    assert fifo.take()["Attributes"]["MessageGroupId"] == group
