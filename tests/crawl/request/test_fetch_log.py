"""The log's moments are the database's, as far as the process knows them: they must not bring two requests nearer."""

from datetime import datetime, timedelta

import pytest
from sqlalchemy import Engine

from app.clock import monotonic
from app.crawl.request.fetch_log import Sending, log
from app.crawl.state.slot import Slot
from app.crawl.state.visit import Visit
from app.crawl.state.worker import Worker
from app.crawl.visit.visit import take_up
from app.model import Reply, Request
from app.policy.url import Canon
from tests.crawl.loop import start
from tests.store.rows import claim, one, sql

URLS = ("http://a.test/", "http://b.test/")
CONNECT_S = 0.002
LOST_S = 0.03  # of the answer to a take-up, on a busy machine


def taken_up(worker: Worker, engine: Engine) -> list[Visit]:
    start(worker, *URLS)
    sql(engine, "UPDATE hosts SET next_fetch_at = now() - interval '1 minute', queue = 'host-00'")
    visits = [take_up(worker, offer.host_id, offer.token) for offer in claim(engine)]
    return [visit for visit in visits if visit is not None]


def logged(visit: Visit, sent: float) -> datetime:
    """The database's time of a request that was sent at this monotonic second."""
    url = f"http://{visit.lease.host}/"
    reply = Reply(status=200, started_s=sent, ended_s=sent + 0.01, contacted_s=sent - CONNECT_S)
    log(visit, Slot(), Sending(Request(url), Canon().canonicalise(url), "new", 1), reply)  # type: ignore[arg-type]
    return visit.lease.taken_at + timedelta(seconds=visit.batch.fetches[-1]["start_s"])


@pytest.mark.parametrize("lost", [(LOST_S, 0.0), (0.0, LOST_S), (LOST_S, LOST_S)])
def test_requests_of_two_visits_are_as_far_apart_in_the_log_as_they_were(
    worker: Worker, engine: Engine, lost: tuple[float, float]
) -> None:
    visits, sent = taken_up(worker, engine), monotonic()
    for visit, lost_s in zip(visits, lost, strict=True):
        visit.lease.anchor += lost_s  # the thread was held up before it read the clock
    first, second = (logged(visit, sent + 0.5 * turn) for turn, visit in enumerate(visits))
    assert abs((second - first).total_seconds() - 0.5) < 0.0001
    assert first <= one(engine, "SELECT clock_timestamp()"), "never ahead of the database"


def test_its_connection_is_dated_as_it_is(worker: Worker, engine: Engine) -> None:
    visit = taken_up(worker, engine)[0]
    visit.lease.anchor += LOST_S
    logged(visit, visit.lease.anchor + 0.5)
    (row,) = visit.batch.fetches
    assert row["contact_s"] is not None
    assert row["start_s"] - row["contact_s"] == pytest.approx(CONNECT_S)


def test_what_is_learnt_of_the_clock_brings_no_two_requests_nearer(worker: Worker, engine: Engine) -> None:
    visit, sent = taken_up(worker, engine)[0], monotonic()
    before = logged(visit, sent)
    told = one(engine, "SELECT clock_timestamp()")
    worker.starts.clock_tie.moments(told, sent=sent - 60.0, received=worker.starts.clock_tie.latest(told) - LOST_S)
    assert (logged(visit, sent) - before).total_seconds() == pytest.approx(LOST_S, abs=2e-6)  # to the microsecond
    worker.starts.clock_tie.moments(told, sent=sent - 60.0, received=sent + 60.0)
    assert (logged(visit, sent) - before).total_seconds() == pytest.approx(LOST_S, abs=2e-6)  # to the microsecond
