"""Checks redrive's templates offline, as AWS's own tools do. Usage: check_template.py TEMPLATE...

`sam validate --lint`, then cfn-lint on what SAM makes of it, since linting the SAM form alone misses wrong values, for
both kinds of queues with and without a KMS key, FIFO with an idempotency table. What else must hold of them, and what auditors ask: crates/cli/src/doctor/own_template.
"""

import copy
import itertools
import json
import logging
import os
import subprocess
import sys
from pathlib import Path

os.environ.setdefault("AWS_DEFAULT_REGION", "us-east-1")
os.environ["SAM_CLI_TELEMETRY"] = "0"

from cfnlint.config import ConfigMixIn  # noqa: E402
from cfnlint.decode.decode import decode_str  # noqa: E402
from cfnlint.runner import Runner  # noqa: E402
from samcli.yamlhelper import yaml_parse  # noqa: E402
from samtranslator.parser.parser import Parser  # noqa: E402
from samtranslator.translator.translator import Translator  # noqa: E402

# It warns each time that its own metrics are off.
logging.getLogger("samtranslator.metrics.metrics").setLevel(logging.ERROR)


KEY = "arn:aws:kms:us-east-1:123456789012:key/1234abcd-12ab-34cd-56ef-1234567890ab"


def main(paths: list[str]) -> int:
    failures = []
    for path in paths:
        command = [Path(sys.executable).with_name("sam"), "validate", "--lint", "--template-file", path]
        if subprocess.run(command, check=False, timeout=300).returncode:
            failures.append(f"{path}: sam validate --lint")
        for fifo, key in itertools.product(("false", "true"), ("", KEY)):
            idempotency = "on" if fifo == "true" else "off"
            found = lint(Path(path).read_text(), Fifo=fifo, KmsKeyArn=key, Idempotency=idempotency)
            failures += [f"{path}: {wrong} with Fifo={fifo} KmsKeyArn={key} Idempotency={idempotency}" for wrong in found]
    for failure in failures:
        print(f"failed: {failure}", file=sys.stderr)
    return 1 if failures else 0


def lint(template: str, **parameters: str) -> list[str]:
    """Returns the findings of cfn-lint in the CloudFormation template that SAM would deploy with these parameters."""
    decoded, errors = decode_str(json.dumps(translate(yaml_parse(template), parameters)))
    matches = errors or Runner(ConfigMixIn([], regions=["us-east-1"])).validate_template(decoded)
    return [f"{match.rule.id} {match.message}" for match in matches]


def translate(source: dict, parameters: dict[str, str]) -> dict:
    template = copy.deepcopy(source)
    for resource in template["Resources"].values():
        for name in ("CodeUri", "ContentUri"):
            if name in resource.get("Properties", {}):
                resource["Properties"][name] = "s3://bucket/code.zip"
    for name, value in parameters.items():
        if name in template["Parameters"]:
            template["Parameters"][name]["Default"] = value
    values = {name: str(p["Default"]) for name, p in template.get("Parameters", {}).items() if "Default" in p}
    return Translator({}, Parser()).translate(template, values)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
