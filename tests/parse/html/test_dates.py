"""When a page says it was published and modified."""

from datetime import UTC, date, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.model.page import Dated
from app.parse.html import dates, html, said, tree
from tests.examples import examples

DAY = datetime(2026, 3, 4, tzinfo=UTC)
OG = "<meta property=og:type content=article>"
LD = '<script type="application/ld+json">{}</script>'


def read(markup: str) -> tuple[Dated | None, Dated | None]:
    root = tree.grow(markup.encode())
    assert root is not None
    stated = said.of(root.iter(*said.TAGS), b"", None)
    return stated.published, stated.modified


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
    assert read(markup) == (Dated(DAY, source, DAY.date()), None)


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
    assert read(markup) == (None, Dated(DAY, source, DAY.date()))


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
    assert read(LD.format('{"datePublished":"2026-03-04"}') + body)[0] == Dated(DAY, "json-ld", DAY.date())
    assert read(body)[0] == Dated(datetime(2026, 2, 1, tzinfo=UTC), "meta", date(2026, 2, 1))


@given(st.text(max_size=40) | st.datetimes().map(str) | st.from_regex(r"[0-9T:+./ -]{4,30}", fullmatch=True))
@settings(max_examples=examples(500))
def test_any_value_is_a_date_in_range_or_none(written: str) -> None:
    at = dates.parsed(written)
    assert at is None or (at.utcoffset() is not None and 1970 <= at.year <= 2100)


# markup → the day
@pytest.mark.parametrize(
    ("markup", "day"),
    [
        ("<p class=byline>Published on <b>21 March 2024</b>", date(2024, 3, 21)),
        (f"{OG}<article><h1>Ships</h1><p>by Ada, March 21st, 2024. On May 2, 1999 ships", date(2024, 3, 21)),
        ("<p class=byline>x</p><div class='post-date'><span>Mar 21, 2024", date(2024, 3, 21)),
        ("<p class=byline>x</p><abbr class=published title=x>21.03.2024</abbr>", date(2024, 3, 21)),
        ("<html lang=de><p class=byline>x</p><span class=date>21. März 2024</span>", date(2024, 3, 21)),
        ("<html lang=fr><p class=byline>x</p><span class=date>1er mars 2024</span>", date(2024, 3, 1)),
        ("<html lang=es><p class=byline>x</p><span class=date>21 de marzo de 2024</span>", date(2024, 3, 21)),
        ("<html lang=ja><p class=byline>x</p><span class=date>2024年3月21日</span>", date(2024, 3, 21)),
        ("<html lang=en><p class=byline>x</p><span class=date>3/4/2024</span>", date(2024, 3, 4)),
        ("<html lang=en-gb><p class=byline>x</p><span class=date>3/4/2024</span>", date(2024, 4, 3)),
        ("<p class=byline>x</p><span class=date>21/3/2024</span>", date(2024, 3, 21)),
        ("<p>Published in 1999 by Ada. The treaty of 21 March 2024 says", None),
        ("<span class=update>21 March 2024</span><p class=byline>x</p>", None),
        ("<article><h1>Ships</h1><script>'21 March 2024'</script><p>Text", None),
        ("<p class=byline>31 February 2024", None),
        (LD.format('{"datePublished": "2024-03-21T10:00", broken'), date(2024, 3, 21)),
        (LD.format('{"datePublished": "2024-03-21T23:30:00-05:00"}'), date(2024, 3, 21)),
        (
            "<time itemprop=dateCreated datetime='2024-03-21 10:00Z'></time><time datetime=2024-03-22>",
            date(2024, 3, 21),
        ),
    ],
)
def test_the_day_as_the_page_says_it(markup: str, day: date | None) -> None:
    published = html.read(markup.encode(), content_type="text/html").published
    assert (published and published.day) == day


# path → the day
@pytest.mark.parametrize(
    ("path", "day"),
    [
        ("https://a.test/2024/03/21/ships", date(2024, 3, 21)),
        ("https://a.test/2024-03-21", date(2024, 3, 21)),
        ("https://a.test/2024/3/", None),
        ("https://a.test/2024/13/41/", None),
        ("https://a.test/120240321/", None),
    ],
)
def test_the_day_in_a_path(path: str, day: date | None) -> None:
    found = dates.of_url(path)
    assert (found and found.day) == day


@given(st.binary(max_size=400))
@settings(max_examples=examples(300))
def test_any_markup_has_a_day_in_range_or_none(markup: bytes) -> None:
    found = dates.of_text(b"<article>byline</h1>" + markup, None, is_rich=True)
    assert found is None or 1970 <= found.day.year <= 2100


# the steps are bounded: a part of the markup is looked at, however often it names a date
@pytest.mark.parametrize(
    "part", [b"<a class=date>", b">Published ", b"<script>", b'class="date"', b"<p class=", b"21 "]
)
def test_a_page_of_dates_is_read_in_a_bounded_part(part: bytes) -> None:
    markup = b"<article>byline<h1></h1>" + part * (2**20 // len(part))
    assert len(dates.named(markup)) <= dates.MOST_NAMED
    dates.of_text(markup, None, is_rich=True)
