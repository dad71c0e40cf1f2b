"""Installs the command's wheel into an empty venv and uses it as somebody would who has nothing else of this repository.

The wheel has the executable that the tests have built already; `make dist` makes the one that is published. Usage:
wheel_test.py BINARIES UV, the folder of `redrive` and `orders`, and uv's executable; maturin is beside this Python's executable.
"""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import tomllib
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import book

ROOT = Path(__file__).parent.parent
VERSION = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
# By name and version, as from PyPI.
WANTED = f"redrive=={VERSION}"
# maturin asks Cargo for one package alone, whose features would compile the AWS SDK anew. This asks as the Makefile does.
CARGO = """#!/bin/sh
[ "$1" = rustc ] || exec {cargo} "$@"
exec {cargo} build --locked --workspace --example united --bin orders --bin redrive --bin demo --message-format json-render-diagnostics
"""
LOCAL = ["local", "--binary", "./orders", "--send", "demo.jsonl", "--speed", "max"]
PARAMETERS = ["--parameter", "MaxReceiveCount=3", "--parameter", "MessageTimeLimit=2"]
# What becomes of the twelve messages of the demo if each is delivered three times at most.
TOTALS = {"done": 7, "dead_lettered": {"card-refused": 1, "malformed": 1, "panic": 1, "redrive policy": 2}, "left": 0}
KEYS = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_DEFAULT_REGION": "us-east-1"}
# An editor that opens the payment gateway to the letter that met it closed three times.
EDITOR = """#!{python}
import pathlib, sys
letter = pathlib.Path(sys.argv[-1])
letter.write_text(letter.read_text().replace("3", "0"))
"""


def main(binaries: Path, uv: Path) -> int:
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        wheel = build(work)
        for name, installed in {"pip": by_pip(wheel.parent, work), "uv": by_uv(uv, wheel.parent, work)}.items():
            check_texts(installed, work)
            print(f"{wheel.name}, installed by {name}: it says its version, prints completions and writes manual pages")
        # Neither Cargo nor Rust, and of the system only a shell, for the editor.
        own = {"PATH": f"{work / 'venv' / 'bin'}:{os.defpath}", "HOME": folder, **KEYS}
        for path in (binaries / "orders", ROOT / "template.yaml", ROOT / "events" / "demo.jsonl"):
            shutil.copy(path, work)
        check_run(work, own)
        check_letters(work, own)
        check_page(work, own, wheel.parent)
    return 0


def build(work: Path) -> Path:
    cargo = work / "cargo"
    cargo.mkdir()
    executable(cargo / "cargo", CARGO.format(cargo=shutil.which("cargo")))
    path = f"{cargo}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    # Hundreds of megabytes, of which most are debug information: not compressed, and not searched for libraries.
    quick = ["--profile", "dev", "--compression-method", "stored", "--auditwheel", "skip", "--compatibility", "linux"]
    command = ["maturin", "build", *quick, "--manifest-path", "cli/Cargo.toml", "--out", work / "wheels"]
    run(*command, cwd=ROOT, env=os.environ | {"PATH": path})
    [wheel] = (work / "wheels").iterdir()
    return wheel


def by_pip(wheels: Path, work: Path) -> Path:
    venv.create(work / "venv", with_pip=True)
    install = ["-m", "pip", "install", "--quiet", "--no-index", "--find-links", wheels]
    run(work / "venv/bin/python", *install, WANTED, cwd=work)
    return work / "venv" / "bin" / "redrive"


def by_uv(uv: Path, wheels: Path, work: Path) -> Path:
    """As a tool with an environment of its own, which `uvx` would make and forget."""
    folders = {"UV_TOOL_DIR": work / "tools", "UV_TOOL_BIN_DIR": work / "bin", "UV_CACHE_DIR": work / "cache"}
    own = os.environ | {name: str(folder) for name, folder in folders.items()}
    install = ["tool", "install", "--quiet", "--no-index", "--find-links", wheels, "--python", sys.executable]
    run(uv, *install, WANTED, cwd=work, env=own)
    return work / "bin" / "redrive"


def check_texts(redrive: Path, work: Path) -> None:
    expect("--version", run(redrive, "--version", cwd=work), f"redrive {VERSION}\n")
    for shell in ("bash", "zsh", "fish"):
        completions = run(redrive, "completions", shell, cwd=work)
        expect(f"completions {shell} names the verb", "triage" in completions, True)
    run(redrive, "man", work / "man", cwd=work)
    expect("man's page of a verb is there", (work / "man" / "redrive-dlq-list.1").exists(), True)


def check_run(work: Path, own: dict[str, str]) -> None:
    events = run("redrive", *LOCAL, *PARAMETERS, "--until-idle", "--json", cwd=work, env=own)
    totals = json.loads(events.splitlines()[-1])
    expect("the totals of redrive local", {name: totals[name] for name in TOTALS}, TOTALS)
    print(f"redrive local: of {totals['messages']} messages {totals['done']} are done, the others dead-lettered as expected")


def check_letters(work: Path, own: dict[str, str]) -> None:
    """One of the five letters is edited and sent back."""
    executable(work / "edit", EDITOR.format(python=work / "venv" / "bin" / "python"))
    with running(work, own) as endpoint:
        own = own | {"AWS_ENDPOINT_URL": endpoint, "EDITOR": str(work / "edit")}
        until(lambda: len(letters(work, own)) == sum(TOTALS["dead_lettered"].values()), "the letters are not there after 60 s")
        chosen = ["--where", "body.order_id = A-1006"]
        sent = run("redrive", "dlq", "retry", "--stack", "redrive", *chosen, "--edit", "--yes", "--json", cwd=work, env=own)
        expect("letters sent back", json.loads(sent.splitlines()[-1])["totals"]["done"], 1)
        left = letters(work, own)
    expect("letters left", len(left), 4)
    expect("the letter that was sent back is gone", [it for it in left if "A-1006" in it["body"]], [])
    print("redrive dlq: five letters listed, one edited and sent back, four left")


def check_page(work: Path, own: dict[str, str], wheels: Path) -> None:
    """Does what the first page says, word for word, in a venv and a folder that are empty, with the wheel in place of a build."""
    home = work / "newcomer"
    venv.create(home / "venv", with_pip=True)
    port = free_port()
    here = f"http://127.0.0.1:{port}"
    own = {"PATH": f"{home / 'venv' / 'bin'}:{os.defpath}", "HOME": str(home)}
    blocks = book.blocks((ROOT / "docs" / "first-consumer.md").read_text())
    count, beside = 0, None
    run(home / "venv/bin/python", "-m", "pip", "install", "--quiet", "--no-index", "--find-links", wheels, WANTED, cwd=home)
    try:
        for block, follower in zip(blocks, [*blocks[1:], None], strict=True):
            text = block.text.replace("9324", str(port))
            if block.mark == "wheel: beside":
                beside = subprocess.Popen(["bash", "-c", f"exec {text}"], cwd=home, env=own, stdout=subprocess.DEVNULL)
                own |= {"AWS_ENDPOINT_URL": here}
            elif block.mark == "wheel":
                shown = follower.text if follower and follower.mark == "prints" else ""
                follow(text, shown, home, own)
            else:
                continue
            count += 1
    finally:
        if beside:
            ended(beside)
    expect("commands of the first page", count, 4)
    print(f"docs/first-consumer.md: {count} blocks of commands work with the wheel alone")


def follow(text: str, shown: str, home: Path, own: dict[str, str]) -> None:
    """Again until it prints what is shown, since a run beside it takes some time to come so far."""
    deadline = time.monotonic() + 120
    while True:
        command = ["bash", "-euo", "pipefail", "-c", text]
        done = subprocess.run(command, cwd=home, env=own, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120)
        if done.returncode == 0 and not absent(shown, done.stdout):
            return
        if time.monotonic() > deadline:
            raise RuntimeError(f"{text} ended with {done.returncode}, expected: {shown}, but it printed:\n{done.stdout}")
        time.sleep(5)  # its clock runs in real time while letters are listed


def absent(shown: str, printed: str) -> list[str]:
    """Whatever the ages of letters are."""
    return book.missing(*(re.sub(r" +\d+s\b", " ~", text) for text in (shown, printed)))


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def letters(work: Path, own: dict[str, str]) -> list[dict]:
    done = run("redrive", "dlq", "list", "--stack", "redrive", "--json", cwd=work, env=own)
    return [json.loads(line) for line in done.splitlines()]


@contextmanager
def running(work: Path, own: dict[str, str]) -> Iterator[str]:
    """`redrive local` with an endpoint."""
    port = free_port()
    command = [work / "venv/bin/redrive", *LOCAL, *PARAMETERS, "--port", str(port)]
    with (work / "log").open("wb") as log:
        process = subprocess.Popen(command, cwd=work, env=own, stdout=log, stderr=log)
        try:
            until(lambda: (work / "log").read_text().count("dead-lettered") >= 5, "redrive local has dead-lettered too few")
            yield f"http://127.0.0.1:{port}"
        finally:
            ended(process)


def ended(process: subprocess.Popen) -> None:
    process.send_signal(signal.SIGINT)
    try:
        process.wait(timeout=30)
    except subprocess.TimeoutExpired:
        process.kill()


def until(is_so, problem: str) -> None:
    deadline = time.monotonic() + 60
    while not is_so():
        if time.monotonic() > deadline:
            raise RuntimeError(problem)
        time.sleep(0.2)


def executable(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)


def run(*command: str | Path, **options) -> str:
    """The command of the PATH in `env`, if that is given."""
    path = options.get("env", os.environ)["PATH"]
    program = shutil.which(command[0], path=path)
    if program is None:
        raise RuntimeError(f"no {command[0]} on the PATH {path}")
    done = subprocess.run([program, *command[1:]], capture_output=True, text=True, timeout=300, check=False, **options)
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, command))} ended with {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout


def expect(what: str, found: object, expected: object) -> None:
    if found != expected:
        raise RuntimeError(f"{what}: {found}, expected: {expected}")


if __name__ == "__main__":
    sys.exit(main(*(Path(argument).absolute() for argument in sys.argv[1:])))
