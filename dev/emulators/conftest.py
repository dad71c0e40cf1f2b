"""Tests this build of redrive against other people's emulators of AWS, MiniStack and moto. A known gap that closes is a failure."""

import re
from pathlib import Path

import emulators
import pytest
from shop import Elsewhere, Shop


def pytest_addoption(parser):
    parser.addoption("--binaries", type=Path, help="where Cargo put redrive and the other programs")
    for emulator in ("ministack", "moto"):
        parser.addoption(f"--{emulator}", type=Path, help="its executable")
    parser.addoption("--clients", type=Path, help="the folder of celery's executable")
    parser.addoption("--node", type=Path, help="where Node and sqs-consumer are installed")


def pytest_collection_modifyitems(items):
    for item in items:
        for mark in item.iter_markers("gap"):
            emulator, lacks, *says = mark.args
            if emulator == item.callspec.params["endpoint"]:
                because = {"raises": pytest.RaisesExc(match=re.escape(says[0])), "strict": True} if says else {"run": False}
                item.add_marker(pytest.mark.xfail(reason=lacks, **because))


@pytest.fixture(scope="session", params=["ministack", "moto"])
def endpoint(request, tmp_path_factory):
    executable = request.config.getoption(request.param).absolute()
    with getattr(emulators, request.param)(executable, tmp_path_factory.mktemp(request.param)) as url:
        yield url


@pytest.fixture
def aws(request, endpoint, tmp_path):
    return Elsewhere(endpoint, request.config.getoption("--binaries").absolute(), tmp_path)


@pytest.fixture
def shop(aws):
    return Shop(aws)


@pytest.fixture
def fifo(aws):
    return Shop(aws, fifo=True)
