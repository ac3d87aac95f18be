"""Markup that hides what it says: separators, templates, prefixes, labels of encodings, and nesting without end."""

import codecs

import pytest

from app.parse import charset
from app.parse.html.html import read

XHTML = 'xmlns:h="http://www.w3.org/1999/xhtml"'


@pytest.mark.parametrize(
    ("content", "robots"),
    [
        ("noindex;nofollow", {"noindex", "nofollow"}),
        ("noindex; nofollow, noarchive", {"noindex", "nofollow", "noarchive"}),
        ("max-snippet: 20;noindex", {"max-snippet: 20", "noindex"}),
        (";;", set()),
    ],
)
def test_directives_are_separated_by_semicolons_too(content: str, robots: set[str]) -> None:
    page = read(f'<meta name=robots content="{content}">'.encode(), content_type="text/html")
    assert page.robots == robots


def test_thousands_of_prefixes_are_all_taken_off_and_no_others() -> None:
    declared = "".join(f'<i xmlns:a{n}="http://www.w3.org/1999/xhtml"/>' for n in range(9_000))
    links = "".join(f"<a{n}:a href='/{n}'>{n}</a{n}:a><b{n}:a href='/no'>{n}</b{n}:a>" for n in range(0, 9_000, 9))
    page = read(
        f"<html>{declared}<a1:body>{links}<a8999:p>The end.</a8999:p>".encode(), content_type="application/xhtml+xml"
    )
    assert [link.href for link in page.links] == [f"/{n}" for n in range(0, 9_000, 9)]
    assert page.main_text.endswith("The end.")


@pytest.mark.parametrize("opening", ["<template>", "<template shadowrootmode=open>", "<div><template><p>"])
def test_a_base_within_a_template_is_none(opening: str) -> None:
    markup = (
        f'{opening}<base href="/wrong/"><link rel=canonical href="/wrong"></template><base '
        f'href="/right/"><a href=x>x</a>'
    )
    page = read(markup.encode(), content_type="text/html")
    assert (page.base, page.canonical) == ("/right/", None)
    assert [link.href for link in page.links] == ["x"]


# a part of a page, and its base, canonical, title and links
DRAWINGS = [
    ("<svg><base href=/b/><a href=x></a></svg>", (None, None, None), ["x"]),
    ("<svg><link rel=canonical href=/c><link rel=next href=/n></svg>", (None, None, None), []),
    ("<svg><title>a drawing</title></svg><title>the page</title>", (None, None, "the page"), []),
    ("<math><title>a formula</title></math>", (None, None, None), []),
    (
        "<svg><a xlink:href=old></a><a href=new xlink:href=old></a></svg><a xlink:href=no></a>",
        (None,) * 3,
        ["old", "new"],
    ),
    ("<svg><foreignObject><base href=/b/></foreignObject></svg>", ("/b/", None, None), []),
    ("<svg><p><base href=/b/><link rel=canonical href=/c>", ("/b/", "/c", None), []),  # at <p> the drawing ends
]


@pytest.mark.parametrize(("markup", "fields", "links"), DRAWINGS)
def test_what_stands_in_a_drawing_is_not_html(markup: str, fields: tuple[str | None, ...], links: list[str]) -> None:
    """https://html.spec.whatwg.org/#parsing-main-inforeign"""
    page = read(markup.encode(), content_type="text/html")
    assert (page.base, page.canonical, page.title) == fields
    assert [link.href for link in page.links] == links


@pytest.mark.parametrize(
    ("markup", "content_type", "links"),
    [
        (f'<h:html {XHTML}><h:body><h:a href="/a">a</h:a></h:body></h:html>', "application/xhtml+xml", ["/a"]),
        (
            f"<h:html {XHTML}><h:a href='/a'/><h:a href='/b'/></h:html>",
            "application/xhtml+xml; charset=utf-8",
            ["/a", "/b"],
        ),
        (f'<h:html {XHTML}><h:a href="/a">a</h:a></h:html>', "text/html", []),  # where a colon is part of the name
        ('<x:html xmlns:x="urn:x"><x:a href="/a">a</x:a></x:html>', "application/xhtml+xml", []),
    ],
)
def test_xhtml_may_bind_its_elements_to_a_prefix(markup: str, content_type: str, links: list[str]) -> None:
    assert [link.href for link in read(markup.encode(), content_type=content_type).links] == links


@pytest.mark.parametrize(
    ("label", "encoding"),
    [(label, encoding) for encoding, labels in charset._LABELS.items() for label in labels.split()],
)
def test_every_label_of_the_standard_is_known(label: str, encoding: str) -> None:
    assert codecs.lookup(encoding).name in {codecs.lookup(each).name for each in charset.ENCODINGS}
    for spelt in (label, label.upper()):
        assert charset.decode(b"abc", f"text/html; charset={spelt}")[1] == codecs.lookup(encoding).name
    found = read(b"<meta charset=%s><a href=x>x</a>" % label.encode(), content_type="text/html")
    assert found.charset == codecs.lookup(encoding).name


def test_hebrew_and_cyrillic_are_read() -> None:
    assert charset.decode("\u05e9\u05dc\u05d5\u05dd".encode("iso8859-8"), "text/html; charset=iso-8859-8-i")[0] == (
        "\u05e9\u05dc\u05d5\u05dd"
    )
    assert charset.decode("\u0416".encode("mac-cyrillic"), "text/html; charset=x-mac-cyrillic")[0] == "\u0416"


def deep(levels: int, head: str = "") -> bytes:
    links = "".join(f'<div><p><a href="/{level}" rel=x>to {level}</a>' for level in range(levels))
    return f"<html><head>{head}</head><body>{links}</body></html>".encode()


@pytest.mark.parametrize("levels", [1, 100, 120, 130, 300, 2_000])
@pytest.mark.parametrize("want_text", [True, False])
def test_links_are_found_however_deep_they_stand(levels: int, want_text: bool) -> None:
    page = read(deep(levels), content_type="text/html", want_text=want_text)
    assert [link.href for link in page.links] == [f"/{level}" for level in range(levels)]
    assert page.truncated is (levels >= 300)
    assert not want_text or page.links[-1].text == f"to {levels - 1}"
    assert page.links[-1].rel == ("x",)


def test_where_elements_may_be_hidden_deep_links_are_left_alone_and_the_page_is_marked() -> None:
    page = read(deep(300, "<style>p {display: none}</style>"), content_type="text/html")
    assert page.truncated
    assert 0 < len(page.links) < 300


def test_deep_links_stop_where_links_do() -> None:
    assert len(read(deep(2_000), content_type="text/html", max_links=500).links) == 500


@pytest.mark.parametrize(
    ("within", "found"),
    [
        ("<!-- <a href=/x>x</a> -->", False),
        ("<script>'<a href=/x>x</a>'</script>", False),
        ("<STYLE><a href=/x></STYLE>", False),
        ("<textarea><a href=/x></textarea>", False),
        ("<!-- <a href=/x>", False),
        ("<!-- --><a href=/x>", True),
        ("<A HREF=/x>", True),
        ("<iframe src=/x>", True),
        ("<abbr href=/x>", False),
    ],
)
def test_what_is_no_element_is_no_deep_link(within: str, found: bool) -> None:
    page = read(b"<div>" * 300 + within.encode(), content_type="text/html")
    assert [link.href for link in page.links] == ["/x"] * found


# 1 MiB each, of what is slow where a search begins again and again.
HOSTILE = [
    b"<div>" * 300 + each * (2**20 // len(each))
    for each in (
        b"<a ",
        b"<a href=/x",
        b"<!--",
        b"<script>",
        b"<!-- -->",
        b"<a href=/x>",
        b"<a href='",
        b"<b>",
        b"</a>",
        b"<div><a href=/x>",
    )
]


@pytest.mark.parametrize("body", HOSTILE, ids=lambda body: body[1500:1520].decode())
def test_deep_and_hostile_markup_is_read_in_linear_time(body: bytes) -> None:
    """Not timed: what is quadratic takes minutes here, and the run ends."""
    read(body, content_type="text/html", want_text=False)
