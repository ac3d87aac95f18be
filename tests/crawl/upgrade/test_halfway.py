"""A database of 0.1 with a crawl half-way: it is upgraded, and today's workers crawl the rest, to its end.

halfway_0_1.sql is a pg_dump of it, with nothing changed but its times, which are ten days earlier, so that its leases
and its robots.txt have run out on any day. Three hosts have twenty pages each: two were being visited when the worker
was killed, one was offered and never taken up. There are redirects, pages that are missing or gone, one that failed and
waits for a retry, one that robots.txt refuses, and queries that today are sent in another order than 0.1 sent them.
"""

import fcntl
import os
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import gettempdir
from typing import Any, NamedTuple

import psycopg
import pytest
from sqlalchemy import Engine

from app.admin import audit
from app.beat.rotate_logs import retain
from app.config import Settings
from app.crawl.state.setup import make_sender, make_worker
from app.local.services import Services
from app.model import CrawlEnding
from app.store import db, migrate
from tests.crawl.loop import make_settings, run
from tests.crawl.web import Answer, Site, html, redirect
from tests.store.rows import one, sql

DUMP = Path(__file__).with_name("halfway_0_1.sql")
HOSTS, PORT = ("127.77.15.1", "127.77.15.2", "127.77.15.3"), 8615  # the dump's
DELAY_S = 0.2  # of its hosts
CLOCK_S = 0.001  # of the origin's log
URLS = "SELECT host_id, crawl_id, key, url, state, retrying, fetched_at FROM urls ORDER BY host_id, crawl_id, key"
FETCHES = "SELECT id, host_id, url, started_at, ended_at, outcome, status FROM fetches WHERE id <= :last ORDER BY id"


class Upgraded(NamedTuple):
    """The database after the crawl's end.

    before  its rows in `urls` before the upgrade;   logged: those in `fetches`;   schema: its revision
    """

    engine: Engine
    settings: Settings
    before: list[dict[str, Any]]
    logged: list[dict[str, Any]]
    schema: str | None
    sites: list[Site]

    def urls(self, *states: str, retrying: bool = False) -> list[str]:
        return [row["url"] for row in self.before if row["state"] in states and row["retrying"] is retrying]

    @property
    def waiting(self) -> list[str]:
        """What was still to be fetched."""
        return self.urls("queued") + self.urls("resting", retrying=True)

    @property
    def asked(self) -> Counter[str]:
        return Counter(site.url(path) for site in self.sites for path in site.pages_asked)


@contextmanager
def alone() -> Iterator[None]:
    """One process at a time has the dump's addresses: a part of this file may run in another one."""
    with (Path(gettempdir()) / f"tiptoe-{os.getuid()}-{PORT}.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@pytest.fixture(scope="module")
def sites() -> Iterator[list[Site]]:
    with alone():
        yield from _served()


def _served() -> Iterator[list[Site]]:
    made = [Site(host, PORT) for host in HOSTS]
    for site in made:
        site.robots = "User-agent: *\nDisallow: /private/\n"
        site.pages["/"] = html("/list?b=2&a=1", *(f"/page/{n}" for n in range(1, 20)), title=f"Home of {site.host}")
        site.pages |= {f"/list?{query}": html("/") for query in ("a=1&b=2", "b=2&a=1")}
        site.pages |= {f"/page/{n}": html("/", title=f"Page {n} of {site.host}") for n in range(1, 20)}
    made[0].pages |= {f"/moved/{n}": redirect("/page/1") for n in range(1, 4)}
    made[0].pages |= {f"/gone/{n}": Answer(status=410) for n in range(1, 4)}
    made[0].pages["/broken"] = html(text="It is well again.")
    yield made
    for site in made:
        site.close()


@pytest.fixture(scope="module")
def url(services: Services) -> str:
    """A database with what the dump holds, where it has always been."""
    with psycopg.connect(services.database_url, autocommit=True) as connection:
        # A part of this file may have run in this process before: pytest-xdist takes tests from one that has many left.
        connection.execute("DROP DATABASE IF EXISTS halfway WITH (FORCE)")
        connection.execute("CREATE DATABASE halfway STRATEGY file_copy")
    url = re.sub(r"/[^/?]*(\?|$)", r"/halfway\1", services.database_url)
    with psycopg.connect(url) as connection:
        connection.execute(DUMP.read_bytes())
    with psycopg.connect(url) as connection:
        connection.execute("UPDATE lineage SET seen = tiptoe_lineage()")  # else it would be a restored one
    return url


@pytest.fixture(scope="module")
def after(url: str, sites: list[Site]) -> Iterator[Upgraded]:
    engine = db.connect(url)
    before, schema = sql(engine, URLS), migrate.revision(engine)
    logged = sql(engine, FETCHES, last=one(engine, "SELECT max(id) FROM fetches"))
    migrate.upgrade(url)
    settings = make_settings(url, default_delay_s=DELAY_S)
    retain(engine, settings)
    sender = make_sender(settings)
    worker = make_worker(settings, engine=engine, send=sender.send, where=sender.where, name="new:1")
    run(worker, threads=3, hurry=False)
    sender.close()
    yield Upgraded(engine, settings, before, logged, schema, sites)
    engine.dispose()


def test_the_dump_is_of_a_crawl_half_way(after: Upgraded) -> None:
    """Else what follows proves little."""
    assert after.schema == "0006"
    assert {row["state"] for row in after.before} == {"queued", "resting", "refused", "alias"}
    assert len(after.waiting) > 15
    assert len(after.urls("resting")) > 15
    assert len(after.urls("resting", retrying=True)) == 1


def test_the_schema_is_at_head(after: Upgraded) -> None:
    assert migrate.is_at_head(after.engine)


def test_the_crawl_comes_to_its_end(after: Upgraded) -> None:
    assert sql(after.engine, "SELECT state, ended_because FROM crawls") == [
        {"state": "finished", "ended_because": CrawlEnding.DONE}
    ]
    left = "SELECT url, state, cause FROM urls WHERE state = 'queued' OR retrying"
    assert sql(after.engine, left) == []


def test_no_row_is_lost_and_none_has_another_key(after: Upgraded) -> None:
    def keys(rows: list[dict[str, Any]]) -> dict[tuple[int, int, bytes], str]:
        return {(row["host_id"], row["crawl_id"], bytes(row["key"])): row["url"] for row in rows}

    now = keys(sql(after.engine, URLS))
    assert {key: now.get(key) for key in keys(after.before)} == keys(after.before)
    assert sorted(now.values()) == sorted({*now.values()}), "a URL has one row: links lead to those of before"
    assert len(now) == 74


def test_what_waited_is_fetched_once(after: Upgraded) -> None:
    assert {url: after.asked[url] for url in after.waiting} == dict.fromkeys(after.waiting, 1)


def test_what_was_done_is_not_fetched_again(after: Upgraded) -> None:
    done = after.urls("resting", "refused", "alias")
    assert {url: after.asked[url] for url in done} == dict.fromkeys(done, 0)


def test_hosts_keep_their_pace(after: Upgraded) -> None:
    gaps = [gap for site in after.sites for gap in site.gaps()]
    assert len(gaps) > 20
    assert min(gaps) >= DELAY_S - CLOCK_S


def test_the_log_of_before_stays(after: Upgraded) -> None:
    assert len(after.logged) > 20
    assert sql(after.engine, FETCHES, last=after.logged[-1]["id"]) == after.logged


def test_the_audit_is_clean_over_both(after: Upgraded) -> None:
    found = audit.audit(after.engine, after.settings, "half-way")
    assert (found.violations, found.disorder) == (0, 0)
    assert found.fetches == one(after.engine, "SELECT count(*) FROM fetches WHERE outcome <> 'unsent'")
    assert found.fetches > len(after.logged) + len(after.waiting)


def test_views_answer(after: Upgraded) -> None:
    for view in migrate.view_names():
        sql(after.engine, f"SELECT * FROM {view}")
    (progress,) = sql(after.engine, "SELECT crawl, state, queued, retrying, pages FROM v_crawl_progress")
    assert progress == {"crawl": "half-way", "state": "finished", "queued": 0, "retrying": 0, "pages": 64}
