"""The setting of a test: an emulator with the programs under test, and a queue with dead letters of its own."""

import json
import os
import re
import subprocess
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
import yaml
from aws import KEYS, REGION, Aws, Queue, text, unused
from botocore.exceptions import ClientError
from emulators import until

PAGE = Path(__file__).parents[2] / "docs/fleet.md"

# Longest duration of a command or a wait, in seconds.
PATIENCE = 120
NOTE, ORIGIN = "redrive.dead-letter", "redrive.origin"
# Seconds after which a message that failed in a worker returns.
BACKOFF = json.dumps({"kind": "exponential", "delay": 1, "max": 1})

gap = pytest.mark.gap


class Elsewhere(Aws):
    def __init__(self, url: str, binaries: Path, folder: Path, region: str = REGION):
        super().__init__(url, skips_time=False, region=region)
        self.binaries, self.folder = binaries, folder

    def far(self) -> "Elsewhere":
        """Returns the same emulator in another region."""
        return Elsewhere(self.url, self.binaries, self.folder, "us-west-2")

    def environment(self, **variables: str) -> dict[str, str]:
        """Returns an environment without the user's settings."""
        own = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "REDRIVE_JOURNAL": "off"}
        own |= {"AWS_EC2_METADATA_DISABLED": "true", "AWS_ENDPOINT_URL": self.url, "AWS_REGION": self.region}
        return own | {name.upper(): value for name, value in KEYS.items()} | variables

    def call(self, program: str, *arguments: str, code: int = 0, given: str = "", **variables: str):
        command, how = [self.binaries / program, *arguments], {"capture_output": True, "text": True, "timeout": PATIENCE}
        done = subprocess.run(command, env=self.environment(**variables), input=given, **how)
        assert done.returncode == code, f"{program} {' '.join(arguments)}: {done.returncode}\n{done.stdout}{done.stderr}"
        return done

    def redrive(self, *arguments: str, **how):
        return self.call("redrive", *arguments, **how)

    @contextmanager
    def worker(self, program: str, queue: Queue, **variables: str):
        """Runs a program that handles the messages of a queue until the end of the context, with its log file."""
        own = {"REDRIVE_QUEUE_URL": queue.url, "REDRIVE_BACKOFF": BACKOFF, "REDRIVE_DRAIN": "3", "REDRIVE_METRICS": "off"}
        log = self.folder / f"{queue.name}.log"
        with log.open("ab") as output:
            environment = self.environment(**own | variables)
            process = subprocess.Popen([self.binaries / program], env=environment, stdout=output, stderr=output)
        try:
            yield log
            process.terminate()
            assert process.wait(PATIENCE) == 0, log.read_text()[-2000:]
        finally:
            process.kill()
            process.wait()

    def table(self, **properties) -> str:
        """Creates a table. Without properties it is the one that Powertools requires."""
        key = {"AttributeName": "id"}
        layout = {"AttributeDefinitions": [key | {"AttributeType": "S"}], "KeySchema": [key | {"KeyType": "HASH"}]}
        properties = {"BillingMode": "PAY_PER_REQUEST", **layout, **properties, "TableName": unused()}
        dynamodb = self.client("dynamodb")
        dynamodb.create_table(**properties)
        dynamodb.get_waiter("table_exists").wait(TableName=properties["TableName"], WaiterConfig={"Delay": 1})
        return properties["TableName"]

    def journal_table(self) -> str:
        """Creates the table of docs/fleet.md."""
        [defined] = re.findall(r"```yaml\n(  RedriveJournal:\n.*?)```", PAGE.read_text(), re.DOTALL)
        properties = yaml.safe_load(defined)["RedriveJournal"]["Properties"]
        expiring = properties.pop("TimeToLiveSpecification")
        name = self.table(**properties)
        self.client("dynamodb").update_time_to_live(TableName=name, TimeToLiveSpecification=expiring)
        return name

    def bucket(self, name: str) -> None:
        where = {"LocationConstraint": self.region}
        with suppress(ClientError):  # if it is there
            self.client("s3").create_bucket(Bucket=name, CreateBucketConfiguration=where)

    def items(self, table: str) -> list[dict]:
        return self.client("dynamodb").scan(TableName=table, ConsistentRead=True)["Items"]


class Shop:
    """A queue and its dead letters."""

    def __init__(self, aws: Elsewhere, fifo: bool = False):
        self.aws = aws
        self.queue, self.dead = aws.pair(most=3, fifo=fifo)

    def letter(self, body: str, reason: str = "panic", attributes=None, message: str = "", **more) -> str:
        """Sends a letter with redrive's note, and returns its id."""
        note = {"reason": reason, "error": "card refused", "exception": "shop::Refused", "attempts": 3}
        note |= {"failed_at": "2026-11-21T07:50:00.000Z", "message_id": message or f"m-{body}", "source": self.queue.arn}
        attributes = {**(attributes or {}), NOTE: text(json.dumps(note))}
        return self.dead.send(body, MessageAttributes=attributes, **more)["MessageId"]

    def letters(self, count: int, *reasons: str) -> list[str]:
        """Sends letters with the bodies 0, 1 and so on, with the reasons in turns."""
        reasons = reasons or ("panic",)
        return [self.letter(str(at), reasons[at % len(reasons)]) for at in range(count)]

    def dlq(self, verb: str, *more: str, **how):
        return self.aws.redrive("dlq", verb, "--queue", self.queue.name, *more, **how)

    def retry(self, *more: str, **how):
        return self.dlq("retry", "--yes", *more, **how)

    def bodies(self) -> tuple[list[str], list[str]]:
        """Receives and deletes all messages of the queue and of its dead-letter queue."""
        of_queue, of_dead = (sorted(message["Body"] for message in drained(each)) for each in (self.queue, self.dead))
        return of_queue, of_dead

    def wait_for_letters(self, count: int) -> None:
        """Waits until the queue is empty and has that many letters."""
        found = lambda: (self.queue.counts(), self.dead.counts())
        until(PATIENCE, lambda: found() == ((0, 0, 0), (count, 0, 0)), f"not {count} letters and nothing else")


def drained(queue: Queue) -> list[dict]:
    """Receives and deletes everything. A FIFO queue returns the next messages of a group once those before are gone."""
    taken = []
    while received := queue.receive(VisibilityTimeout=600):
        taken += received
        handles = [{"Id": str(at), "ReceiptHandle": one["ReceiptHandle"]} for at, one in enumerate(received)]
        queue.batch("delete_message", *handles)
    return taken


def lines(done: subprocess.CompletedProcess) -> list[dict]:
    return [json.loads(line) for line in done.stdout.splitlines()]


def logged(log: Path) -> list[dict]:
    return [json.loads(line) for line in log.read_text().splitlines() if line.startswith("{")]
