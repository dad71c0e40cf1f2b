"""Idempotency records in DynamoDB: the store of `redrive-dynamodb` against its rules, beside Powertools for Python, and in
the example `charges`. Each check has a table of its own.
"""

import json
import subprocess
import tempfile
import time
import uuid
from dataclasses import dataclass
from pathlib import Path

from aws_lambda_powertools.utilities.idempotency import (
    DynamoDBPersistenceLayer,
    IdempotencyConfig,
    idempotent_function,
)
from aws_lambda_powertools.utilities.idempotency.exceptions import IdempotencyAlreadyInProgressError
from emulators import REGION, client

from .scene import PATIENCE, Elsewhere, environment, equal

ROOT = Path(__file__).parents[2]
# What the checks in dynamodb/tests/checks prefix their keys with.
PREFIX = "payments"
TEMPLATE = """
Resources:
  Dead: {{Type: AWS::SQS::Queue, Properties: {{QueueName: payments-dead}}}}
  Payments:
    Type: AWS::SQS::Queue
    Properties:
      QueueName: payments
      VisibilityTimeout: 30
      RedrivePolicy: {{deadLetterTargetArn: !GetAtt Dead.Arn, maxReceiveCount: 5}}
  Charge:
    Type: AWS::Serverless::Function
    Properties:
      Timeout: 5
      Environment:
        Variables:
          AWS_ENDPOINT_URL_DYNAMODB: "{endpoint}"
          REDRIVE_IDEMPOTENCY_TABLE: {table}
          REDRIVE_DEAD_LETTER_QUEUE_URL: !Ref Dead
          REDRIVE_MAX_RECEIVE_COUNT: "5"
      Events:
        Payments:
          Type: SQS
          Properties: {{Queue: !GetAtt Payments.Arn, FunctionResponseTypes: [ReportBatchItemFailures]}}
"""


def claims_and_changes_in_any_order_get_the_answers_of_the_rules(elsewhere: Elsewhere) -> None:
    Table.of(elsewhere).check("model")


def a_record_has_the_attributes_of_powertools_and_expires(elsewhere: Elsewhere) -> None:
    table = Table.of(elsewhere)
    begun = time.time()
    equal(table.handle("p-1", "refused-1")["charged"], ["p-1", "refused-1"], "what was charged")
    done, refused = sorted(table.items(), key=lambda item: item["outcome"]["S"])
    for item in (done, refused):
        equal(item["status"], {"S": "COMPLETED"}, "the status")
        kept = int(item["expiration"]["N"]) - begun
        equal(22 * 86_400 <= kept <= 22 * 86_400 + PATIENCE, True, f"whether it is kept for 22 days ({kept} s)")
    equal(refused["error"], {"S": "refused"}, "the error of a rejected message")


def what_powertools_has_done_is_not_run_again(elsewhere: Elsewhere) -> None:
    table = Table.of(elsewhere)
    equal(table.powertools("p-1"), ["p-1"], "what Powertools ran")
    equal(table.handle("p-1", "p-2"), {"charged": ["p-2"], "ends": ["Replayed", "Succeeded"]}, "what redrive ran")
    equal(len(table.items()), 2, "the number of records, of which one was written by both")


def what_redrive_has_done_is_not_run_by_powertools(elsewhere: Elsewhere) -> None:
    table = Table.of(elsewhere)
    equal(table.handle("p-1", "refused-1")["charged"], ["p-1", "refused-1"], "what redrive ran")
    equal(table.powertools("p-1") + table.powertools("refused-1"), [], "what Powertools ran")


def each_waits_while_the_other_works(elsewhere: Elsewhere) -> None:
    table, handled = Table.of(elsewhere), []
    table.powertools("p-1", meanwhile=lambda: handled.append(table.handle("p-1")))
    equal(handled, [{"charged": [], "ends": ["Deferred"]}], "what redrive did meanwhile")
    equal(table.check("claim", "p-2").strip(), "Granted", "the claim of a message that is not done")
    try:
        raise AssertionError(f"Powertools ran {table.powertools('p-2')}")
    except IdempotencyAlreadyInProgressError:
        pass


def the_example_charges_once_also_in_another_process(elsewhere: Elsewhere) -> None:
    table = Table.of(elsewhere)
    equal(table.example(), ["p-1", "p-3"], "what the first process charged")
    equal(table.example(), [], "what the second charged")


class Invocation:
    """As Lambda gives it to a function."""

    def get_remaining_time_in_millis(self) -> int:
        return 1_000 * PATIENCE


@dataclass(frozen=True)
class Table:
    elsewhere: Elsewhere
    name: str

    @classmethod
    def of(cls, elsewhere: Elsewhere) -> "Table":
        """As Powertools asks for it."""
        table = cls(elsewhere, f"idempotency-{uuid.uuid4().hex[:8]}")
        table.dynamodb.create_table(
            TableName=table.name,
            AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
            KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
            BillingMode="PAY_PER_REQUEST",
        )
        waiter = table.dynamodb.get_waiter("table_exists")
        waiter.wait(TableName=table.name, WaiterConfig={"Delay": 1, "MaxAttempts": PATIENCE})
        return table

    @property
    def dynamodb(self):
        return client("dynamodb", self.elsewhere.endpoint)

    def items(self) -> list[dict]:
        return self.dynamodb.scan(TableName=self.name, ConsistentRead=True)["Items"]

    def check(self, *arguments: str) -> str:
        """What `dynamodb/tests/checks` writes; it fails if that fails."""
        program = self.elsewhere.redrive.parent / "examples" / "once_checks"
        own = {"AWS_ENDPOINT_URL": self.elsewhere.endpoint, "AWS_REGION": REGION, "REDRIVE_IDEMPOTENCY_TABLE": self.name}
        done = subprocess.run(
            [program, *arguments], env=environment() | own, capture_output=True, text=True, timeout=2 * PATIENCE
        )
        equal(done.returncode, 0, f"the exit code of once_checks {' '.join(arguments)} ({done.stderr})")
        return done.stdout

    def handle(self, *ids: str) -> dict:
        """What redrive runs, and how each message ends."""
        return json.loads(self.check("handle", *ids))

    def powertools(self, id: str, meanwhile=lambda: None) -> list[str]:
        """What a function with Powertools runs."""
        charged = []
        store = DynamoDBPersistenceLayer(table_name=self.name, boto3_client=self.dynamodb)
        config = IdempotencyConfig(event_key_jmespath="id", lambda_context=Invocation())

        @idempotent_function(
            data_keyword_argument="payment", config=config, persistence_store=store, key_prefix=PREFIX
        )
        def charge(payment: dict) -> dict:
            charged.append(payment["id"])
            meanwhile()
            return {"charged": payment["id"]}

        charge(payment={"id": id, "cents": 500})
        return charged

    def example(self) -> list[str]:
        """What a process of the example charges, of its sample messages."""
        examples = self.elsewhere.redrive.parent / "examples"
        with tempfile.TemporaryDirectory() as folder:
            template = Path(folder) / "template.yaml"
            template.write_text(TEMPLATE.format(endpoint=self.elsewhere.endpoint, table=self.name))
            command = [self.elsewhere.redrive, "local", "--template", template, "--binary", examples / "charges"]
            command += ["--json", "--show-output", "--send", ROOT / "dynamodb/examples/charges.jsonl", "--speed", "10", "--until-idle"]
            done = subprocess.run(command, env=environment(), cwd=folder, capture_output=True, text=True, timeout=PATIENCE)
        events = [json.loads(line) for line in done.stdout.splitlines()]
        lines = [json.loads(event["line"]) for event in events if event["kind"] == "output"]
        return sorted(line["id"] for line in lines if line["message"] == "charged")
