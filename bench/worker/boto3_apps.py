"""The loop with boto3 around an app or a program. Usage: boto3_apps.py http URL | boto3_apps.py program

A thread for each ten messages in hand receives ten, posts each or starts `true` with each, and deletes those that are done.
"""

import os
import subprocess
import sys
import threading

import boto3
import urllib3

QUEUE = os.environ["QUEUE_URL"]
POLLERS = int(os.environ["CONCURRENCY"]) // 10


def post(pool: urllib3.PoolManager, url: str, message: dict) -> bool:
    headers = {"Content-Type": "application/json", "X-Aws-Sqsd-Msgid": message["MessageId"]}
    return pool.request("POST", url, body=message["Body"].encode(), headers=headers).status < 300


def run(message: dict) -> bool:
    return subprocess.run(["true"], input=message["Body"].encode(), check=False).returncode == 0


def work(kind: str, *url: str) -> None:
    sqs = boto3.session.Session().client("sqs")
    pool = urllib3.PoolManager()
    while True:
        received = sqs.receive_message(QueueUrl=QUEUE, MaxNumberOfMessages=10, WaitTimeSeconds=20)
        messages = received.get("Messages", [])
        done = [it for it in messages if (post(pool, *url, it) if kind == "http" else run(it))]
        if not done:
            continue
        entries = [{"Id": str(id), "ReceiptHandle": it["ReceiptHandle"]} for id, it in enumerate(done)]
        deleted = sqs.delete_message_batch(QueueUrl=QUEUE, Entries=entries)
        if deleted.get("Failed"):
            sys.exit(str(deleted["Failed"]))


if __name__ == "__main__":
    threads = [threading.Thread(target=work, args=sys.argv[1:]) for _ in range(POLLERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
