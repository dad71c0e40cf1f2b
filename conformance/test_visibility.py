import pytest

from aws import refused
from sources import MEASURED_SQS, MEASURED_SQS_TESTS, VISIBILITY, VISIBILITY_LIMIT, source, sqs

CHANGE = sqs("ChangeMessageVisibility")
RECEIVE = sqs("ReceiveMessage")
BEYOND = "Total VisibilityTimeout for the message is beyond the limit [43200 seconds]"


@source(VISIBILITY)
def test_a_message_in_flight_is_hidden(aws):
    queue = aws.queue()
    queue.send()
    queue.take()
    assert queue.receive() == []
    assert queue.counts() == (0, 1, 0)


@source(VISIBILITY)
def test_a_message_comes_back_when_its_visibility_timeout_ends(aws, clock, unit):
    queue = aws.queue(VisibilityTimeout=2 * unit)
    sent = queue.send()
    queue.take()
    clock.let_pass(unit)
    assert queue.receive() == []
    clock.let_pass(1.3 * unit)
    assert queue.take()["MessageId"] == sent["MessageId"]


@source(VISIBILITY, sqs("GetQueueAttributes"))
def test_a_message_whose_visibility_timeout_has_ended_counts_as_visible_before_any_receive(aws, clock, unit):
    queue = aws.queue(VisibilityTimeout=unit)
    queue.send()
    queue.take()
    clock.let_pass(1.3 * unit)
    assert queue.counts() == (1, 0, 0)


@source(RECEIVE)
def test_a_receive_may_have_a_visibility_timeout_of_its_own(aws, clock, unit):
    queue = aws.queue()
    queue.send()
    queue.take(VisibilityTimeout=unit)
    assert queue.receive() == []
    clock.let_pass(1.3 * unit)
    queue.take()


@source(RECEIVE)
def test_a_receive_with_a_visibility_timeout_of_zero_hides_nothing(aws):
    queue = aws.queue()
    queue.send()
    first, second = queue.take(VisibilityTimeout=0), queue.take()
    assert first["MessageId"] == second["MessageId"]
    assert first["ReceiptHandle"] != second["ReceiptHandle"]


@source(CHANGE)
def test_a_change_to_zero_shows_a_message_at_once(aws):
    queue = aws.queue()
    queue.send()
    queue.hide(queue.take(), 0)
    assert queue.counts() == (1, 0, 0)
    queue.take()


@source(CHANGE)
def test_a_change_counts_from_the_moment_of_the_call(aws, clock, unit):
    queue = aws.queue(VisibilityTimeout=2 * unit)
    queue.send()
    message = queue.take()
    clock.let_pass(1.2 * unit)
    queue.hide(message, 2 * unit)
    clock.let_pass(1.2 * unit)
    assert queue.receive() == []
    clock.let_pass(1.2 * unit)
    queue.take()


@source(CHANGE, MEASURED_SQS_TESTS)
def test_a_change_holds_for_one_receive_only(aws, clock, unit):
    queue = aws.queue(VisibilityTimeout=2 * unit)
    queue.send()
    queue.hide(queue.take(), 0)
    queue.take()
    clock.let_pass(unit)
    assert queue.receive() == []
    clock.let_pass(1.3 * unit)
    queue.take()


@source(CHANGE)
@pytest.mark.parametrize("seconds", [-1, 43_201])
def test_a_change_to_less_than_0_or_more_than_43200_seconds_is_refused(aws, seconds):
    queue = aws.queue()
    queue.send()
    message = queue.take()
    refused("InvalidParameterValue", queue.hide, message, seconds, says="VisibilityTimeout")
    assert queue.counts() == (0, 1, 0)


@source(RECEIVE)
@pytest.mark.parametrize("seconds", [-1, 43_201])
def test_a_receive_with_a_visibility_timeout_outside_0_to_43200_is_refused(aws, seconds):
    queue = aws.queue()
    queue.send()
    refused("InvalidParameterValue", queue.receive, VisibilityTimeout=seconds, says="VisibilityTimeout")
    assert queue.counts() == (1, 0, 0)


@source(VISIBILITY, VISIBILITY_LIMIT)
def test_a_change_to_12_hours_after_the_receive_is_refused_since_some_of_them_have_passed(aws, clock):
    queue = aws.queue()
    queue.send()
    message = queue.take()
    clock.let_pass(2)
    refused("InvalidParameterValue", queue.hide, message, 43_200, says=BEYOND)
    queue.hide(message, 43_190)


@source(VISIBILITY, VISIBILITY_LIMIT)
def test_12_hours_are_the_limit_in_total_however_often_it_is_changed(aws, clock):
    queue = aws.queue(VisibilityTimeout=36_000)
    queue.send()
    message = queue.take()
    clock.let_pass(35_000)
    refused("InvalidParameterValue", queue.hide, message, 9_000, says=BEYOND)
    queue.hide(message, 8_000)
    clock.let_pass(7_000)
    refused("InvalidParameterValue", queue.hide, message, 2_000, says=BEYOND)
    assert queue.counts() == (0, 1, 0)
    clock.let_pass(1_100)
    assert queue.counts() == (1, 0, 0)


@source(MEASURED_SQS)
def test_a_change_after_the_visibility_timeout_has_ended_succeeds(aws, clock, unit):
    queue = aws.queue(VisibilityTimeout=unit)
    queue.send()
    message = queue.take()
    clock.let_pass(1.3 * unit)
    queue.hide(message, 10 * unit)


@source(CHANGE, MEASURED_SQS_TESTS)
def test_a_change_of_a_deleted_message_is_refused(aws):
    queue = aws.queue()
    queue.send()
    message = queue.take()
    queue.delete(message)
    reason = "Reason: Message does not exist or is not available for visibility timeout change."
    refused("InvalidParameterValue", queue.hide, message, 10, says=reason)


@source(MEASURED_SQS_TESTS)
def test_an_older_receipt_handle_can_still_change_the_visibility(aws):
    queue = aws.queue()
    queue.send()
    older = queue.take(VisibilityTimeout=0)
    queue.take()
    queue.hide(older, 0)
    queue.take()


@source(CHANGE)
def test_a_change_without_a_visibility_timeout_is_refused(aws):
    queue = aws.queue()
    queue.send()
    handle = queue.take()["ReceiptHandle"]
    change = aws.sqs.change_message_visibility
    refused("MissingParameter", change, QueueUrl=queue.url, ReceiptHandle=handle, says="VisibilityTimeout")
