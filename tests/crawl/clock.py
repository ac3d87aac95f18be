"""Time that passes without anybody waiting for it: every moment in the database is moved into the past.

`STEP` are the settings for it: a visit waits for nothing itself, and nobody is claimed ahead of time. `work` is for
what only a real clock can tell: the gaps that an origin sees.
"""

from collections.abc import Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from sqlalchemy import Engine

from app.beat import claim
from app.beat.finish import finish
from app.beat.promote import promote
from app.clock import monotonic
from app.crawl.state.worker import Worker
from app.crawl.visit.visit import VisitReport, visit
from app.store import crawls, db
from app.store.host_rows import Offer
from tests.crawl.loop import go
from tests.store.rows import sql

HOUR, DAY = 3_600.0, 86_400.0
WORK_S = 60.0  # no test's crawl takes longer
ROUND_S = 0.01  # of a beat
SLACK_S = 2.0  # of two clocks and of whole seconds
TICK_S = 0.001  # of moments that were written one after the other
STEP: dict[str, object] = {"dispatch_tick_s": 0.001, "linger_s": 0.0}


def later(engine: Engine, seconds: float) -> None:
    """Robots.txt that was had stays fresh: it is only asked for again where it could not be had."""
    ago = f"- interval '{seconds} seconds'"
    sql(engine, f"UPDATE urls SET due_at = due_at {ago} WHERE retrying")
    sql(engine, f"UPDATE robots SET expires_at = expires_at {ago} WHERE availability = 'unreachable'")
    sql(
        engine,
        f"UPDATE budgets SET next_at = next_at {ago}, queue_at = queue_at {ago}, blocked_until = blocked_until {ago}",
    )
    sql(
        engine,
        f"""UPDATE hosts SET next_fetch_at = next_fetch_at {ago}, polite_at = polite_at {ago},
                             blocked_until = blocked_until {ago}, lease_until = lease_until {ago},
                             last_contact_at = last_contact_at {ago}""",
    )


def step(worker: Worker, *, after_s: float = 0.0, threads: int = 1) -> list[VisitReport]:
    """So much later, one tick of beat and of promote, and the visits that it offers."""
    if after_s:
        later(worker.engine, after_s)
    promote(worker.engine)
    return go(worker, threads=threads)


def steps(workers: Worker | Sequence[Worker], times: int, *, after_s: float = HOUR) -> None:
    """So many, each so much later; workers take turns, as workers of a fleet do."""
    every = [workers] if isinstance(workers, Worker) else workers
    for number in range(times):
        step(every[number % len(every)], after_s=after_s)


def work(worker: Worker, *, threads: int) -> None:
    """A worker with a beat of its own until every crawl has ended, in real time: who is slow holds up its own thread
    only."""
    busy: list[Future[VisitReport]] = []
    until = monotonic() + WORK_S
    with ThreadPoolExecutor(threads) as pool:

        def offer(offers: Iterable[Offer]) -> None:
            busy.extend(pool.submit(visit, worker, each.host_id, each.token) for each in offers)

        while monotonic() < until:
            claim.dispatch(worker.engine, worker.settings, offer, worker.rng)
            promote(worker.engine)
            finish(worker.engine)
            with db.transaction(worker.engine) as tx:
                is_over = not any(crawl.state == "active" for crawl in crawls.every(tx))
            if is_over:
                break
            worker.stopping.wait(ROUND_S)
    assert is_over, f"still active: {sql(worker.engine, 'SELECT name, next_fetch_at, resting_because FROM hosts')}"
    for each in busy:
        each.result()


def host(engine: Engine, name: str | None = None) -> dict[str, Any]:
    """The row of the only host, or of this one; rests_s and waits_s count from the end of the last request."""
    rows = sql(
        engine,
        """SELECT *, clock_timestamp() AS now,
                  CAST(extract(epoch FROM blocked_until - last_contact_at) AS double precision) AS rests_s,
                  CAST(extract(epoch FROM next_fetch_at - last_contact_at) AS double precision) AS waits_s,
                  CAST(extract(epoch FROM polite_at - last_contact_at) AS double precision) AS polite_s
           FROM hosts WHERE CAST(:name AS text) IS NULL OR name = :name""",
        name=name,
    )
    (row,) = rows
    return row


def logged(engine: Engine, column: str, kind: str = "page") -> list[Any]:
    """Of every request to a page, in order."""
    return [
        row["it"]
        for row in sql(engine, f"SELECT {column} AS it FROM fetches WHERE kind = :kind ORDER BY id", kind=kind)
    ]


def logged_delays(engine: Engine) -> list[float]:
    """In force at every request, robots.txt included."""
    return [row["delay_s"] for row in sql(engine, "SELECT delay_s FROM fetches ORDER BY id")]
