"""The worker with boto3: a thread for each ten messages in hand, that receives ten, handles them and deletes them."""

import json
import os
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import boto3

QUEUE = os.environ["QUEUE_URL"]
POLLERS = int(os.environ["CONCURRENCY"]) // 10
WAIT = int(os.environ["HANDLER_MS"]) / 1000
WARM_UP, MESSAGES = int(os.environ["WARM_UP"]), int(os.environ["MESSAGES"])


class Times:
    """Counts messages by the milliseconds from their sending until they were handled."""

    def __init__(self) -> None:
        self.lock, self.taken, self.handled = threading.Lock(), Counter(), 0

    def count(self, message: dict) -> None:
        taken = max(0, int(time.time() * 1000) - int(message["Attributes"]["SentTimestamp"]))
        with self.lock:
            self.handled += 1
            if self.handled > WARM_UP:
                self.taken[taken] += 1
            if self.handled == MESSAGES:
                print(json.dumps(list(self.taken.items())), flush=True)


TIMES = Times()


def handle(message: dict) -> None:
    order = json.loads(message["Body"])
    if WAIT:
        time.sleep(WAIT)
    if order["fail"]:
        raise ValueError("poison")
    TIMES.count(message)


def work() -> None:
    sqs = boto3.session.Session().client("sqs")
    handlers = ThreadPoolExecutor(10)
    # Handlers that do not wait are faster without threads.
    handle_each = handlers.map if WAIT else map
    while True:
        received = sqs.receive_message(
            QueueUrl=QUEUE, MaxNumberOfMessages=10, WaitTimeSeconds=20, MessageSystemAttributeNames=["SentTimestamp"]
        )
        messages = received.get("Messages", [])
        if not messages:
            continue
        list(handle_each(handle, messages))
        entries = [{"Id": str(id), "ReceiptHandle": it["ReceiptHandle"]} for id, it in enumerate(messages)]
        deleted = sqs.delete_message_batch(QueueUrl=QUEUE, Entries=entries)
        if deleted.get("Failed"):
            sys.exit(str(deleted["Failed"]))


if __name__ == "__main__":
    threads = [threading.Thread(target=work) for _ in range(POLLERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
