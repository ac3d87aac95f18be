"""The page that a handler gets: what it reads from an archived answer."""

from datetime import UTC, datetime
from threading import Thread

import pytest

from app.features.extract.page import CrawledPage, Headers
from app.parse import dictionary

BODY = """<!doctype html><html lang="de-AT"><head><title> Zwei
 Bücher </title><base href="/shop/"></head><body><main><p class="price">12,50</p>
<p>Ein Buch über Bäume, das man lesen kann, und noch ein Satz dazu, der lang genug ist.</p>
<a href="buch?id=2#top" rel="Next">zwei</a> <a href="mailto:x@y.z">Post</a> <a href="http://[">kaputt</a>
<a hidden href="/falle">x</a></main></body></html>"""


def page(body: str = BODY, content_type: str = "text/html; charset=iso-8859-1", **more: object) -> CrawledPage:
    return CrawledPage(
        url="http://a.test/alt/",
        crawl="books",
        status=200,
        headers=Headers([("Content-Type", content_type), ("X-A", "1"), ("x-a", "2")]),
        fetched_at=datetime(2026, 11, 23, tzinfo=UTC),
        body=body.encode("iso-8859-1"),
        **more,  # type: ignore[arg-type]
    )


def test_it_is_read_in_its_own_encoding() -> None:
    found = page()
    assert "Bücher" in found.html
    assert found.title == "Zwei Bücher"
    assert found.language == "de-at"
    assert "Bäume" in found.text
    assert found.css("p.price::text").get() == "12,50"
    assert found.xpath("//a[1]/@href").get() == "buch?id=2#top"


def test_a_tag_of_too_many_attributes_is_not_selected_from() -> None:
    """Appending one walks all before it: a tag of 1 MiB took 33 s, and the pages of others waited."""
    many = " ".join(f"a{n}" for n in range(1001))
    padding = "<p>x</p>" * 5_000
    assert not page(f"{padding}<p {many}>").css("p")
    assert page(f"{padding}<p {many.rpartition(' ')[0]}>").css("p")


def test_made_up_names_leave_none_behind() -> None:
    """A handler that asks for no more than a selector is a process that lives for thousands of pages."""
    left: list[int] = []

    def handler() -> None:
        start = dictionary.names()
        for each in range(3):
            assert page("".join(f"<p x{each}y{n}>" for n in range(20_000))).css("p")
            assert page("<p>The next page").css("p")
            left.append(dictionary.names() - start)

    thread = Thread(target=handler)
    thread.start()
    thread.join()
    assert len(left) == 3
    assert max(left) < dictionary.NAMES_MOST


# what it declares, what its text is written in → its language
@pytest.mark.parametrize(
    ("declared", "words", "language"),
    [
        ("", "Der Wald ist groß, und die Bäume darin sind alt und hoch.", "de"),
        ('lang="fr"', "Der Wald ist groß, und die Bäume darin sind alt und hoch.", "fr"),
        ("", "12 34 56", None),
    ],
)
def test_its_language_is_declared_or_else_detected(declared: str, words: str, language: str | None) -> None:
    assert page(f"<html {declared}><body><p>{words}</p></body></html>").language == language


def test_its_links_are_joined_and_can_be_crawled() -> None:
    links = page().links
    assert [(link.url, link.text, link.rel, link.hidden) for link in links] == [
        ("http://a.test/shop/buch?id=2", "zwei", ("next",), False),
        ("http://a.test/falle", "x", (), True),
    ]


def test_its_content_as_markdown() -> None:
    found = page("<main><h1>Buch</h1><p>Ein Buch über Bäume, und noch ein Satz dazu, der lang genug ist.</p></main>")
    assert "# Buch" in found.markdown
    assert "Bäume" in found.markdown


def test_all_that_a_reader_sees() -> None:
    found = page(
        "<nav>Läden</nav><main><h1>Buch</h1><p>Ein Buch über Bäume, und ein Satz dazu, der lang genug ist.</p>"
    )
    assert "Läden" not in found.text + found.markdown
    assert found.full_text.startswith("Läden\nBuch\n")
    assert found.full_markdown.startswith("Läden\n\n# Buch\n")


def test_headers_are_found_in_any_case_and_joined() -> None:
    headers = page().headers
    assert headers["x-A"] == "1, 2"
    assert headers.get("CONTENT-TYPE") == "text/html; charset=iso-8859-1"
    assert "X-a" in headers
    assert headers.get("nothing") is None
    assert len(headers) == 2


# bodies that are no document
@pytest.mark.parametrize(
    ("body", "content_type"), [("", "text/html"), ("only words", "text/plain"), ("\x00", "text/html")]
)
def test_whatever_the_body_is_it_can_be_asked(body: str, content_type: str) -> None:
    found = page(body, content_type)
    assert found.css("title").getall() == []
    assert (found.title, found.links) == (None, ())


def test_the_earlier_body_is_asked_for_once() -> None:
    asked: list[CrawledPage] = []

    def earlier() -> CrawledPage:
        asked.append(page("<title>before</title>"))
        return asked[-1]

    found = page(_earlier=earlier)
    assert asked == []
    assert found.previous is not None
    assert found.previous is found.previous
    assert (len(asked), found.previous.title) == (1, "before")
    assert page().previous is None
