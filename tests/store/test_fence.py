"""The lease's fence: a door that opens once, and writes that only the holder's token can make."""

from collections.abc import Callable
from functools import partial
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from sqlalchemy import Engine
from sqlalchemy.exc import DBAPIError

from app.model import RestReason
from app.store import db, hosts, urls
from app.store.host_rows import Taken
from tests.store.rows import (
    Aside,
    admission,
    admit,
    await_blocked,
    backend,
    claim,
    contact,
    host,
    make_crawl,
    make_due_host,
    make_host,
    one,
    sql,
)


def offer(engine: Engine) -> UUID:
    """Claim the one host that is due."""
    (claimed,) = claim(engine, {"host-00": 1})
    return claimed.token


def take_up(engine: Engine, host_id: int, token: UUID) -> Taken | None:
    with db.transaction(engine) as tx:
        return hosts.take_up(tx, host_id=host_id, token=token, worker="w:1", lease_s=60)


def taken_host(engine: Engine, **columns: Any) -> tuple[int, UUID]:
    host_id = make_due_host(engine, **columns)
    token = offer(engine)
    assert take_up(engine, host_id, token) is not None
    return host_id, token


def run_out(engine: Engine) -> None:
    sql(engine, "UPDATE hosts SET lease_until = now() - interval '1 minute', next_fetch_at = now() - interval '30 s'")


def leave(engine: Engine, host_id: int, token: UUID, **columns: Any) -> bool:
    """Lock, leave, commit. False: fenced."""
    with db.transaction(engine) as tx:
        if hosts.lock_leased(tx, host_id=host_id, token=token) is None:
            return False
        hosts.leave(tx, [contact(host_id, token, **columns)])
        return True


# --- the door ---------------------------------------------------------------------------------------------------


def test_a_doubled_message_finds_the_door_closed(engine: Engine) -> None:
    host_id = make_due_host(engine)
    token = offer(engine)
    assert take_up(engine, host_id, token) is not None
    assert take_up(engine, host_id, token) is None
    assert one(engine, "SELECT count(*) FROM visits") == 1


def test_doubled_messages_at_once_open_the_door_once(engine: Engine) -> None:
    for _ in range(10):
        host_id = make_due_host(engine)
        token = offer(engine)
        both = [Aside(partial(take_up, engine, host_id, token)) for _ in range(4)]
        assert [each.outcome() is not None for each in both].count(True) == 1
        assert one(engine, "SELECT count(*) FROM visits WHERE host_id = :id", id=host_id) == 1


def test_a_late_message_finds_the_door_closed_after_a_new_claim(engine: Engine) -> None:
    host_id = make_due_host(engine)
    old = offer(engine)
    run_out(engine)
    new = offer(engine)
    assert take_up(engine, host_id, old) is None
    assert take_up(engine, host_id, new) is not None


@pytest.mark.parametrize("token", [uuid4()])
def test_a_token_that_nobody_gave_opens_nothing(engine: Engine, token: UUID) -> None:
    host_id = make_due_host(engine)
    offer(engine)
    assert take_up(engine, host_id, token) is None


def test_a_paused_host_is_not_taken_up(engine: Engine) -> None:
    host_id = make_due_host(engine, name="p.test")
    token = offer(engine)
    with db.transaction(engine) as tx:
        assert hosts.pause(tx, "p.test") == "paused"
    assert take_up(engine, host_id, token) is None
    assert one(engine, "SELECT count(*) FROM visits") == 0


def test_while_a_lease_runs_the_next_contact_is_its_end_and_the_delay(engine: Engine) -> None:
    """Invariant 2, through offer, take-up, stay and extend."""

    def held() -> float:
        row = host(engine, host_id)
        return float((row["next_fetch_at"] - row["lease_until"]).total_seconds())

    host_id = make_due_host(engine, delay_s=3.0)
    token = offer(engine)
    assert held() == pytest.approx(3.0, abs=0.001)
    take_up(engine, host_id, token)
    assert held() == pytest.approx(3.0, abs=0.001)
    with db.transaction(engine) as tx:
        hosts.stay(tx, [contact(host_id, token, delay_s=20.0)], lease_s=60)
    assert held() == pytest.approx(20.0, abs=0.001)
    with db.transaction(engine) as tx:
        assert hosts.extend(tx, host_id=host_id, token=token, lease_s=90)
    assert held() == pytest.approx(20.0, abs=0.001)


# --- the fence --------------------------------------------------------------------------------------------------

WRITES: list[tuple[str, Callable[..., object]]] = [
    ("lock_leased", lambda tx, **who: hosts.lock_leased(tx, **who)),
    (
        "stay",
        lambda tx, **who: hosts.stay(tx, [contact(**who, delay_s=9)], lease_s=60),
    ),
    ("leave", lambda tx, **who: hosts.leave(tx, [contact(**who, delay_s=9, failures=4)])),
    ("extend", lambda tx, **who: hosts.extend(tx, lease_s=600, **who)),
    ("give_back", lambda tx, **who: hosts.give_back(tx, age_s=1, **who)),
    ("end_dead", lambda tx, **who: hosts.end_dead(tx, **who)),
]
LOST = ["offered to another", "taken by another", "given back", "paused", "never given"]


@pytest.mark.parametrize(("name", "write"), WRITES)
@pytest.mark.parametrize("how", LOST)
def test_a_stale_token_changes_nothing(engine: Engine, how: str, name: str, write: Callable[..., object]) -> None:
    host_id, token = taken_host(engine, name="f.test")
    if how in {"offered to another", "taken by another"}:
        run_out(engine)
        other = offer(engine)
        if how == "taken by another":
            take_up(engine, host_id, other)
    elif how == "given back":
        leave(engine, host_id, token)
    elif how == "paused":
        run_out(engine)
        with db.transaction(engine) as tx:
            hosts.pause(tx, "f.test")
            hosts.pause_outlived(tx)
        assert host(engine, host_id)["state"] == "paused"
    else:
        token = uuid4()
    before = {**host(engine, host_id), "now": None}
    with db.transaction(engine) as tx:
        assert not write(tx, host_id=host_id, token=token)
    assert {**host(engine, host_id), "now": None} == before


@pytest.mark.parametrize(("name", "write"), WRITES)
def test_the_holder_writes(engine: Engine, name: str, write: Callable[..., object]) -> None:
    """The rows above can fail: the right token does change something."""
    host_id, token = taken_host(engine)
    sql(engine, "UPDATE hosts SET polite_at = now() - interval '1 hour'")
    before = {**host(engine, host_id), "now": None}
    with db.transaction(engine) as tx:
        found = write(tx, host_id=host_id, token=token)
    if name == "lock_leased":
        assert found is False, "no pause was asked for"
    else:
        assert {**host(engine, host_id), "now": None} != before


def test_leases_are_locked_in_the_order_of_their_hosts(engine: Engine) -> None:
    """Whoever waits for the first host holds none of the others, in whatever order rows stand and are asked for."""
    leases = [taken_host(engine) for _ in range(3)]
    (first, _), *others = leases
    sql(engine, "UPDATE hosts SET failures = failures WHERE id = :id", id=first)  # its row stands last now

    def lock() -> int:
        with db.transaction(engine) as tx:
            return len(hosts.lock_all_leased(tx, leases[::-1]).pauses)

    with db.transaction(engine) as tx:
        hosts.lock(tx, [first])
        settle = Aside(lock)
        assert await_blocked(engine, backend(tx), settle)
        free = sql(engine, "SELECT id FROM hosts WHERE id <> :id ORDER BY id FOR NO KEY UPDATE SKIP LOCKED", id=first)
    assert [row["id"] for row in free] == [host_id for host_id, _ in others]
    assert settle.outcome() == 3


def test_a_lease_that_ran_out_but_was_not_claimed_is_still_the_holders(engine: Engine) -> None:
    host_id, token = taken_host(engine)
    run_out(engine)
    assert leave(engine, host_id, token)
    assert host(engine, host_id)["state"] == "idle"


def test_an_offer_that_ran_out_but_was_not_claimed_can_still_be_taken_up(engine: Engine) -> None:
    host_id = make_due_host(engine)
    token = offer(engine)
    run_out(engine)
    assert take_up(engine, host_id, token) is not None
    assert host(engine, host_id)["isolate"] == 0


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
        resting_because=RestReason.OTHER if rest_s else None,
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


# --- no half-states ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "broken",
    [
        "UPDATE hosts SET state = 'asleep'",
        "UPDATE hosts SET state = 'offered'",
        "UPDATE hosts SET state = 'taken', taken_at = now()",
        "UPDATE hosts SET lease_token = gen_random_uuid(), lease_until = now()",
        "UPDATE hosts SET state = 'offered', lease_token = gen_random_uuid(), next_fetch_at = now()",
        "UPDATE hosts SET state = 'offered', lease_token = gen_random_uuid(), lease_until = now(), next_fetch_at = NULL",
        "UPDATE hosts SET state = 'offered', lease_token = gen_random_uuid(), lease_until = now(), taken_at = now()",
        "UPDATE hosts SET state = 'taken', lease_token = gen_random_uuid(), lease_until = now()",
        "UPDATE hosts SET taken_at = now()",
        "UPDATE hosts SET lease_until = now()",
        "UPDATE hosts SET state = 'paused'",  # and due
        "UPDATE crawls SET state = 'resting'",
        "UPDATE crawls SET state = 'finished'",
        "UPDATE crawls SET finished_at = now()",
        "UPDATE crawls SET scope = 'web'",
        "UPDATE urls SET state = 'seen'",
        "UPDATE urls SET state = 'resting'",
        "UPDATE urls SET state = 'alias'",
        "UPDATE urls SET state = 'refused'",
        "UPDATE urls SET state = 'quarantined'",
        "UPDATE urls SET retrying = true",
        "UPDATE urls SET state = 'gone', retrying = true",
        "INSERT INTO urls SELECT * FROM urls",  # GENERATED ALWAYS
        "UPDATE hosts SET name = NULL",
        "INSERT INTO hosts (name, queue, delay_s) SELECT name, queue, delay_s FROM hosts",
        "INSERT INTO crawls (name, scope) SELECT name, scope FROM crawls",
        """INSERT INTO robots (host_id, scheme, port, availability, fetched_at, expires_at)
           SELECT id, 'http', 80, 'unreachable', now(), now() FROM hosts""",
        """INSERT INTO robots (host_id, scheme, port, availability, fetched_at, expires_at, unreachable_since)
           SELECT id, 'http', 80, 'available', now(), now(), now() FROM hosts""",
        """INSERT INTO fetches (host_id, visit_id, url_key, url, kind, reason, started_at, ended_at, delay_s, outcome,
                                wire_bytes, body_bytes, truncated, total_ms, conditional, attempt)
           SELECT id, 1, '', 'u', 'page', 'new', now(), now() - interval '1 s', 1, 'page', 0, 0, false, 1, false, 1
           FROM hosts""",
        "INSERT INTO duplicates (host_id, crawl_id, key, url, kind, of_url) VALUES (1, 1, '', 'u', 'near', 'o')",
    ],
)
def test_half_states_are_refused(engine: Engine, broken: str) -> None:
    crawl_id = make_crawl(engine)
    host_id = make_due_host(engine)
    admit(engine, admission(host_id, crawl_id))
    with pytest.raises(DBAPIError) as refused:
        sql(engine, broken)
    driver = refused.value.orig
    assert isinstance(driver, psycopg.errors.IntegrityError | psycopg.errors.GeneratedAlways), refused.value
