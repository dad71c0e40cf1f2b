"""Checks the pages: links, tables that have a source, code that no compiler sees, commands marked to be run.

    dev/tools/check_docs.py                       without running anything
    dev/tools/check_docs.py --run target/debug    the commands marked <!-- run --> or <!-- demo --> too, with `redrive` from that folder
    dev/tools/check_docs.py --tics                lists wording that an editor may want to change, and counts it for each page
"""

import ast
import json
import os
import re
import socket
import subprocess
import sys
import time
import tomllib
from contextlib import ExitStack
from pathlib import Path

import book
import facts
import permissions
import terraform
import tics

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
# Its blocks are the files of a project, which crates/cli/tests/it/new_project.rs makes, tests and runs.
PROJECT = "first-consumer.md"
# Its blocks are the files of tests/it/guide.
GUIDE = "testing.md"
# The front page of the library in rustdoc and on crates.io.
CRATE = ROOT / "src/crate.md"
README_WORDS = 450
BESIDE_CODE = (ROOT / "dev/bench/README.md", ROOT / "dev/conformance/README.md")
# The list of pages, the page for missing pages, and how to install the command after the first release.
NO_CHAPTERS = ("SUMMARY.md", "404.md", "install-released.md")
# Commands that would run the code of anyone who registers redrive's names first, as long as nothing is released.
INSTALLS = re.compile(
    r"(?:pip|pipx|uv tool|uv pip|npm) install (?:--\w+ )*redrive|uvx redrive|cargo (?:add|binstall|install) (?:--\w+ )*redrive"
    r"|^redrive[\w-]* = (?!.*(?:path|\{\{))|ghcr\.io/redrive|releases/(?:latest|download)",
    re.MULTILINE,
)
RELEASED = DOCS / "install-released.md"
INCIDENT = ("dead-letters.md", "runbook.md")


def pages() -> dict[Path, str]:
    found = [CRATE, *BESIDE_CODE]
    for pattern in ("*.md", "docs/*.md", "events/*.md", "examples/**/README.md", ".github/*.md"):
        found += some(pattern)
    return {path.resolve(): path.read_text() for path in sorted(found)}


def some(pattern: str) -> list[Path]:
    """Returns the files of a pattern. A pattern without files is an error."""
    found = list(ROOT.glob(pattern))
    if not found:
        raise RuntimeError(f"no file is {pattern}")
    return found


def links(pages: dict[Path, str]):
    """Checks that relative links lead to a file and a heading, others are https, and docs.rs ones name a crate that is used."""
    locked = {(crate["name"], crate["version"]) for crate in tomllib.loads((ROOT / "Cargo.lock").read_text())["package"]}
    for path, page in pages.items():
        for link in book.links(page):
            problem = problem_of(link, path, pages, locked)
            if problem:
                yield f"{path.relative_to(ROOT)}: {link} {problem}"


def problem_of(link: str, path: Path, pages: dict[Path, str], locked: set[tuple[str, str]]) -> str:
    of_ours = re.match(r"https://docs\.rs/crate/(redrive[\w-]*)/([^/]+)/source/(.+)", link)
    if of_ours:
        file = ROOT / of_ours[3]
        # Files below a different manifest belong to a different package.
        folders = [ROOT / folder for folder in file.relative_to(ROOT).parents][:-1]
        is_packaged = file.is_file() and not any((folder / "Cargo.toml").exists() for folder in folders)
        return "" if of_ours.groups()[:2] in locked and is_packaged else "is no file of ours"
    if link.startswith("https://docs.rs/"):
        name, version = (link.split("/") + ["", ""])[3:5]
        return "" if (name, version) in locked else "is of no crate and version in Cargo.lock"
    if re.match(r"[a-z]+:", link):
        return "" if link.startswith("https://") or link.startswith("http://127.0.0.1") else "is not https"
    name, _, anchor = link.partition("#")
    target = (path.parent / name).resolve() if name else path
    if not target.exists():
        return "leads nowhere"
    if not target.is_relative_to(ROOT.resolve()):
        return "leads out of the repository"
    if anchor and target.suffix == ".md" and anchor not in book.anchors(pages.get(target) or target.read_text()):
        return "names no heading there"
    return ""


def summary(pages: dict[Path, str]):
    """Checks that the book has every page."""
    listed = {DOCS.resolve() / link for link in book.links((DOCS / "SUMMARY.md").read_text())}
    for path in {path for path in pages if path.parent == DOCS.resolve()} - listed - {DOCS.resolve() / name for name in NO_CHAPTERS}:
        yield f"docs/SUMMARY.md does not list {path.name}"


def code(pages: dict[Path, str]):
    """Checks code. Tests compile Rust, and this uses the parsers of other languages."""
    tests = "".join(path.read_text() for path in (ROOT / "src/book_tests.rs", *some("crates/*/src/book_tests.rs")))
    of_book = re.findall(r"docs/([\w-]+\.md)", tests)
    compiled = {PROJECT, GUIDE, "README.md", CRATE.name, *of_book}
    for path, page in pages.items():
        for block in book.blocks(page):
            if block.language == "rust" and path.name not in compiled:
                yield f"{path.relative_to(ROOT)}: its Rust is compiled by no test, see src/book_tests.rs"
                break
            try:
                parse(block)
            except (SyntaxError, ValueError, RuntimeError) as error:
                yield f"{path.relative_to(ROOT)}: {block.language}: {error}:\n{block.text}"


def parse(block: book.Block) -> None:
    match block.language:
        case "python":
            ast.parse(block.text)
        case "json":
            for line in block.text.splitlines() if block.mark.endswith(".jsonl") else [block.text]:
                json.loads(line)
        case "toml":
            tomllib.loads(block.text)
        case "sh" | "bash":
            done = subprocess.run(["bash", "-n"], input=block.text, capture_output=True, text=True, check=False)
            if done.returncode:
                raise RuntimeError(done.stderr)


def readme(pages: dict[Path, str]):
    """Checks that README is short, has the same table as the page that explains it, and the totals of the conformance checks."""
    page = pages[ROOT.resolve() / "README.md"]
    words = len(page.split())
    if words > README_WORDS:
        yield f"README.md has {words} words, allowed are {README_WORDS}"
    heading = "## What a handler can say"
    if book.rows(page, heading) != book.rows(pages[DOCS.resolve() / "failures.md"], heading):
        yield f"README.md and docs/failures.md differ below {heading}"
    totals = book.rows(pages[(ROOT / "dev/conformance/README.md").resolve()], "## Totals")
    for emulator, passed, *_ in totals:
        if not re.search(rf"\b{passed}\b", page):
            yield f"README.md does not say that {emulator} passes {passed} checks"


def installs():
    """Checks that no text installs redrive from a registry before the first release. dev/release/README.md says how this ends."""
    if not RELEASED.exists():
        return
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    own = {"docs/install-released.md", "docs/install.md", "dev/release/README.md", "CHANGELOG.md", "examples/testcontainers/tests/queue.rs"}
    ours = ("crates/cli/Cargo.toml", "crates/cli/pyproject.toml", "crates/local/Cargo.toml", "crates/postgres/Cargo.toml")
    folders = (*ours, "crates/cli/tests/", "dev/bench/", "dev/emulators/", "dev/fuzz/", "dev/release/", "dev/tools/")
    for name in sorted(set(listed) - own):
        path = ROOT / name
        if name.startswith(folders) or not path.is_file() or path.suffix not in (".md", ".rs", ".toml", ".yaml", ".html", ".js"):
            continue
        for found in INSTALLS.findall(path.read_text()):
            yield f"{name}: {found.strip()} installs what is not released: see docs/install.md"


def incident(pages: dict[Path, str]):
    """Checks that a page for incidents first answers the questions of someone who was woken at night."""
    for name in INCIDENT:
        begin = pages[DOCS.resolve() / name].split("\n## ")[0]
        for question in ("How urgent", "Which stack", "redrive dlq list", "card", "Whom to call"):
            if question not in begin:
                yield f"docs/{name}: its first lines do not answer: {question}"


def generated(pages: dict[Path, str]):
    """Checks that measurements for contributors are beside the code, not in the book."""
    for path, page in pages.items():
        if path.parent == DOCS.resolve() and re.search(r"<!-- make bench|\| MiniStack [\d.]+ \|", page):
            yield f"docs/{path.name} has measurements, which belong beside the code"


def outside(files: dict[Path, str]):
    """Checks that pages in rustdoc or a registry have no relative links, because the files of the repository are absent there."""
    for path, text in files.items():
        if path.suffix == ".rs":
            text = "\n".join(re.findall(r"^\s*//[/!] ?(.*)$", text, re.MULTILINE))
        for link in book.links(text):
            # A link with neither a dot nor a slash is an item of Rust, which rustdoc itself checks.
            if not re.match(r"https?:|#", link) and re.search(r"[./]", link.replace("::", "")):
                yield f"{path.relative_to(ROOT.resolve())}: {link} leads nowhere outside of the repository"


def shown_outside() -> dict[Path, str]:
    manifests = [path for path in (ROOT / "Cargo.toml", *some("crates/*/Cargo.toml"), *some("dev/*/Cargo.toml")) if "\n[package]" in "\n" + path.read_text()]
    found = [CRATE]
    for manifest in manifests:
        package = tomllib.loads(manifest.read_text())["package"]
        if isinstance(package.get("readme"), str):
            found.append(manifest.parent / package["readme"])
        sources = manifest.parent / "src"
        found += [path for path in sources.rglob("*.rs") if path.name != "book_tests.rs"]
        for path in sources.rglob("*.rs"):
            if path.name != "book_tests.rs":
                found += [path.parent / name for name in re.findall(r'doc = include_str!\("([^"]+)"\)', path.read_text())]
    return {path.resolve(): path.read_text() for path in found}


def alarms(pages: dict[Path, str]):
    """Checks that the page names the template's alarms, with metric and threshold, and that the page on cost counts them."""
    template = (ROOT / "template.yaml").read_text()
    alarm = r'AlarmName: !Sub "\$\{AWS::StackName\}-(\w+)".*?MetricName: (\w+).*?Threshold: (?:!Ref )?(\w+)'
    of_template = [(name, metric, threshold) for name, metric, threshold in re.findall(alarm, template, re.DOTALL)]
    rows = book.rows(pages[DOCS.resolve() / "metrics.md"], "## The alarms of the template")
    said = [(re.sub(r"\[(\w+)\].*", r"\1", row[0]), " ".join(row[1:])) for row in rows]
    if [name for name, _ in said] != [name for name, *_ in of_template]:
        yield f"docs/metrics.md: the template's alarms are {[name for name, *_ in of_template]}"
    for (name, words), (_, metric, threshold) in zip(said, of_template, strict=False):
        for word in (metric, threshold):
            if not re.search(rf"\b{word}\b", words):
                yield f"docs/metrics.md: {name} says nothing of {word}"
    costs = {row[0]: row[1] for row in book.rows(pages[DOCS.resolve() / "cost.md"], "# Estimate the cost")}
    if costs["alarms of the template"] != str(len(of_template)):
        yield f"docs/cost.md: the template has {len(of_template)} alarms"


def wording(pages: dict[Path, str]):
    """Checks that a page has few candidates for an editor."""
    for path, page in edited(pages):
        count, allowed = len(tics.candidates(page)), tics.allowed(page)
        if count > allowed:
            yield f"{path.relative_to(ROOT)}: {count} places that an editor may change, allowed are {allowed}: see check_docs.py --tics"


def edited(pages: dict[Path, str]) -> list[tuple[Path, str]]:
    """Returns the pages that editors read: the book, and the pages at the top."""
    return [(path, page) for path, page in pages.items() if path.parent in (DOCS.resolve(), ROOT.resolve())]


def list_tics(pages: dict[Path, str]) -> None:
    for path, page in edited(pages):
        found, name = tics.candidates(page), path.relative_to(ROOT)
        for place in found:
            print(f"{name}:{place.line}: {place.tic}: {place.text}")
        print(f"{name}: {len(found)} of {tics.allowed(page)} allowed\n")


def run(pages: dict[Path, str], binaries: str):
    """Runs the commands that are marked."""
    environment = os.environ | {"PATH": f"{Path(binaries).resolve()}:{os.environ['PATH']}"}
    for path, page in pages.items():
        blocks = book.blocks(page)
        wrong = demo if path.name == PROJECT else commands
        for block, problem in wrong(list(zip(blocks, [*blocks, None][1:], strict=True)), environment):
            where = f"{path.relative_to(ROOT)}: {block.text.strip()}"
            print(f"ran {where}")
            if problem:
                yield f"{where}: {problem}"


def commands(blocks: list[tuple[book.Block, book.Block | None]], environment: dict[str, str]):
    for block, follower in blocks:
        if block.mark == "run":
            yield block, wrong_with(block.text, follower, environment)


def demo(blocks: list[tuple[book.Block, book.Block | None]], environment: dict[str, str]):
    """Runs the demo, and repeats the commands that read its letters until the demo has progressed far enough."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = str(listener.getsockname()[1])
    with ExitStack() as beside:
        for block, follower in blocks:
            text = block.text.replace("9324", port)
            if block.mark == "demo: beside":
                command = ["bash", "-c", f"exec {text}"]
                process = beside.enter_context(subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL))
                beside.callback(process.kill)
                environment = environment | {"AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}"}
            elif block.mark == "demo":
                deadline = time.monotonic() + 120
                while (problem := wrong_with(text, follower, environment)) and time.monotonic() < deadline:
                    time.sleep(5)  # its clock runs in real time while letters are listed
                yield block, problem


def wrong_with(text: str, follower: book.Block | None, environment: dict[str, str]) -> str:
    """Compares what a command prints with the block below that is marked <!-- prints -->."""
    command = ["bash", "-euo", "pipefail", "-c", text]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=600, check=False)
    printed = done.stdout + done.stderr
    if done.returncode:
        return f"ends with {done.returncode}: {printed}"
    absent = book.missing(follower.text, printed) if follower and follower.mark == "prints" else []
    return f"does not print {absent}, but:\n{printed}" if absent else ""


def main() -> int:
    all_pages = pages()
    if sys.argv[1:] == ["--tics"]:
        list_tics(all_pages)
        return 0
    problems = [*links(all_pages), *summary(all_pages), *code(all_pages), *readme(all_pages), *alarms(all_pages)]
    problems += [*installs(), *incident(all_pages), *generated(all_pages), *wording(all_pages)]
    problems += [*outside(shown_outside()), *permissions.problems(permissions.policies())]
    problems += facts.problems(all_pages)
    problems += terraform.problems(terraform.FILE.read_text())
    if sys.argv[1:2] == ["--run"]:
        problems += run(all_pages, sys.argv[2])
    for problem in problems:
        print(problem, file=sys.stderr)
    print(f"{len(all_pages)} pages, {sum(len(book.links(page)) for page in all_pages.values())} links, {len(problems)} problems")
    return min(len(problems), 1)


if __name__ == "__main__":
    sys.exit(main())
