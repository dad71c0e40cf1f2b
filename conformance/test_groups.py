import pytest

from aws import refused
from sources import FAIR_QUEUES, FIFO, MEASURED_SQS, MEASURED_SQS_TESTS, source, sqs

SEND = sqs("SendMessage")


@source(FIFO)
def test_messages_of_a_group_come_in_the_order_in_which_they_were_sent(aws):
    queue = aws.fifo()
    queue.send_all("1", "2", "3", group="a")
    assert queue.bodies(most=2) == ["1", "2"]


@source(FIFO)
def test_a_group_with_a_message_in_flight_gives_no_other(aws):
    queue = aws.fifo()
    queue.send_all("a1", "a2", group="a")
    queue.send("b1", group="b")
    assert queue.bodies(most=1) == ["a1"]
    assert queue.bodies() == ["b1"]
    assert queue.receive() == []


@source(MEASURED_SQS_TESTS)
def test_deleting_all_messages_in_flight_frees_their_group_and_deleting_some_does_not(aws):
    queue = aws.fifo()
    queue.send_all("1", "2", "3", group="a")
    first, second = queue.receive(most=2)
    queue.delete(first)
    assert queue.receive() == []
    queue.delete(second)
    assert queue.bodies() == ["3"]


@source(MEASURED_SQS_TESTS)
def test_a_receive_takes_several_messages_of_a_group_and_keeps_groups_together(aws):
    queue = aws.fifo()
    for body in ("a1", "b1", "a2", "a3"):
        queue.send(body, group=body[0])
    received = queue.bodies()
    assert sorted(received, key=lambda body: body[0]) == ["a1", "a2", "a3", "b1"]
    assert received in (["a1", "a2", "a3", "b1"], ["b1", "a1", "a2", "a3"])


@source(MEASURED_SQS)
@pytest.mark.parametrize("position", [0, 1, 2])
def test_a_longer_timeout_of_one_message_holds_back_all_that_come_after_it(aws, clock, unit, position):
    queue = aws.fifo(VisibilityTimeout=unit)
    queue.send_all("1", "2", "3", group="a")
    queue.hide(queue.receive()[position], 20 * unit)
    clock.let_pass(1.5 * unit)
    assert queue.bodies() == ["1", "2", "3"][:position]


@source(MEASURED_SQS)
def test_a_message_that_is_shown_early_comes_alone(aws):
    queue = aws.fifo()
    queue.send_all("1", "2", group="a")
    queue.hide(queue.receive()[0], 0)
    assert queue.bodies() == ["1"]
    assert queue.receive() == []


@source(MEASURED_SQS_TESTS)
def test_messages_come_in_order_again_after_their_visibility_timeout(aws, clock, unit):
    queue = aws.fifo(VisibilityTimeout=unit)
    queue.send_all("1", "2", "3", group="a")
    assert queue.bodies() == ["1", "2", "3"]
    clock.let_pass(1.3 * unit)
    assert queue.bodies() == ["1", "2", "3"]


@source(MEASURED_SQS_TESTS)
def test_a_receive_that_hides_nothing_leaves_its_groups_free(aws):
    queue = aws.fifo()
    queue.send_all("1", "2", group="a")
    assert queue.bodies(VisibilityTimeout=0) == ["1", "2"]
    assert queue.bodies() == ["1", "2"]


@source(SEND, MEASURED_SQS)
def test_a_fifo_message_without_a_group_is_refused(aws):
    reason = "The request must contain the parameter MessageGroupId."
    refused("MissingParameter", aws.fifo().send, says=reason)


@source(MEASURED_SQS)
def test_a_fifo_batch_with_a_message_without_a_group_is_refused(aws):
    queue = aws.fifo()
    entries = [{"Id": "a", "MessageBody": "1", "MessageGroupId": "a"}, {"Id": "b", "MessageBody": "2"}]
    reason = "The request must contain the parameter MessageGroupId."
    refused("InvalidParameterValue", aws.sqs.send_message_batch, QueueUrl=queue.url, Entries=entries, says=reason)
    assert queue.counts() == (0, 0, 0)


@source(SEND)
def test_a_fifo_message_carries_group_deduplication_id_and_sequence_number(aws):
    queue = aws.fifo()
    sent = queue.send(group="a", MessageDeduplicationId="one")
    attributes = queue.take()["Attributes"]
    assert (attributes["MessageGroupId"], attributes["MessageDeduplicationId"]) == ("a", "one")
    assert attributes["SequenceNumber"] == sent["SequenceNumber"]


@source(SEND, MEASURED_SQS_TESTS)
def test_sequence_numbers_rise_and_have_20_digits(aws):
    queue = aws.fifo()
    numbers = [queue.send(str(each), group="a")["SequenceNumber"] for each in range(5)]
    assert all(len(number) == 20 and number.isdigit() for number in numbers), numbers
    assert sorted(set(numbers)) == numbers


@source(FAIR_QUEUES, MEASURED_SQS)
def test_a_group_on_a_standard_queue_arrives_without_a_sequence_number(aws):
    queue = aws.queue()
    assert "SequenceNumber" not in queue.send(group="tenant")
    attributes = queue.take()["Attributes"]
    assert attributes["MessageGroupId"] == "tenant"
    assert not {"SequenceNumber", "MessageDeduplicationId"} & set(attributes)


@source(FAIR_QUEUES)
def test_messages_of_a_group_on_a_standard_queue_do_not_wait_for_each_other(aws):
    queue = aws.queue()
    queue.send_all("1", "2", group="tenant")
    queue.receive(most=1)
    assert len(queue.receive(most=1)) == 1


@source(MEASURED_SQS)
@pytest.mark.parametrize("kind", ["standard", "fifo"])
@pytest.mark.parametrize("group", ["g" * 129, "group 123"], ids=["129 characters", "space"])
def test_a_group_id_that_breaks_the_rules_is_refused(aws, kind, group):
    reason = "MessageGroupId can only include alphanumeric and punctuation characters. 1 to 128 in length."
    queue = aws.fifo() if kind == "fifo" else aws.queue()
    refused("InvalidParameterValue", queue.send, group=group, says=reason)


@source(SEND)
def test_a_group_id_may_have_128_characters_and_punctuation(aws):
    queue = aws.fifo()
    group = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~".ljust(128, "g")
    queue.send(group=group)
    assert queue.take()["Attributes"]["MessageGroupId"] == group
