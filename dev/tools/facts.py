"""Compares figures and names on the pages with the code and the templates."""

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


def problems(pages: dict[Path, str]) -> Iterator[str]:
    for check in CHECKS:
        yield from check(pages)
    yield from examples(DEPLOY)


def titles(pages: dict[Path, str]) -> Iterator[str]:
    """Compares the titles in SUMMARY.md with the first headings of the pages."""
    for title, name in re.findall(r"- \[(.+)\]\((.+)\)", pages[DOCS / "SUMMARY.md"]):
        if re.findall(r"^# (.+)$", pages[DOCS / name], re.MULTILINE)[:1] != [title]:
            yield f"docs/SUMMARY.md: {title} is not the first heading of {name}"


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


def amount(cell: str) -> tuple[Decimal, int]:
    """Returns the number in a cell and its scale: 9 and a million for 9 million requests."""
    scale = 1_000_000 if "million" in cell else 1_000 if "thousand" in cell else 1
    return Decimal(re.search(r"[\d,.]*\d", cell)[0].replace(",", "")), scale


CHECKS = (titles, reasons, urgent_alarms, costs, paths)
