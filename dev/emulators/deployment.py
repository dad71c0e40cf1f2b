"""Deploys template.yaml with SAM to MiniStack, and compares its Lambda with `redrive local`.

Nobody here wrote MiniStack (https://pypi.org/project/ministack): its CloudFormation, its SQS, its event source mapping
and its CloudWatch are another reading of AWS's documentation. The messages of events/demo.jsonl, each with a backoff of
a second, must end there as they end here: the same done, the same dead-lettered, after as many attempts, for the same
reasons. Then it follows docs/first-deployment.md, with `receipts` from the folder of ORDERS. Usage: deployment.py MINISTACK
ORDERS REDRIVE, three executables.
"""

import json
import os
import platform
import shutil
import signal
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# The folder of book.py.
sys.path.append(str(ROOT / "dev/tools"))

import check_queue_verbs  # noqa: E402
import emulators  # noqa: E402
import faults  # noqa: E402
import first_deployment  # noqa: E402
import outcomes  # noqa: E402
import runbook  # noqa: E402
from emulators import client, until  # noqa: E402

WORK = ROOT / "target" / "deployment"
STACK = "redrive"
PARAMETERS = {"MessageTimeLimit": "2", "ErrorThreshold": "1", "NotificationEmail": "on-call@example.com", "Idempotency": "on"}
# The demo's own waits add up to 17 minutes. A message may request other waits.
BACKOFF = {"redrive.backoff": '{"kind":"fixed","delay":1}'}
ARCHITECTURES = {"x86_64": "x86_64", "aarch64": "arm64"}


def main(ministack: Path, orders: Path, redrive: Path) -> int:
    architecture = ARCHITECTURES.get(platform.machine())
    if platform.system() != "Linux" or architecture is None:
        print(f"needs Linux on x86_64 or aarch64, this is {platform.system()}/{platform.machine()}", file=sys.stderr)
        return 2
    # The end of this process ends MiniStack too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    shutil.rmtree(WORK, ignore_errors=True)
    WORK.mkdir(parents=True)
    messages = prepare_messages()
    expected = outcomes.of_local(run_local(redrive, orders, messages))
    with emulators.ministack(ministack, WORK) as endpoint:
        deploy(endpoint, orders, architecture)
        clients = {name: client(name, endpoint) for name in ("cloudformation", "cloudwatch", "lambda", "logs", "sqs")}
        stack = outputs(clients["cloudformation"])
        settle_in(clients["lambda"], stack["FunctionName"], endpoint)
        sent = send(clients["sqs"], stack["QueueUrl"], messages)
        alarms = wait(clients, stack)
        leave(clients["lambda"], stack["FunctionName"])
        found = outcomes.of_aws(clients, stack, sent, alarms, expected)
        path = {"PATH": f"{redrive.parent}:{environment(endpoint)['PATH']}"}
        printed = runbook.run(STACK, environment(endpoint) | path)
        wrong = typed(clients["cloudwatch"], environment(endpoint) | path)
        wrong += schedule(redrive, endpoint)
        print(check_queue_verbs.run(redrive, STACK, endpoint, environment(endpoint)))
        print(first_deployment.run(orders.parent / "receipts", redrive, endpoint, environment(endpoint), WORK))
        # This comes last, because the stack keeps its faults.
        wrong += faults.check(redrive, endpoint, clients, stack, STACK)
    return report(expected, found) or shown(printed) or examined(wrong)


def typed(cloudwatch, own: dict[str, str]) -> list[str]:
    """Returns the commands in the alarms' texts that fail."""
    texts = [alarm["AlarmDescription"] for alarm in cloudwatch.describe_alarms()["MetricAlarms"]]
    commands = sorted({text.split(". Type: ")[1] for text in texts})
    failed = []
    for command in commands:
        try:
            runbook.bash(command, own)
        except RuntimeError as error:
            failed.append(str(error))
    print(f"the alarms' texts: {len(commands)} commands typed, {len(failed)} failed")
    return failed if commands else ["no alarm says what to type"]


def schedule(redrive: Path, endpoint: str) -> list[str]:
    """Returns the schedule that `redrive schedule` reads of the stack, if it differs from the deployed one."""
    command = [redrive, "schedule", "--stack", STACK, "--endpoint-url", endpoint, "--json"]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60)
    end = json.loads(done.stdout)["end"]
    expected = {"kind": "dead-letter", "by": "redrive-policy", "deliveries": 10, "after": 1022}
    return [] if expected.items() <= end.items() else [f"redrive schedule has {end}, expected is {expected}"]


def prepare_messages() -> Path:
    path = WORK / "messages.jsonl"
    lines = [json.loads(line) for line in (ROOT / "events" / "demo.jsonl").read_text().splitlines()]
    for line in lines:
        line["attributes"] = {**line.get("attributes", {}), **BACKOFF}
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def run_local(redrive: Path, orders: Path, messages: Path) -> list[dict]:
    """Returns the events of `redrive local` for the same messages and parameters."""
    command = [redrive, "local", "--stack", STACK, "--binary", orders, "--send", messages, "--json"]
    command += ["--speed", "max", "--until-idle"]
    for name, value in PARAMETERS.items():
        command += ["--parameter", f"{name}={value}"]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True, timeout=120)
    return [json.loads(line) for line in done.stdout.splitlines()]


def deploy(endpoint: str, orders: Path, architecture: str) -> None:
    """Runs `sam deploy` of the unchanged template.yaml. Its CodeUri is its own folder, which here contains the function."""
    folder = WORK / "stack"
    folder.mkdir()
    shutil.copy(ROOT / "template.yaml", folder)
    # Lambda accepts 250 MB unpacked, which debug information alone exceeds.
    subprocess.run(["strip", "--strip-debug", "-o", folder / "bootstrap", orders], check=True, timeout=60)
    parameters = {**PARAMETERS, "Architecture": architecture}
    command = ["sam", "deploy", "--stack-name", STACK, "--template", "template.yaml"]
    command += ["--resolve-s3", "--capabilities", "CAPABILITY_IAM", "--no-confirm-changeset", "--no-progressbar"]
    command += ["--parameter-overrides", *(f"{name}={value}" for name, value in parameters.items())]
    subprocess.run(command, cwd=folder, env=environment(endpoint), check=True, timeout=180)


def environment(endpoint: str) -> dict[str, str]:
    """Returns the environment for AWS's own tools, without the user's settings."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    keys = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_DEFAULT_REGION": "us-east-1"}
    own = {"PATH": path, "HOME": str(WORK / "home"), "SAM_CLI_TELEMETRY": "0", "AWS_ENDPOINT_URL": endpoint}
    return {**own, **keys}


def outputs(cloudformation) -> dict[str, str]:
    stack = cloudformation.describe_stacks(StackName=STACK)["Stacks"][0]
    return {output["OutputKey"]: output["OutputValue"] for output in stack["Outputs"]}


def settle_in(functions, name: str, endpoint: str) -> None:
    """Returns the differences from AWS: the function needs MiniStack's address, and MiniStack needs the types of numbers.

    It keeps the numbers of parameters as texts, with which its own mapping cannot count.
    """
    configuration = functions.get_function_configuration(FunctionName=name)
    variables = {key: str(value) for key, value in configuration["Environment"]["Variables"].items()}
    variables["AWS_ENDPOINT_URL"] = endpoint
    # Messages may then request waits that are shorter than the function's.
    variables["REDRIVE_OVERRIDES"] = "60"
    functions.update_function_configuration(FunctionName=name, Environment={"Variables": variables})
    [mapping] = functions.list_event_source_mappings(FunctionName=name)["EventSourceMappings"]
    functions.update_event_source_mapping(
        UUID=mapping["UUID"],
        BatchSize=int(mapping["BatchSize"]),
        ScalingConfig={"MaximumConcurrency": int(mapping["ScalingConfig"]["MaximumConcurrency"])},
    )


def leave(functions, name: str) -> None:
    """Removes the variable that only the messages needed."""
    variables = functions.get_function_configuration(FunctionName=name)["Environment"]["Variables"]
    del variables["REDRIVE_OVERRIDES"]
    functions.update_function_configuration(FunctionName=name, Environment={"Variables": variables})


def send(sqs, queue: str, messages: Path) -> list[str]:
    """Returns the ids of the messages, in their order in the file."""
    ids = []
    for line in map(json.loads, messages.read_text().splitlines()):
        body = line["body"] if isinstance(line["body"], str) else json.dumps(line["body"], separators=(",", ":"))
        attributes = {k: {"DataType": "String", "StringValue": v} for k, v in line["attributes"].items()}
        ids.append(sqs.send_message(QueueUrl=queue, MessageBody=body, MessageAttributes=attributes)["MessageId"])
    return ids


def wait(clients: dict, stack: dict[str, str]) -> set[str]:
    """Waits until the queue is empty, and returns the alarms that went off meanwhile."""
    gone_off = set()

    def is_empty() -> bool:
        alarms = clients["cloudwatch"].describe_alarms(StateValue="ALARM")["MetricAlarms"]
        gone_off.update(alarm["AlarmName"] for alarm in alarms)
        names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
        counts = clients["sqs"].get_queue_attributes(QueueUrl=stack["QueueUrl"], AttributeNames=names)["Attributes"]
        return all(counts[name] == "0" for name in names)

    until(90, is_empty, f"messages are left in the queue (see {WORK / 'ministack.log'})")
    return gone_off


def report(expected: outcomes.Outcome, found: outcomes.Outcome) -> int:
    print(f"{'message':<10}{'redrive local':<20}MiniStack")
    for place in sorted(expected.ends.keys() | found.ends.keys()):
        print(f"#{place:<9}{expected.ends.get(place, '-'):<20}{found.ends.get(place, '-')}")
    for name in sorted(expected.metrics.keys() | found.metrics.keys()):
        print(f"{name:<30}{expected.metrics.get(name, '-')} = {found.metrics.get(name, '-')}")
    print(f"alarms that went off: {', '.join(sorted(found.alarms))}")
    if expected != found:
        print(f"failed: redrive local has {expected}, MiniStack has {found}", file=sys.stderr)
        return 1
    return 0


def shown(printed: list[str]) -> int:
    """Checks that a user who follows the runbook sees a letter with its note."""
    print(f"docs/runbook.md: {len(printed)} blocks of commands work")
    if not any("redrive.dead-letter" in block for block in printed):
        print("failed: no command of docs/runbook.md shows a dead letter", file=sys.stderr)
        return 1
    return 0


def examined(wrong: list[str]) -> int:
    """Checks that the doctor found each fault and nothing else."""
    for line in wrong:
        print(f"failed: {line}", file=sys.stderr)
    if not wrong:
        print(f"redrive doctor: {len(faults.EXPECTED)} faults put into the stack are found, and nothing without them")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main(*(Path(argument).absolute() for argument in sys.argv[1:])))
