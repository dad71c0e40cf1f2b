"""Times `redrive dlq retry` beside scripts with boto3. Usage: compare.py SERVE REDRIVE [LETTERS [ROUNDS]]

Each contender gets queues of its own on the same server, with letters of which every second is wanted, in turns. What
arrives and what stays is counted, so that a contender that loses letters does not pass for a fast one.
"""

import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

import boto3

HERE = Path(__file__).parent
ARN = "arn:aws:sqs:eu-west-1:123456789012:"
PATIENCE = 600
ENVIRONMENT = {
    "PATH": os.environ["PATH"],
    "AWS_ACCESS_KEY_ID": "local",
    "AWS_SECRET_ACCESS_KEY": "local",
    "AWS_DEFAULT_REGION": "eu-west-1",
    "AWS_EC2_METADATA_DISABLED": "true",
}


def contenders(redrive: str) -> dict:
    def script(name: str):
        return lambda endpoint, dead, orders: [sys.executable, str(HERE / name), endpoint, dead, orders]

    def retry(endpoint: str, dead: str, orders: str) -> list[str]:
        queue = orders.rsplit("/", 1)[1]
        where = ["--where", "reason = panic", "--yes"]
        return [redrive, "dlq", "retry", "--queue", queue, *where, "--endpoint-url", endpoint, "--region", "eu-west-1"]

    return {"boto3, one by one": script("plain.py"), "boto3, ten at a time": script("batched.py"), "redrive dlq retry": retry}


def queues(sqs, name: str) -> tuple[str, str]:
    # Longer than any run takes, so that letters that stay are not received twice by those who do not hold them.
    dead = sqs.create_queue(QueueName=f"{name}-dead", Attributes={"VisibilityTimeout": "3600"})["QueueUrl"]
    policy = json.dumps({"deadLetterTargetArn": f"{ARN}{name}-dead", "maxReceiveCount": "3"})
    return dead, sqs.create_queue(QueueName=name, Attributes={"RedrivePolicy": policy})["QueueUrl"]


def fill(sqs, dead: str, name: str, letters: int) -> None:
    for start in range(0, letters, 10):
        entries = []
        for number in range(start, min(start + 10, letters)):
            note = {
                "reason": "panic" if number % 2 else "rejected",
                "error": "card refused",
                "failed_at": "2026-11-21T07:50:00.000Z",
                "attempts": 3,
                "message_id": f"message-{number}",
                "source": ARN + name,
            }
            attribute = {"DataType": "String", "StringValue": json.dumps(note)}
            body = json.dumps({"order_id": f"A-{number}", "lines": ["x" * 20] * 20})
            entries.append(
                {"Id": str(number), "MessageBody": body, "MessageAttributes": {"redrive.dead-letter": attribute}}
            )
        assert not sqs.send_message_batch(QueueUrl=dead, Entries=entries).get("Failed")


def count(sqs, queue: str) -> int:
    names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
    attributes = sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=names)["Attributes"]
    return sum(int(attributes[name]) for name in names)


def run(command: list[str]) -> tuple[float, float]:
    """Seconds, and the peak of its memory in MiB."""
    began, peak = time.monotonic(), 0.0
    process = subprocess.Popen(command, env=ENVIRONMENT, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    while process.poll() is None:
        peak = memory(process.pid) or peak
        if time.monotonic() - began > PATIENCE:
            process.kill()
            raise TimeoutError(command)
        time.sleep(0.005)
    assert process.returncode == 0, command
    return time.monotonic() - began, peak


def memory(process: int) -> float | None:
    try:
        status = Path(f"/proc/{process}/status").read_text()
    except OSError:  # it has ended
        return None
    found = [line.split()[1] for line in status.splitlines() if line.startswith("VmHWM:")]
    return int(found[0]) / 1024 if found else None


def main() -> int:
    serve, redrive = sys.argv[1:3]
    letters = int(sys.argv[3]) if len(sys.argv) > 3 else 10_000
    rounds = int(sys.argv[4]) if len(sys.argv) > 4 else 3
    server = subprocess.Popen([serve], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        endpoint = server.stdout.readline().strip()
        os.environ.update(ENVIRONMENT)
        sqs = boto3.client("sqs", endpoint_url=endpoint)
        took: dict[str, list[tuple[float, float]]] = {}
        for turn in range(rounds):
            for index, (contender, command) in enumerate(contenders(redrive).items()):
                name = f"orders-{turn}-{index}"
                dead, orders = queues(sqs, name)
                fill(sqs, dead, name, letters)
                took.setdefault(contender, []).append(run(command(endpoint, dead, orders)))
                arrived, left = count(sqs, orders), count(sqs, dead)
                assert (arrived, left) == (letters // 2, letters - letters // 2), (contender, arrived, left)
                for queue in (orders, dead):
                    sqs.delete_queue(QueueUrl=queue)
    finally:
        server.stdin.close()
        server.wait(timeout=30)
    seconds = {contender: statistics.median(s for s, _ in runs) for contender, runs in took.items()}
    fastest = seconds["redrive dlq retry"]
    print(f"{letters} letters, every second sent back, median of {rounds} rounds")
    print("| | seconds | times as long | peak memory |\n| --- | ---: | ---: | ---: |")
    for contender, runs in took.items():
        memory = max(mib for _, mib in runs)
        print(f"| {contender} | {seconds[contender]:.1f} | {seconds[contender] / fastest:.1f} | {memory:.0f} MiB |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
