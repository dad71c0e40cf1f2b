"""An app of Celery whose broker is the SQS of AWS_ENDPOINT_URL."""

import os

from celery import Celery

BROKER = os.environ["AWS_ENDPOINT_URL"].replace("http://", "sqs://test:test@")
OPTIONS = {"region": os.environ["AWS_REGION"], "is_secure": False, "wait_time_seconds": 1}

app = Celery("celery_app", broker=BROKER, broker_transport_options=OPTIONS, task_ignore_result=True, worker_enable_remote_control=False)


@app.task
def add(first: int, second: int) -> None:
    with open(os.environ["HANDLED"], "a") as handled:
        handled.write(f"{first + second}\n")
