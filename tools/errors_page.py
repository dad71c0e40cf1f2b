"""docs/errors.md, the index of errors and codes: each is a heading, with what the page says that explains it. Nothing is said here.

    tools/errors_page.py            what is wrong with the page
    UPDATE=1 tools/errors_page.py   writes it
"""

import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path

import book

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGE = DOCS / "errors.md"
LONGEST = 100
# Where in an input a message points to, which is different each time.
PLACE = re.compile(r"^((--ids )?\w+\.(jsonl|txt): line \d+: (column \d+: )?|\w+\.yaml:\d+: )")

HEAD = """# Index of errors and codes

Every message, code and name that redrive, its command, or AWS for it may show, with what it means and a link to the page that says
what to do. Your browser's search finds a part of a message on this page, the search above (<kbd>S</kbd>) in all
pages. In the headings `…` stands for a name, a value, or the rest of a message.

<!-- tools/errors_page.py writes what follows. -->
"""


@dataclass
class Entry:
    heading: str
    meaning: str
    # To the place that explains it.
    link: str
    place: str


def codes(cell: str) -> list[str]:
    """What stands in backticks, with them: a code that has one in it stands in two."""
    return [found[0] for found in re.finditer(r"``(.+?)``|`([^`]+)`", cell)]


def sentence(text: str) -> str:
    """With a capital letter and a full stop, unless it begins with a name."""
    text = re.sub(r"^\[?(?!redrive)[a-z]", lambda found: found[0].upper(), text.strip())
    return text if not text or text.endswith((".", "!", "?")) else f"{text}."


def anchor(heading: str) -> str:
    return book.anchors(f"# {heading}\n").pop()


def brought(text: str, page: str) -> str:
    """Text of a page whose links to itself lead there from elsewhere."""
    return text.replace("](#", f"]({page}#")


def tables(page: str):
    """Each table with the heading above it and the cells of its head."""
    heading, lines = "", iter(book.prose(page).splitlines())
    for line in lines:
        if line.startswith("#"):
            heading = line.lstrip("# ")
        elif line.startswith("| "):
            head, _ = cells(line), next(lines)
            rows = []
            for row in lines:
                if not row.startswith("|"):
                    break
                rows.append(cells(row))
            yield heading, head, rows


def cells(row: str) -> list[str]:
    # The last cell of a row may be empty.
    return [cell.strip() for cell in re.split(r"(?<!\\) \| ", re.sub(r"^\| | ?\|$", "", row.strip()))]


def of_head(page: str, name: str, first: str, linked: str = ""):
    """An entry for each code in the first column of each table that has `first` at the head of it."""
    for heading, head, rows in tables(page):
        if head[0] != first:
            continue
        for row in rows:
            for code in codes(row[0]):
                meaning = f"{row[2]} ({row[1]})" if head[1] in ("level", "unit") else row[1]
                yield Entry(code, sentence(brought(meaning, name)), linked or f"{name}#{anchor(heading)}", heading)


def of_links(page: str, name: str, first: str, meaning):
    """The same for a table whose first column links to a section of this page for each code."""
    for _, head, rows in tables(page):
        for row in rows if head[0] == first else []:
            linked = re.match(r"\[`?([^`\]]+)`?\]\((#[^)]+)\)", row[0])
            if linked:
                yield Entry(f"`{linked[1]}`", sentence(meaning(linked[1], row)), name + linked[2], "")


def of_mistakes(page: str):
    """What the command said when something was typed that is wrong. Findings of the doctor have their own page."""
    for heading, _, rows in tables(page):
        for typed, said, code, advice in rows:
            last = said.split("<br>")[-1]
            text = PLACE.sub("", re.sub(r"^`+ ?| ?`+$", "", last).removeprefix("redrive: ").removeprefix("Error: "))
            if re.match(r"`(error|warning) [a-z-]+ at", said):
                continue
            short = text if len(text) <= LONGEST else text[:LONGEST].rsplit(" ", 1)[0] + " …"
            meaning = f"Said by {codes(typed)[0]}, with the exit code {code}. {sentence(advice)}".strip()
            yield Entry(f"`` {short} ``" if "`" in short else f"`{short}`", meaning, f"mistakes.md#{anchor(heading)}", heading)


def exits(page: str, name: str, whose: str):
    for heading, head, rows in tables(page):
        for code, when in rows if head[0] == "exit code" else []:
            yield Entry(f"Exit code `{code}` of {whose}", sentence(brought(when, name)), f"{name}#{anchor(heading)}", heading)


def groups(read) -> dict[str, list[Entry]]:
    """The entries by the heading that they stand under."""
    trouble, metrics, reference, doctor = map(read, ("troubleshooting.md", "metrics.md", "reference.md", "doctor.md"))
    allowed = dict(re.findall(r"^### (REDRIVE_\w+)$(?:\n(?!###).*)*?Allowed: (.+?)\.$", reference, re.MULTILINE))
    messages: dict[str, list[Entry]] = {}
    for entry in of_head(trouble, "troubleshooting.md", "message"):
        messages.setdefault(entry.place, []).append(entry)
    return messages | {
        "Mistakes in what is typed, and in settings": list(of_mistakes(read("mistakes.md"))),
        "Exit codes": [*exits(reference, "reference.md", "the command"), *exits(read("worker.md"), "worker.md", "a worker")],
        "Why a letter is in the dead-letter queue": list(of_head(reference, "reference.md", "`reason`")),
        "Why a message failed": list(of_head(metrics, "metrics.md", "`reason` in the log")),
        "What redrive doctor finds": list(of_links(doctor, "doctor.md", "code", lambda _, row: f"{row[2]} ({row[1]})")),
        "Variables": list(of_links(reference, "reference.md", "variable", lambda name, row: f"{row[1]}. Allowed: {allowed[name]}")),
        "Alarms and metrics": [
            *of_links(read("runbook.md"), "runbook.md", "alarm", lambda _, row: f"An alarm: {row[1]}"),
            *of_head(reference, "reference.md", "metric"),
            *of_head(read("worker.md"), "worker.md", "metric, each with the label `queue`"),
        ],
        "Lines of the log": list(of_head(metrics, "metrics.md", "line")),
    }


def title_of(entry: Entry, read) -> str:
    return read(entry.link.split("#")[0]).split("\n", 1)[0].strip("# ").replace("`", "")


def alphabetical(entry: Entry) -> str:
    """As people sort: numbers by their size, and capital letters beside small ones."""
    return re.sub(r"\d+", lambda number: number[0].zfill(6), entry.heading.replace("`", "").strip().lower())


def written(read) -> str:
    found = groups(read)
    text = HEAD + "\n" + "".join(f"- [{title}](#{anchor(title)})\n" for title in found)
    for title, entries in found.items():
        text += f"\n## {title}\n"
        told: dict[str, list[Entry]] = {}
        for entry in sorted(entries, key=alphabetical):
            told.setdefault(entry.heading, []).append(entry)
        for heading, same in told.items():
            lines = dict.fromkeys(f"{it.meaning} More: [{title_of(it, read)}]({it.link})." for it in same)
            text += f"\n### {heading}\n\n" + "\n\n".join(lines) + "\n"
    return text


def logged(sources: dict[str, str]):
    """The lines that the code writes to the log, as far as they are written out in it: the last string of each call. Those of
    examples are others' lines."""
    for text in sources.values():
        text = re.sub(r"^ *//[/!].*$", "", text, flags=re.MULTILINE)
        for call in re.finditer(r"\b(?:warn|error|info)!\(", text):
            depth, line = 1, ""
            for token in re.finditer(r'"((?:[^"\\]|\\.)*)"|[()]', text[call.end() :]):
                depth += {"(": 1, ")": -1}.get(token[0], 0)
                line = token[1] if token[1] and depth == 1 else line
                if not depth:
                    break
            if line and "{" not in line:
                yield line.replace('\\"', '"')


def refused(sources: dict[str, str]):
    """The codes of AWS that the code knows."""
    for name in ("sqs/src/refusal.rs", "cli/src/aws/errors.rs"):
        text = sources[name].split("#[cfg(test)]")[0]
        yield from re.findall(r'"([A-Z][a-z]+(?:[A-Z][a-z]+)+)"', text)


def failed(sources: dict[str, str]):
    """How the library's errors begin, and their types as Lambda reports them."""
    text = sources["src/error.rs"]
    yield from re.findall(r'=> "([A-Z]\w+)"', text)
    yield from re.findall(r'f\.write_str\(\s*"([^"]+)"', text)


def sources() -> dict[str, str]:
    folders = ("src", "opentelemetry/src", "s3/src", "sqs/src", "cli/src/aws")
    paths = [path for folder in folders for path in (ROOT / folder).rglob("*.rs") if "test" not in path.name and path.parent.name != "bin"]
    return {str(path.relative_to(ROOT)): path.read_text() for path in sorted(paths)}


def untold(page: str, code: dict[str, str]):
    """What the code says and the page does not have, and lines of the log that no code writes."""
    have = {heading.strip("` ") for heading in re.findall(r"^### (.+)$", page, re.MULTILINE)}
    yield from (f"docs/metrics.md has no row for the line {line!r}" for line in sorted(set(logged(code)) - have))
    yield from (f"docs/troubleshooting.md has no row for the code {name} of AWS" for name in sorted(set(refused(code)) - have))
    errors = [line for line in failed(code) if not any(line.startswith(heading) for heading in have)]
    yield from (f"docs/troubleshooting.md has no row for the error {line!r}" for line in errors)
    everything = "".join(code.values()).replace('\\"', '"')
    lines = page.split("\n## Lines of the log\n")[1]
    for line in re.findall(r"^### `(.+)`$", lines, re.MULTILINE):
        if f'"{line.removeprefix("… ")}"' not in everything:
            yield f"docs/metrics.md has the line {line!r}, which no code writes"


def read(name: str) -> str:
    return (DOCS / name).read_text()


def problems(page: str) -> list[str]:
    found = list(untold(page, sources()))
    return found if page == written(read) else [*found, "docs/errors.md is out of date: run UPDATE=1 python3 tools/errors_page.py"]


def main() -> int:
    if os.environ.get("UPDATE"):
        PAGE.write_text(written(read))
    found = problems(PAGE.read_text())
    print("\n".join(found) or "docs/errors.md has all errors and codes")
    return min(len(found), 1)


if __name__ == "__main__":
    sys.exit(main())
