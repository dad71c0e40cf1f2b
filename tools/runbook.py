"""Runs the commands of docs/runbook.md as they are written there, against a stack that is deployed."""

import re
import subprocess
from pathlib import Path

RUNBOOK = Path(__file__).parent.parent / "docs" / "runbook.md"
# MiniStack has no move tasks: of these it is only shown that the AWS CLI understands them and sends them.
ABSENT = "message-move-task"
NO_SUCH_ACTION = "InvalidAction"
# Version 1 sends what is for SQS to AWS, whatever AWS_ENDPOINT_URL says.
AWS = 'aws() { command aws --endpoint-url "$AWS_ENDPOINT_URL" "$@"; }\n'


def run(environment: dict[str, str]) -> list[str]:
    """What each block printed.

    Raises RuntimeError for the first that fails, with all its output.
    """
    names, *blocks = re.findall(r"^```sh\n(.*?)^```$", RUNBOOK.read_text(), re.MULTILINE | re.DOTALL)
    # The first block looks names up, once for all others.
    variables = " ".join(re.findall(r"^([A-Z_]+)=", names, re.MULTILINE))
    found = bash(f"{names}declare -p {variables}\ndeclare -f", environment)
    return [bash(found + block, environment) for block in blocks]


def bash(script: str, environment: dict[str, str]) -> str:
    command = ["bash", "-euo", "pipefail", "-c", AWS + script]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    if done.returncode and not (ABSENT in script and NO_SUCH_ACTION in done.stderr):
        raise RuntimeError(f"docs/runbook.md:\n{script}\nends with {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout
