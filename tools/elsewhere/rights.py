"""The policies of deploy/permissions, enforced: moto refuses what no policy of a user allows.

It asks for actions by the names of operations, where AWS asks for one action for a call and for a batch of them, and it
does not know which queue a call by name is about. So the users have the statements' actions, batches too, on all resources.
"""

import json
import subprocess
import urllib.request
import uuid
from pathlib import Path

import permissions
from emulators import REGION, client

from .payloads import BUCKET
from .scene import Elsewhere, Orders, environment, equal, says, text
from .sharing import Table

BATCHES = {"sqs:SendMessage", "sqs:DeleteMessage", "sqs:ChangeMessageVisibility"}


def the_statements_are_enough_to_look_and_to_act(elsewhere: Elsewhere) -> None:
    orders = elsewhere.orders()
    orders.write(4)
    reader, operator = user(elsewhere, "reader"), user(elsewhere, "reader", "operator")
    large, of_payloads = payload(elsewhere), user(elsewhere, "reader", "operator", "payloads")
    of_fleet = user(elsewhere, "fleet")
    shared = elsewhere.orders()
    shared.write(2)
    table, of_journal = Table.of(elsewhere), user(elsewhere, "reader", "operator", "journal")
    watcher = user(elsewhere, "reader", "operator", "journal", without="dynamodb:BatchWriteItem")
    enforce(elsewhere.endpoint)

    def run(keys: dict[str, str], code: int, *arguments: str, of: Orders = orders) -> str:
        command = elsewhere.command(*arguments, "--queue", of.queue.name)
        done = subprocess.run(command, env=environment() | keys, input="", capture_output=True, text=True, timeout=60)
        equal(done.returncode, code, f"the exit code of redrive {' '.join(arguments)} ({done.stdout}{done.stderr})")
        return done.stdout + done.stderr

    file = f"{Path.cwd()}/target/elsewhere/{orders.dead.name}.jsonl"
    says("4 letters", run(reader, 0, "dlq", "list"))
    run(reader, 0, "dlq", "export", file)
    run(reader, 0, "queue", "status")
    for arguments in (("send", "--body", "x"), ("dlq", "purge", "--yes"), ("queue", "detach", "--yes")):
        run(reader, 1, *arguments)
    says("1 sent", run(operator, 0, "dlq", "retry", "--max", "1", "--yes"))
    says("1 deleted", run(operator, 0, "dlq", "delete", "--all", "--max", "1", "--yes"))
    says("2 letters", run(operator, 0, "dlq", "list"))
    run(operator, 0, "send", "--body", "x")
    run(operator, 0, "dlq", "import", "--yes", file)
    run(operator, 0, "queue", "attach", "--max-receive-count", "5", "--yes")
    run(operator, 0, "dlq", "purge", "--yes")

    for code, arguments, words in ((0, ("fleet",), large.dead.name), (1, ("dlq", "list", "--all"), "could not receive from ")):
        command = elsewhere.command(*arguments)
        done = subprocess.run(command, env=environment() | of_fleet, capture_output=True, text=True, timeout=60)
        equal(done.returncode, code, f"the exit code of redrive {' '.join(arguments)} ({done.stdout}{done.stderr})")
        says(words, done.stdout + done.stderr)

    retry = ("dlq", "retry", "--max", "1", "--yes", "--journal", f"dynamodb:{table.name}")
    # moto refuses in XML, which DynamoDB does not speak.
    says(f"could not read the table {table.name}: ", run(operator, 1, *retry, of=shared))
    says(f"warning: no journal: could not write to the table {table.name}: ", run(watcher, 0, *retry, of=shared))
    equal(run(of_journal, 0, *retry, of=shared), f"1 sent from {shared.dead.name} to {shared.queue.name}\n", "what is said")

    line, *_ = run(reader, 0, "dlq", "list", "--json", of=large).splitlines()
    show = ("dlq", "show", json.loads(line)["id"], "--no-logs", "--payload")
    send = ("send", "--body", "large", "--payload-bucket", BUCKET, "--payload-threshold", "0")
    says("your credentials need s3:GetObject", run(operator, 1, *show, of=large))
    says("the payload", run(of_payloads, 0, *show, of=large))
    says("your credentials need s3:PutObject", run(operator, 1, *send))
    says("1 with its body in s3://", run(of_payloads, 0, *send))


def payload(emulator: Elsewhere) -> Orders:
    """A letter whose body is in S3."""
    s3 = client("s3", emulator.endpoint)
    s3.create_bucket(Bucket=BUCKET)
    s3.put_object(Bucket=BUCKET, Key="k", Body=b"the payload")
    orders = emulator.orders()
    pointer = ["software.amazon.payloadoffloading.PayloadS3Pointer", {"s3BucketName": BUCKET, "s3Key": "k"}]
    orders.letter(json.dumps(pointer), attributes={"ExtendedPayloadSize": text("11", "Number")})
    return orders


def user(elsewhere: Elsewhere, *names: str, without: str = "") -> dict[str, str]:
    """A user with the statements of these policies but one action, and its keys."""
    policies = permissions.policies()
    actions = {action for name in names for action in permissions.allowed(policies[name])}
    actions = actions - {without} | {f"{action}Batch" for action in actions & BATCHES}
    name = f"{names[-1]}-{uuid.uuid4().hex[:8]}"
    policy = {"Version": "2012-10-17", "Statement": {"Effect": "Allow", "Action": sorted(actions), "Resource": "*"}}
    iam = client("iam", elsewhere.endpoint)
    iam.create_user(UserName=name)
    iam.put_user_policy(UserName=name, PolicyName="page", PolicyDocument=json.dumps(policy))
    key = iam.create_access_key(UserName=name)["AccessKey"]
    return {"AWS_ACCESS_KEY_ID": key["AccessKeyId"], "AWS_SECRET_ACCESS_KEY": key["SecretAccessKey"], "AWS_REGION": REGION}


def enforce(endpoint: str) -> None:
    """From now on; https://docs.getmoto.org/en/latest/docs/iam.html"""
    plain = {"Content-Type": "text/plain"}
    urllib.request.urlopen(urllib.request.Request(f"{endpoint}/moto-api/reset-auth", data=b"0", method="POST", headers=plain))
