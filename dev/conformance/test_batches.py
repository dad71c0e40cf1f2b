import uuid

import pytest

from aws import NO_QUEUE, md5, refusal, refused
from sources import MEASURED_SQS, MESSAGE_QUOTAS, source, sqs

SEND, CHANGE = sqs("SendMessageBatch"), sqs("ChangeMessageVisibilityBatch")
PREFIX = "AWS.SimpleQueueService."
# What an entry of each operation has besides its id.
GARBAGE = {"ReceiptHandle": "garbage"}
OPERATIONS = {
    "SendMessageBatch": ("send_message", {"MessageBody": "tea"}),
    "DeleteMessageBatch": ("delete_message", GARBAGE),
    "ChangeMessageVisibilityBatch": ("change_message_visibility", {**GARBAGE, "VisibilityTimeout": 10}),
}


@pytest.fixture(params=OPERATIONS)
def batch(queue, request):
    """Calls an operation on a queue with entries of which only the ids matter."""
    operation, entry = OPERATIONS[request.param]
    return lambda *ids: queue.batch(operation, *({"Id": each, **entry} for each in ids))


def but_bad(result: dict) -> tuple[str, str]:
    """Returns why the entry "bad" failed. The fault must be the sender's, and the entry "good" must have succeeded."""
    [good], [bad] = result["Successful"], result["Failed"]
    assert (good["Id"], bad["Id"], bad["SenderFault"]) == ("good", "bad", True)
    return bad["Code"], bad["Message"]


test_a_batch_of_more_than_ten_entries_is_refused = refusal(
    f"{PREFIX}TooManyEntriesInBatchRequest: Maximum number of entries per request are 10. You have sent 11.",
    "batch", lambda batch: batch(*map(str, range(11))), SEND, MEASURED_SQS)
test_a_batch_without_entries_is_refused = refusal(
    f"{PREFIX}EmptyBatchRequest", "batch", lambda batch: batch(), SEND, MEASURED_SQS)
test_a_batch_whose_entries_share_an_id_is_refused = refusal(
    f"{PREFIX}BatchEntryIdsNotDistinct", "batch", lambda batch: batch("a", "b", "a"), SEND)
test_a_batch_with_an_invalid_id_is_refused = refusal(
    f"{PREFIX}InvalidBatchEntryId: A batch entry id can only contain alphanumeric characters, hyphens and underscores.",
    "batch", lambda batch, bad: batch("good", bad), SEND, MEASURED_SQS,
    cases={"empty": "", "81 characters": "x" * 81, "colon": "a:b"})


@source(sqs("SendMessageBatchRequestEntry"))
def test_an_id_may_be_a_uuid_or_80_characters(batch):
    ids = {str(uuid.uuid4()), "A-z_0" * 16}
    result = batch(*ids)
    assert {entry["Id"] for entry in [*result.get("Successful", []), *result.get("Failed", [])]} == ids


@source(SEND)
def test_a_batch_to_a_queue_that_does_not_exist_is_refused(queue):
    queue.url += "-nowhere"
    refused(NO_QUEUE, queue.send_batch, {"a": "tea"})


@source(SEND, MEASURED_SQS)
def test_a_batch_sends_what_it_can_and_names_the_rest(queue):
    result = queue.send_batch({"good": "tea", "bad": "\x00"})
    assert but_bad(result)[0] == "InvalidMessageContents"
    assert result["Successful"][0]["MD5OfMessageBody"] == md5("tea")
    assert queue.bodies() == ["tea"]


@source(MEASURED_SQS)
def test_an_entry_that_is_too_long_for_the_queue_fails_alone(aws):
    code, message = but_bad(aws.queue(MaximumMessageSize=1024).send_batch({"good": "x" * 1024, "bad": "x" * 1025}))
    assert code == "InvalidParameterValue"
    assert "Message must be shorter than 1024 bytes." in message


@source(SEND, MEASURED_SQS)
def test_a_batch_of_more_than_1_mib_in_all_is_refused(queue):
    reason = "Batch requests cannot be longer than 1048576 bytes. You have sent 1048577 bytes."
    bodies = {"a": "x" * 1_000_000, "b": "x" * 48_577}
    refused(f"{PREFIX}BatchRequestTooLong: {reason}", queue.send_batch, bodies)
    assert len(queue.send_batch({**bodies, "b": "x" * 48_576})["Successful"]) == 2


@source(MESSAGE_QUOTAS)
def test_a_batch_of_ten_arrives_whole(queue):
    bodies = {str(each): f"cup {each}" for each in range(10)}
    queue.send_batch(bodies)
    assert sorted(queue.bodies() + queue.bodies()) == list(bodies.values())


@source(CHANGE)
def test_a_batch_gives_each_message_its_own_visibility_timeout(aws, unit):
    seconds = {"now": 0, "soon": unit, "later": 60 * unit}
    queue = aws.queue(*seconds, VisibilityTimeout=600)
    result = queue.batch("change_message_visibility", *(
        {"Id": each["Body"], "ReceiptHandle": each["ReceiptHandle"], "VisibilityTimeout": seconds[each["Body"]]}
        for each in queue.receive()
    ))
    assert {entry["Id"] for entry in result["Successful"]} == set(seconds)
    assert queue.bodies() == ["now"]
    assert queue.bodies(after=1.3 * unit) == ["soon"]


@source(CHANGE)
@pytest.mark.parametrize(("bad", "code"), [
    pytest.param(GARBAGE, "ReceiptHandleIsInvalid", id="handle"),
    pytest.param({"VisibilityTimeout": 43_201}, "InvalidParameterValue", id="timeout"),
])
def test_a_batch_changes_what_it_can_and_names_the_rest(aws, bad, code):
    queue = aws.queue("a", "b")
    good, other = ({"ReceiptHandle": each["ReceiptHandle"], "VisibilityTimeout": 0} for each in queue.receive())
    result = queue.batch("change_message_visibility", {"Id": "good", **good}, {"Id": "bad", **other, **bad})
    assert but_bad(result)[0] == code
    assert queue.counts() == (1, 1, 0)


@source(CHANGE)
def test_the_entry_of_a_deleted_message_fails(one):
    message = one.take()
    one.delete(message)
    entry = {"Id": "gone", "ReceiptHandle": message["ReceiptHandle"], "VisibilityTimeout": 10}
    [failed] = one.batch("change_message_visibility", entry)["Failed"]
    assert failed["Id"] == "gone"
    assert failed["Code"] in ("ReceiptHandleIsInvalid", "InvalidParameterValue")
    assert "Message does not exist or is not available for visibility timeout change." in failed["Message"]


@source(CHANGE)
def test_an_entry_without_a_visibility_timeout_fails_alone(aws):
    queue = aws.queue("a", "b")
    good, bad = ({"ReceiptHandle": message["ReceiptHandle"]} for message in queue.receive())
    entries = {"Id": "good", **good, "VisibilityTimeout": 0}, {"Id": "bad", **bad}
    assert but_bad(queue.batch("change_message_visibility", *entries))[0] == "MissingParameter"
