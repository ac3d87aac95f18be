"""Leaving a host: its next contact, and no wake that is lost (invariant 8)."""

from typing import Any

import pytest
from sqlalchemy import Engine

from app.model import Rest, RestReason
from app.store import db, hosts, urls
from tests.store.leases import leave, taken_host
from tests.store.rows import (
    Aside,
    admission,
    admit,
    await_blocked,
    backend,
    contact,
    host,
    make_crawl,
    make_due_host,
    make_host,
    sql,
)

# --- leaving ----------------------------------------------------------------------------------------------------


def test_leaving_a_host_with_nothing_queued_leaves_it_without_a_next_contact(engine: Engine) -> None:
    host_id, token = taken_host(engine)
    leave(engine, host_id, token, age_s=0.5, delay_s=5.0)
    row = host(engine, host_id)
    assert (row["state"], row["lease_token"], row["taken_at"], row["next_fetch_at"]) == ("idle", None, None, None)
    assert (row["polite_at"] - row["last_contact_at"]).total_seconds() == pytest.approx(5.0, abs=0.001)


@pytest.mark.parametrize(
    ("rest_s", "delay_s", "age_s", "wait_s"),
    [
        (None, 5.0, 0.0, 5.0),
        (None, 5.0, 2.0, 3.0),  # the request ended two seconds ago
        (None, 5.0, None, 0.0),  # no request at all
        (30.0, 5.0, 0.0, 30.0),
        (2.0, 5.0, 0.0, 5.0),
        (None, 0.0, 0.0, 0.0),
    ],
)
def test_the_next_contact_is_the_pace_or_the_rest_whichever_is_later(
    engine: Engine, rest_s: float | None, delay_s: float, age_s: float | None, wait_s: float
) -> None:
    crawl_id = make_crawl(engine)
    host_id, token = taken_host(engine)
    sql(engine, "UPDATE hosts SET polite_at = now() - interval '1 hour'")
    admit(engine, admission(host_id, crawl_id))
    leave(
        engine,
        host_id,
        token,
        delay_s=delay_s,
        age_s=age_s,
        rest_s=rest_s,
        resting=Rest(RestReason.OTHER) if rest_s else None,
    )
    row = host(engine, host_id)
    assert (row["next_fetch_at"] - row["now"]).total_seconds() == pytest.approx(wait_s, abs=0.5)
    assert (row["blocked_until"] is None) == (rest_s is None)


@pytest.mark.parametrize("state", ["paused", "finished"])
def test_urls_of_a_crawl_that_is_not_active_make_no_next_contact(engine: Engine, state: str) -> None:
    crawl_id = make_crawl(engine)
    host_id, token = taken_host(engine)
    admit(engine, admission(host_id, crawl_id))
    sql(
        engine,
        "UPDATE crawls SET state = :s, finished_at = CASE WHEN :s = 'finished' THEN now() END",
        s=state,
    )
    leave(engine, host_id, token)
    assert host(engine, host_id)["next_fetch_at"] is None


def test_leaving_does_not_bring_the_polite_moment_forward(engine: Engine) -> None:
    host_id, token = taken_host(engine)
    sql(engine, "UPDATE hosts SET polite_at = now() + interval '1 hour'")
    before = host(engine, host_id)["polite_at"]
    leave(engine, host_id, token, age_s=0.0)
    assert host(engine, host_id)["polite_at"] == before


def test_a_pause_under_a_visit_counts_when_it_leaves(engine: Engine) -> None:
    crawl_id = make_crawl(engine)
    host_id, token = taken_host(engine, name="busy.test")
    admit(engine, admission(host_id, crawl_id))
    with db.transaction(engine) as tx:
        assert hosts.pause(tx, "busy.test") == "taken"
    with db.transaction(engine) as tx:
        assert hosts.lock_leased(tx, host_id=host_id, token=token) is True
    leave(engine, host_id, token)
    row = host(engine, host_id)
    assert (row["state"], row["pause_requested"], row["next_fetch_at"]) == ("paused", False, None)


def test_a_pause_waits_for_a_settle_that_runs(engine: Engine) -> None:
    host_id, token = taken_host(engine, name="busy.test")

    def pause() -> str | None:
        with db.transaction(engine) as tx:
            return hosts.pause(tx, "busy.test")

    with db.transaction(engine) as tx:
        assert hosts.lock_leased(tx, host_id=host_id, token=token) is False
        aside = Aside(pause)
        assert await_blocked(engine, backend(tx), aside)
        hosts.leave(tx, [contact(host_id, token)])
    assert aside.outcome() == "paused"
    assert host(engine, host_id)["state"] == "paused"


# --- no wake is lost (invariant 8) ------------------------------------------------------------------------------


def test_leaving_sees_what_was_admitted_after_its_lock(engine: Engine) -> None:
    """Lock and look are two statements: one would look with the snapshot from before the lock."""
    crawl_id = make_crawl(engine)
    host_id, token = taken_host(engine)
    with db.transaction(engine) as tx:
        assert hosts.lock_leased(tx, host_id=host_id, token=token) is False
        admit(engine, admission(host_id, crawl_id))  # another visit, committed
        hosts.leave(tx, [contact(host_id, token)])
    assert host(engine, host_id)["next_fetch_at"] is not None


@pytest.mark.parametrize("admitted", ["before the lock", "after the lock", pytest.param("after the look")])
def test_a_wake_beside_a_leave_is_not_lost(engine: Engine, admitted: str) -> None:
    """T1 locks, looks and commits; T2 admits, commits, then wakes. However they interleave, the host is due."""
    crawl_id = make_crawl(engine)
    host_id, token = taken_host(engine)

    def admit_and_wake() -> None:
        admit(engine, admission(host_id, crawl_id))
        with db.transaction(engine) as tx:
            hosts.wake(tx, [host_id])

    with db.transaction(engine) as tx:
        if admitted == "before the lock":
            aside = Aside(admit_and_wake)
            aside.outcome()
        assert hosts.lock_leased(tx, host_id=host_id, token=token) is False
        if admitted == "after the lock":
            aside = Aside(admit_and_wake)
            await_blocked(engine, backend(tx), aside)
        hosts.leave(tx, [contact(host_id, token)])
        if admitted == "after the look":
            aside = Aside(admit_and_wake)
            await_blocked(engine, backend(tx), aside)
    aside.outcome()
    assert host(engine, host_id)["next_fetch_at"] is not None


@pytest.mark.parametrize("when", ["before the look", pytest.param("after the look")])
def test_a_crawl_resumed_beside_a_leave_is_not_lost(engine: Engine, when: str) -> None:
    crawl_id = make_crawl(engine)
    host_id, token = taken_host(engine)
    admit(engine, admission(host_id, crawl_id))
    sql(engine, "UPDATE crawls SET state = 'paused'")

    def resume() -> None:
        sql(engine, "UPDATE crawls SET state = 'active'")
        with db.transaction(engine) as tx:
            hosts.wake(tx, urls.hosts_queued(tx, crawl_id))

    with db.transaction(engine) as tx:
        assert hosts.lock_leased(tx, host_id=host_id, token=token) is False
        if when == "before the look":
            aside = Aside(resume)
            await_blocked(engine, backend(tx), aside)
        hosts.leave(tx, [contact(host_id, token)])
        if when == "after the look":
            aside = Aside(resume)
            await_blocked(engine, backend(tx), aside)
    aside.outcome()
    assert host(engine, host_id)["next_fetch_at"] is not None


@pytest.mark.parametrize(
    ("columns", "woken"),
    [
        ({}, True),
        ({"state": "paused"}, False),
    ],
)
def test_a_quiet_host_is_woken_at_its_pace(engine: Engine, columns: dict[str, Any], woken: bool) -> None:
    host_id = make_host(engine, **columns)
    sql(
        engine,
        "UPDATE hosts SET polite_at = now() + interval '1 hour', blocked_until = now() + interval '2 hours'",
    )
    with db.transaction(engine) as tx:
        assert hosts.wake(tx, [host_id]) == int(woken)
    row = host(engine, host_id)
    assert row["next_fetch_at"] == (row["blocked_until"] if woken else None)


def test_a_wake_leaves_alone_who_has_a_next_contact_or_a_lease(engine: Engine) -> None:
    due = make_due_host(engine, queue="host-01")
    held, _ = taken_host(engine)
    before = {each: host(engine, each)["next_fetch_at"] for each in (due, held)}
    with db.transaction(engine) as tx:
        assert hosts.wake(tx, [held, due, 10_000]) == 0
    assert {each: host(engine, each)["next_fetch_at"] for each in (due, held)} == before
