import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from botocore.exceptions import ClientError

from metrics import published
from sources import MEASURED_CLOUDWATCH, QUEUE_METRICS, source


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
