import base64
import json
import uuid

import pytest

from aws import refused
from sources import DEAD_LETTER_REDRIVE, MEASURED_MOVE_TASKS, source, sqs

START, LIST, CANCEL = sqs("StartMessageMoveTask"), sqs("ListMessageMoveTasks"), sqs("CancelMessageMoveTask")
NO_RESOURCE = "ResourceNotFoundException"


class Letters:
    """A queue, its dead-letter queue with some letters in it, and the tasks that move them."""

    def __init__(self, aws, letters: int):
        self.sqs, self.clock = aws.sqs, aws.clock
        self.dead = aws.queue()
        policy = json.dumps({"deadLetterTargetArn": self.dead.arn, "maxReceiveCount": 1})
        self.queue = aws.queue(RedrivePolicy=policy, VisibilityTimeout=0)
        entries = [{"Id": str(each), "MessageBody": f"letter {each}"} for each in range(letters)]
        if entries:
            self.sqs.send_message_batch(QueueUrl=self.queue.url, Entries=entries)
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
def test_letters_go_to_the_queue_that_is_asked_for(aws):
    letters, other = Letters(aws, 2), aws.queue()
    letters.start(DestinationArn=other.arn)
    assert letters.until("COMPLETED")["DestinationArn"] == other.arn
    assert sorted(other.bodies() + other.bodies()) == ["letter 0", "letter 1"]
    assert letters.queue.counts() == (0, 0, 0)


@source(START, MEASURED_MOVE_TASKS)
def test_letters_of_several_queues_go_back_to_their_own(aws):
    letters = Letters(aws, 1)
    other = aws.queue(RedrivePolicy=letters.queue.attribute("RedrivePolicy"), VisibilityTimeout=0)
    other.send("from another queue")
    other.receive()
    other.receive()
    assert letters.dead.counts()[0] == 2
    letters.start()
    letters.until("COMPLETED")
    assert (letters.queue.bodies(), other.bodies()) == (["letter 0"], ["from another queue"])


@source(DEAD_LETTER_REDRIVE)
def test_a_letter_that_goes_back_is_a_new_message(aws, clock):
    letters = Letters(aws, 1)
    [before] = letters.dead.receive(VisibilityTimeout=0)
    clock.let_pass(1)
    letters.start()
    letters.until("COMPLETED")
    after = letters.queue.take()
    assert after["MessageId"] != before["MessageId"]
    assert int(after["Attributes"]["SentTimestamp"]) > int(before["Attributes"]["SentTimestamp"])


@source(DEAD_LETTER_REDRIVE)
def test_a_destination_of_the_other_type_is_refused(aws):
    refused("", Letters(aws, 0).start, DestinationArn=aws.fifo().arn)


@source(START, MEASURED_MOVE_TASKS)
def test_a_queue_that_is_no_dead_letter_queue_is_refused_as_a_source(aws):
    reason, arn = "Source queue must be configured as a Dead Letter Queue.", aws.queue().arn
    refused("InvalidParameterValue", aws.sqs.start_message_move_task, SourceArn=arn, says=reason)


@source(START)
def test_a_source_that_does_not_exist_is_refused(aws):
    arn = aws.queue().arn + "-nowhere"
    refused(NO_RESOURCE, aws.sqs.start_message_move_task, SourceArn=arn, status=404)


@source(START, MEASURED_MOVE_TASKS)
def test_a_destination_that_does_not_exist_is_refused(aws):
    letters, reason = Letters(aws, 0), "The resource that you specified for the DestinationArn parameter doesn't exist."
    refused(NO_RESOURCE, letters.start, DestinationArn=letters.dead.arn + "-nowhere", status=404, says=reason)


@source(START)
@pytest.mark.parametrize("rate", [0, 501])
def test_a_rate_that_is_not_from_1_to_500_is_refused(aws, rate):
    refused("InvalidParameterValue", Letters(aws, 0).start, MaxNumberOfMessagesPerSecond=rate)


@source(START, MEASURED_MOVE_TASKS)
def test_a_second_task_of_a_source_is_refused_while_the_first_one_runs(aws):
    letters = Letters(aws, 9)
    letters.start(MaxNumberOfMessagesPerSecond=1)
    reason = "There is already a task running. Only one active task is allowed for a source queue arn at a given time."
    refused("InvalidParameterValue", letters.start, says=reason)


@source(START, LIST)
def test_a_task_keeps_to_its_rate(aws, clock):
    letters = Letters(aws, 9)
    letters.start(MaxNumberOfMessagesPerSecond=1)
    clock.let_pass(3)
    [task] = letters.tasks()
    assert (task["Status"], task["MaxNumberOfMessagesPerSecond"]) == ("RUNNING", 1)
    assert 1 <= task["ApproximateNumberOfMessagesMoved"] <= 6
    assert task["TaskHandle"]


@source(CANCEL, MEASURED_MOVE_TASKS)
def test_a_cancelled_task_stops_where_it_is(aws, clock):
    letters = Letters(aws, 9)
    handle = letters.start(MaxNumberOfMessagesPerSecond=1)
    clock.let_pass(2)
    moved = aws.sqs.cancel_message_move_task(TaskHandle=handle)["ApproximateNumberOfMessagesMoved"]
    assert 0 <= moved < 9
    task = letters.until("CANCELLED")
    assert "TaskHandle" not in task
    assert letters.dead.counts()[0] == 9 - task["ApproximateNumberOfMessagesMoved"] > 0


@source(CANCEL, MEASURED_MOVE_TASKS)
def test_something_that_is_no_task_handle_is_refused(aws):
    reason = "Value for parameter TaskHandle is invalid."
    refused("InvalidParameterValue", aws.sqs.cancel_message_move_task, TaskHandle="garbage", says=reason)


@source(CANCEL, MEASURED_MOVE_TASKS)
def test_a_handle_of_a_task_that_does_not_exist_is_refused(aws):
    cancel, arn, task = aws.sqs.cancel_message_move_task, aws.queue().arn, str(uuid.uuid4())
    refused(NO_RESOURCE, cancel, TaskHandle=handle(task, arn), status=404, says="Task does not exist.")
    reason = "The resource that you specified for the SourceArn parameter doesn't exist."
    refused(NO_RESOURCE, cancel, TaskHandle=handle(task, arn + "-nowhere"), status=404, says=reason)


def handle(task: str, source_arn: str) -> str:
    return base64.b64encode(f'{{"taskId":"{task}","sourceArn":"{source_arn}"}}'.encode()).decode()


@source(CANCEL)
def test_a_task_that_is_over_cannot_be_cancelled(aws):
    letters = Letters(aws, 1)
    handle = letters.start()
    letters.until("COMPLETED")
    refused("", aws.sqs.cancel_message_move_task, TaskHandle=handle, status=None)


@source(LIST)
def test_the_latest_task_is_listed_first_and_alone_unless_more_are_asked_for(aws, clock):
    letters, other = Letters(aws, 1), aws.queue()
    letters.start()
    letters.until("COMPLETED")
    clock.let_pass(1)
    letters.start(DestinationArn=other.arn)
    letters.until("COMPLETED")
    assert len(letters.tasks()) == 1
    later, earlier = letters.tasks(MaxResults=10)
    assert (later["DestinationArn"], "DestinationArn" in earlier) == (other.arn, False)
    assert later["StartedTimestamp"] > earlier["StartedTimestamp"]


@source(LIST)
def test_more_than_ten_tasks_cannot_be_asked_for(aws):
    refused("InvalidParameterValue", Letters(aws, 0).tasks, MaxResults=11)


@source(MEASURED_MOVE_TASKS)
def test_a_task_fails_when_its_destination_is_deleted(aws, clock):
    letters, other = Letters(aws, 9), aws.queue()
    letters.start(DestinationArn=other.arn, MaxNumberOfMessagesPerSecond=1)
    clock.let_pass(1)
    aws.sqs.delete_queue(QueueUrl=other.url)
    assert letters.until("FAILED")["FailureReason"] == "AWS.SimpleQueueService.NonExistentQueue"
