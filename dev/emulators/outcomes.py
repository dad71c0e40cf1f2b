"""Compares the outcomes of the demo's messages in `redrive local` with those that AWS's operations report."""

import json
import time
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone


@dataclass(frozen=True)
class Outcome:
    """The end of each message by its position in the file, the counters, and the alarms on counters that went off."""

    ends: dict[int, str]
    metrics: dict[str, int]
    alarms: frozenset[str]


def of_local(events: list[dict]) -> Outcome:
    queue = next(event["queue"] for event in events if event["kind"] == "sent")
    sent = [event["message_id"] for event in events if event["kind"] == "sent" and event["queue"] == queue]
    ends = {}
    for event in events:
        if event["kind"] in ("done", "dead_lettered") and event["message_id"] in sent:
            end(ends, sent.index(event["message_id"]) + 1, event.get("reason", "done"), event["attempt"])
    dead = sum(not how.startswith("done") for how in ends.values())
    # A message that is done failed on each attempt except the last, a dead letter on all attempts.
    failed = sum(int(how.rpartition(" ")[2]) for how in ends.values()) - (len(ends) - dead)
    metrics = {"DeadLettered": dead, "Retried": failed - dead, "WorkerErrors": failed}
    gone_off = {event["name"] for event in events if event["kind"] == "alarm" and event["state"] == "ALARM"}
    return Outcome(ends, metrics, frozenset(name for name in gone_off if name.rpartition("-")[2] in metrics))


def of_aws(clients: dict, stack: dict[str, str], sent: list[str], alarms: set[str], expected: Outcome) -> Outcome:
    """Waits up to 20 s for the metrics, which may arrive a moment after the messages."""
    ends: dict[int, str] = {}
    for message_id, attempt in charged(clients["logs"], stack["LogGroupName"]):
        end(ends, sent.index(message_id) + 1, "done", attempt)
    for message_id, reason, attempt in letters(clients["sqs"], stack["DeadLetterQueueUrl"]):
        end(ends, sent.index(message_id) + 1, reason, attempt)
    queue = stack["QueueArn"].rpartition(":")[2]
    deadline = time.monotonic() + 20
    while (metrics := with_unconfirmed(sums(clients["cloudwatch"], queue))) != expected.metrics and time.monotonic() < deadline:
        time.sleep(0.5)
    return Outcome(ends, metrics, frozenset(alarms))


def with_unconfirmed(metrics: dict[str, int]) -> dict[str, int]:
    """Adds unconfirmed retries: a message is also retried if a busy MiniStack did not confirm its delay in time. Most must be."""
    unconfirmed = metrics.get("SettleErrors", 0)
    if unconfirmed > metrics.get("Retried", 0) // 2:
        return metrics
    counted = {name: count for name, count in metrics.items() if name != "SettleErrors"}
    return {**counted, "Retried": metrics.get("Retried", 0) + unconfirmed}


def end(ends: dict[int, str], place: int, how: str, attempt: int) -> None:
    if place in ends:
        raise ValueError(f"message {place} ended twice: {ends[place]}, {how} {attempt}")
    ends[place] = f"{how} {attempt}"


def charged(logs, group: str) -> list[tuple[str, int]]:
    """Returns the message id and the attempt of each order that the function's log reports as charged."""
    pages = logs.get_paginator("filter_log_events").paginate(logGroupName=group)
    lines = [event["message"].strip() for page in pages for event in page["events"]]
    entries = [json.loads(line) for line in lines if line.startswith("{")]
    spans = [entry["spans"][-1] for entry in entries if entry["message"] == "charged"]
    return [(span["message_id"], span["attempt"]) for span in spans]


def letters(sqs, queue: str) -> list[tuple[str, str, int]]:
    """Returns the original message id, the reason and the attempts of each dead letter, which are visible again afterwards."""
    letters = []
    names = {"MessageAttributeNames": ["All"], "MessageSystemAttributeNames": ["All"]}
    while found := sqs.receive_message(QueueUrl=queue, MaxNumberOfMessages=10, **names).get("Messages", []):
        letters += found
    for letter in letters:
        sqs.change_message_visibility(QueueUrl=queue, ReceiptHandle=letter["ReceiptHandle"], VisibilityTimeout=0)
    return [read(letter) for letter in letters]


def read(letter: dict) -> tuple[str, str, int]:
    if note := letter.get("MessageAttributes", {}).get("redrive.dead-letter"):
        note = json.loads(note["StringValue"])
        return note["message_id"], note["reason"], note["attempts"]
    # This read counted as a receive.
    return letter["MessageId"], "redrive policy", int(letter["Attributes"]["ApproximateReceiveCount"]) - 1


def sums(cloudwatch, queue: str) -> dict[str, int]:
    """Returns the sum of each metric of the queue."""
    dimensions = [{"Name": "QueueName", "Value": queue}]
    listed = cloudwatch.list_metrics(Namespace="Redrive", Dimensions=dimensions)["Metrics"]
    now = datetime.now(timezone.utc)
    period = {"StartTime": now - timedelta(hours=1), "EndTime": now + timedelta(minutes=1), "Period": 60}
    total = {}
    for name in (metric["MetricName"] for metric in listed):
        points = cloudwatch.get_metric_statistics(
            Namespace="Redrive", MetricName=name, Dimensions=dimensions, Statistics=["Sum"], **period
        )["Datapoints"]
        total[name] = round(sum(point["Sum"] for point in points))
    return total
