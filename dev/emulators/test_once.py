"""Tests the records of `redrive-dynamodb` against its rules, beside Powertools for Python, and in the example `charges`."""

import json
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from aws_lambda_powertools.utilities.idempotency import DynamoDBPersistenceLayer, IdempotencyConfig, idempotent_function
from aws_lambda_powertools.utilities.idempotency.exceptions import IdempotencyAlreadyInProgressError
from shop import PATIENCE, gap, logged

SAMPLES = Path(__file__).parents[2] / "crates/dynamodb/examples/charges.jsonl"
DAYS = 86_400


@pytest.fixture
def table(aws):
    return aws.table()


@pytest.fixture
def check(aws, table):
    """Returns the output of `crates/dynamodb/tests/checks`, which must succeed."""

    def run(*arguments: str) -> str:
        return aws.call("examples/once_checks", *arguments, REDRIVE_IDEMPOTENCY_TABLE=table).stdout

    return run


def test_claims_and_changes_in_any_order_get_the_answers_of_the_rules(check):
    check("model")


@gap("moto", "it writes without a lock")
def test_of_fifty_workers_one_at_a_time_has_the_key(check):
    check("crowd")


@gap("moto", "it writes without a lock")
def test_workers_that_share_a_rate_lease_each_token_once(check):
    check("rate")


def test_redrive_and_powertools_do_not_run_what_the_other_has_done(aws, table, check):
    begun = time.time()
    assert powertools(aws, table, "p-1") == ["p-1"]
    assert json.loads(check("handle", "p-1", "p-2")) == {"charged": ["p-2"], "ends": ["Replayed", "Succeeded"]}
    assert json.loads(check("handle", "refused-1"))["charged"] == ["refused-1"]
    assert powertools(aws, table, "p-2") + powertools(aws, table, "refused-1") == []
    items = [item for item in aws.items(table) if "outcome" in item]
    assert (len(items), {item["status"]["S"] for item in items}) == (2, {"COMPLETED"})
    assert all(0 <= int(item["expiration"]["N"]) - begun - 22 * DAYS <= PATIENCE for item in items)


def test_redrive_and_powertools_wait_while_the_other_works(aws, table, check):
    handled = []
    powertools(aws, table, "p-1", meanwhile=lambda: handled.append(json.loads(check("handle", "p-1"))))
    assert handled == [{"charged": [], "ends": ["Deferred"]}]
    assert check("claim", "p-2").strip() == "Granted"
    with pytest.raises(IdempotencyAlreadyInProgressError):
        powertools(aws, table, "p-2")


def test_the_example_charges_once_also_in_another_process(shop, table):
    charged = []
    for letters in (1, 2):
        shop.aws.redrive("send", "--queue", shop.queue.name, "-", given=SAMPLES.read_text())
        # One after the other, so that no message arrives while its duplicate is in progress.
        with shop.aws.worker("examples/charges", shop.queue, REDRIVE_IDEMPOTENCY_TABLE=table, REDRIVE_CONCURRENCY="1") as log:
            shop.wait_for_letters(letters)
        charged.append(sorted(line["id"] for line in logged(log) if line["message"] == "charged"))
    assert charged == [["p-1", "p-3"]] * 2


def powertools(aws, table: str, id: str, meanwhile=lambda: None) -> list[str]:
    """Runs Powertools as a function does, with the key prefix of `crates/dynamodb/tests/checks`."""
    charged = []
    store = DynamoDBPersistenceLayer(table_name=table, boto3_client=aws.client("dynamodb"))
    invocation = SimpleNamespace(get_remaining_time_in_millis=lambda: 1_000 * PATIENCE)
    config = IdempotencyConfig(event_key_jmespath="id", lambda_context=invocation)

    @idempotent_function(data_keyword_argument="payment", config=config, persistence_store=store, key_prefix="payments")
    def charge(payment: dict) -> dict:
        charged.append(payment["id"])
        meanwhile()
        return {"charged": payment["id"]}

    charge(payment={"id": id, "cents": 500})
    return charged
