"""What a visit believes of its lease and its turn: never more than Postgres does; and what it was told outlives its
lease."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any
from uuid import uuid4

import pytest
from sqlalchemy import Engine

from app.beat import claim
from app.crawl.state.visit import Visit, extend
from app.crawl.state.worker import Worker
from app.crawl.visit import settle, visit
from app.store import hosts
from app.store.host_rows import Offer
from tests.crawl.loop import go, start
from tests.crawl.web import Answer, Hit, Web
from tests.store.rows import one, sql

Make = Callable[..., Worker]
ANSWER_S = 7.0  # that Postgres takes to answer, by the test's clock
RAISED_S = 3_600.0


class Postgres:
    """Some statements take long by `now`, a clock that nothing else moves."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self._patch = patch
        self._now = 1_000.0

    def now(self) -> float:
        return self._now

    def is_slow_to(self, name: str) -> None:
        """From now on to this statement of app.store.hosts: its lease begins when it is sent, at the latest."""
        answered = getattr(hosts, name)

        def slow(*args: Any, **named: Any) -> Any:
            found = answered(*args, **named)
            self._now += ANSWER_S
            return found

        self._patch.setattr(hosts, name, slow)


@pytest.fixture
def postgres(monkeypatch: pytest.MonkeyPatch) -> Postgres:
    return Postgres(monkeypatch)


def take_up(worker: Worker) -> Visit:
    """The visit of the only host that is due."""
    offers: list[Offer] = []
    claim.dispatch(worker.engine, worker.settings, offers.extend, worker.rng)
    (offer,) = offers
    taken = visit.take_up(worker, offer.host_id, offer.token)
    assert taken is not None
    return taken


# --- the end of the lease ---------------------------------------------------------------------------------------


def test_a_lease_counts_from_the_take_up_as_sent(make: Make, postgres: Postgres) -> None:
    worker = replace(make(), monotonic=postgres.now)
    start(worker, "http://h.test/")
    sent = postgres.now()
    postgres.is_slow_to("take_up")
    assert take_up(worker).lease.ends == sent + worker.settings.lease_s


@pytest.mark.parametrize(
    ("statement", "renew"),
    [("lock_all_leased", settle.go_on), ("extend", lambda visit: extend(visit.worker, visit.lease))],
)
def test_a_lease_that_is_renewed_counts_from_the_renewal_as_sent(
    make: Make, postgres: Postgres, statement: str, renew: Callable[[Visit], object]
) -> None:
    worker = replace(make(), monotonic=postgres.now)
    start(worker, "http://h.test/")
    visit = take_up(worker)
    sent = postgres.now()
    postgres.is_slow_to(statement)
    assert renew(visit) is None, "the visit goes on"
    assert postgres.now() == sent + ANSWER_S
    assert visit.lease.ends == sent + worker.settings.lease_s


# --- the turn ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("contacted", [True, False])
@pytest.mark.parametrize("before_s", [0.0, 2 * RAISED_S])
def test_a_delay_that_was_raised_since_the_last_visit_moves_the_next_request(
    make: Make, postgres: Postgres, before_s: float, contacted: bool
) -> None:
    """The row's next contact counts by the delay then in force. One that fell moves nothing; nor is a first visit
    moved."""
    worker = replace(make(default_delay_s=RAISED_S), monotonic=postgres.now)
    start(worker, "http://h.test/")
    sql(
        worker.engine,
        "UPDATE hosts SET delay_s = :s, last_contact_at = CASE WHEN :contacted THEN now() END",
        s=before_s,
        contacted=contacted,
    )
    visit = take_up(worker)
    assert visit.pace.delay_s == RAISED_S
    moved_s = RAISED_S if contacted and before_s < RAISED_S else 0.0
    wait_s = one(
        worker.engine,
        "SELECT CAST(extract(epoch FROM greatest(polite_at, blocked_until) - taken_at) AS double precision) FROM hosts",
    )
    assert visit.turn.ready_at == visit.lease.anchor + wait_s + moved_s


# --- what a fenced visit was told --------------------------------------------------------------------------------


def steal(engine: Engine) -> None:
    """The lease ran out under a visit that hangs, and somebody else claimed the host."""
    sql(
        engine,
        "UPDATE hosts SET lease_token = :token, taken_at = NULL, state = 'offered' WHERE state = 'taken'",
        token=str(uuid4()),
    )


def test_a_rest_that_a_fenced_visit_was_told_of_holds(worker: Worker, web: Web) -> None:
    site = web.site()

    def stealing(_: Hit) -> Answer:
        steal(worker.engine)
        return Answer(status=429, headers={"Retry-After": "3600"})

    site.pages["/"] = stealing
    start(worker, site.url())
    (report,) = go(worker)
    assert report.ending == "fenced"
    (row,) = sql(worker.engine, "SELECT blocked_until > now() + interval '30 minutes' AS rests, state FROM hosts")
    assert row == {"rests": True, "state": "offered"}, "under the lease of whoever has it now"
