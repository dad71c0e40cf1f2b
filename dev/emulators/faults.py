"""Adds faults to a deployed stack, and checks that `redrive doctor` reports all of them and nothing else.

What it finds by them, `crates/cli/tests/doctor/corpus/cases.txt` says; this shows that it reads them from services that nobody here
wrote.
"""

import json
import subprocess
from pathlib import Path

# Each code has one or two changes below. The doctor also reports that they were made by hand.
EXPECTED = {
    "alarm-metrics-off",
    "alarm-without-action",
    "allow-policy-refuses",
    "batch-response-missing",
    "dead-letter-alarm-threshold",
    "dead-letter-retention",
    "dead-letter-url-missing",
    "max-receive-count-differs",
    "max-receive-count-low",
    "reserved-below-maximum",
    "setting-refused",
    "stack-drifts",
    "visibility-too-short",
    "visibility-variable-differs",
}


def check(redrive: Path, endpoint: str, clients: dict, outputs: dict[str, str], stack: str) -> list[str]:
    """Returns the codes that the doctor should not have reported, or did not report. The stack keeps its faults."""
    doctor = [redrive, "doctor", "--stack", stack, "--endpoint-url", endpoint, "--json"]
    wrong = []
    codes, not_seen = found(doctor)
    if codes or not_seen:
        wrong.append(f"in the stack as it was deployed it found {sorted(codes)}, and did not see {not_seen}")
    break_queues(clients["sqs"], outputs["QueueUrl"], outputs["DeadLetterQueueUrl"])
    break_function(clients["lambda"], outputs["FunctionName"])
    break_alarm(clients["cloudwatch"])
    codes, _ = found(doctor)
    if codes != EXPECTED:
        wrong.append(f"it did not find {sorted(EXPECTED - codes)}, and found {sorted(codes - EXPECTED)}")
    return wrong


def break_queues(sqs, source: str, dead: str) -> None:
    attributes = sqs.get_queue_attributes(QueueUrl=source, AttributeNames=["RedrivePolicy"])["Attributes"]
    policy = json.dumps({**json.loads(attributes["RedrivePolicy"]), "maxReceiveCount": 2})
    sqs.set_queue_attributes(QueueUrl=source, Attributes={"VisibilityTimeout": "60", "RedrivePolicy": policy})
    refuses = json.dumps({"redrivePermission": "denyAll"})
    sqs.set_queue_attributes(QueueUrl=dead, Attributes={"MessageRetentionPeriod": "345600", "RedriveAllowPolicy": refuses})


def break_function(functions, name: str) -> None:
    [mapping] = functions.list_event_source_mappings(FunctionName=name)["EventSourceMappings"]
    functions.update_event_source_mapping(UUID=mapping["UUID"], FunctionResponseTypes=[])
    functions.put_function_concurrency(FunctionName=name, ReservedConcurrentExecutions=2)
    variables = functions.get_function_configuration(FunctionName=name)["Environment"]["Variables"]
    variables |= {"REDRIVE_METRICS": "off", "REDRIVE_BACKOFF": "linear"}
    del variables["REDRIVE_DEAD_LETTER_QUEUE_URL"]
    functions.update_function_configuration(FunctionName=name, Environment={"Variables": variables})


def break_alarm(cloudwatch) -> None:
    alarms = cloudwatch.describe_alarms()["MetricAlarms"]
    [alarm] = [alarm for alarm in alarms if alarm["AlarmName"].endswith("-DeadLetter")]
    taken = cloudwatch.meta.service_model.operation_model("PutMetricAlarm").input_shape.members
    kept = {name: value for name, value in alarm.items() if name in taken}
    cloudwatch.put_metric_alarm(**{**kept, "Threshold": 2.0, "AlarmActions": []})


def found(doctor: list) -> tuple[set[str], list[str]]:
    """Returns the codes, and the parts that the doctor could not check."""
    done = subprocess.run(doctor, capture_output=True, text=True, timeout=60)
    if not done.stdout:
        raise RuntimeError(f"redrive doctor ends with {done.returncode}: {done.stderr}")
    report = json.loads(done.stdout)
    return {finding["code"] for finding in report["findings"]}, report["not_seen"]
