"""Finds habits of wording that native editors change. Some uses are right, so a page may have a few of them."""

import re
from dataclasses import dataclass

import book

PER_THOUSAND_WORDS = 5
NOT_VERBS = "although|and|as|because|but|by|else|for|from|had|has|have|if|in|into|of|or|out|so|than|that|then|to|until|when|which|while|with"
SERVICES = "CloudWatch|DynamoDB|ECS|KEDA|Kubernetes|Lambda|SQS|command|consumer|engine|function|handler|page|process|program|queue|redrive|store|worker"
BEGIN = r"(?:^|(?<=[.!?|] )|(?<=[.!?]\n)|(?<=\n\n))"
END = r"(?=\s*(?:[.;:)|]|\n\n|\Z))"
TICS = {
    "verb + no, none, nothing": rf"(?<![Tt]here\s)\b(?!(?:{NOT_VERBS})\s)[a-z]+\s(?:no(?!\slonger\b)|none|nothing)\b",
    "come for arrive, return, happen": r"\b(?:comes?|came|coming)\b(?!\sfrom\b)",
    "also, too as an afterthought": rf"\b(?:also|too){END}|,\salso\b",
    "a service that gets": rf"\b(?:{SERVICES})s?\s(?:gets?|got)\b",
    "another for different": r"\banother\b(?!\s(?:attempt|consumer|delivery|minute|process|receive|time|worker)\b)",
    "that of, those of": r"\b(?:that|those)\sof\b",
    "go on for continue": r"\b(?:go|goes|going|went)\son\b",
    "now for immediately": r"(?<!\bare )(?<!\bFor )(?<!\bright )\bnow\b",
    "So do, So must": rf"{BEGIN}So\s(?:are|can|did|do|does|has|have|is|may|must|should|will)\b",
    "where for a contrast": r"\bwhere\s(?:\d\S*|one|two|three|ten)\s(?:are|is|was|were)\b",
    "for as many": r"\bfor\s(?:as|so)\s(?:few|many|much)\b",
}


@dataclass
class Candidate:
    """A place that an editor may want to change."""

    line: int
    tic: str
    text: str


def plain(page: str) -> str:
    """Returns the prose of a page, on its lines: without blocks, comments, code and addresses."""
    newlines = lambda match: "\n" * match[0].count("\n")  # noqa: E731
    page = re.sub(r"<!--.*?-->", newlines, book.FENCE.sub(newlines, page), flags=re.DOTALL)
    page = re.sub(r"(`+)[^`].*?\1", lambda match: "CODE" + newlines(match), page, flags=re.DOTALL)
    return re.sub(r"\]\([^)\s]+\)", "]", page)


def candidates(page: str) -> list[Candidate]:
    prose = plain(page)
    found = [(match, tic) for tic, pattern in TICS.items() for match in re.finditer(pattern, prose)]
    around = lambda match: " ".join(prose[max(0, match.start() - 30) : match.end() + 30].split())  # noqa: E731
    places = [Candidate(prose.count("\n", 0, match.start()) + 1, tic, around(match)) for match, tic in found]
    return sorted(places, key=lambda place: place.line)


def allowed(page: str) -> int:
    """Returns how many candidates a page may have: a share of its words, rounded up."""
    words = re.findall(r"[A-Za-z][\w'-]*", plain(page))
    return -(-len(words) * PER_THOUSAND_WORDS // 1_000)
