"""The database's clock is set: nothing is lent until the step was accepted, and then what waits was moved by it.

A step forward by 100 s and a note that is 100 s late look the same.
"""

import random
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import Engine

from app import clock
from app.beat import claim as dispatcher
from app.config import load
from app.store import clocks, db, hosts
from tests.store.rows import ISOLATE, OFFER_S, claim, host, make_due_host, make_host, one, sql

LEASE_S, GAP_S = 60.0, 2.0
NEAR_S = 1.5  # that the statements of a test may take, beside the hundreds of seconds that it is about
DUE = {"polite_at": -8_000.0, "next_fetch_at": -8_000.0}  # before any of these steps


def look(engine: Engine) -> clocks.ClockStep | None:
    with db.transaction(engine) as tx:
        return clocks.look(tx)


def step(engine: Engine, by_s: float) -> None:
    look(engine)
    sql(engine, "UPDATE clocks SET at = at - make_interval(secs => :by_s)", by_s=by_s)


def accept(engine: Engine) -> int | None:
    found = look(engine)
    assert found is not None
    with db.transaction(engine) as tx:
        return clocks.accept(tx, found, lease_s=LEASE_S, gap_s=GAP_S)


def lent(engine: Engine, name: str) -> list[str]:
    """By which ways a host is lent."""
    found = []
    for way, act in {
        "claim": lambda tx: hosts.claim_due(
            tx, capacity={"host-00": 9}, n=9, ahead_s=0, offer_s=OFFER_S, isolate=ISOLATE
        ),
        "offer": lambda tx: hosts.offer_now(tx, name=name, offer_s=OFFER_S, isolate=ISOLATE),
        "loan": lambda tx: hosts.borrow(tx, name=name, lease_s=LEASE_S, isolate=ISOLATE),
    }.items():
        with engine.connect() as connection:
            if act(connection):
                found.append(way)
            connection.rollback()
    return found


def place(engine: Engine, host_id: int, **seconds_from_now: float) -> None:
    for column, value in seconds_from_now.items():
        query = f"UPDATE hosts SET {column} = clock_timestamp() + make_interval(secs => :s) WHERE id = :id"
        sql(engine, query, s=value, id=host_id)


def left_s(engine: Engine, host_id: int) -> dict[str, float]:
    row = host(engine, host_id)
    columns = ("lease_until", "polite_at", "blocked_until", "next_fetch_at", "last_contact_at")
    return {name: (row[name] - row["now"]).total_seconds() for name in columns if row[name] is not None}


def taken(engine: Engine) -> tuple[int, UUID]:
    host_id = make_due_host(engine)
    (offer,) = claim(engine)
    with db.transaction(engine) as tx:
        assert hosts.take_up(tx, host_id=host_id, token=offer.token, worker="w:1", lease_s=LEASE_S)
    return host_id, offer.token


# --- what is a step ----------------------------------------------------------------------------------------------


# on the other clock, on ours at least and at most: the step
STEPS = [
    ((1.0, 1.0, 1.0), 0.0),
    ((6.0, 1.0, 1.0), 0.0),
    ((7.0, 1.0, 1.0), 6.0),
    ((101.0, 1.0, 1.5), 99.5),
    ((101.0, 1.0, 101.0), 0.0),  # we were stopped for as long
    ((-99.0, 1.0, 1.5), -100.0),
    ((-4.0, 1.0, 1.5), 0.0),
    ((86_450.0, 86_400.0, 86_400.0), 0.0),  # two clocks that drift apart for a day
    ((86_500.0, 86_400.0, 86_400.0), 100.0),
]


@pytest.mark.parametrize(("passed", "step_s"), STEPS)
def test_a_step_is_more_than_a_margin_and_the_drift(passed: tuple[float, float, float], step_s: float) -> None:
    passed_s, least_s, most_s = passed
    assert clock.step_s(passed_s, least_s=least_s, most_s=most_s) == step_s


def test_a_machine_keeps_one_clock_for_all_its_processes() -> None:
    clock.clock_name.cache_clear()
    name = clock.clock_name()
    clock.clock_name.cache_clear()
    assert clock.clock_name() == name


@pytest.mark.parametrize("by_s", [-3_600.0, -6.5, 6.5, 100.0])
def test_a_process_that_has_just_started_sees_it(engine: Engine, by_s: float) -> None:
    step(engine, by_s)
    found = look(engine)
    assert found is not None
    assert found.by_s == pytest.approx(by_s, abs=NEAR_S)


@pytest.mark.parametrize("by_s", [-3.0, 0.0, 4.0])
def test_less_is_none(engine: Engine, by_s: float) -> None:
    step(engine, by_s)
    assert look(engine) is None


@pytest.mark.parametrize("by_s", [4.0, -4.0])
def test_small_ones_add_up(engine: Engine, by_s: float) -> None:
    """Four seconds every two would end a lease of a minute in twenty."""
    look(engine)
    query = "UPDATE clocks SET at = at - make_interval(secs => 2 + :by_s), boot_s = boot_s - 2"
    sql(engine, query, by_s=by_s)
    assert look(engine) is None
    sql(engine, query, by_s=by_s)
    found = look(engine)
    assert found is not None
    assert found.by_s == pytest.approx(2 * by_s, abs=NEAR_S)


# --- nothing is lent meanwhile -----------------------------------------------------------------------------------


def test_after_a_step_forward_nothing_is_lent_until_it_is_accepted(engine: Engine) -> None:
    place(engine, make_host(engine, name="a.test"), **DUE)
    look(engine)
    assert lent(engine, "a.test") == ["claim", "offer", "loan"]
    step(engine, 100.0)
    assert lent(engine, "a.test") == []
    accept(engine)
    assert lent(engine, "a.test") == ["claim", "offer", "loan"]


def test_the_lease_of_another_is_not_taken_over_by_a_step(engine: Engine) -> None:
    host_id, token = taken(engine)
    place(engine, host_id, lease_until=LEASE_S - 100, next_fetch_at=LEASE_S + 1 - 100, polite_at=-100)
    step(engine, 100.0)
    accept(engine)
    assert left_s(engine, host_id)["lease_until"] == pytest.approx(LEASE_S, abs=NEAR_S)
    assert left_s(engine, host_id)["next_fetch_at"] == pytest.approx(LEASE_S + 1, abs=NEAR_S)
    assert host(engine, host_id)["lease_token"] == token


# --- what waits is moved -----------------------------------------------------------------------------------------


def test_delays_and_rests_pass_as_late_as_without_the_step(engine: Engine) -> None:
    """As 2 s before it: a delay of 1 s has 0.5 s left, a rest 600 s; another host was due."""
    polite, blocked, due = (make_host(engine, name=name) for name in ("p.test", "b.test", "d.test"))
    place(engine, polite, polite_at=0.5 - 100, next_fetch_at=0.5 - 100)
    place(engine, blocked, polite_at=-200, blocked_until=600 - 100, next_fetch_at=600 - 100)
    place(engine, due, polite_at=-200, next_fetch_at=-150)
    step(engine, 100.0)
    assert accept(engine) == 2
    assert left_s(engine, polite)["polite_at"] == pytest.approx(0.5, abs=NEAR_S)
    assert left_s(engine, polite)["next_fetch_at"] == pytest.approx(0.5, abs=NEAR_S)
    assert left_s(engine, blocked)["blocked_until"] == pytest.approx(600, abs=NEAR_S)
    assert left_s(engine, blocked)["next_fetch_at"] == pytest.approx(600, abs=NEAR_S)
    assert left_s(engine, due)["next_fetch_at"] == pytest.approx(-150, abs=NEAR_S)


def test_what_was_written_after_the_step_waits_a_lease_or_two_delays_at_most(engine: Engine) -> None:
    host_id, _ = taken(engine)
    place(engine, host_id, lease_until=LEASE_S, next_fetch_at=LEASE_S + 1, polite_at=1)
    idle = make_host(engine, name="i.test")
    place(engine, idle, polite_at=1, next_fetch_at=1)
    step(engine, 3_600.0)
    accept(engine)
    assert left_s(engine, host_id)["lease_until"] == pytest.approx(LEASE_S, abs=NEAR_S)
    assert 1 - NEAR_S < left_s(engine, idle)["next_fetch_at"] <= 2 * 1.0 + GAP_S


def test_after_a_step_back_nothing_waits_until_the_clock_is_as_late_again(engine: Engine) -> None:
    host_id, _ = taken(engine)
    place(engine, host_id, lease_until=LEASE_S + 3_600, next_fetch_at=LEASE_S + 3_601, polite_at=3_600)
    idle = make_host(engine, name="i.test")
    place(engine, idle, polite_at=3_601, next_fetch_at=3_601, last_contact_at=3_600)
    blocked = make_host(engine, name="b.test")
    place(engine, blocked, polite_at=-1, blocked_until=600, next_fetch_at=600)
    step(engine, -3_600.0)
    assert accept(engine) == 3
    assert left_s(engine, host_id)["lease_until"] == pytest.approx(LEASE_S, abs=NEAR_S)
    assert left_s(engine, host_id)["next_fetch_at"] == pytest.approx(LEASE_S + 1, abs=NEAR_S)
    assert 1 - NEAR_S < left_s(engine, idle)["next_fetch_at"] <= 2 * 1.0 + GAP_S
    assert left_s(engine, idle)["last_contact_at"] <= 0
    assert left_s(engine, blocked)["next_fetch_at"] == pytest.approx(600, abs=NEAR_S), "a site asked for it"


@pytest.mark.parametrize(("by_s", "next_s", "after_s"), [(100.0, 0.5 - 100, 0.5), (-100.0, 100.0, 22.0)])
def test_starts_of_shared_budgets_are_moved(engine: Engine, by_s: float, next_s: float, after_s: float) -> None:
    sql(
        engine,
        "INSERT INTO budgets (kind, name, next_at) "
        "SELECT kind, 'x', clock_timestamp() + make_interval(secs => :s) FROM unnest(ARRAY['address', 'all']) AS kind",
        s=next_s,
    )
    step(engine, by_s)
    accept(engine)
    left = sql(engine, "SELECT CAST(extract(epoch FROM next_at - clock_timestamp()) AS float) AS s FROM budgets")
    assert [row["s"] for row in left] == [pytest.approx(after_s, abs=NEAR_S)] * 2


# --- once for the fleet -------------------------------------------------------------------------------------------


def test_one_process_of_the_fleet_accepts_it(engine: Engine) -> None:
    look(engine)
    sql(engine, "INSERT INTO clocks SELECT 'another', at, 7 FROM clocks")
    step(engine, 100.0)
    host_id = make_host(engine)
    place(engine, host_id, polite_at=10 - 100, blocked_until=500 - 100, next_fetch_at=500 - 100)
    found = look(engine)
    assert found is not None
    for expected in (1, None):
        with db.transaction(engine) as tx:
            assert clocks.accept(tx, found, lease_s=LEASE_S, gap_s=GAP_S) == expected
    assert left_s(engine, host_id)["blocked_until"] == pytest.approx(500, abs=NEAR_S)
    assert look(engine) is None
    apart = "SELECT CAST(extract(epoch FROM max(at) - min(at)) AS float) FROM clocks"
    assert one(engine, apart) == pytest.approx(0, abs=NEAR_S), "the other machine sees no step any more"


def test_a_step_there_and_back_is_two(engine: Engine) -> None:
    place(engine, make_host(engine, name="a.test"), **DUE)
    for by_s in (3_600.0, -3_600.0, 3_600.0):
        step(engine, by_s)
        accept(engine)
        assert look(engine) is None
    assert lent(engine, "a.test") == ["claim", "offer", "loan"]


def test_the_dispatcher_moves_and_claims_nothing(engine: Engine, database_url: str) -> None:
    host_id = make_host(engine)
    place(engine, host_id, **DUE)
    step(engine, 100.0)
    offered: list[Any] = []
    settings = load(database_url=database_url)
    assert dispatcher.dispatch(engine, settings, offered.extend, random.Random(1)) == 0
    assert dispatcher.dispatch(engine, settings, offered.extend, random.Random(1)) == 1
    assert [offer.host_id for offer in offered] == [host_id]


def test_a_first_look_notes_the_clock_and_forgets_machines_of_long_ago(engine: Engine) -> None:
    sql(engine, "INSERT INTO clocks VALUES ('old', now() - interval '31 days', 1), ('young', now(), 1)")
    assert look(engine) is None
    assert {row["machine"] for row in sql(engine, "SELECT machine FROM clocks")} == {"young", clock.clock_name()}
