"""Rows for the tests of store and crawl: made and read by plain SQL, so that a test says what stands in the
database."""

import itertools
from collections.abc import Callable
from dataclasses import fields
from hashlib import sha256
from threading import Thread
from typing import Any, TypeVar
from uuid import UUID

from sqlalchemy import Connection, Engine, text

from app.features.schema import schema
from app.policy.pace import History
from app.store import crawls, db, hosts, urls
from app.store.caps import Weak
from app.store.host_rows import Contact, HostPace, Offer
from app.store.url_rows import Admission, Result, Wanted
from tests.store.cleaner import clean as clean

T = TypeVar("T")
OFFER_S = 10.0
ISOLATE = 50  # URLs taken one at a time after a crash
LOOKS = 20_000  # round trips to the database before a test gives up waiting for another connection

_names = itertools.count(1)


def sql(engine: Engine, query: str, **values: Any) -> list[dict[str, Any]]:
    """Run one statement in a transaction of its own; its rows, if it has any."""
    with engine.begin() as tx:
        found = tx.execute(text(query), values)
        return [dict(row) for row in found.mappings()] if found.returns_rows else []


def one(engine: Engine, query: str, **values: Any) -> Any:
    """The only value of the only row."""
    (row,) = sql(engine, query, **values)
    (value,) = row.values()
    return value


def make_crawl(engine: Engine, name: str = "c", **columns: Any) -> int:
    return _insert(engine, "crawls", {"name": name, "scope": "any", **columns})


def make_host(engine: Engine, name: str | None = None, **columns: Any) -> int:
    name = name or f"host{next(_names)}.test"
    return _insert(engine, "hosts", {"name": name, "queue": "host-00", "delay_s": 1.0, **columns})


def counted(engine: Engine, crawl_id: int, host_id: int, *, pages: int = 0, bytes: int = 0) -> None:
    """Count what a crawl got from a host, as a settle does."""
    row = {"crawl_id": crawl_id, "host_id": host_id, "pages": pages, "fetches": pages, "failed": 0, "bytes": bytes}
    with db.transaction(engine) as tx:
        crawls.count(tx, [row])


def make_due_host(engine: Engine, **columns: Any) -> int:
    """Idle and due for a minute."""
    host_id = make_host(engine, **columns)
    sql(engine, "UPDATE hosts SET next_fetch_at = now() - interval '1 minute' WHERE id = :id", id=host_id)
    return host_id


def make_visited_host(engine: Engine, **columns: Any) -> int:
    """Under a lease, with the visit that holds it."""
    host_id = make_due_host(engine, **columns)
    sql(
        engine,
        """WITH taken AS (
               UPDATE hosts SET state = 'taken', lease_token = gen_random_uuid(), taken_at = now(),
                      lease_until = now() + interval '1 hour', next_fetch_at = now() + interval '1 hour'
               WHERE id = :id RETURNING id, lease_token, queue, taken_at)
           INSERT INTO visits (host_id, token, queue, worker, taken_at)
           SELECT id, lease_token, queue, 'test:0', taken_at FROM taken""",
        id=host_id,
    )
    return host_id


def host(engine: Engine, host_id: int) -> dict[str, Any]:
    (row,) = sql(engine, "SELECT *, clock_timestamp() AS now FROM hosts WHERE id = :id", id=host_id)
    return row


def url(engine: Engine, text_: str) -> dict[str, Any]:
    (row,) = sql(engine, "SELECT * FROM urls WHERE url = :url", url=text_)
    return row


def admission(host_id: int, crawl_id: int, path: str = "/", **columns: Any) -> Admission:
    found = f"http://{host_id}.test{path}"
    row: Admission = {
        "host_id": host_id,
        "crawl_id": crawl_id,
        "kind": "page",
        "key": sha256(found.encode()).digest(),
        "url": found,
        "state": "queued",
        "lane": 1,
        "score": 1.0,
        "depth": 0,
        "hops": 0,
        "found_on": None,
        "cause": None,
        "detail": None,
        "score_parts": None,
        "sitemap_id": None,
        "lastmod": None,
    }
    row.update(columns)  # type: ignore[typeddict-item]
    return row


def weak(admitted: Admission) -> Weak:
    """The row as the caps see it."""
    return Weak(**{name: admitted[name] for name in Weak._fields})  # type: ignore[literal-required]


def result(admitted: Admission, state: str, **columns: Any) -> Result:
    row: Result = {
        "host_id": admitted["host_id"],
        "crawl_id": admitted["crawl_id"],
        "key": admitted["key"],
        "state": state,
        "attempts": 0,
        "network_failures": 0,
        "server_failures": 0,
        "parse_failures": 0,
        "retrying": False,
        "score": None,
        "due_s": None,
        "interval_s": None,
        "reader": None,
        "change_shape": None,
        "change_s": None,
        "etag": None,
        "last_modified": None,
        "body_sha256": None,
        "text_sha256": None,
        "status": None,
        "outcome": None,
        "cause": None,
        "detail": None,
        "directives": None,
        "opt_out": None,
        "moved": False,
        "alias_of": None,
        "fetched": True,
        "changed": False,
    }
    row.update(columns)  # type: ignore[typeddict-item]
    return row


def wanted(host_id: int, n: int) -> Wanted:
    return {"host_id": host_id, "n": n, "out_of_reach": []}


def admit(engine: Engine, *rows: Admission) -> None:
    with db.transaction(engine) as tx:
        urls.admit(tx, rows)


def claim(
    engine: Engine, capacity: dict[str, int] | None = None, *, n: int = 1_000, ahead_s: float = 0.0
) -> list[Offer]:
    """Claim and commit. capacity: by default a hundred hosts of the queue that hosts here are made for."""
    with db.transaction(engine) as tx:
        return hosts.claim_due(
            tx,
            capacity={"host-00": 100} if capacity is None else capacity,
            n=n,
            ahead_s=ahead_s,
            offer_s=OFFER_S,
            isolate=ISOLATE,
        )


def contact(host_id: int, token: UUID, **columns: Any) -> Contact:
    """News of a host that answered just now.   columns: fields of Contact, or of its pace"""
    named = {each.name for each in fields(HostPace)}
    pace: dict[str, Any] = {
        "delay_s": 1.0,
        "robots_delay_s": None,
        "history": History(0, (200,), (5,), 0.005),
        "trips": 0,
        "failures": 0,
        "isolate": 0,
        "answered": True,
    }
    pace |= {name: value for name, value in columns.items() if name in named}
    others = {name: value for name, value in columns.items() if name not in named}
    values = {"pause_s": pace["delay_s"], "age_s": 0.0, "address": "127.0.0.1", **others}
    return Contact(host_id=host_id, token=token, pace=HostPace(**pace), **values)


class Aside(Thread):
    """Something done in a thread, whose result or error is asked for with `outcome()`."""

    def __init__(self, act: Callable[[], T]) -> None:
        super().__init__(daemon=True)
        self._act = act
        self._result: object = None
        self._error: BaseException | None = None
        self.start()

    def run(self) -> None:
        try:
            self._result = self._act()
        except BaseException as error:  # noqa: BLE001  # told to whoever asks
            self._error = error

    def outcome(self) -> Any:
        self.join(60)
        assert not self.is_alive(), "still waiting"
        if self._error is not None:
            raise self._error
        return self._result


def backend(tx: Connection) -> int:
    return int(tx.execute(text("SELECT pg_backend_pid()")).scalar_one())


def await_blocked(engine: Engine, by: int, aside: Aside) -> bool:
    """Until somebody waits for a lock of backend `by`: True; or until `aside` has ended without waiting: False."""
    for _ in range(LOOKS):
        waiting = "SELECT count(*) FROM pg_stat_activity WHERE :pid = ANY(pg_blocking_pids(pid))"
        if one(engine, waiting, pid=by):
            return True
        if not aside.is_alive():
            return False
    raise AssertionError("neither blocked nor done")


def _insert(engine: Engine, table: str, columns: dict[str, Any]) -> int:
    with engine.begin() as tx:
        made = tx.execute(schema().tables[table].insert().values(columns).returning(schema().tables[table].c.id))
        return int(made.scalar_one())
