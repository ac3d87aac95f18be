"""Logs that are incomplete, and logs that cannot be."""

from collections.abc import Callable

import pytest
from sqlalchemy import Engine

from tests.admin.planted.planted_rows import ADDRESS
from tests.crawl.planted import Log, audited, wrong
from tests.store.rows import sql

# --- what the log does not tell ---------------------------------------------------------------------------------


def test_a_visit_that_ended_without_a_word(log: Log, a: int, b: int) -> None:
    """It settled a request at 11 s and was never heard of again; the host was taken up anew at 41 s."""
    log.page(a, 10.9, visit=log.visit(a, 10.0, ends=None, ending="lost"))
    log.page(a, 41.0)
    assert wrong(log.engine) == {"a.test": {"unaccounted": 1}}
    found = audited(log.engine)
    assert found.holds
    assert found.unaccounted[0].seconds == pytest.approx(30.0)
    assert found.verdict.endswith(
        "no violation; but 1 visit of 1 host may have made up to one batch of requests each that no row shows "
        "(in 30 s at most)"
    )


def test_lost_visits_that_logged_nothing_and_were_followed_by_none(log: Log, a: int, b: int) -> None:
    """They may have gone on for as long as a visit does, and its lease."""
    log.visit(a, 10.0, ends=None, ending="lost")
    log.visit(a, 100.0, ends=None, ending="lost")
    log.visit(b, 10.0, ends=None, ending=None)  # nobody has swept yet, but its lease is over
    assert wrong(log.engine) == {"a.test": {"unaccounted": 2}, "b.test": {"unaccounted": 1}}
    seconds = {each.host: each.seconds for each in audited(log.engine).unaccounted}
    assert seconds == {"a.test": pytest.approx(100.0 + 90.0), "b.test": pytest.approx(100.0)}


def test_a_visit_that_is_there_is_not_lost(log: Log, a: int) -> None:
    visit = log.visit(a, 10.0, ends=None, ending=None)
    sql(
        log.engine,
        """UPDATE hosts SET state = 'taken', lease_until = now() + interval '1 minute', taken_at = now(), next_fetch_at
        = now(),
                            lease_token = (SELECT token FROM visits WHERE id = :visit) WHERE id = :id""",
        visit=visit,
        id=a,
    )
    assert wrong(log.engine) == {}
    sql(log.engine, "UPDATE hosts SET lease_until = now() - interval '1 minute' WHERE id = :id", id=a)
    assert wrong(log.engine) == {"a.test": {"unaccounted": 1}}


def test_what_the_fence_refused_is_counted_like_all_the_rest(log: Log, a: int) -> None:
    visit = log.visit(a, 10.0, ends=60.0, ending="fenced")
    log.page(a, 10.0, visit=visit, fenced=True)
    log.page(a, 30.0)
    assert wrong(log.engine) == {}
    log.page(a, 30.05, visit=visit, fenced=True)
    assert wrong(log.engine) == {"a.test": {"concurrent": 1}}
    assert {host.host: host.fenced for host in audited(log.engine).hosts} == {"a.test": 2, "b.test": 0}


# --- disorder ---------------------------------------------------------------------------------------------------


def start_before_its_visit(log: Log, a: int) -> None:
    log.page(a, 9.0, visit=log.visit(a, 10.0, ends=20.0))


def overtaken(log: Log, a: int) -> None:
    visit = log.visit(a, 10.0, ends=20.0)
    log.page(a, 14.0, visit=visit)
    log.page(a, 12.0, visit=visit)


def overlapping_visits(log: Log, a: int) -> None:
    log.page(a, 10.0, visit=log.visit(a, 10.0, ends=20.0))
    log.page(a, 19.0, visit=log.visit(a, 18.0, ends=25.0))


def end_before_the_start(log: Log, a: int) -> None:
    sql(log.engine, "ALTER TABLE fetches DROP CONSTRAINT fetches_ends_after_start")
    log.page(a, 10.0, lasts=-0.5)


@pytest.fixture
def _constraint(engine: Engine, log: Log) -> object:
    yield
    sql(engine, "TRUNCATE fetches")
    sql(engine, "ALTER TABLE fetches DROP CONSTRAINT IF EXISTS fetches_ends_after_start")
    sql(engine, "ALTER TABLE fetches ADD CONSTRAINT fetches_ends_after_start CHECK (ended_at >= started_at)")


@pytest.mark.usefixtures("_constraint")
@pytest.mark.parametrize("plant", [start_before_its_visit, overtaken, overlapping_visits, end_before_the_start])
def test_a_log_that_cannot_be(log: Log, a: int, plant: Callable[[Log, int], None]) -> None:
    plant(log, a)
    assert wrong(log.engine) == {"a.test": {"disorder": 1}}
    found = audited(log.engine)
    assert (found.violations, found.disorder, found.holds) == (0, 1, False)
    assert "out of order at 1 line" in found.verdict


def test_a_visit_that_was_told_late_that_its_lease_was_lost_does_not_overlap(log: Log, a: int) -> None:
    log.visit(a, 10.0, ends=40.0, ending="fenced")
    log.page(a, 30.0)
    assert wrong(log.engine) == {}


def test_everything_at_once(log: Log, a: int, b: int) -> None:
    """Each is counted once, where it is."""
    log.page(a, 4.6)  # too soon
    log.page(b, 4.05, visit=log.last_visit(b))  # at once
    log.page(log.host("c.test", robots=None), 2.0)
    log.page(a, 10.0, "/private", **ADDRESS)
    log.page(b, 10.1, rest_s=60.0, **ADDRESS)
    log.page(b, 20.0)
    assert wrong(log.engine) == {
        "a.test": {"gap_violations": 1, "disallowed": 1},
        "b.test": {"concurrent": 1, "during_block": 1},
        "c.test": {"before_robots": 1},
        "192.0.2.7": {"gap_violations": 1},
    }
    assert audited(log.engine).violations == 6
