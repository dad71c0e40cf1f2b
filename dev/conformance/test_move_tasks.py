import base64
import uuid

import pytest

from aws import NO_QUEUE, redrive_policy, refusal, refused
from sources import DEAD_LETTER_REDRIVE, MEASURED_MOVE_TASKS, source, sqs, sqs_guide

START, LIST, CANCEL = sqs("StartMessageMoveTask"), sqs("ListMessageMoveTasks"), sqs("CancelMessageMoveTask")
NO_RESOURCE = "ResourceNotFoundException"
NO_SOURCE = "The resource that you specified for the SourceArn parameter doesn't exist."


class Letters:
    """Returns a queue, its dead-letter queue with some letters, and the tasks that move them."""

    def __init__(self, aws, letters: int):
        self.sqs, self.clock = aws.sqs, aws.clock
        self.queue, self.dead = aws.pair(most=1, VisibilityTimeout=0)
        if letters:
            self.queue.send_batch({str(each): f"letter {each}" for each in range(letters)})
        for _ in range(50):
            if self.dead.counts()[0] == letters:
                break
            self.queue.receive()

    def start(self, **parameters) -> str:
        return self.sqs.start_message_move_task(SourceArn=self.dead.arn, **parameters)["TaskHandle"]

    def tasks(self, **parameters) -> list[dict]:
        return self.sqs.list_message_move_tasks(SourceArn=self.dead.arn, **parameters).get("Results", [])

    def until(self, status: str) -> dict:
        self.clock.until(lambda: self.tasks()[0]["Status"] == status, seconds=15)
        return self.tasks()[0]


@pytest.fixture
def no_letters(aws) -> Letters:
    return Letters(aws, 0)


@pytest.fixture
def one_letter(aws) -> Letters:
    return Letters(aws, 1)


@pytest.fixture
def nine_letters(aws) -> Letters:
    """Returns a queue with more letters than a task moves in a few seconds, at one per second."""
    return Letters(aws, 9)


SLOWLY = {"MaxNumberOfMessagesPerSecond": 1}


@source(START, LIST, MEASURED_MOVE_TASKS)
def test_letters_go_back_to_the_queue_that_they_come_from(aws):
    letters = Letters(aws, 3)
    letters.start()
    task = letters.until("COMPLETED")
    assert task["SourceArn"] == letters.dead.arn
    assert (task["ApproximateNumberOfMessagesMoved"], task["ApproximateNumberOfMessagesToMove"]) == (3, 3)
    assert "DestinationArn" not in task
    assert letters.dead.counts() == (0, 0, 0)
    assert letters.queue.counts() == (3, 0, 0)


@source(START, MEASURED_MOVE_TASKS)
def test_letters_go_to_the_queue_that_is_asked_for(aws, queue):
    letters = Letters(aws, 2)
    letters.start(DestinationArn=queue.arn)
    assert letters.until("COMPLETED")["DestinationArn"] == queue.arn
    assert sorted(queue.bodies() + queue.bodies()) == ["letter 0", "letter 1"]
    assert letters.queue.counts() == (0, 0, 0)


@source(START, MEASURED_MOVE_TASKS)
def test_letters_of_several_queues_go_back_to_their_own(aws, one_letter):
    other = aws.queue("from another queue", RedrivePolicy=redrive_policy(one_letter.dead, 1), VisibilityTimeout=0)
    other.receive()
    other.receive()
    assert one_letter.dead.counts()[0] == 2
    one_letter.start()
    one_letter.until("COMPLETED")
    assert (one_letter.queue.bodies(), other.bodies()) == (["letter 0"], ["from another queue"])


@source(sqs_guide("troubleshooting-dlq-redrive"))
def test_a_letter_without_a_source_goes_nowhere_unless_it_is_told_where(no_letters, queue):
    no_letters.dead.send("direct")
    no_letters.start()
    assert no_letters.until("FAILED")["FailureReason"] == "CouldNotDetermineMessageSource"
    assert no_letters.dead.counts() == (1, 0, 0)
    no_letters.start(DestinationArn=queue.arn)
    no_letters.until("COMPLETED")
    assert queue.bodies() == ["direct"]


@source(START)
def test_fifo_letters_keep_their_group_deduplication_id_and_order(aws, clock):
    queue, dead = aws.pair(most=1, fifo=True, VisibilityTimeout=0)
    other = aws.fifo()
    queue.send_all("1", "2", group="g")
    queue.receive()
    queue.receive()
    letters = dead.receive(VisibilityTimeout=0)
    aws.sqs.start_message_move_task(SourceArn=dead.arn, DestinationArn=other.arn)
    clock.until(lambda: other.counts()[0] == 2, seconds=15)

    def kept(letter: dict) -> tuple:
        attributes = letter["Attributes"]
        return letter["Body"], attributes["MessageGroupId"], attributes["MessageDeduplicationId"]

    assert [kept(letter) for letter in other.receive()] == [kept(letter) for letter in letters]
    assert [letter["Body"] for letter in letters] == ["1", "2"]


@source(DEAD_LETTER_REDRIVE)
def test_a_letter_that_goes_back_is_a_new_message(one_letter, clock):
    [before] = one_letter.dead.receive(VisibilityTimeout=0)
    clock.let_pass(1)
    one_letter.start()
    one_letter.until("COMPLETED")
    after = one_letter.queue.take()
    assert after["MessageId"] != before["MessageId"]
    assert int(after["Attributes"]["SentTimestamp"]) > int(before["Attributes"]["SentTimestamp"])


@source(DEAD_LETTER_REDRIVE)
def test_a_destination_of_the_other_type_is_refused(no_letters, fifo):
    refused("", no_letters.start, DestinationArn=fifo.arn)


@source(START, MEASURED_MOVE_TASKS)
def test_a_queue_that_is_no_dead_letter_queue_is_refused_as_a_source(aws, queue):
    error = "InvalidParameterValue: Source queue must be configured as a Dead Letter Queue."
    refused(error, aws.sqs.start_message_move_task, SourceArn=queue.arn)


@source(START)
def test_a_source_that_does_not_exist_is_refused(aws, queue):
    refused(NO_RESOURCE, aws.sqs.start_message_move_task, SourceArn=queue.arn + "-nowhere", status=404)


@source(START, MEASURED_MOVE_TASKS)
def test_a_destination_that_does_not_exist_is_refused(no_letters):
    error = f"{NO_RESOURCE}: The resource that you specified for the DestinationArn parameter doesn't exist."
    refused(error, no_letters.start, DestinationArn=no_letters.dead.arn + "-nowhere", status=404)


test_a_rate_that_is_not_from_1_to_500_is_refused = refusal(
    "InvalidParameterValue",
    "no_letters", lambda letters, rate: letters.start(MaxNumberOfMessagesPerSecond=rate), START, cases=[0, 501])


@source(START, MEASURED_MOVE_TASKS)
def test_a_second_task_of_a_source_is_refused_while_the_first_one_runs(nine_letters):
    nine_letters.start(**SLOWLY)
    reason = "There is already a task running. Only one active task is allowed for a source queue arn at a given time."
    refused(f"InvalidParameterValue: {reason}", nine_letters.start)


@source(START, LIST)
def test_a_task_keeps_to_its_rate(nine_letters, clock):
    nine_letters.start(**SLOWLY)
    clock.let_pass(3)
    [task] = nine_letters.tasks()
    assert (task["Status"], task["MaxNumberOfMessagesPerSecond"]) == ("RUNNING", 1)
    assert 1 <= task["ApproximateNumberOfMessagesMoved"] <= 6
    assert task["TaskHandle"]


@source(CANCEL, MEASURED_MOVE_TASKS)
def test_a_cancelled_task_stops_where_it_is(aws, nine_letters, clock):
    handle = nine_letters.start(**SLOWLY)
    clock.let_pass(2)
    moved = aws.sqs.cancel_message_move_task(TaskHandle=handle)["ApproximateNumberOfMessagesMoved"]
    assert 0 <= moved < 9
    assert nine_letters.tasks()[0]["Status"] in ("CANCELLING", "CANCELLED")
    task = nine_letters.until("CANCELLED")
    assert "TaskHandle" not in task
    assert nine_letters.dead.counts()[0] == 9 - task["ApproximateNumberOfMessagesMoved"] > 0


test_something_that_is_no_task_handle_is_refused = refusal(
    "InvalidParameterValue: Value for parameter TaskHandle is invalid.",
    "aws", lambda aws: aws.sqs.cancel_message_move_task(TaskHandle="garbage"), CANCEL, MEASURED_MOVE_TASKS)


@source(CANCEL, MEASURED_MOVE_TASKS)
def test_a_handle_of_a_task_that_does_not_exist_is_refused(aws, queue):
    for arn, reason in [(queue.arn, "Task does not exist."), (queue.arn + "-nowhere", NO_SOURCE)]:
        handle = base64.b64encode(f'{{"taskId":"{uuid.uuid4()}","sourceArn":"{arn}"}}'.encode()).decode()
        refused(f"{NO_RESOURCE}: {reason}", aws.sqs.cancel_message_move_task, TaskHandle=handle, status=404)


@source(CANCEL)
def test_a_task_that_is_over_cannot_be_cancelled(aws, one_letter):
    handle = one_letter.start()
    one_letter.until("COMPLETED")
    refused("", aws.sqs.cancel_message_move_task, TaskHandle=handle, status=None)


@source(LIST)
def test_the_latest_task_is_listed_first_and_alone_unless_more_are_asked_for(one_letter, queue, clock):
    for destination in ({}, {"DestinationArn": queue.arn}):
        one_letter.start(**destination)
        one_letter.until("COMPLETED")
        clock.let_pass(1)
    assert len(one_letter.tasks()) == 1
    later, earlier = one_letter.tasks(MaxResults=10)
    assert (later["DestinationArn"], "DestinationArn" in earlier) == (queue.arn, False)
    assert later["StartedTimestamp"] > earlier["StartedTimestamp"]


test_more_than_ten_tasks_cannot_be_asked_for = refusal(
    "InvalidParameterValue", "no_letters", lambda letters: letters.tasks(MaxResults=11), LIST)


@source(MEASURED_MOVE_TASKS)
def test_a_task_fails_when_its_destination_is_deleted(nine_letters, queue, clock):
    nine_letters.start(DestinationArn=queue.arn, **SLOWLY)
    clock.let_pass(1)
    queue.remove()
    assert nine_letters.until("FAILED")["FailureReason"] == NO_QUEUE
