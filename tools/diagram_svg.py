"""A sequence diagram as SVG, readable on white and on black."""

from html import escape
from itertools import groupby

QUEUE, LAMBDA, FUNCTION, LETTERS = 150, 370, 590, 800
NAMES = {QUEUE: "queue", LAMBDA: "Lambda", FUNCTION: "your function", LETTERS: "dead-letter queue"}
WIDTH, TOP, ROW = 900, 92, 34

STYLE = """
    svg { color-scheme: light dark; font: 13px system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif }
    .paper { fill: #ffffff; stroke: #d0d7de } text { fill: #1f2328 } .line { stroke: #afb8c1 } .head { fill: #eaeef2 }
    .arrow { stroke: #57606a } .tip { fill: #57606a } .quiet { fill: #57606a } .gap { stroke: #d0d7de }
    .good { stroke: #1a7f37 } .tip.good, text.good { fill: #1a7f37 } .bad { stroke: #cf222e } .tip.bad, text.bad { fill: #cf222e }
    .warn { stroke: #9a6700 } .tip.warn, text.warn { fill: #9a6700 } text { stroke: none !important } .note { fill: #fff8c5; stroke: #d4a72c }
    .head, .note { stroke-width: 1 } .arrow, .line, .gap { fill: none } .back { stroke-dasharray: 5 3 } .tip { stroke: none }
    .halo { fill: #ffffff; stroke: none }
    @media (prefers-color-scheme: dark) {
      .paper { fill: #0d1117; stroke: #30363d } text { fill: #e6edf3 } .line { stroke: #484f58 } .head { fill: #21262d }
      .arrow { stroke: #9198a1 } .tip { fill: #9198a1 } .quiet { fill: #9198a1 } .gap { stroke: #30363d }
      .good { stroke: #3fb950 } .tip.good, text.good { fill: #3fb950 } .bad { stroke: #ff7b72 } .tip.bad, text.bad { fill: #ff7b72 }
      .warn { stroke: #d29922 } .tip.warn, text.warn { fill: #d29922 } .note { fill: #2d2a1d; stroke: #6e5d1d }
      .halo { fill: #0d1117 }
    }"""


class Drawing:
    def __init__(self) -> None:
        self.y = TOP
        self.parts: list[str] = []

    def text(self, x: float, y: float, said: str, kind: str = "", anchor: str = "middle") -> None:
        self.parts.append(f'<text class="{kind}" x="{x:g}" y="{y:g}" text-anchor="{anchor}">{escape(said)}</text>')

    def arrow(self, start: float, end: float, label: str, kind: str = "", back: bool = False, lost: bool = False) -> None:
        """A row with an arrow; `lost` ones do not arrive."""
        self.y += ROW
        step = 7 if end > start else -7
        end -= step * (4 if lost else 0)
        dashes = " back" if back else ""
        middle = (start + end) / 2
        # Where it crosses Lambda on its way, the label stands beside that line.
        if start == FUNCTION and end == QUEUE:
            middle = (QUEUE + LAMBDA) / 2
        if start == QUEUE and end == LETTERS:
            middle = (LAMBDA + FUNCTION) / 2
        width = 7.2 * len(label)
        self.parts.append(f'<rect class="halo" x="{middle - width / 2:g}" y="{self.y - 20}" width="{width:g}" height="16"/>')
        self.text(middle, self.y - 7, label, kind)
        self.parts.append(f'<path class="arrow {kind}{dashes}" d="M{start:g} {self.y}H{end - step:g}"/>')
        if lost:
            self.parts.append(f'<path class="arrow {kind}" stroke-width="2" d="M{end - 6:g} {self.y - 6}l12 12m0 -12l-12 12"/>')
        else:
            self.parts.append(f'<path class="tip {kind}" d="M{end:g} {self.y}l{-1.4 * step:g} -4.5v9z"/>')

    def note(self, x: float, said: str) -> None:
        self.y += ROW
        width = 7 * len(said) + 18
        left = min(max(x - width / 2, 8), WIDTH - 8 - width)
        self.parts.append(f'<rect class="note" x="{left:g}" y="{self.y - 17}" width="{width:g}" height="24" rx="4"/>')
        self.text(left + width / 2, self.y, said)

    def later(self, seconds: int) -> None:
        self.y += ROW
        self.parts.append(f'<path class="gap back" d="M{QUEUE - 60} {self.y - 4}H{WIDTH - 20}"/>')
        said = f"{seconds} s later"
        width = 7.2 * len(said) + 12
        self.parts.append(f'<rect class="halo" x="{LAMBDA - width / 2:g}" y="{self.y - 14}" width="{width:g}" height="20"/>')
        self.text(LAMBDA, self.y, said, "quiet")

    def clock(self, at: int) -> None:
        """The time beside the row that comes next."""
        self.text(14, self.y + ROW - 2, f"{at // 60}:{at % 60:02}", "quiet", "start")


def attempts(events) -> str:
    counts = [event.what.rsplit(" ", 1)[1] for event in events]
    if len(set(counts)) == 1:
        return f"{names(events)} (count {counts[0]})"
    return ", ".join(f"{event.message} (count {count})" for event, count in zip(events, counts, strict=True))


def names(events) -> str:
    return ", ".join(event.message for event in events) or "none"


def settle(drawing: Drawing, events) -> None:
    """What a batch came to: letters first, then visibility, then the response, as redrive does it."""
    done = [event for event in events if event.what.startswith("done")]
    failed = [event for event in events if event.what.startswith("failed")]
    dead = [event for event in events if event.what.startswith("dead-lettered")]
    moved = [event for event in dead if event.what.endswith("redrive policy")]
    written = [event for event in dead if event not in moved]
    for event in written:
        drawing.arrow(FUNCTION, LETTERS, f"{event.message}, with a note: {event.what.rsplit(', ', 1)[1]}", "bad")
    hidden = [f"{event.message}: {event.what.rsplit('back in ', 1)[1]}" for event in failed]
    hidden += [f"{event.message}: 0 s" for event in moved]
    if hidden:
        drawing.arrow(FUNCTION, QUEUE, f"hide {', '.join(hidden)}", "warn")
    drawing.arrow(FUNCTION, LAMBDA, f"failed: {names(failed + moved)}", "warn" if failed or moved else "good", back=True)
    over = [event for event in events if event in done or event in written]
    if over:
        drawing.arrow(LAMBDA, QUEUE, f"delete {names(over)}", "good" if done else "bad")
    for event in moved:
        drawing.arrow(QUEUE, LETTERS, f"{event.message}, by the redrive policy", "bad")


def draw(drawing: Drawing, kind: str, events, invoked: bool) -> None:
    match kind:
        case "sent":
            drawing.arrow(QUEUE - 80, QUEUE, f"send {names(events)}")
        case "received":
            drawing.arrow(QUEUE, LAMBDA, f"receive {attempts(events)}")
            drawing.arrow(LAMBDA, FUNCTION, f"invoke with {names(events)}")
        case "note":
            for event in events:
                place, _, said = event.what.partition(": ")
                known = {"queue": QUEUE, "Lambda": LAMBDA, "function": FUNCTION}
                drawing.note(known.get(place, FUNCTION), said if place in known else event.what)
        case "crashed":
            drawing.arrow(FUNCTION, LAMBDA, "the process ends", "bad", back=True, lost=True)
        case "throttled":
            drawing.arrow(QUEUE, LAMBDA, "receive")
            drawing.arrow(LAMBDA, FUNCTION, "throttled", "bad", lost=True)
        case "not delivered":
            for event in events:
                drawing.note(QUEUE + 100, f"{event.message} is visible again, receive count {event.what.rsplit(' ', 1)[1]}")
        case "ended" if invoked:
            settle(drawing, events)
        case "ended":
            for event in events:
                name, rest = event.message, event.what
                if "back in" in rest:
                    drawing.note(QUEUE + 60, f"{name} stays hidden for {rest.rsplit('back in ', 1)[1]}")
                else:
                    drawing.arrow(QUEUE, LETTERS, f"{name}, by the redrive policy", "bad")


def group(event) -> str:
    """Events of one kind at one time share their arrows."""
    if not event.message:
        return "note"
    if event.message == "function":
        return event.what.split(" ")[0]
    word = event.what.split(",")[0]
    return word if word in ("sent", "received", "not delivered") else "ended"


def svg(description) -> str:
    drawing = Drawing()
    # Whether a function has the batch, and will answer.
    now, invoked = None, False
    for (at, kind), events in groupby(description.events, lambda event: (event.at, group(event))):
        events = list(events)
        if now is not None and at != now:
            drawing.later(at - now)
        if at != now:
            drawing.clock(at)
        now = at
        draw(drawing, kind, events, invoked)
        if kind != "note":
            invoked = kind == "received"
    bottom = drawing.y + 24
    lines = "".join(f'<path class="line" d="M{x} 76V{bottom}"/>' for x in NAMES)
    heads = "".join(
        f'<rect class="head" x="{x - 72}" y="50" width="144" height="26" rx="4"/><text x="{x}" y="68" text-anchor="middle">{name}</text>'
        for x, name in NAMES.items()
    )
    story = "\n".join(str(event) for event in description.events if event.message)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {bottom + 14}" width="{WIDTH}" height="{bottom + 14}" role="img">\n'
        f"<title>{escape(description.title)}</title>\n<desc>{escape(story)}</desc>\n<style>{STYLE}\n</style>\n"
        f'<rect class="paper" x="0.5" y="0.5" width="{WIDTH - 1}" height="{bottom + 13}" rx="6"/>\n'
        f'<text x="14" y="30" font-size="16" font-weight="600">{escape(description.title)}</text>\n'
        f"{lines}{heads}\n" + "\n".join(drawing.parts) + "\n</svg>\n"
    )
