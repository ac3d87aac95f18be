"""No two writers of the frontier wait for each other, nobody is forgotten, and no page is granted twice.

FAULTS=long: for ten minutes, or STRESS_S seconds. The counter of Postgres is asked, not the retries: they would hide a
deadlock.
"""

import os
import random
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from threading import Barrier, Lock

import pytest
from sqlalchemy import Engine, text

from app.crawl.state.worker import Worker
from app.errors import Deadlock
from app.store import db
from tests.crawl.writers import ASLEEP, MISCOUNTED, SETTINGS, Fleet, Webmaster, Writers, overdrawn, plant
from tests.store.rows import Aside, make_crawl, one, sql

Make = Callable[..., Worker]
ACTS, REQUESTS = 4, 40
LONG_S = float(os.environ.get("STRESS_S", 600)) if os.environ.get("FAULTS") == "long" else None
DEADLOCKS = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"


def deadlocks(engine: Engine) -> int:
    """Of this database so far. A session's count is there when it has ended."""
    engine.dispose()
    return int(one(engine, DEADLOCKS))


def test_every_writer_at_once(make: Make, database_url: str) -> None:
    dice = random.Random(7)
    web = Webmaster(dice)
    worker = replace(make(**SETTINGS), send=web.send, where=web.where)
    before = deadlocks(worker.engine)
    plant(worker, web)
    fleet = Fleet(worker)
    writers = Writers(worker, web, dice, database_url)
    try:
        writers.run(least=ACTS, requests=REQUESTS, seconds=LONG_S)
    finally:
        fleet.stop()
    found = {
        "deadlocks": deadlocks(worker.engine) - before,
        "errors": [repr(error) for error in fleet.errors],
        "short gaps": web.short_gaps(),
        "asleep": one(worker.engine, ASLEEP),
        "overdrawn": overdrawn(worker),
        "miscounted": sql(worker.engine, MISCOUNTED),
    }
    print(f"{web.requests} requests, visits {dict(fleet.endings)}, acts {dict(writers.done)}: {found}")
    assert found == {"deadlocks": 0, "errors": [], "short gaps": [], "asleep": 0, "overdrawn": [], "miscounted": []}


# --- what is done again -----------------------------------------------------------------------------------------


def test_a_deadlock_is_counted_and_its_transaction_done_again(engine: Engine) -> None:
    """Two that lock two crawls in opposite orders: one is undone, at times both are, and both come through."""
    first, second = make_crawl(engine, "first"), make_crawl(engine, "second")
    before, meeting, tries, counting = deadlocks(engine), Barrier(2), [0], Lock()

    def lock(*crawl_ids: int) -> None:
        with counting:
            tries[0] += 1
            meets = tries[0] <= 2
        with db.transaction(engine) as tx:
            for place, crawl_id in enumerate(crawl_ids):
                if place and meets:
                    meeting.wait(60)
                tx.execute(text("UPDATE crawls SET revision = revision + 1 WHERE id = :id"), {"id": crawl_id})

    asides = [Aside(partial(db.repeat, partial(lock, *order))) for order in ((first, second), (second, first))]
    for aside in asides:
        aside.outcome()
    undone = deadlocks(engine) - before
    assert undone >= 1
    assert tries[0] == 2 + undone
    assert [row["revision"] for row in sql(engine, "SELECT revision FROM crawls")] == [3, 3]


def test_what_deadlocks_again_and_again_is_given_up() -> None:
    tries = []

    def act() -> None:
        tries.append(1)
        raise Deadlock("Postgres", "deadlock detected")

    with pytest.raises(Deadlock):
        db.repeat(act)
    assert len(tries) == db.TRIES
