"""What must hold for template.yaml beyond what linters know. Each rule yields what is wrong."""

import json
import re
from collections.abc import Callable, Iterator
from itertools import combinations

from stack import NAMES, Stack

# A stack with these parameters, under this name and in this region.
Make = Callable[..., Stack]

OUTPUTS = {"QueueUrl", "QueueArn", "DeadLetterQueueUrl", "DeadLetterQueueArn", "FunctionName", "LogGroupName"}
# Unique in an account, where the others are in a region of it.
GLOBAL = {"AWS::CloudWatch::Dashboard", "AWS::IAM::Role"}
QUEUE = {"sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes", "sqs:ChangeMessageVisibility"}
KINDS = ("false", "true")


def parameters_say_what_they_take(make: Make, _: str) -> Iterator[str]:
    for name, parameter in make().template["Parameters"].items():
        if not parameter.get("Description"):
            yield f"parameter {name} has no description"
        listed = {"AllowedValues", "AllowedPattern"} & parameter.keys()
        if not listed and not {"MinValue", "MaxValue"} <= parameter.keys():
            yield f"parameter {name} has no range"


def names(stack: Stack, kinds=NAMES) -> set[str]:
    found = {(resource["Type"], logical) for logical, resource in stack.resources.items() if resource["Type"] in kinds}
    return {f"{kind} {stack.physical_name(logical)}" for kind, logical in found}


def stacks_do_not_collide(make: Make, _: str) -> Iterator[str]:
    for fifo in KINDS:
        here = make(Fifo=fifo, NotificationEmail="a@b")
        for kind in {resource["Type"] for resource in here.resources.values()} - NAMES.keys():
            yield f"nobody has said what names a {kind}"
        for name in names(here) & names(make(Fifo=fifo, NotificationEmail="a@b", name="other")):
            yield f"two stacks have {name}"
        for name in names(here, GLOBAL) & names(make(Fifo=fifo, region="eu-west-1"), GLOBAL):
            yield f"two regions have {name}"
    queues = {"AWS::SQS::Queue"}
    for name in names(make(Fifo="false"), queues) & names(make(Fifo="true"), queues):
        yield f"standard and FIFO have {name}"


def alarms_tell_the_address_if_there_is_one(make: Make, _: str) -> Iterator[str]:
    told = make(NotificationEmail="a@b")
    if not told.all("AWS::SNS::Topic") or make().all("AWS::SNS::Topic"):
        yield "there must be a topic with an address and none without"
    for stack, wanted in ((make(), []), (told, [told.physical_name("AlarmTopic")])):
        for alarm in stack.all("AWS::CloudWatch::Alarm"):
            for actions in ("AlarmActions", "OKActions"):
                if alarm.get(actions, []) != wanted:
                    yield f"{alarm['AlarmName']} has {actions} {alarm.get(actions)}, not {wanted}"


def alarms_lead_to_their_runbook_entry(make: Make, runbook: str) -> Iterator[str]:
    headings = re.findall(r"^#+ (.+)$", runbook, re.MULTILINE)
    entries = {re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in headings}
    links = set(re.findall(r"\]\(#([^)]*)\)", runbook))
    for anchor in links - entries:
        yield f"the runbook links to #{anchor}, which it does not have"
    address = "https://example.com/runbook"
    for alarm in make(RunbookUrl=address).all("AWS::CloudWatch::Alarm"):
        anchor = alarm["AlarmName"].rpartition("-")[2].lower()
        if not alarm["AlarmDescription"].endswith(f"{address}#{anchor}"):
            yield f"the description of {alarm['AlarmName']} does not end with its entry, #{anchor}"
        if anchor not in entries:
            yield f"the runbook has no entry #{anchor}"


def the_visibility_timeout_follows_every_function_timeout(make: Make, _: str) -> Iterator[str]:
    parameters = make().template["Parameters"]
    window = parameters["BatchingWindow"]["MaxValue"]
    for timeout in parameters["FunctionTimeout"]["AllowedValues"]:
        stack = make(FunctionTimeout=timeout)
        [function] = stack.all("AWS::Lambda::Function")
        visibility = stack.one(source(stack))["VisibilityTimeout"]
        if visibility < 6 * timeout + window:
            yield f"timeout {timeout}: visibility timeout {visibility} is below {6 * timeout + window}"
        told = variable(function, "VISIBILITY_TIMEOUT")
        if (function["Timeout"], told) != (timeout, visibility):
            yield f"timeout {timeout}: the function has {function['Timeout']} and {told}"


def source(stack: Stack) -> str:
    """The logical name of the queue that feeds the function."""
    [mapping] = stack.all("AWS::Lambda::EventSourceMapping")
    queues = stack.logical_names("AWS::SQS::Queue")
    return next(logical for logical in queues if stack.attribute(logical, "Arn") == mapping["EventSourceArn"])


def variable(function: dict, name: str):
    return function["Environment"]["Variables"].get(f"REDRIVE_{name}")


def queues_and_function_agree(make: Make, _: str) -> Iterator[str]:
    for fifo, count in ((fifo, count) for fifo in KINDS for count in (1, 10, 20)):
        stack = make(Fifo=fifo, MaxReceiveCount=count)
        orders, dead = stack.one(source(stack)), stack.one("DeadLetterQueue")
        [function] = stack.all("AWS::Lambda::Function")
        arn = stack.attribute("DeadLetterQueue", "Arn")
        if orders["RedrivePolicy"] != {"deadLetterTargetArn": arn, "maxReceiveCount": count}:
            yield f"the redrive policy is {orders['RedrivePolicy']}"
        if variable(function, "MAX_RECEIVE_COUNT") != count:
            yield f"the function's max receive count is {variable(function, 'MAX_RECEIVE_COUNT')}, not {count}"
        if variable(function, "DEAD_LETTER_QUEUE_URL") != stack.physical_name("DeadLetterQueue"):
            yield "the function writes its letters elsewhere"
        if "RedrivePolicy" in dead:
            yield "the dead-letter queue has a redrive policy of its own"
        allowed = {"redrivePermission": "byQueue", "sourceQueueArns": [stack.attribute(source(stack), "Arn")]}
        if dead.get("RedriveAllowPolicy") != allowed:
            yield "the dead-letter queue does not allow its source, or others too"
        if dead["MessageRetentionPeriod"] <= orders["MessageRetentionPeriod"]:
            yield "dead letters expire before they are dead-lettered"
        for queue in (orders, dead):
            kind = queue["QueueName"].endswith(".fifo"), queue.get("FifoQueue", False)
            if kind != (fifo == "true", fifo == "true"):
                yield f"Fifo={fifo}, but {queue['QueueName']} has FifoQueue {kind[1]}"


def letters_outlive_the_stack(make: Make, _: str) -> Iterator[str]:
    resources = make().template["Resources"]
    kept = {source(make()): ["UpdateReplacePolicy"], "DeadLetterQueue": ["UpdateReplacePolicy", "DeletionPolicy"]}
    for logical, policies in kept.items():
        for policy in policies:
            if resources[logical].get(policy) != "Retain":
                yield f"{logical} has {policy} {resources[logical].get(policy)}"


def the_mapping_takes_partial_responses(make: Make, _: str) -> Iterator[str]:
    for fifo in KINDS:
        [mapping] = make(Fifo=fifo, BatchingWindow=0).all("AWS::Lambda::EventSourceMapping")
        if mapping.get("FunctionResponseTypes") != ["ReportBatchItemFailures"]:
            yield f"FunctionResponseTypes is {mapping.get('FunctionResponseTypes')}"
        if fifo == "true" and "MaximumBatchingWindowInSeconds" in mapping:
            yield "a FIFO queue has a batching window"


def permissions_are_the_least(make: Make, _: str) -> Iterator[str]:
    for metrics in ("cloudwatch", "emf"):
        stack = make(Metrics=metrics)
        [role] = stack.all("AWS::IAM::Role")
        granted = {}
        for policy in role["Policies"]:
            for statement in policy["PolicyDocument"]["Statement"]:
                actions = statement["Action"] if isinstance(statement["Action"], list) else [statement["Action"]]
                namespace = statement.get("Condition", {}).get("StringEquals", {}).get("cloudwatch:namespace")
                for action in actions:
                    granted[action] = statement["Resource"] if namespace is None else namespace
        queue, dead = stack.attribute(source(stack), "Arn"), stack.attribute("DeadLetterQueue", "Arn")
        [log] = [stack.attribute(logical, "Arn") for logical in stack.logical_names("AWS::Logs::LogGroup")]
        needed = dict.fromkeys(QUEUE, queue) | {"sqs:SendMessage": dead}
        needed |= {"logs:CreateLogStream": log, "logs:PutLogEvents": log}
        needed |= {"cloudwatch:PutMetricData": "Redrive"} if metrics == "cloudwatch" else {}
        if granted != needed:
            yield f"with Metrics={metrics} the role may {granted}, needed is {needed}"


def the_dead_letter_alarm_goes_off_at_the_first(make: Make, _: str) -> Iterator[str]:
    stack = make()
    expected = {
        "Namespace": "AWS/SQS",
        "MetricName": "ApproximateNumberOfMessagesVisible",
        "Dimensions": [{"Name": "QueueName", "Value": stack.attribute("DeadLetterQueue", "QueueName")}],
        "Statistic": "Maximum",
        "ComparisonOperator": "GreaterThanOrEqualToThreshold",
        "Threshold": 1,
        "Period": 60,
        "EvaluationPeriods": 1,
        "TreatMissingData": "notBreaching",
    }
    alarm = stack.one("DeadLetterAlarm")
    for name, value in expected.items():
        if alarm.get(name) != value:
            yield f"DeadLetterAlarm has {name} {alarm.get(name)}, not {value}"
    off = make(AlarmOnDeadLetters="false").resources.keys()
    for logical in {"DeadLetterAlarm", "DeadLetteredAlarm"} & off:
        yield f"{logical} is not switched off"
    for logical in {"DeadLetteredAlarm", "WorkerErrorsAlarm"} & make(Metrics="off").resources.keys():
        yield f"{logical} is there without its metric"


def outputs_are_those_that_are_read(make: Make, _: str) -> Iterator[str]:
    for name in OUTPUTS - make().outputs().keys():
        yield f"there is no output {name}"


def the_dashboard_can_be_drawn(make: Make, _: str) -> Iterator[str]:
    [dashboard] = make().all("AWS::CloudWatch::Dashboard")
    widgets = json.loads(dashboard["DashboardBody"])["widgets"]
    for widget in widgets:
        if widget["x"] + widget["width"] > 24:
            yield f"{widget['properties']['title']} is wider than the dashboard"
    for one, other in combinations(widgets, 2):
        if (one["x"], one["y"]) == (other["x"], other["y"]):
            yield f"{one['properties']['title']} covers {other['properties']['title']}"


RULES = (
    parameters_say_what_they_take,
    stacks_do_not_collide,
    alarms_tell_the_address_if_there_is_one,
    alarms_lead_to_their_runbook_entry,
    the_visibility_timeout_follows_every_function_timeout,
    queues_and_function_agree,
    letters_outlive_the_stack,
    the_mapping_takes_partial_responses,
    permissions_are_the_least,
    the_dead_letter_alarm_goes_off_at_the_first,
    outputs_are_those_that_are_read,
    the_dashboard_can_be_drawn,
)


def broken(make: Make, runbook: str) -> list[str]:
    return [f"{rule.__name__}: {wrong}" for rule in RULES for wrong in rule(make, runbook)]
