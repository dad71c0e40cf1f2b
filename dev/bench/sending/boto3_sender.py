"""Sends messages with boto3: eight threads, ten messages for each call."""

import os
from concurrent.futures import ThreadPoolExecutor

import boto3

QUEUE, BODY, CALLS = os.environ["QUEUE_URL"], os.environ["BODY"], 8


def send(calls: int) -> None:
    sqs = boto3.session.Session().client("sqs")
    for _ in range(calls):
        entries = [{"Id": str(id), "MessageBody": BODY} for id in range(10)]
        sent = sqs.send_message_batch(QueueUrl=QUEUE, Entries=entries)
        assert not sent.get("Failed"), sent["Failed"]


with ThreadPoolExecutor(CALLS) as threads:
    list(threads.map(send, [int(os.environ["MESSAGES"]) // CALLS // 10] * CALLS))
