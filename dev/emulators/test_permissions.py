"""Tests the policies of examples/deploy/permissions with moto, which refuses calls that no policy of a user allows.

It asks for actions by the names of operations, where AWS asks for one action for a call and for a batch of them, and it
does not know which queue a call by name is about. So the users have the statements' actions, batches too, on all resources.
"""

import json
import urllib.request

import permissions
import pytest
from aws import text, unused
from shop import Elsewhere, Shop, gap

BATCHES = {"sqs:SendMessage", "sqs:DeleteMessage", "sqs:ChangeMessageVisibility"}
BUCKET = "payloads"


@pytest.fixture
def enforce(aws):
    """Enforces policies from this call to the end of the test: https://docs.getmoto.org/en/latest/docs/iam.html"""

    def after(calls: int) -> None:
        where, plain = f"{aws.url}/moto-api/reset-auth", {"Content-Type": "text/plain"}
        urllib.request.urlopen(urllib.request.Request(where, data=str(calls).encode(), method="POST", headers=plain)).close()

    yield lambda: after(0)
    after(1_000_000)


@gap("ministack", "no policies")
def test_the_policies_are_enough_to_look_and_to_act(aws, shop, enforce, tmp_path):
    shop.letters(4)
    shared, large = Shop(aws), Shop(aws)
    shared.letters(3)
    show = f"dlq show {letter_in_s3(large)} --no-logs --payload"
    send = f"send --body large --payload-bucket {BUCKET} --payload-threshold 0"
    table, file = aws.journal_table(), tmp_path / "letters.jsonl"
    retry = f"dlq retry --max 1 --yes --journal dynamodb:{table}"
    both = ("reader", "operator")
    reader, operator, fleet = user(aws, "reader"), user(aws, *both), user(aws, "fleet")
    payloads, journal = user(aws, *both, "payloads"), user(aws, *both, "journal")
    watcher = user(aws, *both, "journal", without="dynamodb:BatchWriteItem")
    sender = user(aws, *both, "journal", without="sqs:DeleteMessage")
    enforce()
    for keys, at, command, code, says in (
        (reader, shop, "dlq list", 0, "4 letters"),
        (reader, shop, f"dlq export {file}", 0, ""),
        (reader, shop, "queue status", 0, ""),
        (reader, shop, "send --body x", 1, ""),
        (reader, shop, "dlq purge --yes", 1, ""),
        (reader, shop, "queue detach --yes", 1, ""),
        (operator, shop, "dlq retry --max 1 --yes", 0, "1 sent"),
        (operator, shop, "dlq delete --all --max 1 --yes", 0, "1 deleted"),
        (operator, shop, "dlq list", 0, "2 letters"),
        (operator, shop, "send --body x", 0, ""),
        (operator, shop, f"dlq import --yes {file}", 0, ""),
        (operator, shop, "queue attach --max-receive-count 5 --yes", 0, ""),
        (operator, shop, "dlq purge --yes", 0, ""),
        (fleet, None, "fleet", 0, large.dead.name),
        (fleet, None, "dlq list --all", 1, "could not receive from "),
        # moto refuses in XML, which clients of DynamoDB do not read.
        (operator, shared, retry, 1, f"could not read the table {table}: "),
        (watcher, shared, retry, 0, f"warning: no journal: could not write to the table {table}: "),
        (journal, shared, retry, 0, f"1 sent from {shared.dead.name} to {shared.queue.name}\n"),
        (sender, shared, retry, 1, "1 sent but not deleted"),
        (journal, shared, retry, 0, "1 sent by an earlier run were deleted"),
        (operator, large, show, 1, "your credentials need s3:GetObject"),
        (payloads, large, show, 0, "the payload"),
        (operator, shop, send, 1, "your credentials need s3:PutObject"),
        (payloads, shop, send, 0, "1 with its body in s3://"),
    ):
        done = aws.redrive(*command.split(), *(("--queue", at.queue.name) if at else ()), code=code, **keys)
        assert says in done.stdout + done.stderr


def letter_in_s3(shop: Shop) -> str:
    shop.aws.bucket(BUCKET)
    shop.aws.client("s3").put_object(Bucket=BUCKET, Key="k", Body=b"the payload")
    pointer = ["software.amazon.payloadoffloading.PayloadS3Pointer", {"s3BucketName": BUCKET, "s3Key": "k"}]
    return shop.letter(json.dumps(pointer), attributes={"ExtendedPayloadSize": text("11", "Number")})


def user(aws: Elsewhere, *names: str, without: str = "") -> dict[str, str]:
    """Returns the keys of a user with the statements of these policies, except one action."""
    policies = permissions.policies()
    actions = {action for name in names for action in permissions.allowed(policies[name])} - {without}
    statement = {"Effect": "Allow", "Action": [*actions, *(f"{action}Batch" for action in actions & BATCHES)], "Resource": "*"}
    iam, name = aws.client("iam"), unused()
    iam.create_user(UserName=name)
    policy = json.dumps({"Version": "2012-10-17", "Statement": statement})
    iam.put_user_policy(UserName=name, PolicyName="page", PolicyDocument=policy)
    key = iam.create_access_key(UserName=name)["AccessKey"]
    return {"AWS_ACCESS_KEY_ID": key["AccessKeyId"], "AWS_SECRET_ACCESS_KEY": key["SecretAccessKey"]}
