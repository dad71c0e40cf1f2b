"""Compares figures and names on the pages with the code and the templates."""

import functools
import json
import re
import subprocess
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import book

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
DEPLOY = ROOT / "examples/deploy"
# Its paths are those of the reader's project.
PROJECT = DOCS / "first-consumer.md"
# The packages whose errors and log lines users see, except the local SQS.
CRATES = ("cli", "dynamodb", "engine", "executor", "observers", "postgres", "s3", "sqs")
# Texts of Lambda, the system and the loader, which troubleshooting.md explains.
WRITTEN_BY_OTHERS = ("Task timed out after … seconds", "signal: 6", "signal: killed", "Runtime.InvalidEntrypoint")
WRITTEN_BY_OTHERS += ("Couldn't find valid bootstrap(s)", "exec format error", "version `GLIBC_2.…' not found")
COMMENT_OR_LITERAL = re.compile(
    r"""//[^\n]*|/\*.*?\*/|'(?:\\.[^']*|[^\\'])'|r(#*)"(?P<raw>.*?)"\1|"(?P<plain>(?:\\.|[^"\\])*)\"""", re.DOTALL
)


def problems(pages: dict[Path, str]) -> Iterator[str]:
    for check in CHECKS:
        yield from check(pages)
    yield from examples(DEPLOY)


def titles(pages: dict[Path, str]) -> Iterator[str]:
    """Compares the titles in SUMMARY.md with the first headings of the pages."""
    for title, name in re.findall(r"- \[(.+)\]\((.+)\)", pages[DOCS / "SUMMARY.md"]):
        if re.findall(r"^# (.+)$", pages[DOCS / name], re.MULTILINE)[:1] != [title]:
            yield f"docs/SUMMARY.md: {title} is not the first heading of {name}"


def log_lines(pages: dict[Path, str]) -> Iterator[str]:
    """Compares the lines and reasons in metrics.md with the strings of the code."""
    tables = ("### Find a log line", "Only workers log these lines", "`reason` is `error`")
    for text in first_cells(pages[DOCS / "metrics.md"], tables):
        if not any(map(pattern(text).fullmatch, strings())):
            yield f"docs/metrics.md: redrive does not log {text}"


def error_texts(pages: dict[Path, str]) -> Iterator[str]:
    """Compares the beginnings of redrive's errors in troubleshooting.md with the strings of the code."""
    for text in first_cells(pages[DOCS / "troubleshooting.md"], ("### Why a worker ended", "### Why a function fails")):
        # Errors about settings are put together: NAME of QUEUE is VALUE, allowed: …
        parts = re.split(" of …| is |, allowed: ", text) if ", allowed: " in text else [text.removeprefix("Error: ")]
        is_ours = all(any(map(pattern(part).match, strings())) for part in parts)
        if not is_ours and text not in WRITTEN_BY_OTHERS:
            yield f"docs/troubleshooting.md: redrive does not write {text}"


def worker_metrics(pages: dict[Path, str]) -> Iterator[str]:
    """Compares the names of metrics on the pages about workers with those that a worker serves."""
    code = (ROOT / "crates/observers/src/open_metrics.rs").read_text()
    counters = re.findall(r"^    (\w+): Family<\w+, Counter>", code, re.MULTILINE)
    names = set()
    for field, function, name in re.findall(r'(\w+): (added|time)\(it, "(\w+)"', code):
        names.add(f"redrive_{name}" + ("_seconds" if function == "time" else "_total" if field in counters else ""))
    for page in ("metrics.md", "outages.md", "worker.md"):
        for name in re.findall(r"`(redrive_\w+)", pages[DOCS / page]):
            if name not in names:
                yield f"docs/{page}: {name} is not a metric of crates/observers"


def reasons(pages: dict[Path, str]) -> Iterator[str]:
    """Compares the reasons in the runbook with those of the note in reference.md, and finds empty cells."""
    rows = book.rows(pages[DOCS / "runbook.md"], "## DeadLetter\n")
    for row in rows:
        if len(row) != 4 or not all(row):
            yield f"docs/runbook.md: a cell is empty: {row}"
    explained = {reason for row in rows for reason in re.findall(r"`(.+?)`", row[0])} - {"redrive-policy"}
    note = next(row for row in book.rows(pages[DOCS / "reference.md"], "## The note") if row[0] == "`reason`")
    for reason in sorted(explained ^ set(re.findall(r"`([\w-]+)`", note[1]))):
        yield f"docs/runbook.md, docs/reference.md: only one of them has the reason {reason}"


def urgent_alarms(pages: dict[Path, str]) -> Iterator[str]:
    """Compares the alarms in the runbook, and which of them cannot wait, with the templates."""
    alarm = re.compile(r'AlarmName: !Sub "\$\{AWS::StackName\}-(\w+)"(.*?)Namespace:', re.DOTALL)
    alarms = [found for path in (ROOT / "template.yaml", DEPLOY / "worker.yaml") for found in alarm.findall(path.read_text())]
    urgent = {name for name, description in alarms if "This cannot wait until morning" in " ".join(description.split())}
    start = " ".join(pages[DOCS / "runbook.md"].split("\n## ")[0].split())
    listed = set(re.findall(r"\[(\w+)\]\(#", start))
    item = "".join(item for item in start.split(" - ") if "cannot wait until morning" in item)
    for name in sorted(listed ^ {name for name, _ in alarms}):
        yield f"docs/runbook.md: its first list and the templates do not both have the alarm {name}"
    for name in sorted(urgent ^ set(re.findall(r"\[(\w+)\]\(#", item))):
        yield f"docs/runbook.md and the templates differ in whether {name} can wait until morning"


def costs(pages: dict[Path, str]) -> Iterator[str]:
    """Compares each amount in cost.md with its quantity and price, and the sum with the amounts."""
    *rows, total = book.rows(pages[DOCS / "cost.md"], "# Estimate the cost")
    for what, quantity, price, dollars in rows:
        (count, of_count), (unit_price, per) = amount(quantity), amount(price)
        if count * of_count * unit_price / per != Decimal(dollars):
            yield f"docs/cost.md: {what}: {quantity} at {price} are not {dollars}"
    if sum(Decimal(row[-1]) for row in rows) != Decimal(total[-1].strip("*")):
        yield f"docs/cost.md: the rows do not sum to {total[-1]}"


def paths(pages: dict[Path, str]) -> Iterator[str]:
    """Finds files and folders that the book and the pages at the top name, but the repository lacks."""
    for path, page in pages.items():
        if path.parent in (ROOT, DOCS) and path != PROJECT:
            for name in re.findall(r"`((?:src|crates|examples|dev|docs|tests|events)/[^`\s]*)", book.prose(page)):
                if not (ROOT / name).exists():
                    yield f"{path.relative_to(ROOT)}: {name} does not exist"


def examples(folder: Path) -> Iterator[str]:
    """Finds JSON and shell scripts that do not parse."""
    for path in folder.rglob("*.json"):
        try:
            json.loads(path.read_text())
        except ValueError as error:
            yield f"{path}: {error}"
    for path in folder.rglob("*.sh"):
        checked = subprocess.run(["bash", "-n", path], capture_output=True, text=True, check=False)
        if checked.returncode:
            yield f"{path}: {checked.stderr}"


def first_cells(page: str, headings: tuple[str, ...]) -> list[str]:
    """Returns the code in the first columns of the tables below these lines."""
    first = [row[0] for heading in headings for row in book.rows(page, heading)]
    return [text for cell in first for _, text in re.findall(r"(`+)(.+?)\1", cell)]


def pattern(text: str) -> re.Pattern[str]:
    """Returns a pattern for strings of Rust: … is anything, and a number may be {}."""
    any_text = ".*".join(map(re.escape, text.replace("… ", "…").split("…")))
    return re.compile(re.sub(r"\d+", r"(?:\g<0>|\\{\\w*\\})", any_text))


@functools.cache
def strings() -> list[str]:
    """Returns the strings of redrive's code, without those of tests."""
    folders = ["src", *(f"crates/{name}/src" for name in CRATES)]
    files = [path for folder in folders for path in (ROOT / folder).rglob("*.rs") if "/tests" not in str(path.relative_to(ROOT))]
    return [text for path in files for text in strings_of(path.read_text().split("#[cfg(test)]\nmod tests {")[0])]


def strings_of(code: str) -> list[str]:
    """Returns the strings of Rust code. A backslash at the end of a line continues a string."""
    literals = [literal["raw"] or literal["plain"] or "" for literal in COMMENT_OR_LITERAL.finditer(code)]
    return [re.sub(r"\\\n\s*", "", literal).replace('\\"', '"') for literal in literals]


def amount(cell: str) -> tuple[Decimal, int]:
    """Returns the number in a cell and its scale: 9 and a million for 9 million requests."""
    scale = 1_000_000 if "million" in cell else 1_000 if "thousand" in cell else 1
    return Decimal(re.search(r"[\d,.]*\d", cell)[0].replace(",", "")), scale


CHECKS = (titles, log_lines, error_texts, worker_metrics, reasons, urgent_alarms, costs, paths)
