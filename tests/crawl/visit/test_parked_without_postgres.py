"""Parked visits that Postgres leaves: what they hold is written once."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
from sqlalchemy import Connection, Engine, event

from app.crawl.state.batch import Sent
from app.crawl.state.visit import Visit
from app.crawl.state.worker import Worker
from app.crawl.visit.visit import CutOff, return_host
from app.errors import ServiceError
from app.model import Budgets
from app.policy.lifecycle import BatchState
from app.store import hosts
from tests.crawl.loop import start
from tests.crawl.visit.shelf import DELAY_S, Make, Shelf, begin, settled, shelved, site_of
from tests.crawl.web import Web, html
from tests.store.rows import one, sql


def cut_off(worker: Worker, shelf: Shelf, monkeypatch: pytest.MonkeyPatch, query: str) -> Visit:
    """The visit after its first page, when this query of app.store.hosts did not come through."""
    begin(worker)

    def away(*_: Any, **__: Any) -> None:
        raise ServiceError("Postgres", "is away")

    with monkeypatch.context() as patch:
        patch.setattr(hosts, query, away)
        with pytest.raises(CutOff) as raised:
            shelf.next()
    return raised.value.visit


def test_a_visit_that_postgres_left_writes_what_it_holds_when_it_is_back(
    make: Make, web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker, shelf = shelved(make)
    start(worker, site_of(web, 3).url(), budgets=Budgets(max_pages=2))
    visit = cut_off(worker, shelf, monkeypatch, "extend_visits")
    assert settled(worker.engine) == 0
    assert return_host(visit).ending == "Postgres was away"
    assert (settled(worker.engine), one(worker.engine, "SELECT count(*) FROM fetches")) == (1, 2)
    (row,) = sql(
        worker.engine, "SELECT state, next_fetch_at - last_contact_at >= interval '0.149 s' AS keeps_gap FROM hosts"
    )
    assert row == {"state": "idle", "keeps_gap": True}
    assert one(worker.engine, "SELECT fetches FROM visits") == 2
    assert one(worker.engine, "SELECT pages FROM v_crawl_progress") == 1


def test_what_was_committed_before_is_not_written_twice(make: Make, web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    worker, shelf = shelved(make)
    site, other = site_of(web, 3), web.site()
    site.pages["/"] = html("/1", other.url())
    start(worker, site.url(), scope="any")
    visit = cut_off(worker, shelf, monkeypatch, "wake")
    assert one(worker.engine, "SELECT count(*) FROM fetches") == 2
    return_host(visit)
    assert (settled(worker.engine), one(worker.engine, "SELECT count(*) FROM fetches")) == (1, 2)
    assert one(worker.engine, "SELECT state FROM hosts WHERE name = :name", name=site.host) == "idle"


def test_a_host_that_was_not_committed_is_made_anew(make: Make, web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    worker, shelf = shelved(make)
    site, other = site_of(web, 3), web.site()
    site.pages["/"] = html("/1", other.url())
    start(worker, site.url(), scope="any")
    visit = cut_off(worker, shelf, monkeypatch, "extend_visits")
    return_host(visit)
    query = "SELECT h.name FROM urls AS u LEFT JOIN hosts AS h ON h.id = u.host_id WHERE u.url = :url"
    (row,) = sql(worker.engine, query, url=other.url())
    assert row == {"name": other.host}


@contextmanager
def unanswered_commit(engine: Engine, *, happens: bool) -> Iterator[None]:
    """The connection breaks at the next commit, before or after Postgres has done it."""

    def lose(connection: Connection) -> None:
        event.remove(engine, "commit", lose)
        driver: Any = connection.connection.dbapi_connection
        driver.commit() if happens else driver.rollback()
        raise psycopg.OperationalError("server closed the connection unexpectedly")

    event.listen(engine, "commit", lose)
    yield


@pytest.mark.parametrize("pages", [3, 1])
@pytest.mark.parametrize("happens", [True, False])
def test_what_became_of_a_commit_that_was_not_answered_is_asked_for(
    make: Make, web: Web, happens: bool, pages: int
) -> None:
    """Of a settle after which the visit goes on, and of one that gives the host back, there being nothing else."""
    worker, shelf = shelved(make, settle_s=DELAY_S - 1e-4)
    start(worker, site_of(web, pages).url(), budgets=Budgets(max_pages=50))
    begin(worker)
    with unanswered_commit(worker.engine, happens=happens), pytest.raises(CutOff) as raised:
        shelf.next()
    assert settled(worker.engine) == happens
    assert one(worker.engine, "SELECT state FROM hosts") == ("idle" if happens and pages == 1 else "taken")
    assert return_host(raised.value.visit).ending == "Postgres was away"
    assert (settled(worker.engine), one(worker.engine, "SELECT count(*) FROM fetches")) == (1, 2)
    assert one(worker.engine, "SELECT sum(pages) FROM crawl_hosts") == 1
    (row,) = sql(
        worker.engine, "SELECT state, next_fetch_at - last_contact_at >= interval '0.149 s' AS keeps_gap FROM hosts"
    )
    assert row == {"state": "idle", "keeps_gap": True if pages > 1 else None}
    assert one(worker.engine, "SELECT fetches FROM visits WHERE ending IS NOT NULL") == 2


@pytest.mark.parametrize("xid", ["999999999999", "1"])
def test_a_commit_that_nobody_knows_of_is_left_to_the_lease(
    make: Make, web: Web, monkeypatch: pytest.MonkeyPatch, xid: str
) -> None:
    worker, shelf = shelved(make)
    start(worker, site_of(web, 3).url())
    visit = cut_off(worker, shelf, monkeypatch, "extend_visits")
    visit.batch.sent, visit.batch.state = Sent(xid, leaves=False), BatchState.IN_DOUBT
    if xid == "1":
        visit.lease.lineage = one(worker.engine, "SELECT clock_timestamp()")
    assert return_host(visit).ending == "in doubt"
    assert (settled(worker.engine), one(worker.engine, "SELECT state FROM hosts")) == (0, "taken")


def test_who_lost_the_lease_while_postgres_was_away_writes_nothing(
    make: Make, web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker, shelf = shelved(make)
    start(worker, site_of(web, 3).url())
    visit = cut_off(worker, shelf, monkeypatch, "extend_visits")
    sql(worker.engine, "UPDATE hosts SET lease_token = gen_random_uuid()")
    assert return_host(visit).ending == "fenced"
    assert settled(worker.engine) == 0
