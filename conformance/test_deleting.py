from aws import refused
from sources import MEASURED_SQS, MEASURED_SQS_TESTS, source, sqs

DELETE = sqs("DeleteMessage")
EXPIRED = "Reason: The receipt handle has expired."


@source(DELETE)
def test_a_deleted_message_does_not_come_back(aws, clock, unit):
    queue = aws.queue(VisibilityTimeout=unit)
    queue.send()
    queue.delete(queue.take())
    assert queue.counts() == (0, 0, 0)
    clock.let_pass(1.3 * unit)
    assert queue.receive() == []


@source(MEASURED_SQS_TESTS)
def test_something_that_is_no_receipt_handle_is_refused(aws):
    reason = 'The input receipt handle "garbage" is not a valid receipt handle.'
    refused("ReceiptHandleIsInvalid", aws.queue().delete, {"ReceiptHandle": "garbage"}, says=reason)


@source(DELETE, MEASURED_SQS_TESTS)
def test_a_message_can_be_deleted_twice(aws):
    queue = aws.queue()
    queue.send()
    message = queue.take()
    queue.delete(message)
    queue.delete(message)


@source(MEASURED_SQS)
def test_a_standard_message_can_be_deleted_after_its_visibility_timeout(aws, clock, unit):
    queue = aws.queue(VisibilityTimeout=unit)
    queue.send()
    message = queue.take()
    clock.let_pass(1.3 * unit)
    queue.delete(message)
    assert queue.receive() == []


@source(MEASURED_SQS)
def test_a_fifo_message_cannot_be_deleted_after_its_visibility_timeout(aws, clock, unit):
    queue = aws.fifo(VisibilityTimeout=unit)
    queue.send(group="a")
    message = queue.take()
    clock.let_pass(1.3 * unit)
    refused("InvalidParameterValue", queue.delete, message, says=EXPIRED)
    queue.take()


@source(MEASURED_SQS)
def test_a_fifo_message_can_be_deleted_after_its_visibility_timeout_was_extended(aws, clock, unit):
    queue = aws.fifo(VisibilityTimeout=unit)
    queue.send(group="a")
    message = queue.take()
    queue.hide(message, 20 * unit)
    clock.let_pass(1.3 * unit)
    queue.delete(message)
    assert queue.counts() == (0, 0, 0)


@source(DELETE, MEASURED_SQS_TESTS)
def test_an_older_receipt_handle_is_accepted_silently(aws):
    queue = aws.queue()
    queue.send()
    older = queue.take(VisibilityTimeout=0)
    queue.take()
    queue.delete(older)


@source(DELETE)
def test_a_delete_without_a_receipt_handle_is_refused(aws):
    refused("MissingParameter", aws.sqs.delete_message, QueueUrl=aws.queue().url, says="ReceiptHandle")


@source(sqs("DeleteMessageBatch"))
def test_a_batch_deletes_what_it_can_and_names_the_rest(aws):
    queue = aws.queue()
    queue.send()
    handles = {"good": queue.take()["ReceiptHandle"], "bad": "garbage"}
    entries = [{"Id": id, "ReceiptHandle": handle} for id, handle in handles.items()]
    result = aws.sqs.delete_message_batch(QueueUrl=queue.url, Entries=entries)
    assert [entry["Id"] for entry in result["Successful"]] == ["good"]
    [failed] = result["Failed"]
    assert (failed["Id"], failed["Code"], failed["SenderFault"]) == ("bad", "ReceiptHandleIsInvalid", True)
    assert queue.counts() == (0, 0, 0)
