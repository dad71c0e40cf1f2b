"""Tests history, snoozes and journal in a DynamoDB table from several machines. Each run here has an empty folder."""

import json

import pytest
from shop import Shop, lines


@pytest.fixture
def table(aws):
    return aws.journal_table()


def test_a_team_shares_its_history_and_snoozes(shop, table):
    shop.letters(30)
    shop.aws.sqs.tag_queue(QueueUrl=shop.dead.url, Tags={"Owner": "payments"})
    for arguments in (("retry", "--max", "28"), ("delete", "--all")):
        shop.dlq(*arguments, "--yes", **of("ada", table))
    for reason in ("known", "fix is in review"):
        shop.aws.redrive("fleet", "snooze", shop.dead.name, "--for", "2d", "--reason", reason, **of("ada", table))
    # The ARN of a table leads to its own region.
    arn = shop.aws.client("dynamodb").describe_table(TableName=table)["Table"]["TableArn"]
    history = lines(shop.aws.far().redrive("fleet", "--history", "--json", **of("bob", arn)))
    found = [(entry["user"], entry["verb"], entry.get("sent"), entry.get("deleted")) for entry in history]
    assert found[:2] == [("ada", "retry", 28, None), ("ada", "delete", None, 2)]
    items = shop.aws.items(table)
    assert ({"expiration" in item for item in items}, [item for item in items if "letters" in item["id"]["S"]]) == ({True}, [])
    shop.letters(1)
    assert of_fleet(shop, table)["snoozed"]["reason"] == "fix is in review"
    shop.aws.redrive("fleet", "wake", shop.dead.name, **of("bob", table))
    queue = of_fleet(shop, table)
    assert (queue["snoozed"], queue["letters"], queue["owner"], queue["sources"]) == (None, 1, "payments", [shop.queue.arn])


def test_no_table_and_one_without_a_sort_key_end_a_verb_at_its_start(shop):
    shop.letters(1)
    for table in ("no-such-table", shop.aws.table()):
        for verb in (("retry",), ("delete", "--all")):
            refused = shop.dlq(*verb, "--yes", code=1, **of("ada", table)).stderr
            assert f"could not read the table {table}" in refused
    assert shop.bodies() == ([], ["0"])


def of(user: str, table: str) -> dict[str, str]:
    """Returns a machine with the team's table."""
    return {"USER": user, "REDRIVE_JOURNAL": f"dynamodb:{table}"}


def of_fleet(shop: Shop, table: str) -> dict:
    fleet = json.loads(shop.aws.redrive("fleet", "--json", **of("bob", table)).stdout)
    return {queue["arn"]: queue for queue in fleet["queues"]}[shop.dead.arn]
