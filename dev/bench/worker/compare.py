"""Measures redrive's worker beside sqs-consumer and loops with boto3 and the SDK. Usage: compare.py SERVE WORKER NODE_FOLDER ROUNDS

SERVE is redrive-local's example, WORKER dev/bench/consumer's, beside its least-loop, all built for release; what is in NODE_FOLDER, `install` made. In
each round every scenario is run once with each contender, in turn. Writes results.jsonl beside this file and the tables of dev/bench/README.md.
"""

import json
import os
import platform
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import boto3

import scenarios
from client import CONCURRENCY
from goals import CONTENDERS, HANDLERS, LEAST, LOOP, ONE, REDRIVE, TEN, Results
from table import inserted, markdown

HERE = Path(__file__).parent
PAGE = HERE.parent / "README.md"
# Messages by the milliseconds that a handler waits, so that all runs take about as long.
MESSAGES = {0: 40_000, 20: 20_000}
STEADY_MESSAGES = 2_000
MEMORY_MESSAGES = 1_000_000


def main(serve: str, worker: str, folder: str, rounds: int) -> None:
    machine, commands = conditions(folder), contenders(worker, folder)
    results: Results = {}

    def add(scenario: str, contender: str, figures: scenarios.Figures) -> None:
        print(f"{scenario}: {contender}: {json.dumps(figures)}", flush=True)
        results.setdefault(scenario, {}).setdefault(contender, []).append(figures)

    for _ in range(rounds):
        for handler, wait in HANDLERS.items():
            for contender, command in commands.items():
                add(f"load, {handler}", contender, scenarios.load(serve, command, wait, MESSAGES[wait]))
            for contender, command in commands.items():
                add(f"steady, {handler}", contender, scenarios.steady(serve, command, wait, STEADY_MESSAGES))
    with ThreadPoolExecutor() as pool:  # of those that do nothing
        pollers = {contender: 1 if contender == REDRIVE else CONCURRENCY // 10 for contender in commands}
        found = pool.map(lambda it: scenarios.idle(serve, commands[it], pollers[it]), commands)
        for contender, figures in zip(commands, found, strict=True):
            add("idle", contender, figures)
    add("memory", REDRIVE, scenarios.memory(serve, commands[REDRIVE], MEMORY_MESSAGES))
    figures = [[scenario, it, of_rounds] for scenario, of in results.items() for it, of_rounds in of.items()]
    (HERE / "results.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in [machine, *figures]))
    PAGE.write_text(inserted(PAGE.read_text(), markdown(results, machine)))


def contenders(worker: str, folder: str) -> dict[str, list[str]]:
    script = [str(node(folder)), str(Path(folder, "sqs_consumer.mjs"))]
    return {
        REDRIVE: [worker],
        ONE: [*script, "one"],
        TEN: [*script, "ten"],
        LOOP: [sys.executable, str(HERE / "boto3_loop.py")],
        LEAST: [str(Path(worker).with_name("least-loop"))],
    }


def node(folder: str) -> Path:
    """Returns the Node that was installed with sqs-consumer, which does not support older ones."""
    return next(Path(folder, "node_modules").glob("node-linux-*/bin/node"))


def conditions(folder: str) -> str:
    """Describes the machine, and the versions that were compared."""
    cpu = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    rustc, version = (
        subprocess.run([it, "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
        for it in ("rustc", node(folder))
    )
    packages = json.loads((HERE / "package.json").read_text())["dependencies"]
    parts = [
        f"{cpu[1] if cpu else 'an unnamed CPU'}, {os.cpu_count()} cores, {platform.machine()}, Linux {platform.release()}; {rustc}",
        f"sqs-consumer {packages['sqs-consumer']} with {packages['@aws-sdk/client-sqs']} of the SDK on Node {version}",
        f"boto3 {boto3.__version__} on Python {platform.python_version()}",
    ]
    return ", ".join(parts)


if __name__ == "__main__":
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    main(*sys.argv[1:4], rounds=int(sys.argv[4]))
