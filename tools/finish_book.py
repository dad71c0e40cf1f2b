"""Makes the built book what a site serves: each page has its own address and description for search engines, and files of the
repository that pages link to are put beside it, as text. Then it is checked.

    tools/finish_book.py target/book
"""

import re
import shutil
import sys
import tomllib
from html import escape
from pathlib import Path

import check_book
from rendered import Rendered

ROOT = Path(__file__).parent.parent
LINK = re.compile(r'<a href="\.\./([^"#]+)(#[^"]*)?">(.*?)</a>', re.DOTALL)
# Pages that stand for no address, which mdBook makes besides the chapters.
NO_CHAPTERS = ("404.html", "print.html", "toc.html")
# Search engines show about as much of a description.
DESCRIPTION = 160
LEAST = 50


def homepage() -> str:
    """Where the book is served, with a slash at its end."""
    return tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["homepage"]


def address(home: str, page: str) -> str:
    return home if page == "index.html" else home + page


def description(paragraphs: list[str]) -> str:
    """The first sentences of a page, as many as are shown."""
    text = " ".join(" ".join(paragraphs).split())
    ends = [found.end() for found in re.finditer(r"[.?!](?= |$)", text) if found.end() <= DESCRIPTION]
    if ends and ends[-1] >= LEAST:
        return text[: ends[-1]]
    return text if len(text) <= DESCRIPTION else text[:DESCRIPTION].rsplit(" ", 1)[0] + " …"


def with_head(html: str, name: str, home: str) -> str:
    """The page with what search engines and previews of links read. What has no address of its own is not to be found."""
    page = Rendered(html)
    old = page.tags["description"]
    if name in NO_CHAPTERS:
        return html if "robots" in page.meta else html.replace(old, f'<meta name="robots" content="noindex">\n        {old}', 1)
    said = page.meta["description"]
    title = f"redrive: {said}" if name == "index.html" else page.title
    about, here = description(page.paragraphs) or said, address(home, name)
    properties = {"og:title": title, "og:description": about, "og:url": here, "og:type": "website"}
    head = [f'<meta name="description" content="{escape(about)}">', f'<link rel="canonical" href="{escape(here)}">']
    head += [f'<meta property="{key}" content="{escape(value)}">' for key, value in properties.items()]
    html = html.replace(f"<title>{escape(page.title, quote=False)}</title>", f"<title>{escape(title, quote=False)}</title>", 1)
    return html.replace(old, "\n        ".join(head), 1)


def sitemap(pages: list[str], home: str) -> str:
    urls = "".join(f"  <url><loc>{escape(address(home, page))}</loc></url>\n" for page in pages)
    space = "http://www.sitemaps.org/schemas/sitemap/0.9"
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="{space}">\n{urls}</urlset>\n'


def source(name: str) -> Path:
    """The file that a link of the book means; mdBook has made .html of .md."""
    path = ROOT / name
    return path if path.exists() else path.with_suffix(".md")


def finish(book: Path, home: str) -> None:
    def beside(link: re.Match[str]) -> str:
        path = source(link[1])
        if path.is_dir():
            return link[3]
        copy = book / "repository" / f"{path.relative_to(ROOT)}.txt"
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)
        return f'<a href="{copy.relative_to(book)}">{link[3]}</a>'

    pages = sorted(book.glob("*.html"))
    for page in pages:
        html = LINK.sub(beside, page.read_text())
        page.write_text(html if page.name == "toc.html" else with_head(html, page.name, home))
    (book / "sitemap.xml").write_text(sitemap([page.name for page in pages if page.name not in NO_CHAPTERS], home))
    for name in ("book.toml", "SUMMARY.md"):
        (book / name).unlink(missing_ok=True)


def main() -> int:
    book = Path(sys.argv[1]).resolve()
    finish(book, homepage())
    problems = check_book.problems(book, homepage())
    print("\n".join(problems) or f"{len(list(book.glob('*.html')))} pages in {sys.argv[1]}")
    return min(len(problems), 1)


if __name__ == "__main__":
    sys.exit(main())
