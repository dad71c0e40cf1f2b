"""redrive-local's example `serve` as the SQS of a run, with one queue."""

import json
import subprocess
from http.client import HTTPConnection
from typing import Self

PATIENCE = 60
ITEMS = [{"sku": f"B-{number}", "qty": number} for number in range(1, 5)]
ORDER = json.dumps({"orderId": "A-1", "fail": False, "amountCents": 4200, "currency": "EUR", "items": ITEMS})


class Server:
    def __init__(self, serve: str) -> None:
        self.process = subprocess.Popen([serve], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().strip()
        self.connection = HTTPConnection(self.url.removeprefix("http://"), timeout=PATIENCE)
        # Longer than a run takes, so a message that is received twice was handled and not deleted.
        attributes = {"VisibilityTimeout": "3600"}
        self.queue_url = self.call("CreateQueue", QueueName="orders", Attributes=attributes)["QueueUrl"]
        self.ten = [{"Id": str(id), "MessageBody": ORDER} for id in range(10)]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_) -> None:
        self.process.stdin.close()
        try:
            self.process.wait(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def send_ten(self) -> None:
        answer = self.call("SendMessageBatch", QueueUrl=self.queue_url, Entries=self.ten)
        assert not answer.get("Failed"), answer

    def send_one(self) -> None:
        self.call("SendMessage", QueueUrl=self.queue_url, MessageBody=ORDER)

    def totals(self) -> dict:
        """Returns the counts so far, without a request."""
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def call(self, operation: str, **values) -> dict:
        """Calls the server without boto3, with which sending would take longer than handling."""
        headers = {"content-type": "application/x-amz-json-1.0", "x-amz-target": f"AmazonSQS.{operation}"}
        self.connection.request("POST", "/", json.dumps(values), headers)
        answer = self.connection.getresponse()
        body = answer.read()
        assert answer.status == 200, body
        return json.loads(body)
