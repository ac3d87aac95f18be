"""The lease's fence: a door that opens once, writes that only the holder makes, and no half-states."""

from collections.abc import Callable
from functools import partial
from uuid import UUID, uuid4

import psycopg
import pytest
from sqlalchemy import Engine
from sqlalchemy.exc import DBAPIError

from app.store import db, hosts
from tests.store.leases import leave, offer, take_up, taken_host
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
    one,
    sql,
)


def run_out(engine: Engine) -> None:
    sql(engine, "UPDATE hosts SET lease_until = now() - interval '1 minute', next_fetch_at = now() - interval '30 s'")


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
        hosts.extend_visits(tx, [contact(host_id, token, delay_s=20.0)], lease_s=60)
    assert held() == pytest.approx(20.0, abs=0.001)
    with db.transaction(engine) as tx:
        assert hosts.extend(tx, host_id=host_id, token=token, lease_s=90)
    assert held() == pytest.approx(20.0, abs=0.001)


# --- the fence --------------------------------------------------------------------------------------------------

WRITES: list[tuple[str, Callable[..., object]]] = [
    ("lock_leased", lambda tx, **who: hosts.lock_leased(tx, **who)),
    (
        "extend_visits",
        lambda tx, **who: hosts.extend_visits(tx, [contact(**who, delay_s=9)], lease_s=60),
    ),
    ("leave", lambda tx, **who: hosts.leave(tx, [contact(**who, delay_s=9, failures=4)])),
    ("extend", lambda tx, **who: hosts.extend(tx, lease_s=600, **who)),
    ("return_loan", lambda tx, **who: hosts.return_loan(tx, age_s=1, **who)),
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


# --- no half-states ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "broken",
    [
        "UPDATE hosts SET state = 'asleep'",
        "UPDATE hosts SET state = 'offered'",
        "UPDATE hosts SET state = 'taken', taken_at = now()",
        "UPDATE hosts SET lease_token = gen_random_uuid(), lease_until = now()",
        "UPDATE hosts SET state = 'offered', lease_token = gen_random_uuid(), next_fetch_at = now()",
        "UPDATE hosts SET state = 'offered', lease_token = gen_random_uuid(), lease_until = now(), "
        "next_fetch_at = NULL",
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
        "INSERT INTO duplicates (host_id, crawl_id, key, url, kind, of_url) VALUES (1, 1, '', 'u', 'like', 'o')",
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
