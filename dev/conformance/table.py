"""Writes the results as a page: the checks that each emulator passes, and its speed."""

from dataclasses import dataclass, field
from pathlib import Path

BEGIN, END = "<!-- results: begin -->", "<!-- results: end -->"


@dataclass
class Emulator:
    name: str
    version: str
    # The columns of conftest.py's report: subject, check, source, result.
    rows: list[dict] = field(default_factory=list)

    def count(self, result: str) -> int:
        return sum(row["result"] == result for row in self.rows)

    def results(self, subject: str, check: str) -> list[str]:
        wanted = (subject, check)
        return [row["result"] for row in self.rows if (row["subject"], behavior(row)) == wanted]


def write(page: Path, emulators: list[Emulator], rates: list[str], memory: list[tuple[int, float]]) -> None:
    """Replaces the text between the markers."""
    before, rest = page.read_text().split(BEGIN)
    parts = [totals(emulators), speed(rates, memory), *subjects(emulators)]
    page.write_text(before + BEGIN + "\n\n" + "\n\n".join(parts) + "\n\n" + END + rest.split(END)[1])


def totals(emulators: list[Emulator]) -> str:
    rows = [
        [f"{each.name} {each.version}", *(str(each.count(result)) for result in ("pass", "fail", "cannot run"))]
        for each in emulators
    ]
    return "## Totals\n\n" + table(["emulator", "pass", "fail", "cannot run"], rows)


def speed(rates: list[str], memory: list[tuple[int, float]]) -> str:
    lines = ["## Throughput and memory", "", "```text", *rates, "```", ""]
    held = [f"{megabytes:.1f} MB after {messages:,} messages" for messages, megabytes in memory]
    return "\n".join([*lines, f"redrive-local holds {' and '.join(held)} have passed through it."])


def subjects(emulators: list[Emulator]) -> list[str]:
    """Returns a table for each file of checks, with one row for all cases of a behavior."""
    sources = {}
    for row in emulators[0].rows:
        urls = sources.setdefault(row["subject"], {}).setdefault(behavior(row), [])
        urls.extend(url for url in row["source"] if url not in urls)
    header = ["behavior", *(each.name for each in emulators), "source"]
    parts = []
    for subject, checks in sources.items():
        rows = [
            [check, *(cell(each.results(subject, check)) for each in emulators), links(urls)]
            for check, urls in checks.items()
        ]
        parts.append(f"## {subject.capitalize()}\n\n{table(header, rows)}")
    return parts


def behavior(row: dict) -> str:
    """Returns the check's name without its case: "a purge" for "a purge (now)"."""
    return row["check"].partition(" (")[0]


def cell(results: list[str]) -> str:
    if len(set(results)) == 1:
        return results[0].replace("fail", "**fail**")
    worst = "fail" if "fail" in results else "cannot run"
    return f"{worst.replace('fail', '**fail**')} {results.count(worst)} of {len(results)}"


def links(urls: list[str]) -> str:
    return ", ".join(f"[{title(url)}]({url})" for url in urls)


def title(url: str) -> str:
    if "localstack" in url:
        return "measured"
    return Path(url.removesuffix("/index.html")).stem.removeprefix("API_")


def table(header: list[str], rows: list[list[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
