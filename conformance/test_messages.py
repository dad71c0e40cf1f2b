import pytest

from aws import md5, md5_of_attributes, refused, text
from sources import MEASURED_SQS, MEASURED_SQS_TESTS, MESSAGE_QUOTAS, METADATA, X_RAY, source, sqs

SEND = sqs("SendMessage")
MIB = 1_048_576
TRACE = {"AWSTraceHeader": text("Root=1-5759e988-bd862e3fe1be46a994272793")}


@source(SEND)
def test_a_body_comes_back_as_it_was_with_its_digest(aws):
    queue = aws.queue()
    body = 'tea, "früh" <b>&amp; \U0001f375\r\n\t'
    sent, message = queue.send(body), queue.take()
    assert (message["MessageId"], message["Body"]) == (sent["MessageId"], body)
    assert sent["MD5OfMessageBody"] == message["MD5OfBody"] == md5(body)


@source(MESSAGE_QUOTAS, MEASURED_SQS)
def test_a_message_of_1_mib_is_sent_and_one_byte_more_is_refused(aws):
    queue = aws.queue()
    queue.send("x" * MIB)
    reason = "One or more parameters are invalid. Reason: Message must be shorter than 1048576 bytes."
    refused("InvalidParameterValue", queue.send, "x" * (MIB + 1), says=reason)
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
def test_a_queue_may_take_smaller_messages_only(aws):
    queue = aws.queue()
    queue.set(MaximumMessageSize=1024)
    queue.send("x" * 1024)
    refused("InvalidParameterValue", queue.send, "x" * 1025, says="Message must be shorter than 1024 bytes.")


@source(MEASURED_SQS)
def test_a_message_without_a_body_is_refused(aws):
    refused("MissingParameter", aws.queue().send, "", says="The request must contain the parameter MessageBody.")


@source(SEND)
@pytest.mark.parametrize("character", ["\x00", "\x08", "\x0b", "\x1f", "\ufffe", "\uffff"], ids=ascii)
def test_a_body_with_a_character_that_xml_has_not_is_refused(aws, character):
    queue = aws.queue()
    refused("InvalidMessageContents", queue.send, f"tea{character}")
    assert queue.counts() == (0, 0, 0)


@source(SEND)
def test_the_characters_at_the_edges_of_what_xml_has_are_taken(aws):
    queue = aws.queue()
    body = "\t\n\r \ud7ff\ue000\ufffd\U00010000\U0010ffff"
    queue.send(body)
    assert queue.take()["Body"] == body


@source(SEND, METADATA)
def test_the_trace_header_arrives_as_a_system_attribute_with_a_digest_of_its_own(aws):
    queue = aws.queue()
    sent = queue.send(MessageSystemAttributes=TRACE, MessageAttributes={"a": text("b")})
    message = queue.take()
    assert message["Attributes"]["AWSTraceHeader"] == TRACE["AWSTraceHeader"]["StringValue"]
    assert sent["MD5OfMessageSystemAttributes"] == md5_of_attributes(TRACE)
    assert sent["MD5OfMessageAttributes"] == message["MD5OfMessageAttributes"] == md5_of_attributes({"a": text("b")})


@source(SEND)
def test_another_system_attribute_than_the_trace_header_is_refused(aws):
    refused("InvalidParameterValue", aws.queue().send, MessageSystemAttributes={"SenderId": text("me")})


@source(SEND)
def test_a_delayed_message_is_hidden_until_its_delay_ends(aws, clock, unit):
    queue = aws.queue()
    queue.send(DelaySeconds=2 * unit)
    assert queue.receive() == []
    assert queue.counts() == (0, 0, 1)
    clock.let_pass(2.3 * unit)
    queue.take()


@source(SEND)
def test_a_queue_delays_every_message_that_has_no_delay_of_its_own(aws, clock, unit):
    queue = aws.queue(DelaySeconds=2 * unit, VisibilityTimeout=600)
    queue.send("as the queue says")
    queue.send("at once", DelaySeconds=0)
    assert queue.bodies() == ["at once"]
    clock.let_pass(2.3 * unit)
    assert queue.bodies() == ["as the queue says"]


@source(SEND)
@pytest.mark.parametrize("seconds", [-1, 901])
def test_a_delay_of_less_than_0_or_more_than_900_seconds_is_refused(aws, seconds):
    refused("InvalidParameterValue", aws.queue().send, DelaySeconds=seconds, says="DelaySeconds")


@source(SEND)
def test_a_delay_of_900_seconds_is_the_longest(aws, clock):
    queue = aws.queue()
    queue.send(DelaySeconds=900)
    clock.let_pass(899)
    assert queue.receive() == []
    clock.let_pass(1.3)
    queue.take()


@source(MEASURED_SQS)
def test_a_fifo_message_must_not_have_a_delay(aws):
    reason = "Value 2 for parameter DelaySeconds is invalid."
    refused("InvalidParameterValue", aws.fifo().send, group="a", DelaySeconds=2, says=reason)


@source(MEASURED_SQS_TESTS)
def test_a_fifo_message_may_have_a_delay_of_zero(aws):
    queue = aws.fifo()
    queue.send(group="a", DelaySeconds=0)
    queue.take()


@source(SEND, MEASURED_SQS_TESTS)
def test_a_fifo_queue_may_delay_its_messages(aws, clock, unit):
    queue = aws.fifo(DelaySeconds=2 * unit)
    queue.send(group="a")
    assert queue.receive() == []
    clock.let_pass(2.3 * unit)
    queue.take()
