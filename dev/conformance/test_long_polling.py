import time
from concurrent.futures import ThreadPoolExecutor

from sources import LONG_POLLING, MEASURED_SQS_TESTS, RECEIVE, source


def waited(poll) -> tuple[list[str], float]:
    begun = time.monotonic()
    return poll(), time.monotonic() - begun


@source(LONG_POLLING, RECEIVE)
def test_a_long_poll_ends_as_soon_as_a_message_is_sent(aws, queue):
    poller = aws.client("sqs")
    with ThreadPoolExecutor() as pool:
        poll = pool.submit(lambda: poller.receive_message(QueueUrl=queue.url, WaitTimeSeconds=10))
        time.sleep(0.5)
        queue.send("at last")
        sent = time.monotonic()
        messages = poll.result(timeout=20)["Messages"]
        assert time.monotonic() - sent < 3
    assert [message["Body"] for message in messages] == ["at last"]


@source(LONG_POLLING, MEASURED_SQS_TESTS)
def test_a_long_poll_comes_back_empty_when_its_time_is_up(queue):
    messages, seconds = waited(lambda: queue.receive(WaitTimeSeconds=1))
    assert messages == []
    assert 0.9 < seconds < 5


@source(LONG_POLLING, MEASURED_SQS_TESTS)
def test_a_queue_may_make_every_receive_a_long_poll(aws):
    queue = aws.queue(ReceiveMessageWaitTimeSeconds=1)
    assert waited(queue.receive)[1] > 0.9


@source(LONG_POLLING)
def test_a_receive_may_say_that_it_does_not_wait(aws):
    queue = aws.queue(ReceiveMessageWaitTimeSeconds=20)
    assert waited(lambda: queue.receive(WaitTimeSeconds=0))[1] < 3


@source(LONG_POLLING, MEASURED_SQS_TESTS)
def test_a_long_poll_gives_what_there_is_without_waiting_for_more(aws):
    queue = aws.queue("one")
    messages, seconds = waited(lambda: queue.bodies(WaitTimeSeconds=20))
    assert messages == ["one"]
    assert seconds < 5


@source(LONG_POLLING, MEASURED_SQS_TESTS)
def test_a_long_poll_gives_a_message_whose_delay_ends_meanwhile(queue):
    queue.send("late", DelaySeconds=1)
    messages, seconds = waited(lambda: queue.bodies(WaitTimeSeconds=5))
    assert messages == ["late"]
    assert seconds < 4


@source(LONG_POLLING)
def test_a_long_poll_gives_a_message_whose_visibility_timeout_ends_meanwhile(aws):
    queue = aws.queue("again", VisibilityTimeout=1)
    queue.take()
    messages, seconds = waited(lambda: queue.bodies(WaitTimeSeconds=5))
    assert messages == ["again"]
    assert seconds < 4
