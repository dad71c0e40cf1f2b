import time

import pytest

from aws import md5_of_attributes, refusal, text
from sources import LONG_POLLING, MEASURED_SQS, RECEIVE, source


@source(RECEIVE)
def test_the_receive_count_rises_with_each_receive(aws):
    queue = aws.queue("tea", VisibilityTimeout=0)
    assert [queue.take()["Attributes"]["ApproximateReceiveCount"] for _ in range(3)] == ["1", "2", "3"]


@source(RECEIVE)
def test_the_time_of_the_first_receive_stays(aws):
    queue = aws.queue("tea", VisibilityTimeout=0)
    first, second = queue.take()["Attributes"], queue.take(after=0.1)["Attributes"]
    assert second["ApproximateFirstReceiveTimestamp"] == first["ApproximateFirstReceiveTimestamp"]
    assert second["SentTimestamp"] == first["SentTimestamp"]


@source(RECEIVE)
def test_attribute_values_are_strings_and_times_are_in_milliseconds(one):
    attributes = one.take()["Attributes"]
    expected = {"ApproximateReceiveCount", "ApproximateFirstReceiveTimestamp", "SenderId", "SentTimestamp"}
    assert set(attributes) == expected
    assert all(isinstance(value, str) for value in attributes.values())
    for name in ("SentTimestamp", "ApproximateFirstReceiveTimestamp"):
        assert abs(int(attributes[name]) / 1000 - time.time()) < 86_400, name


@source(RECEIVE, MEASURED_SQS)
def test_attributes_come_only_when_asked_for(aws, queue):
    queue.send(MessageAttributes={"Hello": text("There")})
    [message] = aws.sqs.receive_message(QueueUrl=queue.url)["Messages"]
    assert set(message) == {"MessageId", "ReceiptHandle", "MD5OfBody", "Body"}


@source(RECEIVE, MEASURED_SQS)
@pytest.mark.parametrize("parameter", ["AttributeNames", "MessageSystemAttributeNames"])
def test_a_system_attribute_can_be_asked_for_by_name(one, parameter):
    names = {parameter: ["SenderId", "SequenceNumber"]}
    [message] = one.sqs.receive_message(QueueUrl=one.url, **names)["Messages"]
    assert set(message["Attributes"]) == {"SenderId"}


@source(RECEIVE, MEASURED_SQS)
@pytest.mark.parametrize(("asked", "given"), [
    pytest.param(["All"], ["General", "Hello", "Help.Me"], id="all"),
    pytest.param(["*"], ["General", "Hello", "Help.Me"], id="asterisk"),
    pytest.param([".*"], ["General", "Hello", "Help.Me"], id="wildcard"),
    pytest.param(["Foo", "*"], ["General", "Hello", "Help.Me"], id="asterisk among others"),
    pytest.param(["Hel.*"], ["Hello", "Help.Me"], id="prefix"),
    pytest.param(["Foo", "Hello"], ["Hello"], id="name"),
    pytest.param(["Hello", "General"], ["General", "Hello"], id="names"),
    pytest.param(["Foo", "Help"], [], id="none of them"),
    pytest.param([], [], id="empty"),
    pytest.param(["AWS."], [], id="reserved"),
    pytest.param(["..foo"], [], id="two dots"),
])
def test_message_attributes_are_chosen_by_name_and_digested_as_chosen(queue, asked, given):
    """`test_receive_message_message_attribute_names_filters`."""
    all_attributes = {"Help.Me": text("Me"), "Hello": text("There"), "General": text("Kenobi")}
    queue.send(MessageAttributes=all_attributes)
    message = queue.take(MessageAttributeNames=asked)
    chosen = {name: all_attributes[name] for name in given}
    assert message.get("MessageAttributes", {}) == chosen
    assert message.get("MD5OfMessageAttributes") == (md5_of_attributes(chosen) if chosen else None)


@source(RECEIVE)
def test_a_receive_gives_one_message_unless_it_asks_for_more(aws):
    queue = aws.queue("a", "b", "c")
    assert len(aws.sqs.receive_message(QueueUrl=queue.url)["Messages"]) == 1


@source(RECEIVE)
def test_a_receive_gives_ten_messages_at_most(queue):
    for half in range(2):
        queue.send_batch({str(each): f"{half}{each}" for each in range(6)})
    assert 1 <= len(queue.receive(10)) <= 10
    assert len(queue.receive(10)) > 0


test_a_receive_of_no_or_more_than_ten_messages_is_refused = refusal(
    "InvalidParameterValue: "
    "Value {} for parameter MaxNumberOfMessages is invalid. Reason: Must be between 1 and 10, if provided.",
    "queue", lambda queue, most: queue.receive(most), RECEIVE, MEASURED_SQS, cases=[0, 11])
test_a_receive_that_waits_less_than_0_or_more_than_20_seconds_is_refused = refusal(
    "InvalidParameterValue: "
    "Value {} for parameter WaitTimeSeconds is invalid. Reason: Must be >= 0 and <= 20, if provided.",
    "queue", lambda queue, seconds: queue.receive(WaitTimeSeconds=seconds), LONG_POLLING, MEASURED_SQS, cases=[-1, 21])


@source(RECEIVE)
def test_an_empty_receive_has_no_list_of_messages(aws, queue):
    assert "Messages" not in aws.sqs.receive_message(QueueUrl=queue.url)
