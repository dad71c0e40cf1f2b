"""Checks a finished book as a site serves it: links, what is fetched, the page for addresses that are not there, the search."""

import re
import threading
import urllib.request
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import unquote, urljoin, urlsplit

from rendered import Rendered

ELSEWHERE = re.compile(r"[a-z]+:|//")
OF_STYLE = re.compile(r"(?:url\(|@import )\s*[\"']?([^\"')]+)")
# Nobody can know which address was typed.
UNKNOWN = ("no-such-page", "no/such/page.html", "failures.html/below")


class Pages(SimpleHTTPRequestHandler):
    """Serves a folder below a path, as GitHub Pages does: what is not there is 404.html, at any depth."""

    def __init__(self, *args, path: str, **kwargs) -> None:
        self.below = path
        super().__init__(*args, **kwargs)

    def translate_path(self, path: str) -> str:
        return super().translate_path(path.removeprefix(self.below) if path.startswith(self.below) else "/no such file")

    def send_error(self, code, message=None, explain=None) -> None:
        body = (Path(self.directory) / "404.html").read_bytes()
        self.send_response(code)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format, *args) -> None:
        pass


@contextmanager
def served(book: Path, home: str):
    """The address at which this machine serves the book, below the same path as its homepage."""
    handler = partial(Pages, directory=str(book), path=urlsplit(home).path)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}{urlsplit(home).path}"
        server.shutdown()


def status_and_body(url: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:
            return answer.status, answer.read().decode(errors="replace")
    except HTTPError as error:
        with error:
            return error.code, error.read().decode(errors="replace")


def missing(book: Path, home: str):
    """At an address that is not there stands 404.html, and all that it links to and fetches is found from there."""
    with served(book, home) as root:
        for name in UNKNOWN:
            status, body = status_and_body(root + name)
            page = Rendered(body)
            if status != 404 or page.meta.get("robots") != "noindex":
                yield f"{name} has the status {status}, and the robots are told {page.meta.get('robots')}"
            base = urljoin(root + name, page.base)
            for link in {*page.links, *page.fetched}:
                found = 200 if ELSEWHERE.match(link) else status_and_body(urljoin(base, link))[0]
                if found != 200:
                    yield f"404.html at {name}: {link} has the status {found}"


def dead(book: Path, pages: dict[str, Rendered]):
    """Links of the book that lead to no file, or to no place in it."""
    for name, page in pages.items():
        # The first begins its links at the site's root; the second has those of all the others.
        if name in ("404.html", "print.html"):
            continue
        for link in [*page.links, *page.fetched]:
            target, _, anchor = link.partition("#")
            if ELSEWHERE.match(link):
                continue
            if not (book / unquote(target or name)).exists():
                yield f"{name}: {link} leads nowhere"
            elif anchor and (target or name) in pages and unquote(anchor) not in pages[target or name].ids:
                yield f"{name}: {link} names nothing there"


def foreign(book: Path, pages: dict[str, Rendered]):
    """What a browser would fetch from another host, which then knows who reads what."""
    fetched = {name: page.fetched for name, page in pages.items()}
    fetched |= {path.name: OF_STYLE.findall(path.read_text()) for path in book.rglob("*.css")}
    for name, links in fetched.items():
        yield from (f"{name} fetches {link}" for link in links if ELSEWHERE.match(link) and not link.startswith("data:"))


def heads(pages: dict[str, Rendered], addresses: set[str]):
    """Each page has an address of its own in the sitemap and a description of its own, or is told not to be found."""
    described: dict[str, str] = {}
    for name, page in pages.items():
        if page.meta.get("robots") == "noindex":
            if page.canonical:
                yield f"{name} is not to be found, and has the address {page.canonical}"
            continue
        if page.canonical not in addresses:
            yield f"{name}: {page.canonical} is not in the sitemap"
        about = page.meta.get("description", "")
        if not about or about in described:
            yield f"{name} has the description of {described.get(about)}"
        described[about] = name
    found = sum(page.meta.get("robots") != "noindex" for page in pages.values())
    if found != len(addresses):
        yield f"the sitemap has {len(addresses)} pages of {found}"


def search(book: Path, pages: dict[str, Rendered]):
    """The search finds each finding of the doctor."""
    index = next(book.glob("searchindex-*.js")).read_text()
    urls = set(re.findall(r'"([\w-]+\.html#[^"\\]*)"', index))
    entries = {f"doctor.html#{anchor}" for anchor in pages["doctor.html"].headings}
    yield from (f"the search does not find {entry}" for entry in sorted(entries - urls))
    yield from (f"the search finds {url}" for url in sorted(urls) if url.startswith("404."))


def problems(book: Path, home: str) -> list[str]:
    pages = {page.name: Rendered(page.read_text()) for page in sorted(book.glob("*.html"))}
    addresses = set(re.findall(r"<loc>(.*?)</loc>", (book / "sitemap.xml").read_text()))
    return [*missing(book, home), *dead(book, pages), *foreign(book, pages), *heads(pages, addresses), *search(book, pages)]
