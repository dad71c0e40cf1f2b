"""Results as Markdown, and their place in a document."""

from goals import CONTENDERS, HANDLERS, REDRIVE, Results, in_digits, rows, value

BEGIN, END = "<!-- make bench ONLY=worker -->\n", "<!-- /make bench ONLY=worker -->"

LOADED = {
    "messages per second of CPU": "per_cpu_second",
    "CPU per message, µs": "cpu_us",
    "messages a second": "per_second",
    "requests per message": "requests",
    "peak memory, MiB": "peak_mib",
    "the server's CPU per message, µs": "server_cpu_us",
}
STEADY = {
    "median from send to done, ms": "p50_ms",
    "99th percentile, ms": "p99_ms",
    "CPU per message, µs": "cpu_us",
    "requests per message": "requests",
}
IDLE = {"requests a day": "a_day", "requests a day and poller": "a_day_and_poller", "CPU a minute, ms": "cpu_ms_a_minute"}


def markdown(results: Results, machine: str) -> str:
    goals = [["what", "goal", "redrive", "compared with", "ratio", "met"], *rows(results)]
    groups = {f"load, {it}": LOADED for it in HANDLERS} | {f"steady, {it}": STEADY for it in HANDLERS} | {"idle": IDLE}
    found = [["", *CONTENDERS]]
    for scenario, figures in groups.items():
        for title, figure in figures.items():
            medians = [in_digits(value(results, scenario, it, figure)) for it in CONTENDERS]
            found.append([f"{scenario}: {title}", *medians])
    rounds = len(results[f"load, {next(iter(HANDLERS))}"][REDRIVE])
    lines = [f"{machine}. Medians of {rounds} interleaved rounds.", "", *drawn(goals), "", *drawn(found)]
    return "\n".join(lines) + "\n"


def drawn(cells: list) -> list[str]:
    head, *rest = (f"| {' | '.join(row)} |" for row in cells)
    return [head.replace("|  |", "| |", 1), "|" + " --- |" * len(cells[0]), *rest]


def inserted(document: str, table: str) -> str:
    """Returns the document with the table between the marks."""
    before, has_begin, rest = document.partition(BEGIN)
    _, has_end, after = rest.partition(END)
    assert has_begin and has_end, f"there is no {BEGIN.strip()} with its end"
    return before + BEGIN + table + END + after
