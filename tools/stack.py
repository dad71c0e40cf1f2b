"""What CloudFormation makes of a SAM template once its parameters are known."""

import copy
import logging
import re
from dataclasses import dataclass, field

from samtranslator.parser.parser import Parser
from samtranslator.translator.translator import Translator

ACCOUNT = "123456789012"
# What a physical name may be given in; the others are named by CloudFormation.
NAMES = {
    "AWS::CloudWatch::Alarm": "AlarmName",
    "AWS::CloudWatch::Dashboard": "DashboardName",
    "AWS::IAM::Role": "RoleName",
    "AWS::Lambda::EventSourceMapping": None,
    "AWS::Lambda::Function": "FunctionName",
    "AWS::Logs::LogGroup": "LogGroupName",
    "AWS::SNS::Topic": "TopicName",
    "AWS::SQS::Queue": "QueueName",
}
NOTHING = object()
# It warns each time that nobody asked for its own metrics.
logging.getLogger("samtranslator.metrics.metrics").setLevel(logging.ERROR)


def translate(source: dict, parameters: dict[str, str]) -> dict:
    """The CloudFormation template that SAM would deploy, with these values as the parameters' defaults."""
    template = copy.deepcopy(source)
    for resource in template["Resources"].values():
        if resource["Type"] == "AWS::Serverless::Function":
            resource["Properties"]["CodeUri"] = "s3://bucket/code.zip"
    for name, value in parameters.items():
        template["Parameters"][name]["Default"] = value
    values = {name: str(p["Default"]) for name, p in template.get("Parameters", {}).items() if "Default" in p}
    return Translator({}, Parser()).translate(template, values)


@dataclass
class Stack:
    """A translated template, whose functions are worked out as they are asked for."""

    template: dict
    name: str = "stack"
    region: str = "us-east-1"
    resources: dict[str, dict] = field(init=False)

    def __post_init__(self) -> None:
        present = {k: v for k, v in self.template["Resources"].items() if self.holds(v.get("Condition"))}
        self.resources = {
            logical: {"Type": resource["Type"], **resource, "Properties": self.value(resource.get("Properties", {}))}
            for logical, resource in present.items()
        }

    def logical_names(self, kind: str) -> list[str]:
        return [logical for logical, resource in self.resources.items() if resource["Type"] == kind]

    def all(self, kind: str) -> list[dict]:
        """The properties of the resources of a kind."""
        return [self.one(logical) for logical in self.logical_names(kind)]

    def one(self, logical: str) -> dict:
        return self.resources[logical]["Properties"]

    def outputs(self) -> dict[str, str]:
        return {name: self.value(output["Value"]) for name, output in self.template["Outputs"].items()}

    def holds(self, condition) -> bool:
        if condition is None:
            return True
        if isinstance(condition, str):
            return self.holds(self.template["Conditions"][condition])
        [(function, argument)] = condition.items()
        match function:
            case "Condition":
                return self.holds(argument)
            case "Fn::Equals":
                left, right = map(self.value, argument)
                return str(left) == str(right)
            case "Fn::Not":
                return not self.holds(argument[0])
            case "Fn::And":
                return all(map(self.holds, argument))
            case "Fn::Or":
                return any(map(self.holds, argument))
        raise ValueError(f"{function} is not a condition")

    def value(self, node):
        if isinstance(node, list):
            return [value for value in map(self.value, node) if value is not NOTHING]
        if not isinstance(node, dict):
            return node
        if len(node) == 1:
            [(function, argument)] = node.items()
            if function == "Ref" or function.startswith("Fn::"):
                return self.call(function, argument)
        values = {key: self.value(value) for key, value in node.items()}
        return {key: value for key, value in values.items() if value is not NOTHING}

    def call(self, function: str, argument):
        match function:
            case "Ref":
                return self.reference(argument)
            case "Fn::GetAtt":
                logical, attribute = argument if isinstance(argument, list) else argument.split(".", 1)
                return self.attribute(logical, attribute)
            case "Fn::If":
                condition, yes, no = argument
                return self.value(yes if self.holds(condition) else no)
            case "Fn::Sub":
                return re.sub(r"\$\{([^}]+)\}", lambda match: str(self.substitute(match[1])), argument)
            case "Fn::FindInMap":
                table, first, second = map(self.value, argument)
                return self.template["Mappings"][table][str(first)][second]
        raise ValueError(f"{function} is not known here")

    def substitute(self, name: str):
        return self.attribute(*name.split(".", 1)) if "." in name else self.reference(name)

    def reference(self, name: str):
        pseudo = {
            "AWS::AccountId": ACCOUNT,
            "AWS::NoValue": NOTHING,
            "AWS::Partition": "aws",
            "AWS::Region": self.region,
            "AWS::StackName": self.name,
        }
        if name in pseudo:
            return pseudo[name]
        if name in self.template["Parameters"]:
            return self.template["Parameters"][name]["Default"]
        return self.physical_name(name)

    def attribute(self, logical: str, attribute: str) -> str:
        kind, name = self.template["Resources"][logical]["Type"], self.physical_name(logical)
        if attribute == "Arn":
            return f"arn:aws:{kind.split('::')[1].lower()}:{self.region}:{ACCOUNT}:{name}"
        if attribute == "QueueName":
            return name
        raise ValueError(f"{logical}.{attribute} is not known here")

    def physical_name(self, logical: str) -> str:
        """As the template gives it, or one that CloudFormation would make up."""
        resource = self.template["Resources"][logical]
        given = resource.get("Properties", {}).get(NAMES[resource["Type"]])
        return f"{self.name}-{logical}-{self.region}" if given is None else self.value(given)
