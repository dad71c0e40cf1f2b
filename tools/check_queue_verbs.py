"""Runs `redrive queue` and `redrive send` against an AWS that nobody here wrote, with the stack deployed."""

import json
import subprocess
from pathlib import Path


def run(redrive: Path, stack: str, endpoint: str, environment: dict[str, str]) -> list[str]:
    """What was checked, in sentences.

    Raises RuntimeError for the first command that fails, AssertionError for the first that says something else.
    """
    place = ["--endpoint-url", endpoint, "--region", "us-east-1"]

    def command(*arguments: str, code: int = 0) -> str:
        done = subprocess.run(
            [redrive, *arguments, *place], env=environment, capture_output=True, text=True, timeout=180
        )
        if done.returncode != code:
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
    attach_and_detach(command, status, queue, dead, report["queue"]["redrive_policy"]["max_receive_count"])
    command("send", "--queue", dead, "--body", "a letter by hand", "--attribute", "source=check")
    return [
        f"queue status: {len(report['alarms'])} alarms, {len(report['not_read'])} parts unknown",
        "queue pause and resume, detach and attach, send",
    ]


def attach_and_detach(command, status, queue: str, dead: str, count: int) -> None:
    """The redrive policy is at the end what it was."""
    command("queue", "detach", "--queue", queue, "--yes")
    assert status()["queue"]["redrive_policy"] is None
    attach = ["queue", "attach", "--queue", queue, "--dead-letter-queue", dead, "--yes"]
    command(*attach, "--max-receive-count", str(count))
    assert status()["queue"]["redrive_policy"]["max_receive_count"] == count
    assert "nothing changes" in command(*attach)
