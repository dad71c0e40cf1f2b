"""Runs other people's emulators of AWS, each as a process on a free port of loopback for the duration of a context."""

import os
import random
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import boto3
from botocore.config import Config

REGION = "us-east-1"
KEYS = {"aws_access_key_id": "test", "aws_secret_access_key": "test"}


@contextmanager
def ministack(executable: Path, work: Path) -> Iterator[str]:
    """Runs https://pypi.org/project/ministack."""
    port = free_port()
    with emulator([executable], port, {"BIND_HOST": "127.0.0.1", "GATEWAY_PORT": str(port)}, work) as endpoint:
        yield endpoint


@contextmanager
def moto(executable: Path, work: Path) -> Iterator[str]:
    """Runs https://pypi.org/project/moto, which can enforce policies."""
    port = free_port()
    command, later = [executable, "--host", "127.0.0.1", "--port", str(port)], {"INITIAL_NO_AUTH_ACTION_COUNT": "1000000"}
    with emulator(command, port, later, work) as endpoint:
        yield endpoint


@contextmanager
def fakecloud(executable: Path, work: Path) -> Iterator[str]:
    """Runs https://crates.io/crates/fakecloud."""
    port = free_port()
    with emulator([executable, "--addr", f"127.0.0.1:{port}", "--log-level", "warn"], port, {}, work) as endpoint:
        yield endpoint


@contextmanager
def emulator(command: list, port: int, variables: dict[str, str], work: Path) -> Iterator[str]:
    """Starts an emulator. Its log and other files go to the existing folder `work`."""
    (work / "home").mkdir(exist_ok=True)
    own = {"PATH": os.environ["PATH"], "HOME": str(work / "home"), "TMPDIR": str(work), **variables}
    log = work / f"{Path(command[0]).name}.log"
    with log.open("wb") as output:
        process = subprocess.Popen(command, cwd=work, env=own, stdout=output, stderr=output, start_new_session=True)
        try:
            endpoint = f"http://127.0.0.1:{port}"
            until(60, lambda: answers(endpoint), f"{command[0]} does not answer, see {log}:")
            yield endpoint
        finally:
            stop(process)


def stop(process: subprocess.Popen) -> None:
    """Ends an emulator. MiniStack also ends its functions. Processes that are left after 20 s are killed."""
    process.terminate()
    try:
        process.wait(timeout=20)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(timeout=20)


def free_port() -> int:
    """Returns a port below 32768, which the system does not hand out by itself."""
    while True:
        with socket.socket() as listener, suppress(OSError):
            listener.bind(("127.0.0.1", random.randrange(30_000, 32_768)))
            return listener.getsockname()[1]


def answers(endpoint: str) -> bool:
    try:
        client("sqs", endpoint).list_queues()
    except Exception:
        return False
    return True


def client(service: str, endpoint: str, region: str = REGION):
    """Returns a client that tries once, so that no message is sent twice."""
    limits = Config(connect_timeout=5, read_timeout=60, retries={"total_max_attempts": 1})
    # boto3's default session does not support several threads.
    return boto3.Session().client(service, endpoint_url=endpoint, region_name=region, config=limits, **KEYS)


def until(seconds: float, holds, otherwise: str) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            raise TimeoutError(f"{otherwise} after {seconds} s")
        time.sleep(0.1)
