"""Runs the checks against redrive-local and other emulators, measures, and writes README.md beside this file.

Usage: compare.py SERVE THROUGHPUT MINISTACK MOTO FAKECLOUD with dev/emulators on the path, where SERVE and THROUGHPUT are the examples of
redrive-local, built for release, and the others are executables.
"""

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from emulators import fakecloud, ministack, moto
from servers import redrive_local
from table import Emulator, write

ROOT = Path(__file__).resolve().parents[2]
WORK = ROOT / "target" / "conformance"
# Time limit in seconds. A run of all checks takes a minute or two.
CHECKS_MAY_TAKE = 900
MEASURING_MAY_TAKE = 170
PASSED = (100_000, 1_000_000)


def main(serve: str, throughput: str, *executables: str) -> None:
    WORK.mkdir(parents=True, exist_ok=True)
    executables = [Path(executable).absolute() for executable in executables]
    others = [Emulator("MiniStack", version("ministack")), Emulator("moto", version("moto")), Emulator("fakecloud", installed(executables[2]))]
    ours = Emulator("redrive-local", re.search(r'version = "(.+?)"', (ROOT / "Cargo.toml").read_text())[1])
    ours.rows = check(ours.name, "--serve", serve)
    for other, start, executable in zip(others, [ministack, moto, fakecloud], executables, strict=True):
        with start(executable, WORK) as url:
            other.rows = check(other.name, "--url", url)
    with redrive_local(serve) as (url, _), ministack(executables[0], WORK) as other_url:
        rates = measure(throughput, 20_000, 3, f"redrive-local={url}", f"MiniStack={other_url}")
    with redrive_local(serve) as (url, process):
        memory = [memory_after(throughput, url, process, messages) for messages in PASSED]
    write(Path(__file__).parent / "README.md", [ours, *others], rates, list(zip(PASSED, memory, strict=True)))


def version(package: str) -> str:
    pins = (ROOT / "dev" / "emulators" / f"requirements-{package}.in").read_text()
    return re.search(rf"^{package}.*==(.+)$", pins, re.MULTILINE)[1]


def installed(executable: Path) -> str:
    """Returns the version that a program tells."""
    return subprocess.run([executable, "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout.split()[-1]


def check(name: str, *target: str) -> list[dict]:
    print(f"checking {name}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command = [sys.executable, "-m", "pytest", str(Path(__file__).parent), "--tb=no", "--no-summary"]
        subprocess.run(
            [*command, "=".join(target), f"--report={report}"], cwd=ROOT, timeout=CHECKS_MAY_TAKE, check=False
        )
        return json.loads(report.read_text())


def measure(throughput: str, messages: int, rounds: int, *endpoints: str) -> list[str]:
    command = [throughput, str(messages), str(rounds), *endpoints]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=MEASURING_MAY_TAKE, check=True)
    print(done.stdout, flush=True)
    return done.stdout.splitlines()


def memory_after(throughput: str, url: str, process: int, messages: int) -> float:
    """Returns the MB that the process uses after this many messages have passed through it."""
    passed = 0 if messages == PASSED[0] else PASSED[0]
    measure(throughput, messages - passed, 1, f"redrive-local={url}")
    status = Path(f"/proc/{process}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+) kB", status)[1]) / 1024


if __name__ == "__main__":
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    main(*sys.argv[1:])
