"""What the rows are in. When it changes, nothing is lent until somebody has looked, and then every host waits."""

import random
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit, urlunsplit
from uuid import UUID

import psycopg
import pytest
from psycopg import sql as composed
from sqlalchemy import Engine

from app.beat import claim as dispatcher
from app.config import load
from app.store import db, hosts, lineage
from tests.store.rows import ISOLATE, OFFER_S, claim, host, make_due_host, make_host, one, sql

LEASE_S, GAP_S = 60.0, 90.0


def has_changed(engine: Engine) -> bool:
    with db.transaction(engine) as tx:
        return lineage.has_changed(tx)


def change(engine: Engine) -> None:
    """As if the rows were brought here from elsewhere."""
    has_changed(engine)
    sql(engine, "UPDATE lineage SET seen = 'elsewhere'")


def hold(engine: Engine) -> None:
    with db.transaction(engine) as tx:
        assert lineage.move(tx)
        lineage.hold(tx, lease_s=LEASE_S, gap_s=GAP_S)


def lent(engine: Engine, name: str, host_id: int, token: UUID) -> list[str]:
    """By which ways in a host is lent."""
    found = []
    for way, act in {
        "claim": lambda tx: hosts.claim_due(
            tx, capacity={"host-00": 9}, n=9, ahead_s=0, offer_s=OFFER_S, isolate=ISOLATE
        ),
        "offer": lambda tx: hosts.offer_now(tx, name=name, offer_s=OFFER_S, isolate=ISOLATE),
        "loan": lambda tx: hosts.borrow(tx, name=name, lease_s=LEASE_S, isolate=ISOLATE),
        "take-up": lambda tx: hosts.take_up(tx, host_id=host_id, token=token, worker="w:1", lease_s=LEASE_S),
    }.items():
        with engine.connect() as connection:
            if act(connection):
                found.append(way)
            connection.rollback()
    return found


def test_the_first_look_changes_nothing(engine: Engine) -> None:
    make_due_host(engine)
    assert not has_changed(engine)
    assert not has_changed(engine)
    assert one(engine, "SELECT seen = tiptoe_lineage() FROM lineage")


def test_nothing_is_lent_until_somebody_has_looked(engine: Engine) -> None:
    offered = make_due_host(engine)
    (offer,) = claim(engine)
    make_due_host(engine, name="due.test")
    assert lent(engine, "due.test", offered, offer.token) == ["claim", "offer", "loan", "take-up"]
    change(engine)
    assert has_changed(engine)
    assert lent(engine, "due.test", offered, offer.token) == []
    with db.transaction(engine) as tx:
        assert lineage.move(tx)
        assert not lineage.move(tx), "who comes second is told no"
    assert not has_changed(engine)
    assert lent(engine, "due.test", offered, offer.token) == ["claim", "offer", "loan", "take-up"]


# columns of a host (seconds from now), what next_fetch_at is after a hold: seconds from now, at least and at most
HELD = [
    ({"next_fetch_at": -60}, LEASE_S + 7),
    ({"next_fetch_at": 5}, LEASE_S + 7),
    ({"next_fetch_at": 3_600}, 3_600),
    ({"next_fetch_at": None}, None),
]


@pytest.mark.parametrize(("columns", "due_s"), HELD)
def test_every_host_waits_until_no_lease_can_run_and_its_delay(
    engine: Engine, columns: dict[str, float | None], due_s: float | None
) -> None:
    host_id = make_host(engine, delay_s=7.0)
    place(engine, host_id, **columns)
    change(engine)
    hold(engine)
    row = host(engine, host_id)
    assert seconds(row, "polite_at") == pytest.approx(LEASE_S + 7, abs=5)
    if due_s is None:
        assert row["next_fetch_at"] is None
    else:
        assert seconds(row, "next_fetch_at") == pytest.approx(due_s, abs=5)


def test_a_hold_brings_no_polite_moment_forward(engine: Engine) -> None:
    host_id = make_due_host(engine)
    place(engine, host_id, polite_at=3_600)
    change(engine)
    hold(engine)
    assert seconds(host(engine, host_id), "polite_at") == pytest.approx(3_600, abs=5)


def test_a_visit_writes_nothing_from_then_on(engine: Engine) -> None:
    host_id = make_due_host(engine)
    (offer,) = claim(engine)

    def writes() -> list[bool]:
        with db.transaction(engine) as tx:
            locked = hosts.lock_leased(tx, host_id=host_id, token=offer.token) is not None
            return [locked, hosts.extend(tx, host_id=host_id, token=offer.token, lease_s=LEASE_S)]

    with db.transaction(engine) as tx:
        assert hosts.take_up(tx, host_id=host_id, token=offer.token, worker="w:1", lease_s=LEASE_S)
    assert writes() == [True, True]
    change(engine)
    assert writes() == [False, False]
    hold(engine)
    assert writes() == [False, False]
    assert host(engine, host_id)["state"] == "idle"
    assert host(engine, host_id)["isolate"] == 0, "no page of it is to blame"


def test_a_pause_that_was_asked_for_holds(engine: Engine) -> None:
    host_id = make_due_host(engine, name="paused.test")
    (offer,) = claim(engine)
    with db.transaction(engine) as tx:
        assert hosts.take_up(tx, host_id=host_id, token=offer.token, worker="w:1", lease_s=LEASE_S)
        assert hosts.pause(tx, "paused.test") == "taken"
    change(engine)
    hold(engine)
    row = host(engine, host_id)
    assert (row["state"], row["pause_requested"], row["next_fetch_at"]) == ("paused", False, None)


def test_shared_budgets_wait_but_for_the_fleets(engine: Engine) -> None:
    sql(engine, "INSERT INTO budgets (kind, name) VALUES ('address', '192.0.2.1'), ('domain', 'a.test'), ('all', '')")
    change(engine)
    hold(engine)
    waits = "SELECT kind, extract(epoch FROM next_at - clock_timestamp()) > 80 AS held FROM budgets ORDER BY kind"
    assert [(row["kind"], row["held"]) for row in sql(engine, waits)] == [
        ("address", True),
        ("all", False),
        ("domain", True),
    ]


def test_the_dispatcher_holds_and_claims_nothing(engine: Engine, database_url: str) -> None:
    host_id = make_due_host(engine)
    change(engine)
    offered: list[Any] = []
    settings = load(database_url=database_url)
    for _ in range(2):
        assert dispatcher.dispatch(engine, settings, offered.extend, random.Random(1)) == 0
    assert seconds(host(engine, host_id), "next_fetch_at") == pytest.approx(settings.lease_s + 1, abs=5)
    place(engine, host_id, next_fetch_at=-1, polite_at=-1)
    assert dispatcher.dispatch(engine, settings, offered.extend, random.Random(1)) == 1
    assert [offer.host_id for offer in offered] == [host_id]


def test_a_copy_of_the_database_is_another(engine: Engine, make_database: Callable[[], str]) -> None:
    url = make_database()
    source = db.connect(url)
    has_changed(source)
    source.dispose()
    name = urlsplit(url).path.lstrip("/")
    with psycopg.connect(url.replace(name, "postgres"), autocommit=True) as connection:
        copy = composed.SQL("CREATE DATABASE {} TEMPLATE {} STRATEGY file_copy")
        connection.execute(copy.format(composed.Identifier(f"{name}_copy"), composed.Identifier(name)))
    copied = db.connect(urlunsplit(urlsplit(url)._replace(path=f"/{name}_copy")))
    assert has_changed(copied)
    copied.dispose()


def test_a_table_that_was_dropped_and_restored_is_another(engine: Engine) -> None:
    has_changed(engine)
    with engine.begin() as tx:
        tx.exec_driver_sql("ALTER TABLE hosts RENAME TO hosts_before")
        tx.exec_driver_sql("CREATE TABLE hosts (LIKE hosts_before)")
        assert lineage.has_changed(tx)
        tx.rollback()
    assert not has_changed(engine)


def place(engine: Engine, host_id: int, **seconds_from_now: float | None) -> None:
    for column, value in seconds_from_now.items():
        query = f"UPDATE hosts SET {column} = now() + make_interval(secs => CAST(:s AS float)) WHERE id = :id"
        sql(engine, query, s=value, id=host_id)


def seconds(row: dict[str, Any], column: str) -> float:
    return float((row[column] - row["now"]).total_seconds())
