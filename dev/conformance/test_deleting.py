from aws import refusal, refused
from sources import MEASURED_SQS, MEASURED_SQS_TESTS, source, sqs
from test_batches import but_bad

DELETE = sqs("DeleteMessage")


@source(DELETE)
def test_a_deleted_message_does_not_come_back(aws, unit):
    queue = aws.queue("tea", VisibilityTimeout=unit)
    queue.delete(queue.take())
    assert queue.counts() == (0, 0, 0)
    assert queue.receive(after=1.3 * unit) == []


test_something_that_is_no_receipt_handle_is_refused = refusal(
    'ReceiptHandleIsInvalid: The input receipt handle "garbage" is not a valid receipt handle.',
    "queue", lambda queue: queue.delete({"ReceiptHandle": "garbage"}), MEASURED_SQS_TESTS)


@source(DELETE)
def test_a_receipt_handle_of_another_queue_is_refused(queue, one):
    refused("ReceiptHandleIsInvalid", queue.delete, one.take())


@source(DELETE, MEASURED_SQS_TESTS)
def test_a_message_can_be_deleted_twice(one):
    message = one.take()
    one.delete(message)
    one.delete(message)


@source(MEASURED_SQS)
def test_a_standard_message_can_be_deleted_after_its_visibility_timeout(aws, clock, unit):
    queue = aws.queue("tea", VisibilityTimeout=unit)
    message = queue.take()
    clock.let_pass(1.3 * unit)
    queue.delete(message)
    assert queue.receive() == []


@source(MEASURED_SQS)
def test_a_fifo_message_cannot_be_deleted_after_its_visibility_timeout(aws, clock, unit):
    queue = aws.fifo("tea", VisibilityTimeout=unit)
    message = queue.take()
    clock.let_pass(1.3 * unit)
    refused("InvalidParameterValue: Reason: The receipt handle has expired.", queue.delete, message)
    queue.take()


@source(MEASURED_SQS)
def test_a_fifo_message_can_be_deleted_after_its_visibility_timeout_was_extended(aws, clock, unit):
    queue = aws.fifo("tea", VisibilityTimeout=unit)
    message = queue.take()
    queue.hide(message, 20 * unit)
    clock.let_pass(1.3 * unit)
    queue.delete(message)
    assert queue.counts() == (0, 0, 0)


@source(DELETE, MEASURED_SQS_TESTS)
def test_an_older_receipt_handle_is_accepted_silently(one):
    older = one.take(VisibilityTimeout=0)
    one.take()
    one.delete(older)


test_a_delete_without_a_receipt_handle_is_refused = refusal(
    "MissingParameter: ReceiptHandle", "queue", lambda queue: queue.sqs.delete_message(QueueUrl=queue.url), DELETE)


@source(sqs("DeleteMessageBatch"))
def test_a_batch_deletes_what_it_can_and_names_the_rest(one):
    handles = {"good": one.take()["ReceiptHandle"], "bad": "garbage"}
    result = one.batch("delete_message", *({"Id": id, "ReceiptHandle": each} for id, each in handles.items()))
    assert but_bad(result)[0] == "ReceiptHandleIsInvalid"
    assert one.counts() == (0, 0, 0)
