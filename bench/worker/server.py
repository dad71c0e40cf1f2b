"""redrive-local's example `serve` as the SQS of a run, with one queue."""

import json
import re
import socket
import subprocess
from typing import Self

PATIENCE = 60
ENDED = re.compile(rb"content-length: (\d+)", re.IGNORECASE)
ITEMS = [{"sku": f"B-{number}", "qty": number} for number in range(1, 5)]
ORDER = json.dumps({"orderId": "A-1", "fail": False, "amountCents": 4200, "currency": "EUR", "items": ITEMS})


class Server:
    def __init__(self, serve: str) -> None:
        self.process = subprocess.Popen([serve], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().strip()
        self.connection = Connection(self.url)
        # Longer than a run takes: what is received twice was handled and not deleted.
        attributes = {"VisibilityTimeout": "3600"}
        created = self.connection.exchange(self.request("CreateQueue", QueueName="orders", Attributes=attributes))
        self.queue_url = json.loads(created)["QueueUrl"]
        entries = [{"Id": str(id), "MessageBody": ORDER} for id in range(10)]
        self.ten = self.request("SendMessageBatch", QueueUrl=self.queue_url, Entries=entries)
        self.one = self.request("SendMessage", QueueUrl=self.queue_url, MessageBody=ORDER)

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
        answer = self.connection.exchange(self.ten)
        assert b'"Failed"' not in answer, answer

    def send_one(self) -> None:
        self.connection.exchange(self.one)

    def totals(self) -> dict:
        """All that was counted so far, without a request."""
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def request(self, operation: str, **values) -> bytes:
        body = json.dumps(values).encode()
        head = (
            f"POST / HTTP/1.1\r\nhost: {self.url.removeprefix('http://')}\r\ncontent-type: application/x-amz-json-1.0\r\n"
            f"x-amz-target: AmazonSQS.{operation}\r\ncontent-length: {len(body)}\r\n\r\n"
        )
        return head.encode() + body


class Connection:
    """Speaks just enough HTTP: boto3 would take longer to send than a worker to handle."""

    def __init__(self, url: str) -> None:
        host, port = url.removeprefix("http://").split(":")
        self.socket = socket.create_connection((host, int(port)), timeout=PATIENCE)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def exchange(self, request: bytes) -> bytes:
        self.socket.sendall(request)
        answer, body, length = b"", b"", None
        while length is None or len(body) < length:
            part = self.socket.recv(1 << 16)
            assert part, "the server closed the connection"
            answer += part
            head, end, body = answer.partition(b"\r\n\r\n")
            length = int(ENDED.search(head)[1]) if end else None
        assert head.startswith(b"HTTP/1.1 200"), answer
        return body
