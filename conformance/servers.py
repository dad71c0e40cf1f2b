"""Servers as child processes: started, waited for, and ended."""

import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import contextmanager


@contextmanager
def redrive_local(serve: str):
    """The example `serve` of redrive-local, which says its URL and ends when its standard input does."""
    process = subprocess.Popen([serve], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        url = process.stdout.readline().strip()
        if not url:
            sys.exit(f"{serve} did not start")
        yield url, process.pid
    finally:
        end(process)


@contextmanager
def emulator(command: list[str], port: int, environment: dict | None = None):
    """Another emulator on a port; what it logs is of no interest."""
    process = subprocess.Popen(
        command,
        env={**os.environ, **(environment or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    url = f"http://127.0.0.1:{port}"
    try:
        wait_for(url, process)
        yield url, process.pid
    finally:
        end(process)


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def wait_for(url: str, process: subprocess.Popen, seconds: float = 60) -> None:
    end_of_wait = time.monotonic() + seconds
    while process.poll() is None and time.monotonic() < end_of_wait:
        try:
            urllib.request.urlopen(url, timeout=1).close()
            return
        except urllib.error.HTTPError:
            return
        except OSError:
            time.sleep(0.1)
    sys.exit(f"{process.args[0]} does not answer at {url}")


def end(process: subprocess.Popen) -> None:
    if process.stdin:
        process.stdin.close()
    else:
        process.terminate()
    try:
        process.wait(timeout=10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
