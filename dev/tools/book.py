"""Reads the pages of docs/: headings, links, blocks. Pure."""

import re
from dataclasses import dataclass

FENCE = re.compile(r"^( *)```(\S*)[^\n]*\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
COMMENT = re.compile(r"<!-- ([^>]*?) -->\s*$")
LINK = re.compile(r"!?\[(?:[^\]\[]|\[[^\]]*\])*\]\(([^)\s]+)\)")


@dataclass
class Block:
    """Fenced text, its language, and the comment on the line before it."""

    language: str
    text: str
    mark: str


def blocks(page: str) -> list[Block]:
    found = []
    for fence in FENCE.finditer(page):
        mark = COMMENT.search(page[: fence.start()].rstrip("\n").rsplit("\n", 1)[-1])
        found.append(Block(fence[2].split(",")[0], fence[3], mark[1] if mark else ""))
    return found


def prose(page: str) -> str:
    """Returns the page without its blocks."""
    return FENCE.sub("", page)


def links(page: str) -> list[str]:
    return LINK.findall(prose(page))


def anchors(page: str) -> set[str]:
    """Returns the ids that GitHub and mdBook give to headings."""
    seen: dict[str, int] = {}
    for heading in re.findall(r"^#{1,6} +(.+?) *#*$", prose(page), re.MULTILINE):
        text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")
        slug = "".join(c for c in text.lower() if c.isalnum() or c in "-_ ").replace(" ", "-")
        count = seen.get(slug, 0)
        seen[slug] = count + 1
    return {slug if not nth else f"{slug}-{nth}" for slug, count in seen.items() for nth in range(count)}


def rows(page: str, heading: str) -> list[list[str]]:
    """Returns the cells of the first table below a line that begins with `heading`, without its head."""
    below = page[page.index(heading) :]
    table = re.search(r"^\|.*?(?=\n\n|\Z)", below, re.MULTILINE | re.DOTALL)
    lines = table[0].splitlines()[2:] if table else []
    return [[cell.strip() for cell in line.strip().strip("|").split(" | ")] for line in lines]


def missing(expected: str, output: str) -> list[str]:
    """Returns lines of `expected` that `output` lacks. Ids, times, ages and dates match any other; `...` matches any end, or any lines."""
    mask = lambda text: re.sub(  # noqa: E731
        r"\b[0-9a-f]{8}\b|\b\d+:\d\d:\d\d\b|\(\d\d/\d\d/\d\d[^)]*\)|\d+\.\d+ ?m?s\b| +\d+s\b", "~", text
    )
    # The numbers of invocations and calls depend on which messages arrived in time for a batch.
    varies = re.compile(r" (invocations|AWS calls|  sqs\.|  cloudwatch\.|wall time)|test result")
    found = [mask(line).rstrip() for line in output.splitlines()]
    absent = []
    for line in filter(None, map(str.rstrip, expected.splitlines())):
        wanted = mask(line)
        if varies.match(line) or wanted.strip() == "...":
            continue
        if wanted.endswith("...") and any(line.startswith(wanted[:-3].rstrip()) for line in found):
            continue
        if wanted not in found:
            absent.append(line)
    return absent
