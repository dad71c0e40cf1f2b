"""Runs redrive-local as a child process."""

import subprocess
import sys
from contextlib import contextmanager


@contextmanager
def redrive_local(serve: str):
    """Runs the example `serve` of redrive-local, which prints its URL and ends when its standard input ends."""
    process = subprocess.Popen([serve], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        url = process.stdout.readline().strip()
        if not url:
            sys.exit(f"{serve} did not start")
        yield url, process.pid
    finally:
        process.stdin.close()
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
