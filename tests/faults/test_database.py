"""FT12, FT14 and FT15 of docs/reliability.md: what happens to Postgres."""

import os
import random
import signal
import time

import psycopg
import pytest

from tests.faults.kit import SLOTS, MakeRig, Rig
from tests.faults.pace import quick_or_long

pytestmark = pytest.mark.faults


def test_ft12_postgres_crashes(make_rig: MakeRig, rng: random.Random) -> None:
    """Postgres torn down in mid-commit (stop -m immediate, or kill -9 of a backend), 3 times or 20: what was
    acknowledged is there, workers reconnect within 10 s, none ends."""
    crashes = quick_or_long(3, 20)
    rig = make_rig(pages=quick_or_long(36, 300), delay_s=0.2)
    rig.seed()
    rig.until_requests(40)
    fleet, lost = list(rig.fleet.children), 0
    for number in range(crashes):
        rig.more_requests(rng.randint(10, 40))
        acknowledged = settled_urls(rig)
        with rig.fault("Postgres crashes", total=True):
            in_mid_commit(rig)
            if number % 2:
                kill_a_backend(rig)
            else:
                rig.postgres.crash()
                rig.postgres.start()
            rig.until(lambda: answers(rig), "Postgres has recovered")
        lost += len(acknowledged - settled_urls(rig))
    rig.until_finished()
    logged = sum(int(str(event["fetches"])) for event in rig.fleet.events("visit.settled"))
    stored = rig.sql("SELECT count(*) AS n FROM fetches WHERE NOT fenced")[0]["n"]
    rig.figures |= {"crashes": crashes, "acknowledged_lost": lost, "settles_logged": logged, "settles_stored": stored}
    rig.judge(kills=crashes, slots=2 * SLOTS)
    assert lost == 0
    assert stored >= logged
    assert all(child.is_alive for child in fleet), "no worker ended"


def settled_urls(rig: Rig) -> set[str]:
    return {row["url"] for row in rig.sql("SELECT url FROM urls WHERE state <> 'queued'")}


def in_mid_commit(rig: Rig) -> None:
    """Look for a settle at work; after a second any moment will do."""
    query = (
        "SELECT pid FROM pg_stat_activity "
        "WHERE application_name = 'tiptoe' AND state = 'active' AND query ~ 'COMMIT|UPDATE|INSERT'"
    )
    end = time.monotonic() + 1.0
    while time.monotonic() < end and not rig.sql(query):
        pass


def kill_a_backend(rig: Rig) -> None:
    """kill -9 of one: Postgres then ends all others and recovers."""
    busy = rig.sql("SELECT pid FROM pg_stat_activity WHERE application_name = 'tiptoe' ORDER BY state = 'active' DESC")
    os.kill(busy[0]["pid"], signal.SIGKILL)
    rig.until(lambda: not answers(rig), "Postgres ends all others")


def answers(rig: Rig) -> bool:
    try:
        return bool(rig.sql("SELECT 1 AS one"))
    except psycopg.OperationalError:
        return False


def test_ft14_backends_are_terminated(make_rig: MakeRig, rng: random.Random) -> None:
    """pg_terminate_backend of a random backend each 0.4 s, 15 times, or each second, 120 times: nothing quarantined."""
    every_s, times = quick_or_long((0.4, 15), (1.0, 120))
    rig = make_rig(pages=quick_or_long(30, 400))
    rig.seed()
    rig.until_requests(40)
    fleet = list(rig.fleet.children)
    for _ in range(times):
        with rig.fault("a backend is terminated"):
            pids = [
                row["pid"]
                for row in rig.sql("SELECT pid FROM pg_stat_activity WHERE application_name = 'tiptoe' ORDER BY pid")
            ]
            if pids:
                rig.sql("SELECT pg_terminate_backend(%s)", rng.choice(pids))
        rig.last(every_s)
    rig.until_finished()
    rig.figures["terminated"] = times
    rig.judge(kills=times, slots=1)
    assert all(child.is_alive for child in fleet), "no worker ended"


def test_ft15_hosts_is_locked(make_rig: MakeRig) -> None:
    """the table hosts locked for L + 2 s, or 60 s: no request without a lease, none on one that ran out while
    waiting."""
    rig = make_rig(pages=24, delay_s=0.2)
    rig.seed()
    rig.until_requests(60)
    locked_s = quick_or_long(rig.pace.lease_s + 2, 60.0)
    with rig.fault("hosts is locked"), psycopg.connect(rig.database_url) as connection:
        connection.execute("LOCK TABLE hosts IN ACCESS EXCLUSIVE MODE")
        locked_at = time.monotonic()
        rig.last(locked_s)
        unlocked_at = time.monotonic()
    rig.until_finished()
    starts = [line.start for line in rig.web.lines() if locked_at < line.start < unlocked_at]
    late = [start for start in starts if start > locked_at + rig.pace.lease_s]
    rig.figures |= {"locked_s": round(locked_s), "requests_locked": len(starts), "requests_leaseless": len(late)}
    rig.judge(kills=1, slots=2 * SLOTS)
    assert late == []
