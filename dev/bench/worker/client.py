"""A worker as a process, measured from outside."""

import json
import os
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Self

CONCURRENCY = 50
PATIENCE = 60


def environment(endpoint: str, queue_url: str, **values) -> dict[str, str]:
    named = {
        "AWS_ACCESS_KEY_ID": "local",
        "AWS_SECRET_ACCESS_KEY": "local",
        "AWS_REGION": "eu-west-1",
        "AWS_DEFAULT_REGION": "eu-west-1",
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_ENDPOINT_URL": endpoint,
        "QUEUE_URL": queue_url,
        "CONCURRENCY": CONCURRENCY,
        "REDRIVE_CONCURRENCY": CONCURRENCY,
        **values,
    }
    return {"PATH": os.environ["PATH"], **{name: str(value) for name, value in named.items()}}


class Client:
    def __init__(self, command: list[str], environment: dict[str, str]) -> None:
        # A file, because a pipe that nobody reads would stop the worker.
        self.output = tempfile.NamedTemporaryFile()
        self.process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=self.output)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_) -> None:
        self.process.kill()
        self.process.wait()
        self.output.close()

    def check(self) -> None:
        assert self.process.poll() is None, f"a worker ended: {self.process.args}"

    def cpu(self) -> float:
        return cpu(self.process.pid)

    def memory(self) -> tuple[float, float]:
        """Returns the resident memory and its peak, in MiB."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        lines = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
        return tuple(int(lines[name].split()[0]) / 1024 for name in ("VmRSS", "VmHWM"))

    def times(self) -> dict[int, int]:
        """Returns the numbers of messages by milliseconds, which a worker prints once it has handled all."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            self.check()
            lines = Path(self.output.name).read_text().splitlines()
            said = [line for line in lines if line.startswith("[") and line.endswith("]]")]
            if said:
                return {int(taken): int(messages) for taken, messages in json.loads(said[0])}
            time.sleep(0.05)
        raise TimeoutError("a worker does not say how long messages took")


def cpu(process: int) -> float:
    """Returns the CPU seconds of all threads, by the clock of the process. /proc/PID/stat only has hundredths of a second."""
    return time.clock_gettime((~process << 3) | 2)


def percentile(times: dict[int, int], share: float) -> float:
    """Returns the milliseconds within which this share of the messages was handled."""
    left = share * sum(times.values())
    for taken, messages in sorted(times.items()):
        left -= messages
        if left <= 0:
            return float(taken)
    raise ValueError("there are no times")
