"""What is live: one look a second for all viewers, none when nobody looks, and the latest for whoever is slow."""

import asyncio
import itertools
import json
import socket
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, closing
from datetime import UTC, datetime, timedelta
from urllib.parse import urlsplit

import pytest
from sqlalchemy import Engine

from app.store import db
from app.store.fleet import FleetWatch
from app.web.board import POLITENESS, VIEWERS_MOST, Checks, Pulse
from app.web.live import wait_cells
from tests.store.rows import sql
from tests.web.served import Browser, served, settings_of

EVENTS = 3


def messages(browser: Browser, n: int) -> Iterator[dict[str, object]]:
    """The next n messages of a stream of its own."""
    with closing(browser.get("/stream", stream=True)) as answer:
        lines = answer.iter_lines(decode_unicode=True)
        data = (line.removeprefix("data: ") for line in lines if line.startswith("data: "))
        for _ in range(n):
            yield json.loads(next(data))


@pytest.fixture
def watched(crawled: Engine, database_url: str) -> Iterator[Browser]:
    with served(crawled, settings_of(database_url)) as browser:
        yield browser


def pulse_of(browser: Browser) -> Pulse:
    found: Pulse = browser.app.state.board.pulse
    return found


def test_nobody_looks_and_nothing_is_asked(watched: Browser) -> None:
    for path in ("/healthz", "/static/app.css", "/crawls"):
        watched.get(path)
    assert pulse_of(watched).looks == 0


EARLY = """
    INSERT INTO fetches (host_id, visit_id, url_key, kind, reason, url, status, outcome, delay_s, started_at, ended_at,
                         wire_bytes, body_bytes, truncated, total_ms, conditional, attempt)
    SELECT (SELECT min(id) FROM hosts), 1, '', 'page', 'new', 'http://x.test/', 200, 'page', 60,
           now() - n * interval '9 s', now() - n * interval '9 s', 10, 100, false, 5, false, 1
    FROM generate_series(1, 2) AS n"""


def test_a_request_that_came_too_early_is_told_and_is_no_matter_of_readiness(
    crawled: Engine, database_url: str
) -> None:
    sql(crawled, EARLY)
    with served(crawled, settings_of(database_url)) as browser:
        (found,) = messages(browser, 1)
        assert "came too early" in str(found["notes"])
        assert "All is well" not in browser.get("/").text
        assert "politeness" not in browser.get("/readyz").json()["checks"]
    sql(crawled, "DELETE FROM fetches WHERE url = 'http://x.test/'")


def test_whoever_looks_seldom_is_shown_the_checks_of_the_last_look_and_not_of_the_first(
    crawled: Engine, database_url: str
) -> None:
    """Old checks are shown while new ones are made, however long ago the new ones then are."""
    now, settings = [0.0], settings_of(database_url, broker_url="redis://127.0.0.1:1/0")
    before = set(threading.enumerate())
    checks = Checks(FleetWatch(crawled, settings.queue_names), settings, monotonic=lambda: now[0])

    def names_after_an_hour() -> set[str]:
        now[0] += 3600.0
        found = {check.name for check in checks()}
        for each in set(threading.enumerate()) - before:
            each.join(timeout=30.0)
        return found

    assert POLITENESS not in names_after_an_hour()
    sql(crawled, EARLY)
    try:
        assert POLITENESS not in names_after_an_hour(), "these are old, and made anew meanwhile"
        assert POLITENESS in names_after_an_hour()
    finally:
        sql(crawled, "DELETE FROM fetches WHERE url = 'http://x.test/'")
    assert POLITENESS in names_after_an_hour()
    assert POLITENESS not in names_after_an_hour()


def test_many_viewers_share_one_look(watched: Browser) -> None:
    streams = [messages(watched, EVENTS) for _ in range(20)]
    first = [next(stream) for stream in streams]
    rest = [list(stream) for stream in streams]
    assert len({each["at"] for each in first}) <= 3, "they joined within a few looks"
    assert all(len(each) == EVENTS - 1 for each in rest)
    assert pulse_of(watched).looks <= EVENTS * 3


def test_a_look_says_how_each_crawl_goes(watched: Browser, crawled: Engine) -> None:
    (found,) = messages(watched, 1)
    pages = sql(crawled, "SELECT sum(pages) AS pages FROM crawl_hosts WHERE crawl_id = 1")[0]["pages"]
    texts = found["texts"]
    assert isinstance(texts, dict)
    assert (texts["c1.phase"], texts["c1.pages"], texts["c1.queued"]) == ("finished", f"{pages}", "0")
    assert len(found["requests"]) > 3  # type: ignore[arg-type]
    assert "\x1b" not in json.dumps(found, ensure_ascii=False)


def test_a_stream_holds_no_connection_to_postgres(database_url: str) -> None:
    """More streams than the pool has connections: were each to hold one, the last would get none, nor would a page."""
    engine = db.connect(database_url, pool_size=1)  # and four in need
    with served(engine, settings_of(database_url)) as browser:
        streams = [messages(browser, 1) for _ in range(12)]
        assert all("texts" in next(stream) for stream in streams)
        assert browser.get("/crawls").status_code == 200
    engine.dispose()


def test_while_postgres_is_away_viewers_are_told(database_url: str) -> None:
    away = "postgresql://tiptoe@127.0.0.1:1/none?connect_timeout=2"
    with served(db.connect(away), settings_of(away)) as browser:
        (found,) = messages(browser, 1)
        assert "Postgres at" in str(found["trouble"])
        page = browser.get("/")
        assert page.status_code == 503
        assert "data-again" in page.text
        assert browser.get("/hosts").status_code == 503
        assert browser.get("/healthz").status_code == 200
        assert browser.get("/readyz").json()["checks"] == {"postgres": "fail"}


def test_too_many_viewers_are_told_apart_and_leaving_makes_room() -> None:
    async def watch() -> list[bool]:
        pulse = Pulse(dict, most=2)
        found = [pulse.is_full]
        with pulse.seat():
            found.append(pulse.is_full)
            with pulse.seat():
                found.append(pulse.is_full)
            found.append(pulse.is_full)
        await pulse.close()
        return found

    assert asyncio.run(watch()) == [False, False, True, False]


def test_viewers_who_come_all_at_once_are_not_more(watched: Browser) -> None:
    place = urlsplit(watched.url)
    asks = f"GET /stream HTTP/1.1\r\nHost: {place.netloc}\r\nCookie: {watched.cookies}\r\n\r\n".encode()
    with ExitStack() as open_:
        viewers = []
        for _ in range(VIEWERS_MOST + 30):
            viewers.append(open_.enter_context(socket.create_connection((place.hostname, place.port), timeout=30)))
            viewers[-1].sendall(asks)
        answers = Counter(viewer.recv(12) for viewer in viewers)
    assert answers == {b"HTTP/1.1 200": VIEWERS_MOST, b"HTTP/1.1 503": 30}


def test_a_closed_pulse_ends_its_streams() -> None:
    async def watch() -> list[str]:
        pulse = Pulse(dict, every_s=3_600.0)
        with pulse.seat():
            stream = pulse.events()
            begun = [await anext(stream), await anext(stream)]
            waiting = asyncio.ensure_future(anext(stream, "over"))
            await pulse.close()
            return [*begun, await waiting]

    assert asyncio.run(watch()) == ["retry: 3000\n\n", "data: {}\n\n", "over"]


def test_a_look_that_crashes_is_told_and_the_next_one_comes() -> None:
    looks = iter([0, 1])

    def look() -> dict[str, int]:
        return {"n": 1 // next(looks)}

    async def watch() -> list[str]:
        pulse = Pulse(look, every_s=0.0)
        with pulse.seat():
            stream = pulse.events()
            found = [await asyncio.wait_for(anext(stream), 30.0) for _ in range(3)]
        await pulse.close()
        return found

    _, crashed, well = asyncio.run(watch())
    assert "ZeroDivisionError" in json.loads(crashed.removeprefix("data: "))["trouble"]
    assert json.loads(well.removeprefix("data: ")) == {"n": 1}


def test_a_slow_viewer_gets_the_latest_and_never_a_queue() -> None:
    async def watch() -> tuple[int, int]:
        numbers = itertools.count(1)
        pulse = Pulse(lambda: {"n": next(numbers)}, every_s=0.0)
        with pulse.seat(), pulse.seat():
            slow, quick = pulse.events(), pulse.events()
            for _ in range(2):  # its first words, and the first look
                await anext(slow)
            while (await anext(quick)).find('"n": 50}') < 0:
                pass
            seen = json.loads((await anext(slow)).removeprefix("data: "))["n"]
        await pulse.close()
        return seen, pulse.looks

    seen, looks = asyncio.run(watch())
    assert 50 <= seen <= looks


@pytest.mark.parametrize(
    ("because", "seconds", "first"),
    [
        ("delay", -3, "now"),
        ("delay", 60, "in 60 s"),
        ("due", -180, "3 min ago"),
        ("offered", -3, ""),
        ("paused", None, ""),
    ],
)
def test_only_what_is_due_was_to_come_before_now(because: str, seconds: int | None, first: str) -> None:
    earliest = None if seconds is None else datetime.now(UTC) + timedelta(seconds=seconds)
    assert wait_cells({"because": because, "hosts": 1, "earliest": earliest})[2] == first
