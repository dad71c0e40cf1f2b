import json

import pytest

from aws import refused
from sources import QUERY_PROTOCOL, source, sqs
from wire import query

ADD, REMOVE = sqs("AddPermission"), sqs("RemovePermission")
ACCOUNT = "111111111111"


@pytest.fixture
def add(queue):
    def add(label: str, *actions: str, accounts=(ACCOUNT,)) -> None:
        queue.sqs.add_permission(QueueUrl=queue.url, Label=label, AWSAccountIds=list(accounts), Actions=list(actions))

    return add


@pytest.fixture
def remove(queue):
    return lambda label: queue.sqs.remove_permission(QueueUrl=queue.url, Label=label)


def statements(queue) -> dict[str, dict]:
    policy = json.loads(queue.attribute("Policy"))
    return {each["Sid"]: each for each in policy["Statement"]}


@source(ADD, REMOVE)
def test_permissions_are_statements_of_the_policy_which_goes_with_the_last(queue, add, remove):
    add("one", "SendMessage")
    add("two", "SendMessage", "DeleteMessage", accounts=[ACCOUNT, "222222222222"])
    one, two = statements(queue)["one"], statements(queue)["two"]
    assert (one["Effect"], one["Action"], one["Resource"]) == ("Allow", "SQS:SendMessage", queue.arn)
    assert one["Principal"] == {"AWS": f"arn:aws:iam::{ACCOUNT}:root"}
    assert sorted(two["Action"]) == ["SQS:DeleteMessage", "SQS:SendMessage"]
    assert len(two["Principal"]["AWS"]) == 2
    remove("one")
    assert set(statements(queue)) == {"two"}
    remove("two")
    assert queue.attribute("Policy") is None


@source(ADD)
def test_a_permission_is_added_to_the_statement_that_a_policy_has(queue, add):
    mine = {"Sid": "mine", "Effect": "Allow", "Principal": "*", "Action": "sqs:SendMessage", "Resource": queue.arn}
    queue.set(Policy=json.dumps({"Version": "2012-10-17", "Statement": mine}))
    add("one", "SendMessage")
    assert set(statements(queue)) == {"mine", "one"}


@source(ADD, REMOVE)
def test_a_label_is_a_word_and_there_once_and_has_seven_actions_at_most(add, remove):
    add("one", *["SendMessage"] * 7)
    refused("InvalidParameterValue", add, "one", "SendMessage")
    refused("InvalidParameterValue", add, "a b", "SendMessage")
    refused("OverLimit", add, "two", *["SendMessage"] * 8, status=403)
    refused("InvalidParameterValue: can't find label", remove, "two")


@source(QUERY_PROTOCOL, ADD)
def test_a_permission_is_added_by_query(aws, queue):
    lists = {"AWSAccountId.1": ACCOUNT, "ActionName.1": "*"}
    assert query(aws.url, "sqs", "AddPermission", QueueUrl=queue.url, Label="one", more=lists).status == 200
    assert statements(queue)["one"]["Action"] == "SQS:*"
