import uuid

import pytest

from aws import md5, refused
from sources import MEASURED_SQS, MESSAGE_QUOTAS, source, sqs

OPERATIONS = ["SendMessageBatch", "DeleteMessageBatch", "ChangeMessageVisibilityBatch"]
CALLS = dict(
    zip(OPERATIONS, ["send_message_batch", "delete_message_batch", "change_message_visibility_batch"], strict=True)
)
PREFIX = "AWS.SimpleQueueService."
each_operation = pytest.mark.parametrize("operation", OPERATIONS)


class Batch:
    """A batch of an operation on a queue, with entries of which only the ids matter."""

    def __init__(self, aws, operation: str):
        self.queue, self.send = aws.queue(), getattr(aws.sqs, CALLS[operation])
        self.rest = {"MessageBody": "tea"} if operation == "SendMessageBatch" else {"ReceiptHandle": "garbage"}
        if operation == "ChangeMessageVisibilityBatch":
            self.rest["VisibilityTimeout"] = 10

    def call(self, *ids: str) -> dict:
        return self.send(QueueUrl=self.queue.url, Entries=[{"Id": each, **self.rest} for each in ids])


@source(sqs("SendMessageBatch"), MEASURED_SQS)
@each_operation
def test_a_batch_of_more_than_ten_entries_is_refused(aws, operation):
    batch, reason = Batch(aws, operation), "Maximum number of entries per request are 10. You have sent 11."
    refused(PREFIX + "TooManyEntriesInBatchRequest", batch.call, *map(str, range(11)), says=reason)


@source(sqs("SendMessageBatch"), MEASURED_SQS)
@each_operation
def test_a_batch_without_entries_is_refused(aws, operation):
    refused(PREFIX + "EmptyBatchRequest", Batch(aws, operation).call)


@source(sqs("SendMessageBatch"))
@each_operation
def test_a_batch_whose_entries_share_an_id_is_refused(aws, operation):
    refused(PREFIX + "BatchEntryIdsNotDistinct", Batch(aws, operation).call, "a", "b", "a")


@source(sqs("SendMessageBatch"), MEASURED_SQS)
@each_operation
@pytest.mark.parametrize("bad", ["", "x" * 81, "a:b"], ids=["empty", "81 characters", "colon"])
def test_a_batch_with_an_invalid_id_is_refused(aws, operation, bad):
    reason = "A batch entry id can only contain alphanumeric characters, hyphens and underscores."
    refused(PREFIX + "InvalidBatchEntryId", Batch(aws, operation).call, "good", bad, says=reason)


@source(sqs("SendMessageBatchRequestEntry"))
@each_operation
def test_an_id_may_be_a_uuid_or_80_characters(aws, operation):
    ids = {str(uuid.uuid4()), "A-z_0" * 16}
    result = Batch(aws, operation).call(*ids)
    assert {entry["Id"] for entry in [*result.get("Successful", []), *result.get("Failed", [])]} == ids


@source(sqs("SendMessageBatch"))
def test_a_batch_to_a_queue_that_does_not_exist_is_refused(aws):
    entries = [{"Id": "a", "MessageBody": "tea"}]
    url = aws.queue().url + "-nowhere"
    refused(PREFIX + "NonExistentQueue", aws.sqs.send_message_batch, QueueUrl=url, Entries=entries)


@source(sqs("SendMessageBatch"), MEASURED_SQS)
def test_a_batch_sends_what_it_can_and_names_the_rest(aws):
    queue = aws.queue()
    entries = [{"Id": "good", "MessageBody": "tea"}, {"Id": "bad", "MessageBody": "\x00"}]
    result = aws.sqs.send_message_batch(QueueUrl=queue.url, Entries=entries)
    [sent], [failed] = result["Successful"], result["Failed"]
    assert (sent["Id"], sent["MD5OfMessageBody"]) == ("good", md5("tea"))
    assert (failed["Id"], failed["Code"], failed["SenderFault"]) == ("bad", "InvalidMessageContents", True)
    assert queue.bodies() == ["tea"]


@source(MEASURED_SQS)
def test_an_entry_that_is_too_long_for_the_queue_fails_alone(aws):
    queue = aws.queue(MaximumMessageSize=1024)
    entries = [{"Id": "good", "MessageBody": "x" * 1024}, {"Id": "bad", "MessageBody": "x" * 1025}]
    result = aws.sqs.send_message_batch(QueueUrl=queue.url, Entries=entries)
    [failed] = result["Failed"]
    assert (failed["Id"], failed["Code"], failed["SenderFault"]) == ("bad", "InvalidParameterValue", True)
    assert "Message must be shorter than 1024 bytes." in failed["Message"]
    assert [entry["Id"] for entry in result["Successful"]] == ["good"]


@source(sqs("SendMessageBatch"), MEASURED_SQS)
def test_a_batch_of_more_than_1_mib_in_all_is_refused(aws):
    queue = aws.queue()
    entries = [{"Id": "a", "MessageBody": "x" * 1_000_000}, {"Id": "b", "MessageBody": "x" * 48_577}]
    reason = "Batch requests cannot be longer than 1048576 bytes. You have sent 1048577 bytes."
    refused(
        PREFIX + "BatchRequestTooLong", aws.sqs.send_message_batch, QueueUrl=queue.url, Entries=entries, says=reason
    )
    entries[1]["MessageBody"] = "x" * 48_576
    assert len(aws.sqs.send_message_batch(QueueUrl=queue.url, Entries=entries)["Successful"]) == 2


@source(MESSAGE_QUOTAS)
def test_a_batch_of_ten_arrives_whole(aws):
    queue = aws.queue()
    entries = [{"Id": str(each), "MessageBody": f"cup {each}"} for each in range(10)]
    aws.sqs.send_message_batch(QueueUrl=queue.url, Entries=entries)
    assert sorted(queue.bodies() + queue.bodies()) == [entry["MessageBody"] for entry in entries]


@source(sqs("ChangeMessageVisibilityBatch"))
def test_a_batch_gives_each_message_its_own_visibility_timeout(aws, clock, unit):
    queue = aws.queue(VisibilityTimeout=600)
    queue.send_all("now", "soon", "later")
    seconds = {"now": 0, "soon": unit, "later": 60 * unit}
    entries = [
        {"Id": each["Body"], "ReceiptHandle": each["ReceiptHandle"], "VisibilityTimeout": seconds[each["Body"]]}
        for each in queue.receive()
    ]
    result = aws.sqs.change_message_visibility_batch(QueueUrl=queue.url, Entries=entries)
    assert {entry["Id"] for entry in result["Successful"]} == set(seconds)
    assert queue.bodies() == ["now"]
    clock.let_pass(1.3 * unit)
    assert queue.bodies() == ["soon"]


@source(sqs("ChangeMessageVisibilityBatch"))
@pytest.mark.parametrize(
    "bad", [{"ReceiptHandle": "garbage"}, {"VisibilityTimeout": 43_201}], ids=["handle", "timeout"]
)
def test_a_batch_changes_what_it_can_and_names_the_rest(aws, bad):
    queue = aws.queue()
    queue.send_all("a", "b")
    good, other = ({"ReceiptHandle": each["ReceiptHandle"], "VisibilityTimeout": 0} for each in queue.receive())
    entries = [{"Id": "good", **good}, {"Id": "bad", **other, **bad}]
    result = aws.sqs.change_message_visibility_batch(QueueUrl=queue.url, Entries=entries)
    assert [entry["Id"] for entry in result["Successful"]] == ["good"]
    [failed] = result["Failed"]
    expected = "ReceiptHandleIsInvalid" if "ReceiptHandle" in bad else "InvalidParameterValue"
    assert (failed["Id"], failed["Code"], failed["SenderFault"]) == ("bad", expected, True)
    assert queue.counts() == (1, 1, 0)


@source(sqs("ChangeMessageVisibilityBatch"))
def test_the_entry_of_a_deleted_message_fails(aws):
    queue = aws.queue()
    queue.send()
    message = queue.take()
    queue.delete(message)
    entry = {"Id": "gone", "ReceiptHandle": message["ReceiptHandle"], "VisibilityTimeout": 10}
    [failed] = aws.sqs.change_message_visibility_batch(QueueUrl=queue.url, Entries=[entry])["Failed"]
    assert failed["Id"] == "gone"
    assert failed["Code"] in ("ReceiptHandleIsInvalid", "InvalidParameterValue")
    assert "Message does not exist or is not available for visibility timeout change." in failed["Message"]
