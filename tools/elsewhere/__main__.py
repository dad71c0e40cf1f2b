"""Runs the dead-letter verbs of redrive against MiniStack and moto, each in turn, the examples `payloads` and `charges` and
the demo function as a worker beside them; the store in DynamoDB against dynalite too.

Usage: python -m elsewhere MINISTACK MOTO DYNALITE REDRIVE [WORDS], four executables; WORDS choose the checks whose names have
them. Exit code 1 if one failed.
"""

import shutil
import signal
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import emulators

from . import files, fleet, keeping, many, native, once, payloads, queues, races, rights, sharing, worker
from .gaps import GAPS
from .scene import Elsewhere
from .result import Check, Result, checks_in, judge

WORK = Path(__file__).parents[2] / "target" / "elsewhere"
MODULES = (many, keeping, files, native, queues, payloads, sharing, worker, once)
# Most of a check is waiting for queues to be empty.
AT_ONCE = 4


def main(ministack: Path, moto: Path, dynalite: Path, redrive: Path, words: str = "") -> int:
    # Ending this ends the emulators too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    shutil.rmtree(WORK, ignore_errors=True)
    WORK.mkdir(parents=True)
    found = []
    for name, start, executable, modules in (
        ("MiniStack", emulators.ministack, ministack, (*MODULES, races)),
        # It writes without a lock.
        ("moto", emulators.moto, moto, MODULES),
        ("dynalite", emulators.dynalite, dynalite, (once, races)),
    ):
        checks = [check for module in modules for check in checks_in(module) if words in check.__name__]
        with start(executable, WORK) as endpoint:
            found += run(name, Elsewhere(endpoint, redrive), checks)
            if many in modules:
                alone = [check for check in checks_in(fleet) if words in check.__name__]
                found += run(name, Elsewhere(endpoint, redrive), alone, at_once=1)
    # It refuses the keys of all other checks from then on.
    checks = [check for check in checks_in(rights) if words in check.__name__]
    with emulators.moto(moto, WORK) as endpoint:
        found += run("moto", Elsewhere(endpoint, redrive), checks)
    return report(found)


def run(name: str, elsewhere: Elsewhere, checks: list[Check], at_once: int = AT_ONCE) -> list[Result]:
    """Each on queues of its own, so several at a time; told in their order."""
    begun, results = time.monotonic(), []
    with ThreadPoolExecutor(at_once) as pool:
        for result in pool.map(lambda check: judge(name, check, elsewhere, GAPS), checks):
            print(result.line, flush=True)
            results.append(result)
    print(f"{name}: {len(checks)} checks in {time.monotonic() - begun:.0f} s", flush=True)
    return results


def report(results: list[Result]) -> int:
    counts = Counter(result.status for result in results)
    print(f"{counts['passed']} passed, {counts['failed']} failed, {counts['gap']} known gaps")
    return int(counts["failed"] > 0 or not results)


if __name__ == "__main__":
    if len(sys.argv) not in (5, 6):
        sys.exit(__doc__)
    sys.exit(main(*(Path(argument).absolute() for argument in sys.argv[1:5]), *sys.argv[5:]))
