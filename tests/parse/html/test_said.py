"""What a page says of itself: headline, author, OpenGraph, <meta>, JSON-LD."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.parse.html import said
from tests.parse.html.reading import read

LD = '<script type="application/ld+json">{}</script>'


# markup → the headline
@pytest.mark.parametrize(
    ("markup", "headline"),
    [
        ("<title>Ships - Harbour News</title><h1>Ships</h1>", "Ships"),
        ("<title>Ships - Harbour News</title><h1>Harbour News</h1><h1>Ships at <i>sea</i></h1>", "Harbour News"),
        ("<title>Ships at sea</title><h1>The Daily</h1><h1>Ships at <i>sea</i></h1>", "Ships at sea"),
        ("<title>Ships at sea | Harbour News</title>", "Ships at sea"),
        ("<title>News | A</title><meta property=og:site_name content=News>", "A"),
        ("<title>x</title><meta property=og:title content='Ships at sea'>", "Ships at sea"),
        ("<title>News</title>" + LD.format('{"headline": "Ships"}'), "Ships"),
        ("<title>Well-known words</title>", "Well-known words"),
        ("<title>Ships</title><svg><h1>Logo</h1></svg>", "Ships"),
        ("<title>A</title><h1>1. Learn C#<a class=headerlink href=#learn-c>¶</a></h1>", "1. Learn C#"),
        ("<title>A</title><h1><a href=#x> # </a>Ships <a href=/sea>at sea</a></h1>", "Ships at sea"),
        ("<title>Ships - News</title><h1><a href=../index.html>News</a></h1><h1>Ships</h1>", "Ships"),
        ("<title>Ships - News</title><h1>News</h1><h1><a href=/ships/>Ships</a></h1>", "News"),
        ("<title>Sea - News</title><h1><a href=/>News</a></h1><h1><i>class</i> Sea</h1>", "class Sea"),
        ("<title>News</title><h1><a href=/>News</a></h1><h1>Get the letter</h1>", "News"),
        ("<p>text", None),
        ("<h1> </h1><title>A</title>", "A"),
    ],
)
def test_headline(markup: str, headline: str | None) -> None:
    assert read(markup).headline == headline


# markup → the author
@pytest.mark.parametrize(
    ("markup", "author"),
    [
        ("<meta name=author content='Ada  Byron'>", "Ada Byron"),
        ("<meta property=article:author content='https://a.test/ada'><a rel=author>Ada</a>", "Ada"),
        (LD.format('{"@type": "Article", "author": {"@type": "Person", "name": "Ada"}}'), "Ada"),
        (LD.format('{"@type": "Article", "author": [{"name": "Ada"}, "Bob", {"name": "Ada"}]}'), "Ada, Bob"),
        (LD.format('{"@graph": [{"@type": "WebSite", "author": "x1"}, {"@type": "Article", "author": "Ada"}]}'), "Ada"),
        (LD.format('{"author": {"name": 7}}'), None),
        (LD.format('{"author": '), None),
        ("<span itemprop=author><b>Ada</b></span>", "Ada"),
        ("<p>by Ada", None),
    ],
)
def test_author(markup: str, author: str | None) -> None:
    assert read(markup).author == author


def test_data_without_the_texts_of_articles() -> None:
    thing = {"@type": "Article", "articleBody": "long", "offers": {"price": 7, "text": "long", "in": [True, None, 1.5]}}
    page = read(
        f"<meta property='og:type' content=article><meta name=Robots content=all>{LD.format(json.dumps(thing))}"
    )
    assert page.data == {
        "og": {"og:type": "article"},
        "meta": {"robots": "all"},
        "json-ld": [{"@type": "Article", "offers": {"price": 7, "in": [True, None, 1.5]}}],
    }
    assert read("<p>text").data is None


@pytest.mark.parametrize(
    "markup",
    [
        "".join(f"<meta name=n{n} content='{'x' * 900}'>" for n in range(300)),
        LD.format(json.dumps([{"name": "x" * 900, "n": n} for n in range(300)])),
        LD.format(json.dumps({f"k{n}": "ä" * 900 for n in range(300)})),
        LD.format('{"a":' * 500 + "1" + "}" * 500),
    ],
)
def test_data_has_a_bound(markup: str) -> None:
    page = read(f"<meta property=og:title content=T>{markup}")
    assert page.data is not None
    assert len(json.dumps(page.data, ensure_ascii=False).encode()) <= said.DATA_BYTES
    assert page.data["og"] == {"og:title": "T"}


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda each: st.lists(each) | st.dictionaries(st.text(), each),
    )
)
def test_whatever_it_says_can_be_stored(thing: object) -> None:
    page = read(f"<p>x{LD.format(json.dumps({'x': thing, 'author': thing, 'headline': thing}).replace('<', ''))}")
    for text in (page.headline or "", page.author or "", json.dumps(page.data, ensure_ascii=False)):
        assert "\0" not in text
        text.encode()


@pytest.mark.parametrize("nested", [("[", "]"), ('{"a":', "}")])
@pytest.mark.parametrize("name", ["@type", "author", "headline", "datePublished", "@graph", "mainEntity", "name"])
def test_data_nested_as_deep_as_its_parser_reads_costs_no_page(nested: tuple[str, str], name: str) -> None:
    begin, end = nested
    written = f'{{"{name}": {begin * 1_000}1{end * 1_000}, "price": 7}}'
    assert read(f"<title>Ships</title>{LD.format(written)}").headline == "Ships"
