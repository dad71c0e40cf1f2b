import pytest

from aws import md5_of_attributes, refusal, refused, text
from sources import MEASURED_SQS, MEASURED_SQS_TESTS, MESSAGE_QUOTAS, METADATA, source, sqs
from wire import aws_json

VALUE = sqs("MessageAttributeValue")
BAD = "InvalidParameterValue"


@source(METADATA, VALUE)
def test_attributes_come_back_as_they_were_with_their_digest(queue):
    attributes = {
        "text": text("früh"),
        "text.with-type_1": text("<a/>", "String.html"),
        "number": text("-1.5"),
        "number.int": text("450", "Number.int"),
        "bytes": {"DataType": "Binary", "BinaryValue": bytes(range(256))},
        "bytes.png": {"DataType": "Binary.png", "BinaryValue": b"\x00"},
    }
    sent = queue.send(MessageAttributes=attributes)
    message = queue.take()
    assert message["MessageAttributes"] == attributes
    assert sent["MD5OfMessageAttributes"] == message["MD5OfMessageAttributes"] == md5_of_attributes(attributes)


@source(MESSAGE_QUOTAS)
def test_ten_attributes_are_taken_and_eleven_are_refused(queue):
    ten = {str(each): text("a") for each in range(10)}
    queue.send(MessageAttributes=ten)
    refused(BAD, queue.send, MessageAttributes={**ten, "10": text("a")})
    assert queue.counts() == (1, 0, 0)


BAD_NAMES = ["AWS.a", "aWs.a", "Amazon.a", "AMAZON.a", ".a", "a.", "a..b", "a b", "a!b", 'a"b', "a(b", "a?b", "a§b", ""]
test_a_name_that_breaks_the_rules_is_refused = refusal(
    BAD, "queue", lambda queue, name: queue.send(MessageAttributes={name: text("a")}), METADATA, MEASURED_SQS_TESTS,
    cases={**{name: name for name in BAD_NAMES}, "257 characters": "n" * 257})


@source(METADATA, MEASURED_SQS_TESTS)
@pytest.mark.parametrize(
    "name", ["a", "A-z_0.9", "awsome", "amazonas", "n" * 256], ids=lambda name: name[:9] + "..." * (len(name) > 9))
def test_a_name_within_the_rules_is_taken(queue, name):
    queue.send(MessageAttributes={name: text("a")})
    assert list(queue.take()["MessageAttributes"]) == [name]


@source(MEASURED_SQS_TESTS)
def test_a_name_with_letters_beyond_ascii_is_taken_and_part_of_the_digest(queue):
    """`test_send_message_with_invalid_string_attributes` sends `attr.1øßä` to AWS first, as the one that is valid. The guide
    has A-Z and a-z only. What a stand-in refuses and AWS takes, nobody could try out, so AWS counts."""
    attributes = {"attr.1øßä": text("Valida")}
    sent = queue.send(MessageAttributes=attributes)
    message = queue.take()
    assert message["MessageAttributes"] == attributes
    assert sent["MD5OfMessageAttributes"] == message["MD5OfMessageAttributes"] == md5_of_attributes(attributes)


test_a_type_other_than_string_number_and_binary_is_refused = refusal(
    BAD, "queue", lambda queue, kind: queue.send(MessageAttributes={"a": text("1", kind)}),
    METADATA, MEASURED_SQS_TESTS,
    cases={"another word": "Invalid", "lower case": "string", "empty": "", "too long": "Number." + "x" * 256})
test_an_attribute_without_a_value_is_refused = refusal(
    f"{BAD}: Message (user) attribute 'ErrorDetails' must contain a non-empty value of type 'String'.",
    "queue", lambda queue: queue.send(MessageAttributes={"ErrorDetails": text("")}), MEASURED_SQS)
test_an_attribute_without_a_value_or_with_two_is_refused = refusal(
    BAD, "queue", lambda queue, value: queue.send(MessageAttributes={"a": {"DataType": "String", **value}}), VALUE,
    cases={"none": {}, "two": {"StringValue": "a", "BinaryValue": b"a"}})
test_a_number_that_is_none_or_too_large_is_refused = refusal(
    BAD, "queue", lambda queue, value: queue.send(MessageAttributes={"a": text(value, "Number")}), METADATA,
    cases=["one", "", "1e127", "1,5"])


@source(METADATA)
@pytest.mark.parametrize("value", ["0", "-12.5", "9" * 38, "1e126", "1E-128"])
def test_a_number_of_up_to_38_digits_from_1e_minus_128_to_1e126_comes_back_as_it_was(queue, value):
    queue.send(MessageAttributes={"a": text(value, "Number")})
    assert queue.take()["MessageAttributes"]["a"]["StringValue"] == value


test_a_value_with_a_character_that_xml_has_not_is_refused = refusal(
    f"InvalidMessageContents|{BAD}", "queue",
    lambda queue: queue.send(MessageAttributes={"a": text("tea\x08\x0b")}), METADATA, MEASURED_SQS_TESTS)
test_list_values_are_refused_since_they_are_for_the_future = refusal(
    "", "queue",
    lambda queue: queue.send(MessageAttributes={"a": {"DataType": "String", "StringListValues": ["a", "b"]}}), VALUE)


@source(VALUE)
def test_a_binary_value_that_is_not_base64_is_refused(aws, queue):
    attributes = {"a": {"DataType": "Binary", "BinaryValue": "%"}}
    send = {"QueueUrl": queue.url, "MessageBody": "tea", "MessageAttributes": attributes}
    assert aws_json(aws.url, "AmazonSQS.SendMessage", send).status == 400
    assert queue.counts() == (0, 0, 0)
