"""What a first contact writes costs few statements, and those of many hosts cost no more than those of one."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import Engine

from app.model import Origin
from app.store import budgets, db, robots
from app.store.budgets import Budget, BudgetKind, StartTerms
from app.store.robots import Fetched
from tests.store import statements as noted
from tests.store.rows import one, sql

NOW = datetime(2026, 11, 26, 12, tzinfo=UTC)
ADDRESS = Budget(BudgetKind.ADDRESS, "192.0.2.1", 1.0)


@pytest.fixture
def statements(engine: Engine) -> Iterator[list[str]]:
    """Those that were sent so far."""
    sent: list[str] = []
    with noted.statements(engine, sent.append):
        yield sent


def _add_hosts(engine: Engine, most: int) -> None:
    sql(
        engine,
        f"""INSERT INTO hosts (id, name, queue, delay_s) OVERRIDING SYSTEM VALUE
            SELECT n, 'h' || n || '.test', 'q0', 1 FROM generate_series(1, {most}) AS n""",
    )


def _fetched(n: int, body: bytes | None, *, revalidated: bool = False) -> Fetched:
    return Fetched(
        at=NOW + timedelta(seconds=n),
        availability="unreachable" if body is None and not revalidated else "available",
        revalidated=revalidated,
        status=304 if revalidated else 200 if body is not None else None,
        detail="",
        body=body,
        etag=f'"{n}"',
        last_modified=None,
        fresh_s=60.0 * n,
        failures=n,
        crawl_delay_raw="2" if n == 2 else None,
        crawl_delay_s=2.0 if n == 2 else None,
        sitemaps=("https://a.test/1", "https://a.test/2")[:n],
    )


def test_robots_files_of_many_hosts_are_stored_as_those_of_one(engine: Engine, statements: list[str]) -> None:
    _add_hosts(engine, 30)
    origins = [(host_id, Origin("https", f"h{host_id}.test", 443)) for host_id in range(1, 31)]
    statements.clear()
    with db.transaction(engine) as tx:
        robots.store(tx, [(host_id, origin, _fetched(1, b"\x00body")) for host_id, origin in origins])
    assert len(statements) == 3, "the files, the history, its bodies"
    stored = sql(engine, "SELECT * FROM robots ORDER BY host_id")
    assert [row["host_id"] for row in stored] == list(range(1, 31))
    last = dict(stored[-1])
    assert (last["body"], last["etag"], last["status"], last["failures"]) == (b"\x00body", '"1"', 200, 1)
    assert (last["fetched_at"], last["expires_at"] - last["fetched_at"]) == (
        NOW + timedelta(seconds=1),
        timedelta(0, 60),
    )
    assert (last["sitemaps"], last["unreachable_since"]) == (["https://a.test/1"], None)
    assert one(engine, "SELECT count(*) FROM robots_copies") == 30


def test_large_robots_files_are_not_sent_all_at_once(engine: Engine, statements: list[str]) -> None:
    _add_hosts(engine, 4)
    body = b"#" * (robots.LOT_BYTES // 2)
    statements.clear()
    with db.transaction(engine) as tx:
        robots.store(tx, [(n, Origin("https", f"h{n}.test", 443), _fetched(1, body)) for n in range(1, 5)])
    assert len(statements) == 5, "two lots of two statements each, and the bodies"
    assert one(engine, "SELECT count(*) FROM robots WHERE body IS NOT NULL") == 4


def test_each_origin_gets_its_own_results_in_order(engine: Engine) -> None:
    _add_hosts(engine, 2)
    first, second = ((host_id, Origin("http", f"h{host_id}.test", 80)) for host_id in (1, 2))
    with db.transaction(engine) as tx:
        robots.store(
            tx,
            [
                (*first, _fetched(1, b"a")),
                (*second, _fetched(1, None)),
                (*first, _fetched(2, None)),
                (*second, _fetched(2, b"b")),
                (*first, _fetched(3, None, revalidated=True)),
            ],
        )
    rows = sql(engine, "SELECT host_id, availability, status, body, crawl_delay_s FROM robots ORDER BY host_id")
    assert [tuple(row.values()) for row in map(dict, rows)] == [
        (1, "available", 304, b"a", None),
        (2, "available", 200, b"b", 2.0),
    ]
    lines = sql(engine, "SELECT host_id, availability FROM robots_copies ORDER BY host_id, since")
    assert [tuple(row.values()) for row in map(dict, lines)] == [
        (1, "available"),
        (1, "unreachable"),
        (1, "available"),
        (2, "unreachable"),
        (2, "available"),
    ]


# whether the budgets are taken for new, whether they are known, statements
@pytest.mark.parametrize(("is_new", "is_known", "most"), [(True, False, 2), (True, True, 2), (False, True, 1)])
def test_a_start_on_a_new_budget_is_asked_for_once(
    engine: Engine, statements: list[str], is_new: bool, is_known: bool, most: int
) -> None:
    if is_known:
        sql(engine, "INSERT INTO budgets (kind, name) VALUES ('address', '192.0.2.1')")
    statements.clear()
    with db.transaction(engine) as tx:
        answer = budgets.reserve(tx, [ADDRESS], StartTerms(1, 0.0, 1.0, is_new=is_new))
    assert answer.granted
    assert len(statements) == most
