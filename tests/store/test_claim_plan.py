"""The claim finds its hosts by index."""

import json
from collections.abc import Callable
from typing import Any

from sqlalchemy import Engine, text

from app.store import clocks, db
from tests.store.rows import ISOLATE, OFFER_S, claim, one, sql


def test_the_claim_finds_due_hosts_by_index(make_database: Callable[[], str]) -> None:
    """100,000 hosts, no statistics, and a long transaction that keeps every dead row version alive."""
    engine = db.connect(make_database())
    sql(engine, "ALTER TABLE hosts SET (autovacuum_enabled = false)")
    with engine.connect() as long:
        long.execute(text("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ"))
        long.execute(text("SET LOCAL idle_in_transaction_session_timeout = 0"))  # a busy machine takes its time
        long.execute(text("SELECT count(*) FROM hosts"))
        sql(
            engine,
            """INSERT INTO hosts (name, queue, delay_s, next_fetch_at)
               SELECT 'h' || i, 'host-' || lpad((i % 32)::text, 2, '0'), 1, now() - make_interval(secs => i / 100.0)
               FROM generate_series(1, 100000) AS i""",
        )
        capacity = {f"host-{number:02d}": 2 for number in range(32)}
        for _ in range(20):
            claim(engine, capacity)
        assert one(engine, "SELECT reltuples FROM pg_class WHERE relname = 'hosts'") == -1, "there are statistics"
        plan = _plan(engine, capacity)
    reads = [node for node in plan if node.get("Relation Name") == "hosts" and node["Node Type"] != "ModifyTable"]
    assert {(node["Node Type"], node.get("Index Name")) for node in reads} == {
        ("Index Scan", "hosts_due"),
        ("Tid Scan", None),
    }
    read = sum(node["Actual Rows"] * node["Actual Loops"] for node in plan if node.get("Index Name") == "hosts_due")
    assert read <= 64 + 20 * 64, "it reads what it claims, and at most the dead versions in front of it"
    engine.dispose()


def _plan(engine: Engine, capacity: dict[str, int]) -> list[dict[str, Any]]:
    """Nodes of the claim's plan, run and rolled back."""
    values = {
        "queues": list(capacity),
        "capacity": list(capacity.values()),
        "since": [None] * len(capacity),
        "n": 1_000,
        "ahead_s": 0.25,
        "offer_s": OFFER_S,
        **clocks.steady(),
        "isolate": ISOLATE,
    }
    query = db.queries("hosts")["claim_due"].compile(engine)
    with engine.connect() as connection:
        explained = connection.exec_driver_sql(f"EXPLAIN (ANALYZE, FORMAT JSON) {query}", values).scalar_one()
        connection.rollback()
    return _nodes((explained if isinstance(explained, list) else json.loads(explained))[0]["Plan"])


def _nodes(node: dict[str, Any]) -> list[dict[str, Any]]:
    return [node] + [found for child in node.get("Plans", []) for found in _nodes(child)]
