import pytest

from aws import md5, md5_of_attributes, refusal, refused, text
from sources import MEASURED_SQS, MEASURED_SQS_TESTS, MESSAGE_QUOTAS, METADATA, SEND, X_RAY, source

MIB = 1_048_576
TRACE = {"AWSTraceHeader": text("Root=1-5759e988-bd862e3fe1be46a994272793")}


@source(SEND)
def test_a_body_comes_back_as_it_was_with_its_digest(queue):
    body = 'tea, "früh" <b>&amp; \U0001f375\r\n\t'
    sent, message = queue.send(body), queue.take()
    assert (message["MessageId"], message["Body"]) == (sent["MessageId"], body)
    assert sent["MD5OfMessageBody"] == message["MD5OfBody"] == md5(body)


@source(MESSAGE_QUOTAS, MEASURED_SQS)
def test_a_message_of_1_mib_is_sent_and_one_byte_more_is_refused(queue):
    queue.send("x" * MIB)
    reason = "One or more parameters are invalid. Reason: Message must be shorter than 1048576 bytes."
    refused(f"InvalidParameterValue: {reason}", queue.send, "x" * (MIB + 1))
    assert len(queue.take()["Body"]) == MIB


@source(MESSAGE_QUOTAS)
def test_a_size_is_in_bytes_and_not_in_characters(aws):
    queue = aws.queue(MaximumMessageSize=1024)
    queue.send("ü" * 512)
    refused("InvalidParameterValue", queue.send, "ü" * 513)


@source(METADATA)
def test_attributes_count_toward_the_size_of_a_message(aws):
    queue = aws.queue(MaximumMessageSize=1024)
    attributes = {"name": text("value")}
    size = len("name" + "String" + "value")
    queue.send("x" * (1024 - size), MessageAttributes=attributes)
    refused("InvalidParameterValue", queue.send, "x" * (1025 - size), MessageAttributes=attributes)


@source(X_RAY)
def test_the_trace_header_does_not_count_toward_the_size_of_a_message(aws):
    queue = aws.queue(MaximumMessageSize=1024)
    queue.send("x" * 1024, MessageSystemAttributes=TRACE)


@source(MEASURED_SQS)
def test_a_queue_may_take_smaller_messages_only(queue):
    queue.set(MaximumMessageSize=1024)
    queue.send("x" * 1024)
    refused("InvalidParameterValue: Message must be shorter than 1024 bytes.", queue.send, "x" * 1025)


test_a_message_without_a_body_is_refused = refusal(
    "MissingParameter: The request must contain the parameter MessageBody.",
    "queue", lambda queue: queue.send(""), MEASURED_SQS)


@source(SEND)
@pytest.mark.parametrize("character", ["\x00", "\x08", "\x0b", "\x1f", "\ufffe", "\uffff"], ids=ascii)
def test_a_body_with_a_character_that_xml_has_not_is_refused(queue, character):
    refused("InvalidMessageContents", queue.send, f"tea{character}")
    assert queue.counts() == (0, 0, 0)


@source(SEND)
def test_the_characters_at_the_edges_of_what_xml_has_are_taken(queue):
    body = "\t\n\r \ud7ff\ue000\ufffd\U00010000\U0010ffff"
    queue.send(body)
    assert queue.take()["Body"] == body


@source(SEND, METADATA)
def test_the_trace_header_arrives_as_a_system_attribute_with_a_digest_of_its_own(queue):
    sent = queue.send(MessageSystemAttributes=TRACE, MessageAttributes={"a": text("b")})
    message = queue.take()
    assert message["Attributes"]["AWSTraceHeader"] == TRACE["AWSTraceHeader"]["StringValue"]
    assert sent["MD5OfMessageSystemAttributes"] == md5_of_attributes(TRACE)
    assert sent["MD5OfMessageAttributes"] == message["MD5OfMessageAttributes"] == md5_of_attributes({"a": text("b")})


test_a_system_attribute_other_than_the_trace_header_as_text_is_refused = refusal(
    "InvalidParameterValue", "queue", lambda queue, attributes: queue.send(MessageSystemAttributes=attributes), SEND,
    cases={"SenderId": {"SenderId": text("me")}, "a number": {"AWSTraceHeader": text("1", "Number")}})


@source(SEND)
def test_a_delayed_message_is_hidden_until_its_delay_ends(queue, unit):
    queue.send(DelaySeconds=2 * unit)
    assert queue.receive() == []
    assert queue.counts() == (0, 0, 1)
    queue.take(after=2.3 * unit)


@source(SEND)
def test_a_queue_delays_every_message_that_has_no_delay_of_its_own(aws, unit):
    queue = aws.queue("as the queue says", DelaySeconds=2 * unit, VisibilityTimeout=600)
    queue.send("at once", DelaySeconds=0)
    assert queue.bodies() == ["at once"]
    assert queue.bodies(after=2.3 * unit) == ["as the queue says"]


test_a_delay_of_less_than_0_or_more_than_900_seconds_is_refused = refusal(
    "InvalidParameterValue: DelaySeconds",
    "queue", lambda queue, seconds: queue.send(DelaySeconds=seconds), SEND, cases=[-1, 901])


@source(SEND)
def test_a_delay_of_900_seconds_is_the_longest(queue):
    queue.send(DelaySeconds=900)
    assert queue.receive(after=899) == []
    queue.take(after=1.3)


test_a_fifo_message_must_not_have_a_delay = refusal(
    "InvalidParameterValue: Value 2 for parameter DelaySeconds is invalid.",
    "fifo", lambda queue: queue.send(group="a", DelaySeconds=2), MEASURED_SQS)


@source(MEASURED_SQS_TESTS)
def test_a_fifo_message_may_have_a_delay_of_zero(fifo):
    fifo.send(group="a", DelaySeconds=0)
    fifo.take()


@source(SEND, MEASURED_SQS_TESTS)
def test_a_fifo_queue_may_delay_its_messages(aws, unit):
    queue = aws.fifo("tea", DelaySeconds=2 * unit)
    assert queue.receive() == []
    queue.take(after=2.3 * unit)
