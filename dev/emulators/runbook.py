"""Runs the commands of docs/runbook.md as they are written there.

    dev/emulators/runbook.py target/debug    on `redrive local`, for template.yaml and each of the stacks that the pages deploy

Each stack is known by its name alone, by its function alone and by its queue alone: redrive must find the same names for all three, and
the AWS CLI by the function. With those of template.yaml every block must work, and find the log of every dead letter of the demo.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# The folder of book.py.
sys.path.append(str(ROOT / "dev/tools"))

import book  # noqa: E402
import emulators  # noqa: E402

RUNBOOK = ROOT / "docs" / "runbook.md"
NAMES = 'eval "$(redrive queue names --stack shop --region us-east-1)"\n'
# The stack's name on the page.
STACK = "shop"
OWN_TEMPLATE = "template.yaml"
VARIABLES = "QUEUE QUEUE_URL QUEUE_ARN DEAD_LETTER_QUEUE DEAD_LETTER_QUEUE_URL DEAD_LETTER_QUEUE_ARN FUNCTION LOG_GROUP MAPPING"
# The letters that the demo leaves, and the block that looks for their log.
LETTERS = 4
LOOK_UP = "while read"
# MiniStack has no move tasks, redrive-local no settings of an account. For these, this shows only that the AWS CLI understands
# them and sends them. Each is the last of its block.
ABSENT = ("message-move-task", "get-account-settings")
NO_SUCH_ACTION = re.compile("InvalidAction|UnknownOperation")
# The page's readers define this before a drill, because version 1 sends calls of SQS to AWS.
AWS = next(block.text for block in book.blocks((ROOT / "docs" / "local.md").read_text()) if "aws() {" in block.text)
if AWS.splitlines()[-1] not in RUNBOOK.read_text():
    raise RuntimeError("docs/runbook.md and docs/local.md define aws() differently")


def main(binaries: Path) -> int:
    for name, template in templates().items():
        with tempfile.TemporaryDirectory() as work, local(binaries, template, Path(work)) as environment:
            check_names(name, environment)
            print(f"docs/runbook.md finds the names of the stack of {name}")
            if name == OWN_TEMPLATE:
                print(f"docs/runbook.md: {check_blocks(environment)} blocks of commands work on it")
    return 0


def templates() -> dict[str, str]:
    """Returns the stacks of the pages. For the CDK example it is CDK's output."""
    page = (ROOT / "docs" / "first-consumer.md").read_text()
    tutorial = next(block.text for block in book.blocks(page) if block.language == "yaml")
    existing = (ROOT / "examples/deploy/function.yaml").read_text()
    cdk = (ROOT / "crates/cli/tests/doctor/corpus/cdk-redrive.json").read_text()
    return {OWN_TEMPLATE: (ROOT / OWN_TEMPLATE).read_text(), "first-consumer.md": tutorial, "examples/deploy/function.yaml": existing, "the CDK example": cdk}


@contextmanager
def local(binaries: Path, template: str, work: Path) -> Iterator[dict[str, str]]:
    """Runs the stack with the letters of the demo, and returns the variables with which commands find it."""
    path, log, port = work / "template.yaml", work / "log", emulators.free_port()
    path.write_text(template)
    command = [binaries / "redrive", "local", "--template", path, "--binary", binaries / "orders", "--stack", STACK]
    command += ["--port", str(port), "--speed", "max", "--send", ROOT / "events" / "demo.jsonl"]
    keys = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_DEFAULT_REGION": "us-east-1"}
    environment = {
        "PATH": f"{binaries}:{Path(sys.executable).parent}:{os.environ['PATH']}",
        "HOME": str(work),
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
        **keys,
    }
    with log.open("wb") as output:
        process = subprocess.Popen(command, cwd=work, env=environment, stdout=output, stderr=output)
        try:
            emulators.until(60, lambda: log.read_text().count("dead-lettered") == LETTERS, f"letters are missing, see {log}:")
            yield environment
        finally:
            emulators.stop(process)


def check_the_warning(environment: dict[str, str]) -> None:
    """Checks with a proxy that does not answer that `aws sqs` of version 1 does what the pages warn about."""
    closed = {"HTTPS_PROXY": f"http://127.0.0.1:{emulators.free_port()}", "AWS_MAX_ATTEMPTS": "1"}
    options = {"env": environment | closed, "capture_output": True, "text": True, "timeout": 60}
    version = subprocess.run(["aws", "--version"], **options).stdout
    listed = subprocess.run(["aws", "sqs", "list-queues"], **options)
    if version.startswith("aws-cli/1.") != ("proxy URL" in listed.stderr):
        raise RuntimeError(f"docs/local.md is wrong about {version}: aws sqs says {listed.stdout}{listed.stderr}")


def check_names(name: str, environment: dict[str, str]) -> None:
    expected = found(NAMES, environment)
    values = dict(re.findall(r'^declare -- (\w+)="(.*)"$', expected, re.MULTILINE))
    if sorted(values) != sorted(VARIABLES.split()) or not all(values.values()):
        raise RuntimeError(f"{name}: by the stack {STACK}, {NAMES.strip()} finds {values}")
    for what, value in {"function": values["FUNCTION"], "queue": values["QUEUE"]}.items():
        block = NAMES.replace("--stack shop", f"--{what} {value}")
        if (names := found(block, environment)) != expected:
            raise RuntimeError(f"{name}: by {what} {value}, {block}finds {names}, not {expected}")
    mapping, rest = without_redrive()
    if (uuid := bash(f'{mapping}echo "$MAPPING"', environment | {"FUNCTION": values["FUNCTION"]}).strip()) != values["MAPPING"]:
        raise RuntimeError(f"{name}: {mapping}finds {uuid}, not {values['MAPPING']}")
    if (by_hand := found(rest, environment | {"MAPPING": values["MAPPING"]})) != expected:
        raise RuntimeError(f"{name}: {rest}finds {by_hand}, not {expected}")


def check_blocks(environment: dict[str, str]) -> int:
    check_the_warning(environment)
    look_up = next(block for block in blocks() if LOOK_UP in block)
    gone = environment | {"DEAD_LETTER_QUEUE_URL": f"{environment['AWS_ENDPOINT_URL']}/000000000000/gone", "LOG_GROUP": "none"}
    done = subprocess.run(["bash", "-c", AWS + look_up], env=gone, capture_output=True, text=True, timeout=60, check=False)
    if not done.returncode:
        raise RuntimeError(f"docs/runbook.md: {look_up}\nsucceeds where there is no queue: {done.stdout}{done.stderr}")
    letters = redrive("dlq list --json", environment)
    printed = run(STACK, environment)
    log = next(text for text, block in zip(printed, blocks(), strict=True) if LOOK_UP in block)
    silent = [letter["message_id"] for letter in letters if letter["message_id"] not in log]
    if len(letters) != LETTERS or silent:
        raise RuntimeError(f"of {len(letters)} letters, the log has nothing of {silent}: {log}")
    return len(printed)


def redrive(verb: str, environment: dict[str, str]) -> list[dict]:
    command = ["redrive", *verb.split(), "--stack", STACK]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True, timeout=60)
    return [json.loads(line) for line in done.stdout.splitlines()]


def blocks() -> list[str]:
    """Returns all blocks except those that look up names."""
    page, _ = RUNBOOK.read_text().split("\n## Without redrive")
    return [block.text for block in book.blocks(page) if block.language == "sh" and block.text != NAMES]


def without_redrive() -> list[str]:
    _, page = RUNBOOK.read_text().split("\n## Without redrive")
    return [block.text for block in book.blocks(page) if block.language == "sh"]


def run(stack: str, environment: dict[str, str]) -> list[str]:
    """Returns the output of each block.

    Raises RuntimeError for the first that fails, with all its output.
    """
    known = f"{found(NAMES.replace('--stack shop', f'--stack {stack}'), environment)}\n"
    return [bash(known + block, environment) for block in blocks()]


def found(block: str, environment: dict[str, str]) -> str:
    """Returns the names that a block sets, as bash declares them."""
    return bash(f"{block}declare -p {VARIABLES}", environment).replace("declare -x", "declare --")


def bash(script: str, environment: dict[str, str]) -> str:
    """Returns the output of a block. Its questions are answered with yes."""
    keyboard, terminal = os.openpty()
    try:
        os.write(keyboard, b"y\n")
        command = ["bash", "-euo", "pipefail", "-c", AWS + script]
        done = subprocess.run(command, env=environment, stdin=terminal, capture_output=True, text=True, timeout=120)
    finally:
        os.close(keyboard)
        os.close(terminal)
    # The demo's function is still broken, so letters that are sent back may fail again immediately.
    fails_again = "dlq retry" in script and re.search("letters? failed again", done.stderr)
    is_absent = any(verb in script for verb in ABSENT) and NO_SUCH_ACTION.search(done.stderr)
    if done.returncode and not (is_absent or fails_again):
        raise RuntimeError(f"docs/runbook.md:\n{script}\nends with {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).absolute()))
