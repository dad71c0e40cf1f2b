"""Compares senders: the CPU time of each for a message, in the same run. Usage: compare.py SERVE SENDER ROUNDS"""

import os
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

HERE = Path(__file__).parent
sys.path.append(str(HERE.parent / "worker"))
from server import ORDER, Server  # noqa: E402

MESSAGES = 20_000


def main(serve: str, sender: str, rounds: int) -> None:
    programs = {
        "redrive": [sender, "redrive"],
        "Rust loop": [sender, "least"],
        "boto3": [sys.executable, str(HERE / "boto3_sender.py")],
    }
    figures = {name: [] for name in programs}
    for _ in range(rounds):
        for name, command in programs.items():
            with Server(serve) as server:
                figures[name].append(run(command, server))
    print("| | CPU per message, µs | to the Rust loop | messages a second |\n| --- | --- | --- | --- |")
    loop = median(cpu for cpu, _ in figures["Rust loop"])
    for name, all_rounds in figures.items():
        cpu, rate = (median(column) for column in zip(*all_rounds, strict=True))
        print(f"| {name} | {cpu:.1f} | {cpu / loop:.2f} x | {rate:,.0f} |")


def run(command: list[str], server: Server) -> tuple[float, float]:
    """Returns the CPU time of a message in microseconds, and the messages a second."""
    variables = {
        "QUEUE_URL": server.queue_url,
        "BODY": ORDER,
        "MESSAGES": str(MESSAGES),
        "AWS_ENDPOINT_URL": server.url,
        "AWS_REGION": "eu-west-1",
        "AWS_DEFAULT_REGION": "eu-west-1",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
    }
    began = time.monotonic()
    process = subprocess.Popen(command, env=os.environ | variables)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, command
    seconds = time.monotonic() - began
    return (usage.ru_utime + usage.ru_stime) * 1e6 / MESSAGES, MESSAGES / seconds


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
