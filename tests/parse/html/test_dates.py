"""When a page says it was published and modified."""

from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.model.page import Dated
from app.parse.html import dates, tree
from tests.examples import examples

DAY = datetime(2026, 3, 4, tzinfo=UTC)
LD = '<script type="application/ld+json">{}</script>'


def read(markup: str) -> tuple[Dated | None, Dated | None]:
    root = tree.grow(markup.encode())
    assert root is not None
    return dates.of(root.iter(*dates.TAGS))


@pytest.mark.parametrize(
    # markup, day and source of publication
    ("markup", "source"),
    [
        (LD.format('{"@type":"NewsArticle","datePublished":"2026-03-04"}'), "json-ld"),
        (LD.format('[{"@graph":[{"@type":"WebPage","datePublished":"2026-03-04T00:00:00Z"}]}]'), "json-ld"),
        (
            LD.format('{"@type":"Organization","datePublished":"1999-01-01"}')
            + LD.format('{"@type":["BlogPosting"],"datePublished":"2026-03-04"}'),
            "json-ld",
        ),
        ("<meta property=article:published_time content=2026-03-04T01:00:00+01:00>", "meta"),
        ("<meta itemprop=datePublished content=2026-03-04>", "meta"),
        ("<meta name=DC.date.issued content=2026-03-04>", "meta"),
        ("<meta name=date content='Wed, 04 Mar 2026 00:00:00 GMT'>", "meta"),
        ("<meta name=date content=2026/3/4>", "meta"),
        (LD.format("{broken") + "<meta name=pubdate content=2026-03-04>", "meta"),
        (LD.format('{"datePublished":7}') + "<meta name=pubdate content=2026-03-04>", "meta"),
        (LD.format('{"datePublished":"0004-01-01"}') + "<meta name=pubdate content=2026-03-04>", "meta"),
        ("<time datetime=2026-01-01>then</time><time class=entry-date datetime=2026-03-04>", "time"),
        ("<time pubdate datetime=2026-03-04></time><time datetime=2026-01-01>", "time"),
        ("<p><time datetime=2026-03-04>", "time"),
    ],
)
def test_published(markup: str, source: str) -> None:
    assert read(markup) == (Dated(DAY, source), None)


@pytest.mark.parametrize(
    ("markup", "source"),
    [
        (LD.format('{"@type":"Article","dateModified":"2026-03-04"}'), "json-ld"),
        ("<meta property=article:modified_time content=2026-03-04>", "meta"),
        ("<meta property=og:updated_time content=2026-03-04>", "meta"),
        ("<time class='entry-date updated-on' datetime=x></time><time class=updated datetime=2026-03-04>", "time"),
        ("<time itemprop=dateModified datetime=2026-03-04>", "time"),
    ],
)
def test_modified(markup: str, source: str) -> None:
    assert read(markup) == (None, Dated(DAY, source))


@pytest.mark.parametrize(
    "markup",
    [
        "<p>4 March 2026",
        "<time>4 March 2026</time>",
        "<time datetime=2026-03-04></time><time datetime=2026-03-05>",
        "<meta name=date content=yesterday><meta name=pubdate content=2026-13-45>",
        "<meta name=date content=9999-12-31T23:59:59-12:00><meta name=pubdate content=0001-01-01>",
        LD.format('{"@type":"Article","comment":[{"datePublished":"2026-03-04"}]}'),
        LD.format("[" * 5000 + '"datePublished"' + "]" * 5000),
        "<script>{'datePublished':'2026-03-04'}</script>",
    ],
)
def test_no_date(markup: str) -> None:
    assert read(markup) == (None, None)


def test_the_most_deliberate_source_counts() -> None:
    body = "<time pubdate datetime=2026-01-01></time><meta name=date content=2026-02-01>"
    assert read(LD.format('{"datePublished":"2026-03-04"}') + body)[0] == Dated(DAY, "json-ld")
    assert read(body)[0] == Dated(datetime(2026, 2, 1, tzinfo=UTC), "meta")


@given(st.text(max_size=40) | st.datetimes().map(str) | st.from_regex(r"[0-9T:+./ -]{4,30}", fullmatch=True))
@settings(max_examples=examples(500))
def test_any_value_is_a_date_in_range_or_none(written: str) -> None:
    at = dates.parsed(written)
    assert at is None or (at.utcoffset() is not None and 1970 <= at.year <= 2100)
