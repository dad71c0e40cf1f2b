"""The goals of redrive's worker, each a comparison of measured medians."""

from statistics import median
from typing import NamedTuple

# The figures of each round, by scenario and contender.
Results = dict[str, dict[str, list[dict[str, float]]]]

REDRIVE, ONE, TEN, LOOP, LEAST = CONTENDERS = [
    "redrive",
    "sqs-consumer",
    "sqs-consumer, in tens",
    "boto3 loop",
    "Rust loop",
]
HANDLERS = {"no-op": 0, "20 ms": 20}
LEAST_FASTER = 5.0
# Share of the messages that the least loop on the same SDK handles: 1.25 times its CPU for each.
SHARE_OF_LEAST = 0.8
MOST_REQUESTS = 0.25
MOST_IDLE = 4_320.0
# Largest growth of the resident memory after 100,000 messages.
MOST_GROWTH = 1.05


class Row(NamedTuple):
    what: str
    goal: str
    redrive: str
    other: str
    ratio: str
    met: str


def value(results: Results, scenario: str, contender: str, figure: str) -> float:
    return median(found[figure] for found in results[scenario][contender])


def rows(results: Results) -> list[Row]:
    return [
        *(faster(results, handler, other) for handler in HANDLERS for other in (ONE, TEN, LOOP, LEAST)),
        *(requests(results, handler) for handler in HANDLERS),
        idle(results),
        flat(results),
    ]


def faster(results: Results, handler: str, other: str) -> Row:
    ours, theirs = (value(results, f"load, {handler}", it, "per_cpu_second") for it in (REDRIVE, other))
    ratio = ours / theirs
    least = SHARE_OF_LEAST if other == LEAST else LEAST_FASTER
    # There is no goal relative to the loop with boto3, which does less.
    goal, met = ("-", "-") if other == LOOP else (f"at least {least:g} x", verdict(ratio >= least))
    what = f"messages per second of CPU, handlers of {handler}"
    return Row(what, goal, in_digits(ours), f"{other} {in_digits(theirs)}", f"{ratio:.1f} x", met)


def requests(results: Results, handler: str) -> Row:
    ours, theirs = (value(results, f"load, {handler}", it, "requests") for it in (REDRIVE, ONE))
    what = f"requests per message under load, handlers of {handler}"
    return beside(what, f"at most {MOST_REQUESTS:g}", ours, f"{ONE} {in_digits(theirs)}", theirs, ours <= MOST_REQUESTS)


def idle(results: Results) -> Row:
    ours, theirs = (value(results, "idle", it, "a_day_and_poller") for it in (REDRIVE, ONE))
    what = "requests a day and poller, idle"
    return beside(what, f"at most {MOST_IDLE:,.0f}", ours, f"{ONE} {in_digits(theirs)}", theirs, ours <= MOST_IDLE)


def flat(results: Results) -> Row:
    first, last = (value(results, "memory", REDRIVE, it) for it in ("first_mib", "last_mib"))
    what, goal = "memory after 1,000,000 messages", f"at most {MOST_GROWTH:.2f} x"
    other = f"after 100,000: {in_digits(first)} MiB"
    return Row(what, goal, f"{in_digits(last)} MiB", other, f"{last / first:.2f} x", verdict(last / first <= MOST_GROWTH))


def beside(what: str, goal: str, ours: float, other: str, theirs: float, met: bool) -> Row:
    return Row(what, goal, in_digits(ours), other, f"{ours / theirs:.2f} x", verdict(met))


def verdict(met: bool) -> str:
    return "yes" if met else "**no**"


def in_digits(value: float) -> str:
    """Formats a value with three significant digits, or all before the point."""
    digits = 0 if value >= 100 else 1 if value >= 10 else 2 if value >= 1 else 3
    return f"{value:,.{digits}f}"
