"""(g) Rows that everybody writes: what a fleet's throughput is where each transaction updates one row, and where lots
or memory spare it.

THREADS threads in each of some processes do what a settle or a start does with the row, on an embedded Postgres, for
some seconds a form; the forms take turns. before: the row itself, in the transaction; after: as the product does it.
Bar: 3 × before.

    max_pages    a settle that picks 2 pages of a crawl with a large budget: a statement before, one after, commit
    ceiling      a start under the fleet's ceiling of 20,000/s, drawn by itself or in lots, and waited for
    suppression  a settle that has met a template's broken link
"""

import argparse
import multiprocessing
import threading
import time
from collections import Counter
from collections.abc import Callable
from hashlib import sha256
from typing import Any

from sqlalchemy import Engine, text

from app.crawl.frontier.admit import refusal_key
from app.crawl.state.ceiling import Ceiling
from app.crawl.state.grants import Grants
from app.crawl.state.seen import KnownKeys
from app.local.services import start_postgres
from app.store import budgets, crawls, db, suppressions
from app.store.budgets import Budget, BudgetKind, StartTerms
from bench import tiptoe
from bench.claim import empty_database
from bench.report import Cell, save, table

PROCESSES, THREADS, ROUNDS = 2, 12, 3
BAR = 3.0
LEASE_S = 60.0
PER_S = 20_000.0  # a ceiling that its row alone is never near; in lots it is what limits
LINK: suppressions.Suppression = {
    "crawl_id": 1,
    "key": sha256(b"http://[broken").digest(),
    "reason": "invalid",
    "url": "http://[broken",
    "detail": None,
    "found_on": None,
}
_WORK = text("UPDATE hosts SET unfetched = unfetched + 1 WHERE id = :id")
_CRAWL = "INSERT INTO crawls (name, scope, max_pages) VALUES ('bench', 'any', 1000000000)"
_HOSTS = "INSERT INTO hosts (name, queue, delay_s) SELECT 'h' || n, 'q', 0 FROM generate_series(1, 1000) AS n"
Act = Callable[[Engine, int], None]


def main(arguments: argparse.Namespace) -> None:
    """Measure each; print and save transactions a second and the ratio."""
    seconds = min(arguments.seconds / (len(FORMS) * 2 * ROUNDS), 5.0)
    with tiptoe.fresh_home() as home:
        running = start_postgres(home, lambda line: print(f"  {line}"))
        try:
            engine = empty_database(running.url, "bench_hot_rows")
            with engine.begin() as tx:
                tx.execute(text(_CRAWL))
                tx.execute(text(_HOSTS))
            counts = _run(engine.url.render_as_string(hide_password=False), seconds)
            engine.dispose()
        finally:
            running.release()
    rows = [_row(what, counts, seconds * ROUNDS) for what in FORMS]
    table(f"hot rows: transactions a second of {PROCESSES} × {THREADS} threads (bar: {BAR:g} × before)", rows)
    save("hot_rows", {"rows": rows, "seconds": seconds * ROUNDS})


def _row(what: str, counts: Counter[tuple[str, str]], seconds: float) -> dict[str, Cell]:
    before, after = counts[what, "before"] / seconds, counts[what, "after"] / seconds
    return {"row": what, "before/s": round(before), "after/s": round(after), "ratio": round(after / before, 1)}


def _run(url: str, seconds: float) -> Counter[tuple[str, str]]:
    """How many acts all processes did of each form; all are at the same one at a time."""
    context = multiprocessing.get_context("spawn")
    results: Any = context.Queue()
    meeting = context.Barrier(PROCESSES)
    processes = [
        context.Process(target=_work, args=(url, seconds, number, meeting, results)) for number in range(PROCESSES)
    ]
    for each in processes:
        each.start()
    done: Counter[tuple[str, str]] = Counter()
    for _ in processes:
        done.update(results.get(timeout=120 + 10 * seconds * len(FORMS) * ROUNDS))
    for each in processes:
        each.join()
    return done


def _work(url: str, seconds: float, number: int, meeting: Any, results: Any) -> None:
    engine = db.connect(url, pool_size=THREADS)
    done: Counter[tuple[str, str]] = Counter()
    for _ in range(ROUNDS):
        for what, forms in FORMS.items():
            for form, make in forms.items():
                meeting.wait()
                done[what, form] += _repeat(engine, make(), seconds, 1 + number * THREADS)
    engine.dispose()
    results.put(done)


def _repeat(engine: Engine, act: Act, seconds: float, first_host: int) -> int:
    """In THREADS threads, each with a host of its own."""
    counts = [0] * THREADS
    ready, until = threading.Barrier(THREADS), [0.0]

    def repeat(thread: int) -> None:
        act(engine, first_host + thread)
        if ready.wait() == 0:
            until[0] = time.monotonic() + seconds
        ready.wait()
        while time.monotonic() < until[0]:
            act(engine, first_host + thread)
            counts[thread] += 1

    threads = [threading.Thread(target=repeat, args=(thread,)) for thread in range(THREADS)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    return sum(counts)


def _pages_by_row() -> Act:
    def settle(engine: Engine, host_id: int) -> None:
        with db.transaction(engine) as tx:
            db.run(tx, _WORK, {"id": host_id})
            crawls.reserve(tx, crawl_id=1, n=2)
            db.run(tx, _WORK, {"id": host_id})

    return settle


def _pages_by_lots() -> Act:
    grants = Grants()

    def settle(engine: Engine, host_id: int) -> None:
        grants.top_up(engine, time.monotonic(), LEASE_S)
        with db.transaction(engine) as tx:
            db.run(tx, _WORK, {"id": host_id})
            found = grants.take(1, 2, time.monotonic())
            if found < 2:
                crawls.reserve(tx, crawl_id=1, n=2 - found)
            db.run(tx, _WORK, {"id": host_id})

    return settle


def _start_by_row() -> Act:
    wanted = [Budget(BudgetKind.ALL, "all", 1 / PER_S)]

    def start(engine: Engine, host_id: int) -> None:
        with db.transaction(engine) as tx:
            budgets.reserve(tx, wanted, StartTerms(host_id, ready_in_s=0.01, horizon_s=1.0))

    return start


def _start_by_lots() -> Act:
    kept = Ceiling(PER_S)

    def start(engine: Engine, host_id: int) -> None:
        time.sleep(kept.take(engine, horizon_s=1.0))

    return start


def _link_by_row() -> Act:
    def settle(engine: Engine, host_id: int) -> None:
        with db.transaction(engine) as tx:
            db.run(tx, _WORK, {"id": host_id})
            suppressions.note(tx, [LINK])
            db.run(tx, _WORK, {"id": host_id})

    return settle


def _link_by_memory() -> Act:
    known = KnownKeys()

    def settle(engine: Engine, host_id: int) -> None:
        rows = [] if known.has(1, refusal_key(LINK["key"])) else [LINK]
        with db.transaction(engine) as tx:
            db.run(tx, _WORK, {"id": host_id})
            suppressions.note(tx, rows)
            db.run(tx, _WORK, {"id": host_id})
        known.add(1, refusal_key(LINK["key"]))

    return settle


FORMS: dict[str, dict[str, Callable[[], Act]]] = {
    "max_pages": {"before": _pages_by_row, "after": _pages_by_lots},
    "ceiling": {"before": _start_by_row, "after": _start_by_lots},
    "suppression": {"before": _link_by_row, "after": _link_by_memory},
}
