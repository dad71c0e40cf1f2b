"""Compares examples/deploy/consumer.tf, its plan in the tests of `redrive doctor`, and template.yaml."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import permissions

ROOT = Path(__file__).resolve().parents[2]
FILE = ROOT / "examples/deploy/consumer.tf"
PLAN = ROOT / "crates/cli/tests/doctor/corpus/terraform-book.json"
BLOCK = re.compile(r'^(resource|data) "(\w+)" "(\w+)" \{\n(.*?)^\}', re.MULTILINE | re.DOTALL)
# Resources that only exist if a variable is set.
OPTIONAL = re.compile(r"^ +count = var\.(\w+) \? 1 : 0$", re.MULTILINE)
# Attributes with a constant. Those inside of jsonencode have different names.
CONSTANT = re.compile(r'^ +([a-z_]+) += ("[^"$]*"|\d+|\["[^\]$]*\])(?: +#.*)?$', re.MULTILINE)


def problems(code: str) -> Iterator[str]:
    plan = json.loads(PLAN.read_text())
    planned = {}
    for resource in plan["planned_values"]["root_module"]["resources"]:
        planned.setdefault(resource["address"].split("[")[0], []).append(resource["values"])
    written = {("data." if kind == "data" else "") + f"{of}.{name}": text for kind, of, name, text in BLOCK.findall(code)}
    variables = {name: json.loads(value) for name, value in re.findall(r'^variable "(\w+)" \{ default = (.+?) \}', code, re.MULTILINE)}
    absent = {address for address, text in written.items() if any(not variables.get(name) for name in OPTIONAL.findall(text))}
    written = {address: text for address, text in written.items() if address not in absent}
    if written.keys() != planned.keys():
        yield f"examples/deploy/consumer.tf and its plan differ in {', '.join(sorted(written.keys() ^ planned.keys()))}"
    if variables != {name: given["value"] for name, given in plan["variables"].items()}:
        yield f"examples/deploy/consumer.tf has the variables {variables}, its plan others"
    for address in written.keys() & planned.keys():
        for name, value in CONSTANT.findall(written[address]):
            if not all(holds(values, name, json.loads(value)) for values in planned[address]):
                yield f"examples/deploy/consumer.tf: {name} of {address} is {value}, but not in its plan"
    actions = set(re.findall(r'"((?:sqs|logs|cloudwatch|dynamodb):(?!namespace)\w+)"', code))
    policies = permissions.policies()
    if actions != permissions.allowed(policies["function"]) | permissions.allowed(policies["idempotency"]):
        yield f"examples/deploy/consumer.tf allows {sorted(actions)}, function.json and idempotency.json of examples/deploy/permissions others"
    alarms = set(re.findall(r'^ +(\w+) += \["([\w/]+)", "(\w+)", "(\w+)"', code, re.MULTILINE))
    of_plan = {
        (it["alarm_name"].rsplit("-", 1)[1], it["namespace"], it["metric_name"], it["statistic"])
        for it in planned["aws_cloudwatch_metric_alarm.alarm"]
    }
    if not alarms == of_plan == of_template():
        yield f"examples/deploy/consumer.tf has the alarms {sorted(alarms)}, its plan or template.yaml others"


def holds(values: object, name: str, value: object) -> bool:
    """Returns true if an attribute has this value, here or in a block."""
    if isinstance(values, list):
        return any(holds(one, name, value) for one in values)
    if not isinstance(values, dict):
        return False
    return values.get(name) == value or any(holds(one, name, value) for one in values.values())


def of_template() -> set[tuple[str, ...]]:
    alarm = r'AlarmName: !Sub "\$\{AWS::StackName\}-(\w+)".*?Namespace: ([\w/]+).*?MetricName: (\w+).*?Statistic: (\w+)'
    return set(re.findall(alarm, (ROOT / "template.yaml").read_text(), re.DOTALL))
