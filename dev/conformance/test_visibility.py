import pytest

from aws import refusal, refused
from sources import MEASURED_SQS, MEASURED_SQS_TESTS, RECEIVE, VISIBILITY, VISIBILITY_LIMIT, source, sqs

CHANGE = sqs("ChangeMessageVisibility")
BEYOND = "InvalidParameterValue: Total VisibilityTimeout for the message is beyond the limit [43200 seconds]"


@pytest.fixture
def brief(aws, unit):
    """A queue with a message in it and a visibility timeout of one unit."""
    return aws.queue("tea", VisibilityTimeout=unit)


@pytest.fixture
def longer(aws, unit):
    """Returns a queue with a message and a visibility timeout of two units."""
    return aws.queue("tea", VisibilityTimeout=2 * unit)


@source(VISIBILITY)
def test_a_message_in_flight_is_hidden(one):
    one.take()
    assert one.receive() == []
    assert one.counts() == (0, 1, 0)


@source(VISIBILITY)
def test_a_message_comes_back_when_its_visibility_timeout_ends(longer, unit):
    taken = longer.take()
    assert longer.receive(after=unit) == []
    assert longer.take(after=1.3 * unit)["MessageId"] == taken["MessageId"]


@source(VISIBILITY, sqs("GetQueueAttributes"))
def test_a_message_whose_visibility_timeout_has_ended_counts_as_visible_before_any_receive(brief, unit):
    brief.take()
    assert brief.counts(after=1.3 * unit) == (1, 0, 0)


@source(RECEIVE)
def test_a_receive_may_have_a_visibility_timeout_of_its_own(one, unit):
    one.take(VisibilityTimeout=unit)
    assert one.receive() == []
    one.take(after=1.3 * unit)


@source(RECEIVE)
def test_a_receive_with_a_visibility_timeout_of_zero_hides_nothing(one):
    first, second = one.take(VisibilityTimeout=0), one.take()
    assert first["MessageId"] == second["MessageId"]
    assert first["ReceiptHandle"] != second["ReceiptHandle"]


@source(CHANGE)
def test_a_change_to_zero_shows_a_message_at_once(one):
    one.fail()
    assert one.counts() == (1, 0, 0)
    one.take()


@source(CHANGE)
def test_a_change_counts_from_the_moment_of_the_call(longer, clock, unit):
    message = longer.take()
    clock.let_pass(1.2 * unit)
    longer.hide(message, 2 * unit)
    assert longer.receive(after=1.2 * unit) == []
    longer.take(after=1.2 * unit)


@source(CHANGE, MEASURED_SQS_TESTS)
def test_a_change_holds_for_one_receive_only(longer, unit):
    longer.fail()
    longer.take()
    assert longer.receive(after=unit) == []
    longer.take(after=1.3 * unit)


@source(CHANGE)
@pytest.mark.parametrize("seconds", [-1, 43_201])
def test_a_change_to_less_than_0_or_more_than_43200_seconds_is_refused(one, seconds):
    refused("InvalidParameterValue: VisibilityTimeout", one.hide, one.take(), seconds)
    assert one.counts() == (0, 1, 0)


@source(RECEIVE)
@pytest.mark.parametrize("seconds", [-1, 43_201])
def test_a_receive_with_a_visibility_timeout_outside_0_to_43200_is_refused(one, seconds):
    refused("InvalidParameterValue: VisibilityTimeout", one.receive, VisibilityTimeout=seconds)
    assert one.counts() == (1, 0, 0)


@source(VISIBILITY, VISIBILITY_LIMIT)
def test_a_change_to_12_hours_after_the_receive_is_refused_since_some_of_them_have_passed(one, clock):
    message = one.take()
    clock.let_pass(2)
    refused(BEYOND, one.hide, message, 43_200)
    one.hide(message, 43_190)


@source(VISIBILITY, VISIBILITY_LIMIT)
def test_12_hours_are_the_limit_in_total_however_often_it_is_changed(aws, clock):
    queue = aws.queue("tea", VisibilityTimeout=36_000)
    message = queue.take()
    clock.let_pass(35_000)
    refused(BEYOND, queue.hide, message, 9_000)
    queue.hide(message, 8_000)
    clock.let_pass(7_000)
    refused(BEYOND, queue.hide, message, 2_000)
    assert queue.counts() == (0, 1, 0)
    assert queue.counts(after=1_100) == (1, 0, 0)


@source(MEASURED_SQS)
def test_a_change_after_the_visibility_timeout_has_ended_succeeds(brief, clock, unit):
    message = brief.take()
    clock.let_pass(1.3 * unit)
    brief.hide(message, 10 * unit)


@source(CHANGE, MEASURED_SQS_TESTS)
def test_a_change_of_a_deleted_message_is_refused(one):
    message = one.take()
    one.delete(message)
    reason = "Reason: Message does not exist or is not available for visibility timeout change."
    refused(f"InvalidParameterValue: {reason}", one.hide, message, 10)


@source(MEASURED_SQS_TESTS)
def test_an_older_receipt_handle_can_still_change_the_visibility(one):
    older = one.take(VisibilityTimeout=0)
    one.take()
    one.hide(older, 0)
    one.take()


@source(CHANGE)
def test_a_change_without_a_visibility_timeout_is_refused(one):
    handle = one.take()["ReceiptHandle"]
    change = one.sqs.change_message_visibility
    refused("MissingParameter: VisibilityTimeout", change, QueueUrl=one.url, ReceiptHandle=handle)
