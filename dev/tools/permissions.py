"""Compares the IAM actions that the code needs with those that the policies in examples/deploy/permissions allow."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "examples/deploy/permissions"
SERVICES = ("cloudformation", "cloudwatch", "lambda", "logs", "sqs")
# Actions that Lambda's event source mapping and its log need of the function's role. The code does not call them.
BY_LAMBDA = {"sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes", "logs:CreateLogStream", "logs:PutLogEvents"}
# Actions of ECS's agent for a worker, with the role of its task.
BY_AGENT = {"ecs:GetTaskProtection", "ecs:UpdateTaskProtection"}
# The calls of the function are in `src/`, and those of an operator's commands in the others.
FUNCTION, OPERATOR = ("src",), ("crates/cli/src", "crates/local/src/command", "crates/local/src/remote")
# The calls of `redrive verify` on its own queues. No operator needs them on others.
VERIFY = "crates/cli/src/verify"
# The calls of `redrive fleet`.
FLEET = ("crates/cli/src/fleet", "crates/cli/src/find/queue.rs", "crates/cli/src/deployed/queues.rs")
# Additional calls for payloads. No local service has S3.
PAYLOADS = ("crates/s3/src", "crates/cli/src")
OF_S3 = {"get_object": "s3:GetObject", "put_object": "s3:PutObject", "delete_object": "s3:DeleteObject"}
# Additional calls of a consumer with an idempotency table.
OF_RECORDS = {name: f"dynamodb:{name.title().replace('_', '')}" for name in ("put_item", "update_item", "get_item")}
# Code that shares history, snoozes and journal in a table.
JOURNAL = ("crates/cli/src/store/table.rs",)
OF_JOURNAL = {"query": "dynamodb:Query", "batch_write_item": "dynamodb:BatchWriteItem"}
# Without it, S3 answers that a missing object is forbidden.
BY_S3 = {"s3:ListBucket"}


def operations() -> dict[str, str]:
    """Returns the action of each call of a client, for the services of redrive-local, with which all calls are tested."""
    found = {}
    for service in SERVICES:
        source = (ROOT / f"crates/local/src/{service}/api.rs").read_text()
        for name in re.findall(r'\("([A-Z]\w+)", \w+::\w+\)', source):
            found[snake(name)] = action(service, name)
    return found


def snake(name: str) -> str:
    return re.sub(r"(?<!^)([A-Z])", r"_\1", name).lower()


def action(service: str, operation: str) -> str:
    """Returns the action of an operation. A batch of calls needs the permission for one."""
    return f"{service}:{operation.removesuffix('Batch')}"


def called(folders: tuple[str, ...], known: dict[str, str] | None = None) -> set[str]:
    """Returns the actions of the calls in these folders, without tests."""
    known = known or operations()
    found = set()
    for path in (path for folder in folders for path in sources(folder)):
        if path.stem.endswith("tests") or {"tests", "explorer"} & set(path.parts):
            continue
        if VERIFY not in folders and path.is_relative_to(ROOT / VERIFY):
            continue
        code = path.read_text().split("#[cfg(test)]\nmod tests {")[0]
        found |= {known[name] for name in re.findall(r"\.\s*([a-z_]+)\(\)", code) if name in known}
        for service, name in re.findall(rf"\.({'|'.join(SERVICES)})\(\)\s*\.([a-z_]+)\(\)", code):
            found.add(action(service, "".join(word.capitalize() for word in name.split("_"))))
    return found


def sources(folder: str) -> list[Path]:
    """Returns the files of Rust in a folder, or the file with this name."""
    found = [ROOT / folder] if folder.endswith(".rs") else list((ROOT / folder).rglob("*.rs"))
    if not found:
        raise RuntimeError(f"{folder} has no code")
    return found


def policies() -> dict[str, str]:
    """Returns the text of each policy by its name."""
    found = {path.stem: path.read_text() for path in FOLDER.glob("*.json")}
    if not found:
        raise RuntimeError(f"{FOLDER} has no policies")
    return found


def allowed(policy: str) -> set[str]:
    actions = (statement["Action"] for statement in json.loads(policy)["Statement"])
    return {action for one in actions for action in ([one] if isinstance(one, str) else one)}


def of_template() -> set[str]:
    """Returns the actions of the role in template.yaml."""
    role = (ROOT / "template.yaml").read_text().split("Policies:\n", 1)[1].split("\n\n", 1)[0]
    conditions = {"cloudwatch:namespace", "kms:ViaService", "lambda:FunctionArn", "iam:PassedToService"}
    return set(re.findall(r"\b(?:sqs|logs|cloudwatch|kms|dynamodb|lambda|iam):\w+", role)) - conditions


def problems(policies: dict[str, str]) -> Iterator[str]:
    key = {"kms:Decrypt", "kms:GenerateDataKey"}
    expected = {
        "function": called(FUNCTION) | BY_LAMBDA,
        "worker": called(FUNCTION) | BY_AGENT,
        "operator": called(OPERATOR),
        "fleet": called(FLEET),
        "verify": called((VERIFY,)) | {name for name in called(FUNCTION) if name.startswith("sqs:")},
        "key": key,
        "idempotency": called(("crates/dynamodb/src",), OF_RECORDS),
        "journal": called(JOURNAL, OF_JOURNAL),
        "payloads": called(PAYLOADS, OF_S3) & set(OF_S3.values()) | BY_S3,
    }
    found = {name: allowed(policy) for name, policy in policies.items()}
    if found.keys() != {*expected, "reader"}:
        yield f"examples/deploy/permissions has {sorted(found)}"
        return
    for name, actions in expected.items():
        have = found[name] | (found["reader"] | found["fleet"] if name == "operator" else set())
        for word, some in (("does not allow", actions - have), ("allows what nothing calls,", have - actions)):
            if some:
                yield f"examples/deploy/permissions/{name}.json {word} {', '.join(sorted(some))}"
    of_function = found["function"] | key | found["idempotency"]
    if of_template() != of_function:
        yield f"examples/deploy/permissions: template.yaml's role has {sorted(of_template())}"
    doctor = (ROOT / "crates/cli/src/doctor/checks/permissions.rs").read_text()
    for name in sorted(set(re.findall(r'"((?:sqs|cloudwatch|kms|dynamodb|lambda|iam):\w+)"', doctor)) - of_function):
        yield f"examples/deploy/permissions: redrive doctor wants {name}"
