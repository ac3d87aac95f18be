"""Trees grow in bounded time."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from app.parse.html import html, tree
from tests.examples import examples

LONG_QUOTED = b"<p title='" + b"b" * 1_500 + b" > " + b"b" * 1_500 + b"'>"  # a step ends within its value


def attributes(count: int, form: str = "a{}=1") -> bytes:
    return b"<p " + " ".join(form.format(i) for i in range(count)).encode() + b">x</p><a href=y>z</a>"


@pytest.mark.parametrize(
    "form",
    [
        pytest.param("a{}", id="no values"),
        pytest.param("a{}=1", id="plain values"),
        pytest.param('a{}=">"', id="values that look like the end of the tag"),
        pytest.param("a{}='<b>'", id="values that look like tags"),
        pytest.param('a{}="<!--"', id="values that look like comments"),
        pytest.param('a{} = "\'>"', id="quotes in quotes"),
    ],
)
@pytest.mark.parametrize("count", [9_000, 200_000])
def test_a_tag_with_a_flood_of_attributes_is_refused(form: str, count: int) -> None:
    # The quadratic walk of the earlier attributes never starts: the tag is found out by a parse that builds nothing.
    assert tree.grow(attributes(count, form)) is None


def test_a_flood_behind_an_unbalanced_comment_is_refused() -> None:
    assert tree.grow(b'<!-- <a b=" -->' + attributes(9_000, 'a{}="x>"')) is None


@pytest.mark.parametrize(("before", "form"), [(b'a="', "a{}='>'"), (b"a='", 'a{} = ">"')])
def test_a_flood_behind_a_quote_in_the_text_is_refused(before: bytes, form: str) -> None:
    """The quote of the text is closed nowhere, or behind all of the flood: no value in between may be hidden by it."""
    for behind in (b"", before[-1:]):
        assert tree.grow(b"<p>" + before + attributes(9_000, form) + behind) is None


@pytest.mark.parametrize(
    "markup",
    [
        pytest.param(LONG_QUOTED * 20 + b"<a href=y>", id="quoted >"),
        pytest.param(b"<script>" + b"a='<b>';" * 9_000 + b"</script><a href=y>", id="quoted > in a script"),
    ],
)
def test_what_only_looks_suspect_is_read(markup: bytes) -> None:
    assert tree.is_suspect(markup)
    root = tree.grow(markup)
    assert root is not None
    assert root.find(".//a") is not None


@pytest.mark.parametrize("tag", ["div", "b", "x-y"])
def test_stray_end_tags_below_deep_nesting_are_not_compared_with_every_open_one(tag: str) -> None:
    """Not timed: what is quadratic takes ten minutes here, and the run ends."""
    markup = f"<{tag}>".encode() * 500_000 + b"</i>" * 500_000
    markup += LONG_QUOTED * 20
    assert tree.is_suspect(markup)
    root = tree.grow(markup)
    assert root is not None
    assert tree.is_cut(root)


def test_a_flood_of_attributes_is_found_above_the_depth_where_the_tree_ends() -> None:
    """And none is looked for below it, where none is grown."""
    flood = attributes(9_000)
    assert tree.grow(b"<div>" * 200 + flood) is None
    assert tree.grow(b"<div>" * 20_000 + flood) is not None


def test_ordinary_documents_are_spared_the_census() -> None:
    assert not tree.is_suspect(b"<p class='x'>words</p>" * 10_000)
    assert not tree.is_suspect(attributes(3_000))  # small enough to be harmless


@pytest.mark.parametrize(
    "markup",
    [
        pytest.param(attributes(900) * 40, id="tags at the limit"),
        pytest.param(b"<script>" + b"if (a < 1 && b[2]) c = 'd';\n" * 9_000 + b"</script>", id="an inline script"),
        pytest.param(b"<script>" + b'{"a": 1, "b": "c"}, ' * 9_000 + b"</script>", id="data"),
        pytest.param(b"<img src='data:" + b"x" * 500_000 + b"'>", id="one long value"),
        pytest.param(b"<img alt='" + b"x " * 50_000 + b"'>", id="one long value of words"),
        pytest.param(b"<img alt='a > b' title='" + b"x " * 50_000 + b"'>", id="one behind a quoted >"),
        pytest.param(b"a <b " + b"word " * 50_000 + b">", id="one name again and again"),
        pytest.param(b"<script>a > b; " + b'{"c": "<b d", "e": 1}, ' * 9_000 + b"</script>", id="markup in data"),
        pytest.param(b"word " * 50_000, id="long text"),
        pytest.param(b"<p>x" * 9_000 + b"<p title='a > b'>" * 8, id="a few quoted >"),
        pytest.param(b"<p title='a > b'>" * 3_000, id="many, each at the end of its tag"),
        pytest.param(b"<p title='" + b"a > " * 20_000 + b"'>", id="many in one value"),
        pytest.param(b"<p>a='" + b"<b>word</b> " * 9_000, id="a quote in the text that is closed nowhere"),
        pytest.param(b"<script>" + b"a <b 'c' " * 9_000 + b"</script>", id="what looks like a tag in a script"),
    ],
)
def test_only_markup_that_may_hold_many_attributes_is_counted(markup: bytes) -> None:
    assert not tree.is_suspect(markup)


FLOODS = st.lists(
    st.sampled_from(
        ["a{} ", "a{}='>' ", 'a{}=">>" ', 'a{}="\'>" ', "/a{}='", 'x a{}="', "a{}=b ", "<script>", "</", "<p "]
    ),
    min_size=1,
)


@given(FLOODS, FLOODS, st.integers(2_000, 12_000))
@settings(max_examples=examples(100), deadline=None)
def test_what_is_not_suspect_has_a_bounded_number_of_attributes(
    before: list[str], parts: list[str], count: int
) -> None:
    written = "".join(parts[n % len(parts)].format(n) for n in range(count))
    markup = f"<i {''.join(before)}>{'<p>x' * 9_000}<p {written}>".encode()
    assert tree.is_suspect(markup) or _most(markup) <= 17 * tree.MAX_ATTRIBUTES


def _most(markup: bytes) -> int:
    counted = [0]

    class Counter:
        def start(self, _tag: str, attributes: dict[str, str]) -> None:
            counted.append(len(attributes))

        def close(self) -> None:
            """Required of a target."""

    etree.fromstring(markup, etree.HTMLParser(target=Counter()))
    return max(counted)


@pytest.mark.parametrize("tag", ["div", "b", "x-y", "table><tr><td"])
def test_deep_nesting_ends_at_the_parsers_limit(tag: str) -> None:
    root = tree.grow(f"<{tag}>".encode() * 100_000)
    assert root is not None
    assert sum(1 for _ in root.iter()) < 1_000


@pytest.mark.parametrize("markup", [b"", b" \n", b"<!-- only", b"<!doctype html>", b"<?php ?>"])
def test_nothing_grows_from_nothing(markup: bytes) -> None:
    assert tree.grow(markup) is None


def test_a_declared_charset_no_longer_counts() -> None:
    root = tree.grow("<meta charset=latin-1><p>é".encode())
    assert root is not None
    assert etree.tostring(root, method="text", encoding="unicode") == "é"


def test_blanks_that_no_name_follows_are_read_in_one_pass() -> None:
    """A megabyte of them in a value is one link, and no flood of attributes."""
    root = tree.grow(b"<p><a href='" + b" " * 1_000_000 + b"'>x</a>")
    assert root is not None
    assert len(list(root.iter("a"))) == 1


# a document without <body>, which HTML lets an author leave out, and what is in its body
@pytest.mark.parametrize(
    ("document", "body"),
    [
        ("<!doctype html><title>t</title><main><p>a</main>", "<main><p>a</p></main>"),
        (
            "<head><title>t</title><meta name=x><article>a</article>b<section>c",
            "<article>a</article>b<section>c</section>",
        ),
        ("<title>t</title><header>a</header><nav>b</nav><p>c", "<header>a</header><nav>b</nav><p>c</p>"),
        ("<link rel=x><x-app>a</x-app><script>1</script>\n<div>b", "<x-app>a</x-app><script>1</script>\n<div>b</div>"),
        ("<title>t</title><main>a</main><body class=b>c<p>d", "<main>a</main>c<p>d</p>"),
        ("<title>t</title><figure>a</figure><frameset><frame src=x></frameset>", "<figure>a</figure>"),
    ],
)
def test_a_body_begins_where_no_element_of_a_head_is(document: str, body: str) -> None:
    root = tree.grow(document.encode())
    assert root is not None
    found = root.find("body")
    assert found is not None
    inner = (found.text or "") + "".join(etree.tostring(each, encoding="unicode") for each in found)
    assert inner.strip() == body
    assert {each.tag for each in root[0]} <= {"title", "meta", "link"}


@pytest.mark.parametrize(
    ("markup", "title"),
    [
        ("<title>one</title><p>a<svg><title>two</title></svg>", "one"),
        ("<svg><title>two</title></svg><p>a<title>late</title>", "late"),
        ("<p>a<svg><g><title>two</title></g></svg>", None),
    ],
)
def test_the_title_is_no_drawings(markup: str, title: str | None) -> None:
    root = tree.grow(markup.encode())
    assert root is not None
    found = tree.title(root)
    assert (found is None and title is None) or (found is not None and found.text == title)


def test_what_a_head_may_hold_stays_in_it() -> None:
    inner = "<title>t</title><base href=x><style>p{}</style><noscript><link rel=y></noscript><template><p>z</template>"
    root = tree.grow(f"<head><meta name=a>{inner}</head><p>b".encode())
    assert root is not None
    assert [each.tag for each in root[0]] == ["meta", "title", "base", "style", "noscript", "template"]


@pytest.mark.parametrize(
    "opening", ["<title>t</title><main>", "<meta charset=utf-8><article>", "<title>t</title><x-y>"]
)
def test_a_page_that_leaves_out_its_body_has_its_text_and_its_links(opening: str) -> None:
    page = html.read(
        f"<!doctype html>{opening}<h1>Head</h1><p>Some words, <a href=x>and a link</a>.".encode(),
        content_type="text/html",
    )
    assert "Some words, and a link." in page.main_text
    assert [link.href for link in page.links] == ["x"]
    assert page.headline == "Head"
