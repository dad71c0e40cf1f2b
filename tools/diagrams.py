"""Draws docs/diagrams/*.svg from the *.txt beside them, or checks those against real runs of `redrive local`.

    tools/diagrams.py draw
    tools/diagrams.py check target/debug/redrive target/debug/orders

A description has a title, the arguments of the run, its messages by name, and what happened: the time, the message, the event.
Lines in parentheses are notes, which no run can confirm.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from diagram_svg import svg

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "docs" / "diagrams"


@dataclass
class Event:
    """`at` is in seconds; a note has no message."""

    at: int
    message: str
    what: str

    def __str__(self) -> str:
        return f"{self.at // 60}:{self.at % 60:02} {self.message} {self.what}"


@dataclass
class Description:
    title: str = ""
    run: list[str] = field(default_factory=list)
    # Whether the function's first process ends with its first batch in work.
    crash: bool = False
    messages: dict[str, str] = field(default_factory=dict)
    events: list[Event] = field(default_factory=list)


def parse(text: str) -> Description:
    """Raises ValueError with the line that is none."""
    description = Description()
    for line in filter(None, text.splitlines()):
        if match := re.fullmatch(r"(title|run|message|first process): (.*)", line):
            match match.groups():
                case ("title", title):
                    description.title = title
                case ("run", arguments):
                    description.run = arguments.split()
                case ("first process", _):
                    description.crash = True
                case (_, message):
                    name, body = message.split(" ", 1)
                    description.messages[name] = body
        elif match := re.fullmatch(r"(\d+):(\d\d) (\w+) (.+)", line):
            minutes, seconds, message, what = match.groups()
            description.events.append(Event(int(minutes) * 60 + int(seconds), message, what))
        elif match := re.fullmatch(r" *\((.+)\)", line):
            at = description.events[-1].at
            description.events.append(Event(at, "", match[1]))
        else:
            raise ValueError(f"no line of a diagram: {line}")
    return description


# After this the test's own process is the function. Lambda hides the environment of whoever starts it.
CRASH = """#!{python}
import os, pathlib, urllib.request
crashed = pathlib.Path({folder!r}, "crashed")
if not crashed.exists():
    crashed.touch()
    api = os.environ["AWS_LAMBDA_RUNTIME_API"]
    urllib.request.urlopen(f"http://{{api}}/2018-06-01/runtime/invocation/next").read()
    os._exit(1)
# Rust's client takes a path with a scheme only.
os.environ["AWS_LAMBDA_RUNTIME_API"] = "http://" + os.environ["AWS_LAMBDA_RUNTIME_API"]
os.execv({orders!r}, ["bootstrap"])
"""


def observe(description: Description, redrive: Path, orders: Path) -> list[Event]:
    """What really happens."""
    with tempfile.TemporaryDirectory() as folder:
        messages = Path(folder, "messages.jsonl")
        messages.write_text("\n".join(description.messages.values()))
        binary = orders
        if description.crash:
            binary = Path(folder, "bootstrap")
            binary.write_text(CRASH.format(python=sys.executable, folder=folder, orders=str(orders)))
            binary.chmod(0o755)
        command = [redrive, "local", "--json", "--until-idle", "--binary", binary, "--send", messages]
        command += description.run if "--speed" in description.run else ["--speed", "max", *description.run]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, command))}: {done.stderr}")
    return list(told([json.loads(line) for line in done.stdout.splitlines()], list(description.messages)))


def told(lines: list[dict], names: list[str]):
    """The events of a run in the words of a description."""
    sent = [line for line in lines if line["kind"] == "sent"]
    # The queue that comes first is the one that messages are sent to.
    ids = [line["message_id"] for line in sent if line["queue"] == sent[0]["queue"]]
    waits = {}
    for line in lines:
        if line["kind"] == "back_in":
            waits.setdefault(line["message_id"], []).append(line["seconds"])
    for line in lines:
        # Nothing comes early; what the machine takes by itself is less than a second.
        at, kind = int(line.get("at", 0)), line["kind"]
        if kind == "invocation_ended" and line["outcome"]["result"] != "succeeded":
            yield Event(at, "function", f"crashed ({line['outcome']['result']})")
        if kind == "throttled":
            yield Event(at, "function", "throttled")
        if line.get("message_id") not in ids:
            continue
        name = names[ids.index(line["message_id"])]
        match kind:
            case "sent":
                yield Event(at, name, "sent")
            case "received" | "done":
                yield Event(at, name, f"{kind}, attempt {line['attempt']}")
            case "failed":
                # After the last delivery the move may come before anyone can tell the wait of 0 s.
                if seconds := waits[line["message_id"]].pop(0):
                    yield Event(at, name, f"failed, attempt {line['attempt']}, back in {seconds} s")
            case "dead_lettered":
                yield Event(at, name, f"dead-lettered, attempt {line['attempt']}, {line['reason']}")
            case "not_delivered":
                yield Event(at, name, f"not delivered, attempt {line['attempt']}")


def difference(description: Description, observed: list[Event]) -> str:
    """Empty if both say the same, each event within a second: a machine takes some time by itself."""
    key = lambda event: (event.message, event.what, event.at)  # noqa: E731
    said = sorted((event for event in description.events if event.message), key=key)
    seen = sorted(observed, key=key)
    same = [key(event)[:2] for event in said] == [key(event)[:2] for event in seen]
    if same and all(abs(one.at - other.at) <= 1 for one, other in zip(said, seen, strict=True)):
        return ""
    lines = [sorted(map(str, events)) for events in (said, seen)]
    return "described:\n  {}\nhappened:\n  {}".format(*("\n  ".join(part) for part in lines))


def confirm(description: Description, run: Callable[[], list[Event]]) -> str:
    """The difference, unless one of three runs has none: on a busy machine a run may take more time by itself."""
    for _ in range(3):
        if not (found := difference(description, run())):
            break
    return found


def main() -> int:
    wrong = 0
    for file in sorted(FOLDER.glob("*.txt")):
        description = parse(file.read_text())
        drawn = svg(description)
        if sys.argv[1] == "draw":
            file.with_suffix(".svg").write_text(drawn)
            continue
        redrive, orders = (Path(os.path.abspath(path)) for path in sys.argv[2:4])
        found = confirm(description, lambda: observe(description, redrive, orders))
        if not file.with_suffix(".svg").exists() or file.with_suffix(".svg").read_text() != drawn:
            found += "\nthe picture is not of this text: run tools/diagrams.py draw"
        print(f"{file.name}: {found or 'as it happens'}")
        wrong += bool(found)
    return min(wrong, 1)


if __name__ == "__main__":
    sys.exit(main())
