"""Runs the checks against an endpoint, and records the result of each."""

import json
import os
from pathlib import Path

import boto3
import pytest

from aws import Access, Aws, unused
from metrics import Metric
from servers import redrive_local


def pytest_addoption(parser):
    parser.addoption("--serve", help="redrive-local's example `serve`, started anew for each file of checks")
    parser.addoption("--url", help="the endpoint of another emulator")
    parser.addoption("--aws", metavar="PROFILE", help="check SQS itself, with this profile of your AWS settings")
    parser.addoption("--region", default="eu-central-1", help="where to check SQS itself")
    parser.addoption("--budget", type=int, default=20_000, help="most requests to SQS itself")
    parser.addoption("--report", type=Path, help="where to write the results as JSON")


def pytest_configure(config):
    if profile := config.getoption("--aws"):
        use_account(profile, config.getoption("--region"), config.getoption("--budget"))
    # The user's settings must not affect the checks.
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        del os.environ[name]
    os.environ["AWS_EC2_METADATA_DISABLED"] = "true"
    serve, others = config.getoption("--serve"), config.getoption("--url") or config.getoption("--aws")
    if bool(serve) == bool(others):
        raise pytest.UsageError("which endpoint? give either --serve PATH, --url URL or --aws PROFILE")
    config.pluginmanager.register(Results(), "results")


def use_account(profile: str, region: str, budget: int) -> None:
    """Uses an account of AWS, within a number of requests, whose price is the same as for those of any client."""
    keys = boto3.Session(profile_name=profile).get_credentials().get_frozen_credentials()
    named = zip(("aws_access_key_id", "aws_secret_access_key", "aws_session_token"), keys, strict=False)
    Access.keys, Access.region, Access.budget = dict(named), region, budget
    Access.prefix = f"redrive-conformance-{unused()[-6:]}-"
    print(f"up to {budget} requests to SQS in {region}, on queues whose names begin with {Access.prefix}, which are deleted afterwards")


@pytest.fixture(scope="module")
def aws(request):
    serve, url = request.config.getoption("--serve"), request.config.getoption("--url")
    if url or not serve:
        found = Aws(url or f"https://sqs.{Access.region}.amazonaws.com", skips_time=False)
        yield found
        if Access.budget:
            found.delete_created()
        return
    with redrive_local(serve) as (url, _):
        yield Aws(url, skips_time=True)


@pytest.fixture
def clock(aws):
    return aws.clock


@pytest.fixture
def unit(clock):
    """Returns seconds that do not pass by themselves during a check, more of them if they cost nothing."""
    return 30 if clock.url else 1


@pytest.fixture
def queue(aws):
    return aws.queue()


@pytest.fixture
def one(aws):
    """Returns a queue with a message."""
    return aws.queue("tea")


@pytest.fixture
def fifo(aws):
    return aws.fifo()


@pytest.fixture
def metric(aws):
    return Metric(aws.cloudwatch)


# Checks of other services, and those that start programs with keys of their own.
NOT_FOR_ACCOUNTS = ("alarm", "cloudwatch", "command_line", "functions", "metric", "queue_activity")


def pytest_collection_modifyitems(config, items):
    if config.getoption("--aws"):
        items[:] = [item for item in items if not any(word in item.path.stem for word in NOT_FOR_ACCOUNTS)]
    for item in items:
        if not any(mark.args for mark in item.iter_markers("source")):
            raise pytest.UsageError(f"{item.nodeid} has no source")


class Results:
    """Writes one row for each check, in the order of the files."""

    def __init__(self):
        self.rows, self.sources = {}, {}

    def pytest_itemcollected(self, item):
        self.sources[item.nodeid] = [url for mark in item.iter_markers("source") for url in mark.args]

    def pytest_runtest_logreport(self, report):
        if report.when != "call" and report.passed:
            return
        file, _, name = report.nodeid.partition("::")
        row = {"subject": words(Path(file).stem), "check": words(name), "source": self.sources[report.nodeid]}
        if report.skipped:
            row |= {"result": "cannot run", "why": report.longrepr[2].removeprefix("Skipped: ")}
        elif report.passed:
            row |= {"result": "pass"}
        else:
            lines = [line for line in str(report.longrepr).splitlines() if line.startswith("E  ")]
            row |= {"result": "fail", "why": lines[0][1:].strip() if lines else str(report.longrepr)[-300:]}
        self.rows[report.nodeid] = row

    def pytest_sessionfinish(self, session):
        path = session.config.getoption("--report")
        if path:
            path.write_text(json.dumps(list(self.rows.values()), indent=1))


def words(name: str) -> str:
    """Turns `test_a_purge[now]` into "a purge (now)"."""
    name, _, variant = name.removeprefix("test_").partition("[")
    return name.replace("_", " ") + (f" ({variant.removesuffix(']')})" if variant else "")
