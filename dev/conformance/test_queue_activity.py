import base64
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from botocore.exceptions import ClientError

from metrics import published
from sources import MEASURED_CLOUDWATCH, QUEUE_METRICS, source, sqs_guide


def receives(aws, queue, clock) -> tuple[float, float]:
    """How many messages were received, and how many calls returned none."""
    clock.let_pass(120)
    return tuple(sum(published(aws, queue, name)) for name in ("NumberOfMessagesReceived", "NumberOfEmptyReceives"))


@source(QUEUE_METRICS)
@pytest.mark.parametrize("seconds", [0, 1])
def test_a_call_that_returns_no_message_is_one_empty_receive(aws, queue, clock, seconds):
    assert queue.receive(WaitTimeSeconds=seconds) == []
    assert receives(aws, queue, clock) == (0, 1)


@source(QUEUE_METRICS, MEASURED_CLOUDWATCH)
def test_a_long_poll_that_returns_a_message_is_no_empty_receive(aws, queue, clock):
    poller = aws.client("sqs")
    with ThreadPoolExecutor() as pool:
        poll = pool.submit(lambda: poller.receive_message(QueueUrl=queue.url, WaitTimeSeconds=10))
        time.sleep(0.5)
        queue.send()
        assert len(poll.result(timeout=20)["Messages"]) == 1
    assert receives(aws, queue, clock) == (1, 0)


# Further parameters of the operations that name a queue by its URL.
BY_URL = {
    "add_permission": {"Label": "a", "AWSAccountIds": ["123456789012"], "Actions": ["SendMessage"]},
    "change_message_visibility": {"ReceiptHandle": "none", "VisibilityTimeout": 0},
    "change_message_visibility_batch": {"Entries": [{"Id": "a", "ReceiptHandle": "none", "VisibilityTimeout": 0}]},
    "delete_message": {"ReceiptHandle": "none"},
    "delete_message_batch": {"Entries": [{"Id": "a", "ReceiptHandle": "none"}]},
    "get_queue_attributes": {},
    "list_dead_letter_source_queues": {},
    "list_queue_tags": {},
    "purge_queue": {},
    "receive_message": {},
    "remove_permission": {"Label": "none"},
    "send_message": {"MessageBody": "tea"},
    "send_message_batch": {"Entries": [{"Id": "a", "MessageBody": "tea"}]},
    "set_queue_attributes": {"Attributes": {"DelaySeconds": "1"}},
    "tag_queue": {"Tags": {"team": "a"}},
    "untag_queue": {"TagKeys": ["team"]},
}
TASK = '{"taskId":"none","sourceArn":"%s"}'
# All operations that name a queue, except DeleteQueue, after which there is no queue.
NAMING = {
    **{name: lambda queue, more=more: {"QueueUrl": queue.url, **more} for name, more in BY_URL.items()},
    "create_queue": lambda queue: {"QueueName": queue.name},
    "get_queue_url": lambda queue: {"QueueName": queue.name},
    "cancel_message_move_task": lambda queue: {"TaskHandle": base64.b64encode((TASK % queue.arn).encode()).decode()},
    "list_message_move_tasks": lambda queue: {"SourceArn": queue.arn},
    "start_message_move_task": lambda queue: {"SourceArn": queue.arn},
}


@source(sqs_guide("monitoring-using-cloudwatch"))
@pytest.mark.parametrize("operation", sorted(NAMING))
def test_any_action_that_names_a_queue_makes_it_publish_again(aws, queue, clock, operation):
    """Even a refused call counts as a use here. AWS does not document this."""
    parameters, visible = NAMING[operation](queue), "ApproximateNumberOfMessagesVisible"
    clock.let_pass(8 * 3_600)
    before = sum(published(aws, queue, visible, "SampleCount"))
    try:
        getattr(aws.sqs, operation)(**parameters)
    except ClientError as refusal:
        assert refusal.response["Error"]["Code"] not in ("UnknownOperationException", "InvalidAction")
    clock.let_pass(120)
    assert before < sum(published(aws, queue, visible, "SampleCount"))
