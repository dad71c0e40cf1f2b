"""Sends messages to the SQS of AWS_ENDPOINT_URL with boto3 and Celery, and lets sqs-consumer and Celery handle them. Usage: clients.py CELERY NODE"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import boto3
from botocore.exceptions import BotoCoreError

HERE = Path(__file__).parent
PATIENCE = 60
HANDLED = Path("handled")


def main(celery: Path, node: Path) -> None:
    sqs = boto3.client("sqs")
    until("the SQS answers", lambda: answers(sqs))
    url = sqs.create_queue(QueueName="orders")["QueueUrl"]
    for number in range(25):
        body = {"order_id": f"A-{number}", "lines": [{"sku": "tea", "quantity": 1}]}
        sqs.send_message(QueueUrl=url, MessageBody=json.dumps(body))
    # It prints how long messages took once it has handled all.
    settings = {"QUEUE_URL": url, "CONCURRENCY": "20", "HANDLER_MS": "5", "WARM_UP": "0", "MESSAGES": "25"}
    command = [next(node.glob("node_modules/node-linux-*/bin/node")), node / "sqs_consumer.mjs", "one"]
    with subprocess.Popen(command, env=os.environ | settings, stdout=subprocess.PIPE, text=True) as consumer:
        assert sum(messages for _, messages in json.loads(consumer.stdout.readline())) == 25
        until("sqs-consumer has deleted all", lambda: count(sqs, url) == 0)
        consumer.kill()

    settings = os.environ | {"PYTHONPATH": str(HERE), "HANDLED": str(HANDLED.absolute())}
    worker = [celery, "--app", "celery_app", "worker", "--pool", "solo", "--loglevel", "warning"]
    for number in range(10):
        subprocess.run([celery, "--app", "celery_app", "call", "celery_app.add", f"--args=[{number}, 1]"], env=settings, check=True)
    with subprocess.Popen(worker, env=settings) as consumer:
        until("Celery has handled all", lambda: HANDLED.exists() and len(HANDLED.read_text().split()) == 10)
        assert sorted(map(int, HANDLED.read_text().split())) == list(range(1, 11))
        consumer.terminate()


def until(what, is_so) -> None:
    end = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < end, f"in vain: {what}"
        time.sleep(0.1)


def answers(sqs) -> bool:
    try:
        sqs.list_queues()
    except BotoCoreError:
        return False
    return True


def count(sqs, url: str) -> int:
    names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
    return sum(map(int, sqs.get_queue_attributes(QueueUrl=url, AttributeNames=names)["Attributes"].values()))


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
