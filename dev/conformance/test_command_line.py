import json
import os
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

from aws import KEYS, REGION
from sources import COMMAND_LINE, cloudwatch, source, sqs


@pytest.fixture
def command(aws, tmp_path):
    """Returns a function that runs version 1 of the AWS CLI, and returns its output."""
    settings = {"aws_default_region": REGION, "aws_max_attempts": "1", **KEYS, "home": str(tmp_path)}
    environment = {name.upper(): value for name, value in settings.items()} | {"PATH": os.environ["PATH"]}

    def run(*arguments: str):
        program = [Path(sys.executable).with_name("aws"), "--endpoint-url", aws.url, "--output", "json"]
        done = subprocess.run([*program, *arguments], env=environment, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr.strip()
        return json.loads(done.stdout or "{}")

    return run


@source(COMMAND_LINE)
def test_the_command_line_works_on_messages(command):
    url = command("sqs", "create-queue", "--queue-name", f"cli-{uuid.uuid4().hex[:8]}")["QueueUrl"]
    attributes = '{"channel": {"DataType": "String", "StringValue": "web"}}'
    send = ("send-message", "--message-body", "tea", "--message-attributes", attributes)
    sent = command("sqs", *send, "--queue-url", url)
    everything = ("--attribute-names", "All", "--message-attribute-names", "All")
    [message] = command("sqs", "receive-message", "--queue-url", url, *everything)["Messages"]
    assert (message["MessageId"], message["Body"]) == (sent["MessageId"], "tea")
    held = ("--queue-url", url, "--receipt-handle", message["ReceiptHandle"])
    command("sqs", "change-message-visibility", *held, "--visibility-timeout", "0")
    [again] = command("sqs", "receive-message", "--queue-url", url, *everything)["Messages"]
    assert again["Attributes"]["ApproximateReceiveCount"] == "2"
    command("sqs", "delete-message", "--queue-url", url, "--receipt-handle", again["ReceiptHandle"])
    assert command("sqs", "receive-message", "--queue-url", url) == {}


@source(COMMAND_LINE, sqs("StartMessageMoveTask"))
def test_the_command_line_moves_dead_letters_back(aws, command):
    _, dead = aws.pair()
    task = command("sqs", "start-message-move-task", "--source-arn", dead.arn)
    assert task["TaskHandle"]
    [listed] = command("sqs", "list-message-move-tasks", "--source-arn", dead.arn)["Results"]
    assert listed["SourceArn"] == dead.arn


@source("https://docs.aws.amazon.com/cli/latest/reference/cloudwatch/index.html", cloudwatch("PutMetricData"))
def test_the_command_line_works_on_metrics_and_alarms(command):
    name = f"cli-{uuid.uuid4().hex[:8]}"
    metric = ("--namespace", name, "--metric-name", "Orders")
    command("cloudwatch", "put-metric-data", *metric, "--value", "2")
    [listed] = command("cloudwatch", "list-metrics", "--namespace", name)["Metrics"]
    assert listed["MetricName"] == "Orders"
    rule = ("--threshold", "1", "--comparison-operator", "GreaterThanThreshold", "--evaluation-periods", "1")
    sums = ("--statistic", "Sum", "--period", "60")
    command("cloudwatch", "put-metric-alarm", "--alarm-name", name, *metric, *sums, *rule)
    [alarm] = command("cloudwatch", "describe-alarms", "--alarm-names", name)["MetricAlarms"]
    assert (alarm["AlarmName"], alarm["Threshold"]) == (name, 1)
