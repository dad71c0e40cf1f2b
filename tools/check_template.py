"""Checks a SAM template offline: `sam validate --lint`, then cfn-lint on what SAM makes of it.

Linting the SAM form alone misses wrong values (a BatchSize of 20000, say), hence the second step; it runs
for both kinds of queues. Usage: check_template.py TEMPLATE
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

os.environ.setdefault("AWS_DEFAULT_REGION", "us-east-1")
os.environ["SAM_CLI_TELEMETRY"] = "0"

from samcli.yamlhelper import yaml_parse  # noqa: E402
from samtranslator.parser.parser import Parser  # noqa: E402
from samtranslator.translator.translator import Translator  # noqa: E402

TOOLS = Path(sys.executable).parent


def translate(template: dict, parameters: dict) -> dict:
    """The CloudFormation template that SAM would deploy."""
    for resource in template["Resources"].values():
        properties = resource.get("Properties", {})
        if resource["Type"] == "AWS::Serverless::Function":
            properties["CodeUri"] = "s3://bucket/code.zip"
    defaults = {name: str(p["Default"]) for name, p in template.get("Parameters", {}).items() if "Default" in p}
    return Translator({}, Parser()).translate(template, {**defaults, **parameters})


def lint(template: dict) -> int:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "translated.json")
        path.write_text(json.dumps(template, indent=1))
        command = [TOOLS / "cfn-lint", "--regions", "us-east-1", "--template", path]
        return subprocess.run(command, check=False, timeout=120).returncode


def main(path: str) -> int:
    command = [TOOLS / "sam", "validate", "--lint", "--template-file", path]
    failures = [f"sam validate --lint: {path}"] if subprocess.run(command, check=False, timeout=120).returncode else []
    for fifo in ("false", "true"):
        source = yaml_parse(Path(path).read_text())
        source["Parameters"].get("Fifo", {})["Default"] = fifo
        if lint(translate(source, {"Fifo": fifo})):
            failures.append(f"cfn-lint: {path} translated with Fifo={fifo}")
    for failure in failures:
        print(f"failed: {failure}", file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
