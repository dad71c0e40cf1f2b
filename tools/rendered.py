"""A page of the built book, as a parser sees it. Pure."""

from html.parser import HTMLParser

# What a browser fetches by itself, with the attribute that says from where.
FETCHED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "video": "src", "audio": "src", "embed": "src", "object": "data"}
# Of <link>, what is no more than a statement.
STATED = {"canonical", "alternate"}


class Rendered(HTMLParser):
    """What the page links to and fetches, the ids in it, its head, and how its text begins."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.headings: list[str] = []
        self.links: list[str] = []
        self.fetched: list[str] = []
        self.base = ""
        self.title = ""
        # By name or property; the tags word for word.
        self.meta: dict[str, str] = {}
        self.tags: dict[str, str] = {}
        self.canonical = ""
        self.paragraphs: list[str] = []
        self._inside: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if "id" in given:
            self.ids.add(given["id"])
            if tag in ("h1", "h2", "h3"):
                self.headings.append(given["id"])
        if tag == "base":
            self.base = given.get("href", "")
        elif tag == "a" and "href" in given:
            self.links.append(given["href"])
        elif tag == "link" and given.get("rel") == "canonical":
            self.canonical = given["href"]
        elif tag == "link" and given.get("rel") not in STATED:
            self.fetched.append(given["href"])
        elif tag in FETCHED and FETCHED[tag] in given:
            self.fetched.append(given[FETCHED[tag]])
        name = given.get("name") or given.get("property")
        if tag == "meta" and name:
            self.meta[name] = given.get("content", "")
            self.tags[name] = self.get_starttag_text() or ""
        if tag in ("title", "main", "pre", "table", "p", "li"):
            self._inside.append(tag)
            if self._is_text():
                self.paragraphs.append("")

    def handle_endtag(self, tag: str) -> None:
        if self._inside[-1:] == [tag]:
            self._inside.pop()

    def handle_data(self, data: str) -> None:
        if self._inside == ["title"]:
            self.title += data
        elif self._is_text():
            self.paragraphs[-1] += data

    def _is_text(self) -> bool:
        return self._inside[:1] == ["main"] and len(self._inside) > 1 and {*self._inside[1:]} <= {"p", "li"}
