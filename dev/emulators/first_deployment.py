"""Follows docs/first-deployment.md on MiniStack: the project of docs/first-consumer.md, deployed, alarmed and deleted.

Each block of commands has a mark that selects its treatment. A missing or unknown mark is an error.
"""

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import book
from emulators import answers, client, free_port, stop, until

ROOT = Path(__file__).resolve().parents[2]
STACK = "receipts"
PATIENCE = 120
# MiniStack has no metrics of queues, so no alarm on them; `redrive local` has no accounts and makes no stacks. Nowhere is
# run what compiles: `sam build`, whose result is a folder with the program as `bootstrap`.
ON_MINISTACK = {"account", "typed", "deploys", "letters", "deletes"}
ON_LOCAL = {"typed", "letters", "alarm"}
KNOWN = ON_MINISTACK | ON_LOCAL | {"compiles"}


def run(receipts: Path, redrive: Path, endpoint: str, environment: dict[str, str], work: Path) -> str:
    """Returns what was run.

    Raises RuntimeError for the first command that fails, or that never shows what the page says.
    """
    folder = prepare(receipts, work)
    environment = environment | {"PATH": f"{redrive.parent}:{environment['PATH']}"}
    deployed = follow(ON_MINISTACK, folder, environment)
    left = [queue for queue in client("sqs", endpoint).list_queues().get("QueueUrls", []) if STACK in queue]
    if left:
        raise RuntimeError(f"sam delete has left {left}")
    with local(receipts, redrive, folder) as here:
        alarmed = follow(ON_LOCAL, folder, environment | {"AWS_ENDPOINT_URL": here})
    counts = f"{deployed} blocks of commands work on MiniStack, {alarmed} on redrive local"
    return f"docs/first-deployment.md: {counts}; not run: sam build"


def follow(kinds: set[str], folder: Path, environment: dict[str, str]) -> int:
    """Runs the blocks of these kinds, and returns their number."""
    blocks = [block for block in page("first-deployment.md") if block.mark or block.language == "sh"]
    count = 0
    for block, follower in zip(blocks, [*blocks[1:], None], strict=True):
        if block.language != "sh":
            continue
        if block.mark not in KNOWN:
            raise RuntimeError(f"docs/first-deployment.md: what is to be done with this?\n{block.text}")
        if block.mark not in kinds:
            continue
        count += 1
        if follower and follower.mark.startswith("shows: "):
            wait_for(block.text, follower.mark.split()[1:], folder, environment)
            continue
        printed = bash(block.text, folder, environment)
        if follower and follower.mark == "prints" and book.missing(follower.text, printed):
            raise RuntimeError(f"{block.text} does not print {follower.text}, but {printed}")
        if block.mark == "deploys":
            tell_endpoint(environment["AWS_ENDPOINT_URL"])
    return count


@contextmanager
def local(receipts: Path, redrive: Path, folder: Path) -> Iterator[str]:
    """Runs the same stack in `redrive local`, six times as fast, so that an alarm's minute is ten seconds."""
    port = free_port()
    command = [redrive, "local", "--stack", STACK, "--binary", receipts, "--port", str(port), "--speed", "6"]
    with (folder / "local.log").open("wb") as output:
        process = subprocess.Popen(command, cwd=folder, stdout=output, stderr=output, start_new_session=True)
        try:
            until(60, lambda: answers(f"http://127.0.0.1:{port}"), f"redrive local does not answer, see {folder}/local.log")
            yield f"http://127.0.0.1:{port}"
        finally:
            stop(process)


def prepare(receipts: Path, work: Path) -> Path:
    """Builds the project of both pages."""
    folder = work / STACK
    folder.mkdir()
    for block in page("first-consumer.md"):
        if block.mark in ("file: template.yaml", "file: messages.jsonl"):
            (folder / block.mark.removeprefix("file: ")).write_text(block.text)
    template = folder / "template.yaml"
    [addition] = [block.text for block in page("first-deployment.md") if block.mark == "add: template.yaml"]
    template.write_text(template.read_text().replace("Outputs:", f"{addition}\nOutputs:", 1))
    # The result of `sam build`, where `sam deploy` looks for it.
    build = folder / ".aws-sam/build"
    (build / "Send").mkdir(parents=True)
    (build / "template.yaml").write_text(template.read_text().replace("CodeUri: .", "CodeUri: Send"))
    subprocess.run(["strip", "--strip-debug", "-o", build / "Send/bootstrap", receipts], check=True, timeout=60)
    (folder / "Cargo.toml").write_text('[profile.release]\npanic = "unwind"\n')
    return folder


def page(name: str) -> list[book.Block]:
    return book.blocks((ROOT / "docs" / name).read_text())


def tell_endpoint(endpoint: str) -> None:
    """Returns the difference from AWS: the function needs MiniStack's address."""
    functions = client("lambda", endpoint)
    [name] = [it["FunctionName"] for it in functions.list_functions()["Functions"] if STACK in it["FunctionName"]]
    variables = functions.get_function_configuration(FunctionName=name)["Environment"]["Variables"]
    variables = {key: str(value) for key, value in variables.items()} | {"AWS_ENDPOINT_URL": endpoint}
    functions.update_function_configuration(FunctionName=name, Environment={"Variables": variables})


def wait_for(script: str, words: list[str], folder: Path, environment: dict[str, str]) -> None:
    end = time.monotonic() + PATIENCE
    while True:
        printed = bash(script, folder, environment)
        if set(words) <= set(printed.split()):
            return
        if time.monotonic() > end:
            raise RuntimeError(f"{script} does not show {words} within {PATIENCE} s, but:\n{printed}")
        time.sleep(2)


def bash(script: str, folder: Path, environment: dict[str, str]) -> str:
    # Version 1 of the AWS CLI ignores AWS_ENDPOINT_URL.
    aws = 'aws() { command aws --endpoint-url "$AWS_ENDPOINT_URL" "$@"; }\n'
    command = ["bash", "-euo", "pipefail", "-c", aws + script]
    both = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    done = subprocess.run(command, cwd=folder, env=environment, text=True, timeout=180, check=False, **both)
    if done.returncode:
        raise RuntimeError(f"docs/first-deployment.md:\n{script}\nends with {done.returncode}: {done.stdout}")
    return done.stdout
