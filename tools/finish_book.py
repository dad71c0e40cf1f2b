"""Makes the built book complete in itself: files of the repository that pages link to are put beside it, as text.

    tools/finish_book.py target/book
"""

import re
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
LINK = re.compile(r'<a href="\.\./([^"#]+)(#[^"]*)?">(.*?)</a>', re.DOTALL)


def source(name: str) -> Path:
    """The file that a link of the book means; mdBook has made .html of .md."""
    path = ROOT / name
    return path if path.exists() else path.with_suffix(".md")


def finish(book: Path) -> None:
    def beside(link: re.Match[str]) -> str:
        path = source(link[1])
        if path.is_dir():
            return link[3]
        copy = book / "repository" / f"{path.relative_to(ROOT)}.txt"
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, copy)
        return f'<a href="{copy.relative_to(book)}">{link[3]}</a>'

    for page in book.glob("*.html"):
        page.write_text(LINK.sub(beside, page.read_text()))
    for name in ("book.toml", "SUMMARY.md"):
        (book / name).unlink(missing_ok=True)


def dead(book: Path):
    """Links of the book that lead to no file, or to no place in it."""
    ids = {page.name: set(re.findall(r'\bid="([^"]+)"', page.read_text())) for page in book.glob("*.html")}
    for page in sorted(book.glob("*.html")):
        # This one is found at any address, so its links begin at the root.
        if page.name in ("404.html", "print.html"):
            continue
        for link in re.findall(r'(?:href|src)="([^"]+)"', page.read_text()):
            name, _, anchor = link.partition("#")
            if re.match(r"[a-z]+:|//", link):
                continue
            if not (book / (name or page.name)).exists():
                yield f"{page.name}: {link} leads nowhere"
            elif anchor and (name or page.name) in ids and anchor not in ids[name or page.name]:
                yield f"{page.name}: {link} names nothing there"


def main() -> int:
    book = Path(sys.argv[1]).resolve()
    finish(book)
    problems = list(dead(book))
    print("\n".join(problems) or f"{len(list(book.glob('*.html')))} pages in {sys.argv[1]}")
    return min(len(problems), 1)


if __name__ == "__main__":
    sys.exit(main())
