"""The finished book is what a site serves, and what is wrong with one is found: python -m unittest test_finish_book, in tools/"""

import tempfile
import unittest
from pathlib import Path

import check_book
import finish_book
from rendered import Rendered

HOME = "https://example.org/shop/"


def html(body: str, title: str = "A page - redrive", head: str = "") -> str:
    """A page as mdBook makes it, with the same description on each."""
    description = '<meta name="description" content="About the book">'
    return f"<!DOCTYPE HTML><html><head><title>{title}</title>{head}{description}</head><body><main>{body}</main></body></html>"


class Head(unittest.TestCase):
    def head(self, body: str, name: str = "page.html", **more: str) -> Rendered:
        return Rendered(finish_book.with_head(html(body, **more), name, HOME))

    def test_a_page_has_its_own_address_and_the_first_sentences_of_its_text(self):
        page = self.head("<h1>Head</h1><p>One <code>sentence</code> that is long enough to be shown\nalone. And more.</p><p>Again.</p>")
        self.assertEqual(page.canonical, "https://example.org/shop/page.html")
        self.assertEqual(page.meta["description"], "One sentence that is long enough to be shown alone. And more. Again.")
        self.assertEqual(page.meta["og:url"], page.canonical)
        self.assertEqual((page.title, page.meta["og:title"]), ("A page - redrive", "A page - redrive"))

    def test_the_first_page_has_the_address_of_the_site_and_a_title_that_says_something(self):
        page = self.head("<p>Text.</p>", "index.html", title="redrive - redrive")
        self.assertEqual((page.canonical, page.title), (HOME, "redrive: About the book"))

    def test_what_stands_for_no_address_is_not_to_be_found(self):
        robots = '<meta name="robots" content="noindex">'
        for name, head in (("404.html", ""), ("print.html", robots)):
            page = finish_book.with_head(html("<p>Text.</p>", head=head), name, HOME)
            self.assertEqual((page.count(robots), Rendered(page).canonical), (1, ""), name)

    def test_signs_of_html_stay_text(self):
        page = self.head("<p>Say &lt;b&gt; &amp; &quot;c&quot; to a list of values that nobody has read before.</p>", title="A &amp; B - redrive")
        self.assertEqual(page.meta["description"], 'Say <b> & "c" to a list of values that nobody has read before.')
        self.assertEqual((page.title, page.meta["og:title"]), ("A & B - redrive", "A & B - redrive"))

    def test_code_and_tables_are_no_description(self):
        page = self.head("<pre>redrive</pre><table><tr><td><p>cell</p></td></tr></table><ul><li>A point.</li></ul>")
        self.assertEqual(page.meta["description"], "A point.")
        self.assertEqual(self.head("<pre>redrive</pre>").meta["description"], "About the book")

    def test_a_description_ends_with_a_sentence_or_else_with_a_word(self):
        long = "word " * 40
        self.assertEqual(finish_book.description([f"{'One sentence. ' * 5}{long}"]), ("One sentence. " * 5).strip())
        for text in (long, f"Short. {long}"):
            cut = finish_book.description([text])
            self.assertTrue(cut.endswith("word …") and len(cut) <= 162, cut)

    def test_the_sitemap_has_the_first_page_as_the_site(self):
        found = finish_book.sitemap(["a&b.html", "index.html"], HOME)
        self.assertIn(f"<loc>{HOME}a&amp;b.html</loc>", found)
        self.assertIn(f"<loc>{HOME}</loc>", found)


class Book(unittest.TestCase):
    """A book of few pages, with one fault each."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.book = Path(folder.name)
        sheet = '<link rel="stylesheet" href="book.css">'
        self.write("index.html", html('<p>The first page.</p><a href="doctor.html#panic">index</a>', "redrive - redrive", sheet))
        self.write("doctor.html", html('<p>The index.</p><h3 id="panic">panic</h3><a href="index.html">first</a>', head=sheet))
        self.write("print.html", html("", head='<meta name="robots" content="noindex">'))
        self.write("404.html", html('<a href="doctor.html">index</a>', head=f'<base href="/shop/">{sheet}'))
        self.write("book.css", "a { background: url('data:image/png;base64,AA==') } @font-face { src: url(font.woff2) }")
        self.write("searchindex-1.js", '{"doc_urls":["index.html#","doctor.html#panic"]}')

    def write(self, name: str, text: str) -> None:
        (self.book / name).write_text(text)

    def change(self, name: str, old: str, new: str) -> None:
        text = (self.book / name).read_text()
        self.assertIn(old, text)
        self.write(name, text.replace(old, new))

    def problems(self) -> list[str]:
        finish_book.finish(self.book, HOME)
        return check_book.problems(self.book, HOME)

    def assert_found(self, problem: str) -> None:
        self.assertIn(problem, "\n".join(self.problems()))

    def test_a_sound_book_has_no_problems(self):
        self.assertEqual(self.problems(), [])

    def test_a_page_that_is_not_there_is_404_at_any_depth_with_links_that_lead_somewhere(self):
        self.change("404.html", "/shop/", "/")
        self.assert_found("404.html at no/such/page.html: doctor.html has the status 404")
        self.assert_found("404.html at no-such-page: book.css has the status 404")

    def test_without_the_root_of_the_site_its_links_depend_on_the_depth(self):
        self.change("404.html", '<base href="/shop/">', "")
        found = self.problems()
        self.assertFalse([problem for problem in found if "no-such-page" in problem])
        self.assertTrue([problem for problem in found if "no/such/page.html" in problem])

    def test_a_dead_link_is_found(self):
        self.change("index.html", "doctor.html#panic", "error.html")
        self.assert_found("index.html: error.html leads nowhere")

    def test_a_link_to_no_heading_is_found(self):
        self.change("index.html", "#panic", "#panik")
        self.assert_found("index.html: doctor.html#panik names nothing there")

    def test_whatever_a_browser_fetches_from_elsewhere_is_found(self):
        self.change("index.html", "</main>", '<script src="//cdn.example/a.js"></script><a href="https://example.org">fine</a></main>')
        self.change("book.css", "font.woff2", '"https://fonts.example/f.woff2"')
        found = self.problems()
        self.assertEqual(found, ["index.html fetches //cdn.example/a.js", "book.css fetches https://fonts.example/f.woff2"])

    def test_two_pages_with_one_description_are_found(self):
        self.change("doctor.html", "The index.", "The first page.")
        self.assert_found("index.html has the description of doctor.html")

    def test_a_code_that_the_search_does_not_have_is_found_and_so_is_404_in_it(self):
        self.write("searchindex-1.js", '{"doc_urls":["index.html#","404.html#page-not-found"]}')
        self.assertEqual(self.problems(), ["the search does not find doctor.html#panic", "the search finds 404.html#page-not-found"])


class Here(unittest.TestCase):
    def test_the_homepage_ends_as_an_address_of_a_folder(self):
        self.assertRegex(finish_book.homepage(), r"^https://[^/]+/(.+/)?$")


if __name__ == "__main__":
    unittest.main()
