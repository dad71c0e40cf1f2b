"""Checks our SAM templates offline. Usage: check_template.py TEMPLATE...

`sam validate --lint`, then cfn-lint on what SAM makes of it, since linting the SAM form alone misses wrong values, for
both kinds of queues; then the rules of template_rules.py. The runbook is docs/runbook.md beside the template.
"""

import json
import os
import subprocess
import sys
from functools import partial
from pathlib import Path

os.environ.setdefault("AWS_DEFAULT_REGION", "us-east-1")
os.environ["SAM_CLI_TELEMETRY"] = "0"

from cfnlint.config import ConfigMixIn  # noqa: E402
from cfnlint.decode.decode import decode_str  # noqa: E402
from cfnlint.runner import Runner  # noqa: E402
from samcli.yamlhelper import yaml_parse  # noqa: E402

import template_rules  # noqa: E402
from stack import Stack, translate  # noqa: E402


def main(paths: list[str]) -> int:
    failures = []
    for path in paths:
        command = [Path(sys.executable).with_name("sam"), "validate", "--lint", "--template-file", path]
        if subprocess.run(command, check=False, timeout=120).returncode:
            failures.append(f"{path}: sam validate --lint")
        runbook = Path(path).parent / "docs" / "runbook.md"
        failures += [f"{path}: {wrong}" for wrong in wrong_with(Path(path).read_text(), runbook.read_text())]
    for failure in failures:
        print(f"failed: {failure}", file=sys.stderr)
    return 1 if failures else 0


def wrong_with(template: str, runbook: str) -> list[str]:
    source = yaml_parse(template)
    kinds = {fifo: lint(translate(source, {"Fifo": fifo})) for fifo in template_rules.KINDS}
    linted = [f"{wrong} with Fifo={fifo}" for fifo, found in kinds.items() for wrong in found]
    return linted + template_rules.broken(partial(make, source), runbook)


def make(source: dict, name: str = "stack", region: str = "us-east-1", **parameters) -> Stack:
    return Stack(translate(source, parameters), name, region)


def lint(template: dict) -> list[str]:
    decoded, errors = decode_str(json.dumps(template))
    matches = errors or Runner(ConfigMixIn([], regions=["us-east-1"])).validate_template(decoded)
    return [f"{match.rule.id} {match.message}" for match in matches]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
