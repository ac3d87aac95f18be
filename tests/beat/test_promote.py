"""Promote: what is due becomes queued, and its host is woken. Which rows: tests/store/test_pick.py."""

from sqlalchemy import Engine

from app.beat import promote as module
from app.beat.promote import promote
from tests.store.rows import admission, admit, host, make_crawl, make_host, one, sql


def rest(engine: Engine, count: int, due: str = "now()") -> int:
    host_id, crawl_id = make_host(engine), make_crawl(engine)
    admit(engine, *(admission(host_id, crawl_id, f"/{number}") for number in range(count)))
    sql(engine, f"UPDATE urls SET state = 'resting', retrying = true, due_at = {due}")
    return host_id


def test_a_due_retry_wakes_its_host_at_its_pace(engine: Engine) -> None:
    host_id = rest(engine, 1)
    sql(engine, "UPDATE hosts SET polite_at = now() + interval '1 hour'")
    assert promote(engine) == 1
    row = host(engine, host_id)
    assert row["next_fetch_at"] == row["polite_at"]
    assert promote(engine) == 0


def test_nothing_due_wakes_nobody(engine: Engine) -> None:
    host_id = rest(engine, 1, "now() + interval '1 hour'")
    assert promote(engine) == 0
    assert host(engine, host_id)["next_fetch_at"] is None


def test_much_that_is_due_is_spread_over_rounds(engine: Engine) -> None:
    """V4: a recrawl that comes late does not burst."""
    rest(engine, module.BATCH + 20)
    promote(engine)
    assert one(engine, "SELECT count(*) FROM urls WHERE state = 'queued'") == module.BATCH
    promote(engine)
    assert one(engine, "SELECT count(*) FROM urls WHERE state = 'queued'") == module.BATCH + 20


def test_a_host_that_is_paused_is_not_woken(engine: Engine) -> None:
    host_id = rest(engine, 1)
    sql(engine, "UPDATE hosts SET state = 'paused'")
    assert promote(engine) == 0
    assert host(engine, host_id)["next_fetch_at"] is None
    assert one(engine, "SELECT state FROM urls") == "queued"
