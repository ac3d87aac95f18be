"""Documents that are made to harm, broken ones, and any bytes."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.model.page import Page
from app.parse.html import html
from app.parse.html.survey import MAX_DIRECTIVES
from tests.examples import examples
from tests.parse.html.reading import read


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"<a href=x>y</a>" * 70_000, id="a million bytes of links"),
        pytest.param(b"<div><a href=x>" * 70_000, id="links that nest"),
        pytest.param(b"<p hidden><a href=x>" * 50_000, id="hidden ones that nest"),
        pytest.param(b"<meta http-equiv=refresh content='0;x'>" * 25_000, id="refreshes"),
    ],
)
def test_links_are_capped(body: bytes) -> None:
    assert len(read(body, max_links=100).links) == 100


def test_directives_for_robots_are_capped_and_the_first_count() -> None:
    """Each may be a date: 90,000 of a page took 2 s."""
    many = b"".join(b"<meta name=robots content='unavailable_after: %d'>" % n for n in range(5_000))
    robots = read(b"<meta name=robots content=noindex>" + many).robots
    assert len(robots) == MAX_DIRECTIVES
    assert "noindex" in robots


def test_dates_behind_the_last_link_count() -> None:
    """The links are not followed to their end, the rest of the page is."""
    page = read(b"<a href=x>y</a>" * 3 + b"<time datetime=2026-03-04>today</time>", max_links=2)
    assert len(page.links) == 2
    assert page.published is not None


def test_anchors_around_the_same_text_are_not_read_over_and_over() -> None:
    page = read(b"<a href=x><div>" * 120 + b" " * 900_000 + b"word")
    assert {link.text for link in page.links} == {""}  # the word lies further than we look


def test_a_flood_of_attributes_is_an_empty_page() -> None:
    body = b"<a " + b" ".join(b"a%d=1" % i for i in range(200_000)) + b" href=x>y"
    assert read(body) == Page()


@pytest.mark.parametrize(
    ("body", "text"),
    [
        pytest.param(b"<p>x" + b"<div>" * 100_000 + b"y", "x", id="deep nesting"),
        pytest.param(b"<p>x<!-- " + b"y" * 1_000_000, "x", id="unclosed comment"),
        pytest.param(b"<p>x<script>" + b"<" * 1_000_000, "x", id="unclosed script"),
        pytest.param(b"<p>x\0y", "x\ufffdy", id="null byte"),
        pytest.param(b"<p>&#0;&#xD800;&#x110000;x", "\ufffd\ufffd\ufffdx", id="references to nothing"),
        pytest.param(b"x" * 1_000_000, "x" * 200_000, id="one huge text node"),
        pytest.param(b"<" * 300_000, "<" * 200_000, id="less-than signs"),
        pytest.param(b"", "", id="empty"),
        pytest.param(b"<!doctype html>", "", id="doctype only"),
        pytest.param(b"</html>x", "x", id="ends before it begins"),
        pytest.param(b"<html><body><p>x</body></html><p>y", "x\ny", id="text after the end"),
        pytest.param(b"<p>x<table><p>y<tr><td>z", "x\ny\nz", id="misnested table"),
    ],
)
def test_hostile_and_broken(body: bytes, text: str) -> None:
    assert read(body).main_text == text


def strings(page: Page) -> list[str]:
    fields = [page.base, page.canonical, page.title, page.description, page.language, page.main_text, page.charset]
    links = [piece for link in page.links for piece in (link.href, link.text, *link.rel, link.kind)]
    return [*filter(None, fields), *links, *page.robots]


MARKUP = b"""< > </ /> " ' = & ; a &#0; &#xdfff; <!-- --> <![CDATA[ <? <! </html> </body> <title> <main> <svg xmlns:x=y <x:a <body
<frameset> <select> <table> <form> <script> <textarea> <a|href=x> <a|href= <base|href= <html|lang= <link|rel=next|href=
<meta|name=robots|content= <p|hidden> <p|style=display:none <meta|http-equiv=refresh|content='0; <meta|charset=utf-16>"""
PIECES = st.sampled_from(
    [piece.replace(b"|", b" ") for piece in MARKUP.split()] + [b" ", b"\0", b"\xff\xfe", b"\xed\xa0\x80"]
)
BODIES = st.one_of(
    st.binary(max_size=200), st.lists(st.one_of(PIECES, st.binary(max_size=3)), max_size=40).map(b"".join)
)
TYPES = st.sampled_from(
    [None, "", "text/html", "text/plain", "text/html; charset=utf-16", "text/html; charset=gb18030", "\ud800"]
)


@given(body=BODIES, content_type=TYPES, content_language=st.none() | st.text(max_size=8), want_text=st.booleans())
@settings(max_examples=examples(400))
def test_any_bytes_make_a_storable_page(
    body: bytes, content_type: str | None, content_language: str | None, want_text: bool
) -> None:
    page = html.read(body, content_type=content_type, content_language=content_language, want_text=want_text)
    for piece in strings(page):
        assert "\0" not in piece
        piece.encode("utf-8")  # raises on lone surrogates
