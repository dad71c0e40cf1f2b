"""Puts one fault at a time into a deployed stack, and sees that `redrive doctor` names it and nothing else."""

import json
import subprocess
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

# A change by hand is that too, beside what it breaks.
DRIFTS = "stack-drifts"
DENY_ALL = json.dumps({"redrivePermission": "denyAll"})


@dataclass
class Live:
    """The stack, by the clients of its services and its outputs."""

    clients: dict
    outputs: dict[str, str]

    @contextmanager
    def queue(self, which: str, **attributes: str) -> Iterator[None]:
        sqs, url = self.clients["sqs"], self.outputs[which]
        before = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["All"])["Attributes"]
        sqs.set_queue_attributes(QueueUrl=url, Attributes=attributes)
        yield
        sqs.set_queue_attributes(QueueUrl=url, Attributes={name: before.get(name, "") for name in attributes})

    @contextmanager
    def redrive_policy(self, **changes) -> Iterator[None]:
        sqs, url = self.clients["sqs"], self.outputs["QueueUrl"]
        before = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["RedrivePolicy"])["Attributes"]
        policy = json.dumps({**json.loads(before["RedrivePolicy"]), **changes}) if changes else ""
        with self.queue("QueueUrl", RedrivePolicy=policy):
            yield

    @contextmanager
    def mapping(self, **changes) -> Iterator[None]:
        functions = self.clients["lambda"]
        [before] = functions.list_event_source_mappings(FunctionName=self.outputs["FunctionName"])["EventSourceMappings"]
        functions.update_event_source_mapping(UUID=before["UUID"], **changes)
        yield
        functions.update_event_source_mapping(UUID=before["UUID"], **{name: before[name] for name in changes})

    @contextmanager
    def reserved(self, count: int) -> Iterator[None]:
        functions, name = self.clients["lambda"], self.outputs["FunctionName"]
        functions.put_function_concurrency(FunctionName=name, ReservedConcurrentExecutions=count)
        yield
        functions.delete_function_concurrency(FunctionName=name)

    @contextmanager
    def function(self, **changes) -> Iterator[None]:
        functions, name = self.clients["lambda"], self.outputs["FunctionName"]
        before = functions.get_function_configuration(FunctionName=name)
        functions.update_function_configuration(FunctionName=name, **changes)
        yield
        functions.update_function_configuration(FunctionName=name, **{key: before[key] for key in changes})

    @contextmanager
    def environment(self, **changes: str) -> Iterator[None]:
        configuration = self.clients["lambda"].get_function_configuration(FunctionName=self.outputs["FunctionName"])
        variables = {**configuration["Environment"]["Variables"], **changes}
        kept = {name: value for name, value in variables.items() if value}
        functions, name = self.clients["lambda"], self.outputs["FunctionName"]
        functions.update_function_configuration(FunctionName=name, Environment={"Variables": kept})
        yield
        functions.update_function_configuration(FunctionName=name, Environment=configuration["Environment"])

    @contextmanager
    def alarm(self, which: str, **changes) -> Iterator[None]:
        cloudwatch, before = self.clients["cloudwatch"], self.read_alarm(which)
        cloudwatch.put_metric_alarm(**{**before, **changes})
        yield
        cloudwatch.put_metric_alarm(**before)

    @contextmanager
    def no_alarm(self, which: str) -> Iterator[None]:
        cloudwatch, before = self.clients["cloudwatch"], self.read_alarm(which)
        cloudwatch.delete_alarms(AlarmNames=[before["AlarmName"]])
        yield
        cloudwatch.put_metric_alarm(**before)

    def read_alarm(self, which: str) -> dict:
        """What describes the alarm and can be put."""
        found = self.clients["cloudwatch"].describe_alarms()["MetricAlarms"]
        [alarm] = [alarm for alarm in found if alarm["AlarmName"].endswith(f"-{which}")]
        taken = self.clients["cloudwatch"].meta.service_model.operation_model("PutMetricAlarm").input_shape.members
        return {name: value for name, value in alarm.items() if name in taken}


Fault = tuple[str, Callable[[Live], AbstractContextManager]]
# What the doctor must say, and what is wrong. A queue that was changed by hand no longer agrees with its function.
FAULTS: list[Fault] = [
    ("batch-response-missing", lambda live: live.mapping(FunctionResponseTypes=[])),
    ("visibility-too-short visibility-variable-differs", lambda live: live.queue("QueueUrl", VisibilityTimeout="60")),
    ("redrive-policy-missing", lambda live: live.redrive_policy()),
    ("max-receive-count-low max-receive-count-differs", lambda live: live.redrive_policy(maxReceiveCount=2)),
    ("retries-outlive-retention", lambda live: live.queue("QueueUrl", MessageRetentionPeriod="600")),
    ("dead-letter-retention", lambda live: live.queue("DeadLetterQueueUrl", MessageRetentionPeriod="345600")),
    ("allow-policy-refuses", lambda live: live.queue("DeadLetterQueueUrl", RedriveAllowPolicy=DENY_ALL)),
    ("reserved-below-maximum", lambda live: live.reserved(2)),
    ("max-receive-count-differs", lambda live: live.environment(REDRIVE_MAX_RECEIVE_COUNT="7")),
    ("visibility-variable-differs", lambda live: live.environment(REDRIVE_VISIBILITY_TIMEOUT="30")),
    ("dead-letter-url-missing", lambda live: live.environment(REDRIVE_DEAD_LETTER_QUEUE_URL="")),
    ("alarm-metrics-off", lambda live: live.environment(REDRIVE_METRICS="off")),
    ("setting-refused", lambda live: live.environment(REDRIVE_BACKOFF="linear")),
    ("dead-letter-alarm-missing", lambda live: live.no_alarm("DeadLetter")),
    ("dead-letter-alarm-threshold", lambda live: live.alarm("DeadLetter", Threshold=2.0)),
    ("dead-letter-alarm-threshold", lambda live: live.alarm("DeadLetter", Statistic="SampleCount")),
    ("dead-letter-alarm-metric", lambda live: live.alarm("DeadLetter", MetricName="NumberOfMessagesSent")),
    ("alarm-without-action", lambda live: live.alarm("DeadLetter", AlarmActions=[])),
]


def found(doctor: list) -> tuple[set[str], list[str]]:
    """The codes, and what could not be looked at."""
    done = subprocess.run(doctor, capture_output=True, text=True, timeout=60)
    if not done.stdout:
        raise RuntimeError(f"redrive doctor ends with {done.returncode}: {done.stderr}")
    report = json.loads(done.stdout)
    return {finding["code"] for finding in report["findings"]}, report["not_seen"]


def drift(live: Live, doctor: list) -> list[str]:
    """A change that harms nothing is told as what it is."""
    with live.queue("QueueUrl", VisibilityTimeout="600"), live.environment(REDRIVE_VISIBILITY_TIMEOUT="600"):
        codes, _ = found(doctor)
    return [] if codes == {DRIFTS} else [f"with a longer visibility timeout it found {sorted(codes)}"]


def check(redrive: Path, endpoint: str, clients: dict, outputs: dict[str, str], stack: str) -> list[str]:
    """What the doctor said that it should not have, or did not say."""
    doctor = [redrive, "doctor", "--stack", stack, "--endpoint-url", endpoint, "--json"]
    live = Live(clients, outputs)
    wrong = []
    for expected, fault in FAULTS:
        with fault(live):
            codes, _ = found(doctor)
        # What an alarm does is no drift: an alarm above it may do that instead.
        if codes - {DRIFTS} != set(expected.split()):
            wrong.append(f"with the fault {expected} it found {', '.join(sorted(codes)) or 'nothing'}")
    wrong += drift(live, doctor)
    # Last, so that it also tells whether each fault was taken back.
    codes, not_seen = found(doctor)
    if codes or not_seen:
        wrong.append(f"in the stack as it was deployed it found {sorted(codes)}, and did not see {not_seen}")
    return wrong
