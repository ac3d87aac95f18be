"""The log's moments are the database's, as far as the process knows them: they must not bring two requests nearer."""

from datetime import timedelta

import pytest
from sqlalchemy import Engine

from app.crawl.request.fetch_log import Sending, log
from app.crawl.state.slot import Slot
from app.crawl.state.worker import Worker
from app.crawl.visit.visit import take_up
from app.model import Reply, Request
from app.policy.url import Canon
from tests.crawl.loop import start
from tests.store.rows import claim, sql

URL = "http://a.test/"
LOST_S = 0.03  # of the grants' answers, on a busy machine


@pytest.mark.parametrize("lost", [(LOST_S, 0.0), (0.0, LOST_S), (LOST_S, LOST_S)])
def test_two_requests_are_no_nearer_in_the_log_than_they_were(
    worker: Worker, engine: Engine, lost: tuple[float, float]
) -> None:
    start(worker, URL)
    sql(engine, "UPDATE hosts SET next_fetch_at = now() - interval '1 minute', queue = 'host-00'")
    (offer,) = claim(engine)
    visit = take_up(worker, offer.host_id, offer.token)
    assert visit is not None
    lease, url = visit.lease, Canon().canonicalise(URL)
    for at_s, lost_s in zip((1.0, 1.5), lost, strict=True):
        granted = (lease.taken_at + timedelta(seconds=at_s), lease.anchor + at_s - lost_s)
        sent = lease.anchor + at_s
        reply = Reply(status=200, started_s=sent, ended_s=sent + 0.01)
        log(visit, Slot(granted_at=granted), Sending(Request(URL), url, "new", 1), reply)  # type: ignore[arg-type]
    first, second = (fetch["start_s"] for fetch in visit.batch.fetches)
    assert second - first >= 0.5 - 1e-9
    assert second <= 1.5 + LOST_S + 1e-9, "never ahead of the database"
