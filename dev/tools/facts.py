"""Compares figures and names on the pages with the code and the templates."""

import functools
import json
import math
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
MINUTE, HOUR, DAY, MIB = 60, 3_600, 86_400, 1_048_576
# A page, its words, their figure (in seconds, bytes or as it is), a file, and the constant there or the code before the figure.
FIGURES = (
    ("limits.md", "12 hours from a receive", 12 * HOUR, "crates/sqs/src/limits.rs", "LONGEST_VISIBILITY"),
    ("limits.md", "a worker's handler has at most 12 hours", 12 * HOUR, "crates/sqs/src/limits.rs", "LONGEST_VISIBILITY"),
    ("limits.md", "10 hours for `REDRIVE_VISIBILITY_TIMEOUT`", 10 * HOUR, "src/settings/values.rs", "LONGEST_VISIBILITY_TIMEOUT"),
    ("limits.md", "15 minutes for a function", 15 * MINUTE, "crates/sqs/src/limits.rs", "LONGEST_INVOCATION"),
    ("limits.md", "90 minutes for `REDRIVE_TIME_LIMIT`", 90 * MINUTE, "src/settings/values.rs", "LONGEST_TIME_LIMIT"),
    ("limits.md", "`redrive work --time-limit` allows 11 hours", 11 * HOUR, "crates/cli/src/work.rs", "Duration::from_secs(1), "),
    ("limits.md", "14 days of retention", 14 * DAY, "crates/sqs/src/limits.rs", "MESSAGE_RETENTION_PERIOD"),
    ("limits.md", "maxReceiveCount of 1,000", 1_000, "crates/sqs/src/limits.rs", "MAX_RECEIVE_COUNT"),
    ("limits.md", "120,000 messages in flight", 120_000, "crates/local/src/queue.rs", "MOST_IN_FLIGHT"),
    ("limits.md", "10,000 messages in a batch", 10_000, "crates/sqs/src/limits.rs", "BATCH_SIZE"),
    ("limits.md", "10 on a FIFO queue", 10, "crates/local/src/mapping.rs", "(fifo && *batch_size > "),
    ("limits.md", "1 MiB for body and attributes", MIB, "crates/sqs/src/message.rs", "MAX_BYTES"),
    ("limits.md", "body and attributes, 10 attributes", 10, "crates/sqs/src/message.rs", "MAX_ATTRIBUTES"),
    ("limits.md", "256 characters of an error", 256, "src/failure.rs", "ERROR_CHARACTERS"),
    ("limits.md", "256 characters of an error", 256, "crates/sqs/src/note.rs", "ERROR_CHARACTERS"),
    ("limits.md", "8 MiB for a body in S3", 8 * MIB, "crates/s3/src/payloads.rs", "MAX_SIZE"),
    ("limits.md", "1,024 bytes for a key of a store", 1_024, "src/runners/once.rs", "LONGEST_KEY"),
    ("limits.md", "1,024 bytes for a key of a store or an [inbox]", 1_024, "crates/postgres/src/names.rs", "LONGEST_KEY"),
    ("limits.md", "16 blocked threads", 16, "crates/executor/src/run_queue.rs", "MAX_BLOCKED"),
    ("limits.md", "10 panics in a row", 10, "crates/engine/src/panics.rs", "MAX_PANICS"),
    ("limits.md", "10,000 keys of [`rate_by`]", 10_000, "crates/engine/src/names.rs", "MOST"),
    ("limits.md", "10,000 names of [dependencies]", 10_000, "crates/engine/src/names.rs", "MOST"),
    ("limits.md", "10,000 finished messages", 10_000, "crates/engine/src/worker/finished.rs", "MOST"),
    ("console.md", "up to 20,000 letters", 20_000, "crates/cli/src/console/action.rs", "MOST_LETTERS"),
    ("console.md", "After 64 MiB of bodies", 64 * MIB, "crates/cli/src/console/letters.rs", "MOST_BODIES"),
    ("fleet.md", "`--watch` refreshes the list every minute", MINUTE, "crates/cli/src/fleet.rs", 'default_missing_value = "'),
    ("fleet.md", "up to 100 letters of each queue", 100, "crates/cli/src/dlq/list/all.rs", "LETTERS"),
    ("fleet.md", "actions after 400 days", 400 * DAY, "crates/cli/src/history.rs", "KEPT"),
    ("fleet.md", "errors after 14 days", 14 * DAY, "crates/cli/src/fleet/seen.rs", "KEPT"),
    ("queues.md", "up to five minutes for Lambda (`--wait`)", 5 * MINUTE, "crates/cli/src/queue/pause.rs", "default_value_t = "),
    ("queues.md", "moves messages there after 10 receives", 10, "crates/cli/src/queue/attach/plan.rs", "DEFAULT_COUNT"),
    # The process ends with one thread more than the constant.
    ("runbook.md", "17 threads are blocked", 16, "crates/executor/src/run_queue.rs", "MAX_BLOCKED"),
    ("runbook.md", "10 handlers panicked in a row", 10, "crates/engine/src/panics.rs", "MAX_PANICS"),
    ("troubleshooting.md", "17 threads are blocked", 16, "crates/executor/src/run_queue.rs", "MAX_BLOCKED"),
    ("worker.md", "allows at most 90 minutes", 90 * MINUTE, "src/settings/values.rs", "LONGEST_TIME_LIMIT"),
    ("worker.md", "Calls get 3 s after the drain", 3, "crates/engine/src/worker/shutdown.rs", "AFTER_THE_DRAIN"),
    ("worker.md", "the default drain of 25 s", 25, "src/settings.rs", "self.drain.as_deref().copied().unwrap_or("),
    ("worker.md", "until it has been idle for ten seconds", 10, "crates/observers/src/protection/plan.rs", "IDLE_AFTER"),
    ("worker.md", "take up at most 64 MiB", 64 * MIB, "crates/engine/src/worker/receive.rs", "BYTES"),
    ("worker.md", "if no poll has ended for 90 s", 90, "crates/observers/src/liveness.rs", "POLL_LIMIT"),
    ("worker.md", "leases went unchecked for 60 s", 60, "crates/observers/src/liveness.rs", "KEEPER_LIMIT"),
)
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


def figures(pages: dict[Path, str]) -> Iterator[str]:
    """Compares figures on the pages with constants of the code. Each row of limits.md has one."""
    for page, words, value, file, constant in FIGURES:
        if words not in " ".join(pages[DOCS / page].split()):
            yield f"docs/{page} does not say: {words}"
        if (found := number((ROOT / file).read_text(), constant)) != value:
            yield f"docs/{page} says: {words}; but in {file}, {constant} is {found}"
    for row in book.rows(pages[DOCS / "limits.md"], "# Limits"):
        if not any(page == "limits.md" and words in " | ".join(row) for page, words, *_ in FIGURES):
            yield f"docs/limits.md: FIGURES in dev/tools/facts.py has no constant for: {row[0]}"


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


def flags(pages: dict[Path, str]) -> Iterator[str]:
    """Compares defaults such as `--concurrency`, 10 by default, with the help and the attributes of the command's flags."""
    for path, page in pages.items():
        for flag, value in re.findall(r"`--([\w-]+)`(?:,| is) (\S+) by default", " ".join(page.split())):
            if value.replace(",", "") not in defaults(flag):
                yield f"{path.relative_to(ROOT)}: the default of --{flag} is not {value}, but {' '.join(defaults(flag))}"


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


def defaults(flag: str) -> list[str]:
    """Returns the words of a flag's defaults, in all commands that have it."""
    code = "".join(path.read_text() for path in (ROOT / "crates/cli/src").rglob("*.rs"))
    found = []
    for text, attribute in re.findall(rf"((?: *///.*\n)*) *#\[arg\(([^#]*?)\)\]\s+{flag.replace('-', '_')}:", code):
        found += re.findall(r"\[default: ([^\]]+)", text) + re.findall(r'default_value(?:_t)? = "?([\w./]+)', attribute)
    return re.findall(r"\w+", " ".join(found).replace("_", ""))


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


def number(code: str, constant: str) -> int | None:
    """Returns the value of a constant such as 8 * 1_024, 64 << 20 or Duration::from_secs(60). Of a range, this is the end."""
    found = re.findall(re.escape(constant) + r"(?:: [^=]+ = )?(?:Duration::from_secs\()?(?:\d+\.\.=)?(\d[\d_ *<]*)", code)
    if len(found) != 1:
        return None
    factors, _, shift = found[0].partition("<<")
    return math.prod(int(factor) for factor in factors.split("*")) << int(shift or 0)


def amount(cell: str) -> tuple[Decimal, int]:
    """Returns the number in a cell and its scale: 9 and a million for 9 million requests."""
    scale = 1_000_000 if "million" in cell else 1_000 if "thousand" in cell else 1
    return Decimal(re.search(r"[\d,.]*\d", cell)[0].replace(",", "")), scale


CHECKS = (titles, log_lines, error_texts, worker_metrics, figures, reasons, urgent_alarms, flags, costs, paths)
