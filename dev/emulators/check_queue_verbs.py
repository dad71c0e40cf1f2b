"""Runs `redrive queue` with `--stack` against an AWS that nobody here wrote; `make check ONLY=letters` runs attach, detach and status."""

import json
import subprocess
from pathlib import Path


def run(redrive: Path, stack: str, endpoint: str, environment: dict[str, str]) -> str:
    """Returns what was checked.

    Raises RuntimeError for the first command that fails, AssertionError for the first that says something else.
    """
    place = ["--endpoint-url", endpoint, "--region", "us-east-1"]

    def command(*arguments: str) -> str:
        whole = [redrive, *arguments, *place]
        done = subprocess.run(whole, env=environment, capture_output=True, text=True, timeout=180)
        if done.returncode:
            raise RuntimeError(f"redrive {' '.join(arguments)}: {done.returncode}: {done.stdout}{done.stderr}")
        return done.stdout

    def status() -> dict:
        return json.loads(command("queue", "status", "--stack", stack, "--json"))

    report = status()
    queue, dead = report["queue"]["name"], report["dead_letter_queue"]["name"]
    assert report["mappings"] and report["mappings"][0]["state"] == "Enabled", report
    assert report["alarms"], report
    table = command("queue", "status", "--stack", stack)
    assert queue in table and dead in table, table
    for verb, state in [("pause", "Disabled"), ("resume", "Enabled")]:
        command("queue", verb, "--stack", stack)
        assert status()["mappings"][0]["state"] == state, verb
    parts = f"{len(report['alarms'])} alarms, {len(report['not_read'])} parts unknown"
    return f"queue status: {parts}; queue pause and resume"

