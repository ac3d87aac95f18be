"""The changes of a crawl in a browser: a stream that goes on where it broke, an Atom feed, webhooks that fail."""

import asyncio
import json
import socket
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from itertools import islice
from urllib.parse import urlsplit
from xml.etree import ElementTree

import pytest
from sqlalchemy import Engine

from app.admin import webhooks
from app.admin.changes import ChangesWish, PageChange, latest
from app.errors import ServiceError
from app.web.pages import changes
from app.words import scalar
from tests.crawl import loop
from tests.crawl.web import Site
from tests.features.changes.rebuilt import final
from tests.store.rows import sql
from tests.web.served import Browser, served, settings_of


@pytest.fixture
def watched(crawled: Engine, database_url: str) -> Iterator[Browser]:
    final(crawled)
    with served(crawled, settings_of(database_url)) as browser:
        yield browser


def heard(browser: Browser, path: str, n: int, **headers: str) -> list[tuple[str, dict[str, str]]]:
    """The first n events of a stream: id and data."""
    found, id_ = [], ""
    with closing(browser.get(path, stream=True, headers=headers)) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        for line in answer.iter_lines(decode_unicode=True):
            name, _, value = line.partition(": ")
            if name == "id":
                id_ = value
            elif name == "data":
                found.append((id_, json.loads(value)))
            if len(found) == n:
                return found
    raise AssertionError("it has ended")


def test_a_stream_goes_on_where_it_broke(watched: Browser, crawled: Engine) -> None:
    whole = heard(watched, "/changes/stream?crawl=docs&since=7d", 3)
    assert {event["change"] for _, event in whole} == {"new"}
    assert heard(watched, "/changes/stream?crawl=docs", 2, **{"Last-Event-ID": whole[0][0]}) == whole[1:]
    assert heard(watched, f"/changes/stream?crawl=docs&since={whole[1][0]}", 1) == whole[2:]


def test_a_stream_without_a_place_begins_now(watched: Browser, crawled: Engine) -> None:
    with closing(watched.get("/changes/stream?crawl=docs", stream=True)) as answer:
        lines = answer.iter_lines(decode_unicode=True)
        assert next(lines).startswith("retry: ")
        sql(
            crawled,
            """INSERT INTO changes (crawl_id, host_id, key, kind, at, url, why)
               SELECT crawl_id, host_id, key, 'withdrawn', clock_timestamp(), url, 'noindex' FROM pages
               WHERE crawl_id = 1 ORDER BY key LIMIT 1""",
        )
        data = [line for line in islice(lines, 4) if line.startswith("data: ")]
    try:
        (event,) = [json.loads(line.removeprefix("data: ")) for line in data]
        assert (event["change"], event["why"]) == ("withdrawn", "noindex")
    finally:
        sql(crawled, "DELETE FROM changes WHERE kind = 'withdrawn'")


def test_a_stream_whose_next_events_were_deleted_says_so_and_ends(
    watched: Browser, crawled: Engine, capfd: pytest.CaptureFixture[str]
) -> None:
    with closing(watched.get("/changes/stream?crawl=docs&since=7d", stream=True)) as answer:
        lines = answer.iter_lines(decode_unicode=True)
        assert next(lines).startswith("retry: ")
        sql(crawled, "UPDATE changes_kept SET deleted_xid = 1::bigint << 62, deleted_id = 1")
        try:
            *_, event, data, _ = lines
        finally:
            sql(crawled, "UPDATE changes_kept SET deleted_xid = 0, deleted_id = 0")
    assert event == "event: ended"
    assert "events after it were deleted" in json.loads(data.removeprefix("data: "))["why"]
    assert "Traceback" not in capfd.readouterr().err


class Interrupted:
    """Changes of which the second look fails after its first."""

    def __init__(self, some: list[PageChange]) -> None:
        self._looks: Iterator[Sequence[PageChange | ServiceError]] = iter(
            [some[:1], [*some[1:2], ServiceError("Postgres", "is away")], some[2:3]]
        )

    @property
    def found(self) -> Iterator[PageChange]:
        for each in next(self._looks):
            if isinstance(each, ServiceError):
                raise each
            yield each


def test_a_stream_waits_while_postgres_is_away_and_loses_nothing(watched: Browser, crawled: Engine) -> None:
    some, _ = latest(crawled, "docs", ChangesWish(), n=3)

    async def said() -> list[str]:
        pulse = watched.app.state.board.pulse
        stream = changes.events(Interrupted(some), pulse)  # type: ignore[arg-type]
        return [str(await anext(stream)) for _ in range(4)]

    assert [line.partition("\n")[0] for line in asyncio.run(said())[1:]] == [f"id: {each.cursor}" for each in some]


@pytest.mark.parametrize("title", ["\uffff\ufffe", "a\x00\x0b\x1f\x7f", "]]>&<b>\u2028\u0085", "\ud800"])
def test_the_feed_of_any_title_is_well_formed(watched: Browser, crawled: Engine, title: str) -> None:
    sql(crawled, "UPDATE pages SET title = :title", title=scalar(title))
    root = ElementTree.fromstring(watched.get("/changes.atom?crawl=docs").content)
    assert len(root.findall("{http://www.w3.org/2005/Atom}entry")) >= 3


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/changes/stream?crawl=nobody", 400),
        ("/changes/stream?crawl=docs&since=tc1nonsense", 400),
        ("/changes?crawl=docs&kind=moved", 400),
        ("/changes.atom?crawl=nobody", 400),
    ],
)
def test_what_cannot_be_asked_for(watched: Browser, path: str, status: int) -> None:
    assert watched.get(path).status_code == status


def test_too_many_streams_are_told_so(watched: Browser) -> None:
    changes.ChangeStream.watching += changes.STREAMS_MOST
    try:
        assert watched.get("/changes/stream?crawl=docs").status_code == 503
    finally:
        changes.ChangeStream.watching -= changes.STREAMS_MOST


def test_of_many_streams_that_are_asked_for_at_once_none_is_missed_in_the_count(watched: Browser) -> None:
    place = urlsplit(watched.url)
    asked = f"GET /changes/stream?crawl=docs HTTP/1.1\r\nHost: 127.0.0.1\r\nCookie: {watched.cookies}\r\n\r\n"
    with ExitStack() as stack:
        streams = [
            stack.enter_context(closing(socket.create_connection((place.hostname, place.port))))
            for _ in range(2 * changes.STREAMS_MOST)
        ]
        for stream in streams:
            stream.sendall(asked.encode())
        statuses = Counter(stream.recv(12)[-3:] for stream in streams)
    assert statuses == {b"200": changes.STREAMS_MOST, b"503": changes.STREAMS_MOST}


def test_another_library_reads_the_feed(watched: Browser, crawled: Engine, site: Site) -> None:
    feedparser = pytest.importorskip("feedparser")
    found = feedparser.parse(watched.get("/changes.atom?crawl=docs").content)
    assert (found.bozo, found.version) == (False, "atom10")
    listed, _ = latest(crawled, "docs", ChangesWish(), n=100)
    assert [entry.id for entry in found.entries] == [f"urn:tiptoe:{each.cursor}" for each in listed]
    assert {entry.link for entry in found.entries} >= {site.url("/a"), site.url("/b")}


def test_a_webhook_that_fails_is_seen(watched: Browser, crawled: Engine, site: Site, database_url: str) -> None:
    made = webhooks.add(crawled, loop.make_settings(database_url), "docs", site.url("/hook?token=abc"))
    sql(crawled, "UPDATE webhooks SET failures = 3, why = 'it answered 500'")
    shown = watched.get("/changes?crawl=docs").text
    assert "it answered 500" in shown
    assert ">failing<" in shown
    assert "token=abc" not in shown
    assert made.secret not in shown
    assert "webhook 1 of docs failed 3 times in a row" in watched.app.state.board.checks.made()[-1].finding
    assert "it answered 500" not in watched.get("/readyz").text
    webhooks.remove(crawled, made.id)
