"""A request that could not be sent for want of a socket: the host rests a little, and nothing is held against it or the
URL."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest
from sqlalchemy import Engine

from app.crawl.request.send import NOT_SENT_REST_S
from app.crawl.state.worker import Worker
from app.crawl.visit.visit import visit
from app.errors import ServiceError
from app.model import Reply, Request, RestReason, Unsent, VisitEnding
from app.net.sockets import exhausted
from tests.crawl.loop import bring_forward, go, run, start
from tests.crawl.visit.losses import crash, offers, run_out
from tests.crawl.web import Site, Web, html
from tests.store.rows import host, one, sql, url

NO_ROOM = "no connection can be opened here"
TIMES = 5  # more than attempts_max, and than the failures after which a new host is given up


@pytest.fixture
def worker(make: Callable[..., Worker]) -> Iterator[Worker]:
    """Its readers are gone with the test."""
    worker = make()
    yield worker
    worker.reading.readers.close()


def without_room(worker: Worker, path: str) -> Worker:
    """No socket for this."""

    def send(request: Request) -> Reply | Unsent:
        if request.url.endswith(path):
            raise exhausted("Too many open files")
        return worker.send(request)

    return replace(worker, send=send)


def site_of(web: Web) -> Site:
    site = web.site()
    site.pages["/"] = html("/a")
    site.pages["/a"] = html(text="a")
    return site


@pytest.mark.parametrize("path", ["/robots.txt", "/", "/a"])
def test_nothing_is_held_against_host_or_url(worker: Worker, web: Web, path: str) -> None:
    site = site_of(web)
    start(worker, site.url())
    for _ in range(TIMES):
        go(without_room(worker, path))
        bring_forward(worker.engine)
    (row,) = sql(worker.engine, "SELECT id, failures, resting_because, resting_detail FROM hosts")
    assert (row["failures"], row["resting_because"], row["resting_detail"]) == (0, RestReason.NOT_SENT, NO_ROOM)
    assert (
        one(worker.engine, "SELECT count(*) FROM urls WHERE attempts > 0 OR state IN ('quarantined', 'refused')") == 0
    )
    run(worker)
    assert site.pages_asked == ["/", "/a"]
    assert one(worker.engine, "SELECT count(*) FROM fetches WHERE status IS NULL") == 0


def test_the_host_rests_a_little(worker: Worker, web: Web) -> None:
    start(worker, site_of(web).url())
    (report,) = go(without_room(worker, "/"))
    assert (report.requests, report.ending) == (1, VisitEnding.RESTS)  # robots.txt alone
    row = host(worker.engine, one(worker.engine, "SELECT id FROM hosts"))
    assert 0 < (row["blocked_until"] - row["now"]).total_seconds() <= NOT_SENT_REST_S


def test_what_was_settled_before_is_kept(worker: Worker, web: Web) -> None:
    site = site_of(web)
    start(worker, site.url())
    go(without_room(worker, "/a"))
    assert url(worker.engine, site.url("/"))["state"] == "resting"


def test_in_isolation_the_attempt_is_given_back(worker: Worker, web: Web) -> None:
    site = site_of(web)
    start(worker, site.url())
    crash(worker, "/robots.txt")
    for _ in range(TIMES):
        go(without_room(worker, "/a"))
        bring_forward(worker.engine)
    found = url(worker.engine, site.url("/a"))
    assert (found["state"], found["attempts"], found["parse_failures"]) == ("queued", 0, 0)


@contextmanager
def full_volume(engine: Engine) -> Iterator[None]:
    """Postgres has no room for another fetch; what changes no more than a row in its place still works."""
    sql(
        engine,
        """CREATE FUNCTION full_volume() RETURNS trigger LANGUAGE plpgsql AS $$
           BEGIN RAISE EXCEPTION 'No space left on device' USING ERRCODE = 'disk_full'; END $$""",
    )
    sql(engine, "CREATE TRIGGER full_volume BEFORE INSERT ON fetches FOR EACH ROW EXECUTE FUNCTION full_volume()")
    try:
        yield
    finally:
        sql(engine, "DROP FUNCTION full_volume CASCADE")


def test_in_isolation_a_visit_that_postgres_ended_is_no_death(worker: Worker, web: Web) -> None:
    site = site_of(web)
    start(worker, site.url("/a"))
    go(worker)
    sql(worker.engine, "UPDATE urls SET state = 'queued', due_at = NULL")
    sql(worker.engine, "UPDATE hosts SET next_fetch_at = now(), isolate = 50")
    with full_volume(worker.engine):
        for _ in range(TIMES):
            (offer,) = offers(worker)
            with pytest.raises(ServiceError, match="No space left"):
                visit(worker, offer.host_id, offer.token)
            run_out(worker.engine)
    assert site.pages_asked == ["/a"] * (1 + TIMES)
    assert url(worker.engine, site.url("/a"))["parse_failures"] <= 1, "the last one is not refunded yet"
    run(worker)
    found = url(worker.engine, site.url("/a"))
    assert (found["state"], found["attempts"], found["parse_failures"]) == ("resting", 0, 0)


def test_in_isolation_a_request_that_came_late_is_given_back_too(worker: Worker, web: Web) -> None:
    site = site_of(web)
    start(worker, site.url())
    crash(worker, "/robots.txt")
    unsent = Unsent(begun_s=worker.monotonic(), ended_s=worker.monotonic())
    late = replace(worker, send=lambda request: unsent if request.url.endswith("/a") else worker.send(request))
    for _ in range(TIMES):
        go(late)
        bring_forward(worker.engine)
    found = url(worker.engine, site.url("/a"))
    assert (found["state"], found["attempts"], found["parse_failures"]) == ("queued", 0, 0)
