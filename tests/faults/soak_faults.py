"""The faults that a soak draws from: each done and undone by one function, over before it returns.

The eldest worker is stopped at times but never killed, so that somebody's memory can be told over the whole run.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import psycopg

from tests.faults.fleet import Child
from tests.faults.kit import SLOTS, Rig

WORKERS, BEATS = 3, 2
GONE_S = 60.0  # a SIGTERM is answered within
Act = Callable[[Rig, random.Random], frozenset[int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """tears: visits that it may tear off at the most.   is_total: nobody can crawl meanwhile.

    act returns the requests that were in flight when their worker was stopped.
    """

    name: str
    act: Act
    tears: int = 0
    is_total: bool = False


def mortals(rig: Rig) -> Sequence[Child]:
    """Workers but the eldest."""
    return rig.fleet.workers[1:]


def kill_worker(rig: Rig, rng: random.Random) -> frozenset[int]:
    rng.choice(mortals(rig)).kill()
    rig.fleet.worker()
    return frozenset()


def end_worker(rig: Rig, rng: random.Random) -> frozenset[int]:
    worker = rng.choice(mortals(rig))
    worker.terminate()
    worker.ended_after_s(GONE_S)
    rig.fleet.worker()
    return frozenset()


def kill_beat(rig: Rig, rng: random.Random) -> frozenset[int]:
    rng.choice(rig.fleet.beats).kill()
    rig.fleet.beat()
    return frozenset()


def stop_worker(rig: Rig, rng: random.Random) -> frozenset[int]:
    """For less than a lease, or longer."""
    worker = rng.choice(rig.fleet.workers)
    worker.freeze()
    held = frozenset(line.id for line in rig.web.in_flight() if line.worker == worker.name)
    rig.last(rng.uniform(1.0, rig.pace.lease_s + 3.0))
    worker.thaw()
    return held


def flush(rig: Rig, rng: random.Random) -> frozenset[int]:
    with rig.valkey.client() as client:
        client.flushall()
    return frozenset()


def kill_valkey(rig: Rig, rng: random.Random) -> frozenset[int]:
    rig.valkey.kill()
    rig.last(rng.uniform(0.5, 4.0))
    rig.valkey.start()
    return frozenset()


def stop_valkey(rig: Rig, rng: random.Random) -> frozenset[int]:
    rig.valkey.freeze()
    rig.last(rng.uniform(0.5, 4.0))
    rig.valkey.thaw()
    return frozenset()


def crash_postgres(rig: Rig, rng: random.Random) -> frozenset[int]:
    rig.postgres.crash()
    rig.postgres.start()
    rig.until(lambda: answers(rig), "Postgres has recovered")
    return frozenset()


def stop_postgres(rig: Rig, rng: random.Random) -> frozenset[int]:
    rig.postgres.freeze()
    rig.last(rng.uniform(0.5, 4.0))
    rig.postgres.thaw()
    return frozenset()


def end_backend(rig: Rig, rng: random.Random) -> frozenset[int]:
    rows = rig.sql("SELECT pid FROM pg_stat_activity WHERE application_name = 'tiptoe' ORDER BY pid")
    if rows:
        rig.sql("SELECT pg_terminate_backend(%s)", rng.choice(rows)["pid"])
    return frozenset()


def lock_hosts(rig: Rig, rng: random.Random) -> frozenset[int]:
    """For less than a lease, or longer."""
    with psycopg.connect(rig.database_url) as connection:
        connection.execute("LOCK TABLE hosts IN ACCESS EXCLUSIVE MODE")
        rig.last(rng.uniform(1.0, rig.pace.lease_s + 2.0))
    return frozenset()


def answers(rig: Rig) -> Any:
    try:
        return rig.sql("SELECT 1 AS one")
    except psycopg.OperationalError:
        return False


FAULTS = (
    Drawn(name="kill -9 of a worker", act=kill_worker, tears=SLOTS),
    Drawn(name="SIGTERM to a worker", act=end_worker),
    Drawn(name="SIGSTOP of a worker", act=stop_worker, tears=SLOTS),
    Drawn(name="kill -9 of a beat", act=kill_beat),
    Drawn(name="FLUSHALL", act=flush),
    Drawn(name="Valkey is killed", act=kill_valkey),
    Drawn(name="Valkey is stopped", act=stop_valkey),
    Drawn(name="Postgres crashes", act=crash_postgres, tears=WORKERS * SLOTS, is_total=True),
    Drawn(name="Postgres is stopped", act=stop_postgres, tears=WORKERS * SLOTS, is_total=True),
    Drawn(name="a backend is terminated", act=end_backend, tears=1),
    Drawn(name="hosts is locked", act=lock_hosts, tears=WORKERS * SLOTS),
)
