"""Measures `redrive work` beside a loop with boto3, each around a program and an app. Usage: apps.py SERVE REDRIVE ROUNDS

SERVE is redrive-local's example, REDRIVE the command, both built for release. In each round, every scenario is run once with each
contender, in turn. Writes apps.json beside this file and a table of bench/README.md.
"""

import json
import os
import platform
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from statistics import median

from client import CONCURRENCY, Client, cpu, environment
from goals import in_digits
from scenarios import Figures, wait_for
from server import Server
from table import APPS, drawn, inserted

HERE = Path(__file__).parent
PAGE = HERE.parent / "README.md"
REDRIVE, HTTP2, BATCH, LOOP = CONTENDERS = ["redrive", "redrive, HTTP/2", "redrive, in hundreds", "boto3 loop"]
POSTED = {REDRIVE: [], HTTP2: ["--http2"], BATCH: ["--batch", "100"]}
# By scenario, so that a run takes about as long.
MESSAGES = {"an app": 20_000, "`true`": 2_000}
FIGURES = {
    "messages per second of CPU": "per_cpu_second",
    "CPU per message, µs": "cpu_us",
    "messages a second": "per_second",
    "the app's CPU per message, µs": "app_cpu_us",
    "peak memory, MiB": "peak_mib",
}

# The figures of each round, by scenario and contender.
Results = dict[str, dict[str, list[Figures]]]


def main(serve: str, redrive: str, rounds: int) -> None:
    results: Results = {scenario: {} for scenario in MESSAGES}
    for _ in range(rounds):
        for scenario, messages in MESSAGES.items():
            for contender in CONTENDERS:
                if scenario == "an app" or contender in (REDRIVE, LOOP):
                    found = load(serve, redrive, scenario, contender, messages)
                    print(f"{scenario}: {contender}: {json.dumps(found)}", flush=True)
                    results[scenario].setdefault(contender, []).append(found)
    machine = conditions()
    (HERE / "apps.json").write_text(json.dumps({"machine": machine, "results": results}, indent=1) + "\n")
    PAGE.write_text(inserted(PAGE.read_text(), markdown(results, machine), APPS))


def load(serve: str, redrive: str, scenario: str, contender: str, messages: int) -> Figures:
    """All messages are there before the worker is, half as many again for what it loads while it runs."""
    warm_up = messages // 2
    with Server(serve) as server, app(HTTP2 == contender) as (process, port):
        for _ in range((warm_up + messages) // 10):
            server.send_ten()
        url = f"http://127.0.0.1:{port}/"
        around = ["--http", url, *POSTED.get(contender, [])] if scenario == "an app" else ["--", "true"]
        command = [redrive, "work", "--queue", server.queue_url, "--endpoint-url", server.url, *around]
        if contender == LOOP:
            command = [sys.executable, str(HERE / "boto3_apps.py"), *(["http", url] if scenario == "an app" else ["program"])]
        with Client(command, environment(server.url, server.queue_url)) as client:
            before = wait_for(server, client, lambda now: now.done >= warm_up)
            cpu_before, app_before = with_children(client), cpu(process)
            after = wait_for(server, client, lambda now: now.done == warm_up + messages)
            count = after.done - before.done
            seconds = with_children(client) - cpu_before
            return {
                "per_cpu_second": count / seconds,
                "cpu_us": seconds / count * 1e6,
                "per_second": count / (after.at - before.at),
                "app_cpu_us": (cpu(process) - app_before) / count * 1e6,
                "peak_mib": client.memory()[1],
            }


def with_children(client: Client) -> float:
    """Seconds of CPU of the process and of the programs that have ended."""
    fields = Path(f"/proc/{client.process.pid}/stat").read_text().rpartition(")")[2].split()
    return sum(int(it) for it in fields[11:15]) / os.sysconf("SC_CLK_TCK")


@contextmanager
def app(is_http2: bool) -> Iterator[tuple[int, int]]:
    """Its process and its port."""
    command = ["node", str(HERE / "app.mjs"), "http2" if is_http2 else "http"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        yield process.pid, int(process.stdout.readline())
    finally:
        process.kill()
        process.wait()


def conditions() -> str:
    cpu = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    node = subprocess.run(["node", "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    return (
        f"{cpu[1] if cpu else 'an unnamed CPU'}, {os.cpu_count()} cores, {platform.machine()}, Linux {platform.release()}; "
        f"boto3 {version('boto3')} on Python {platform.python_version()}, the app on Node {node}"
    )


def markdown(results: Results, machine: str) -> str:
    found = [["", *CONTENDERS]]
    for scenario, figures in results.items():
        for title, figure in FIGURES.items():
            if scenario == "an app" or figure != "app_cpu_us":
                medians = [median_of(figures.get(it, []), figure) for it in CONTENDERS]
                found.append([f"{scenario}: {title}", *medians])
    rounds = len(next(iter(results.values()))[REDRIVE])
    return "\n".join([f"{machine}. Medians of {rounds} interleaved rounds.", "", *drawn(found)]) + "\n"


def median_of(rounds: list[Figures], figure: str) -> str:
    return in_digits(median(found[figure] for found in rounds)) if rounds else "-"


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:3], rounds=int(sys.argv[3]))
