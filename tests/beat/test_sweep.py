"""The sweep: what a crash between two commits left behind, and nothing else."""

import os
import socket
import subprocess
import sys
from typing import Any

import pytest
from sqlalchemy import Engine

from app.beat import sweep as sweeping
from app.beat.sweep import end_leases_of_the_dead, sweep
from app.runtime.process_name import machine
from app.store import db, hosts
from tests.store.rows import ISOLATE, admission, admit, claim, host, make_crawl, make_due_host, make_host, one, sql


def taken(engine: Engine, worker: str = "elsewhere:1", **columns: Any) -> int:
    host_id = make_due_host(engine, **columns)
    (offer,) = claim(engine)
    with db.transaction(engine) as tx:
        hosts.take_up(tx, host_id=offer.host_id, token=offer.token, worker=worker, lease_s=60)
    return host_id


def run_out(engine: Engine) -> None:
    sql(
        engine,
        """UPDATE hosts SET lease_until = now() - interval '1 minute', next_fetch_at = now() - interval '59 s'
           WHERE lease_token IS NOT NULL""",
    )


@pytest.mark.parametrize(
    ("crawl", "url", "columns", "woken"),
    [
        ("active", "queued", {}, 1),
        ("paused", "queued", {}, 0),
        ("finished", "queued", {}, 0),
        ("active", "resting", {}, 0),
        ("active", "queued", {"state": "paused"}, 0),
    ],
)
def test_hosts_that_nobody_woke(engine: Engine, crawl: str, url: str, columns: dict[str, Any], woken: int) -> None:
    crawl_id, host_id = make_crawl(engine), make_host(engine, **columns)
    admit(engine, admission(host_id, crawl_id))
    sql(engine, "UPDATE urls SET state = :s, due_at = now()", s=url)
    sql(engine, "UPDATE crawls SET state = :s, finished_at = CASE WHEN :s = 'finished' THEN now() END", s=crawl)
    assert sweep(engine)["woken"] == woken
    assert (host(engine, host_id)["next_fetch_at"] is not None) is bool(woken)
    assert sweep(engine)["woken"] == 0


def test_a_forgotten_host_is_woken_at_its_pace(engine: Engine) -> None:
    host_id = make_host(engine)
    admit(engine, admission(host_id, make_crawl(engine)))
    sql(engine, "UPDATE hosts SET polite_at = now() + interval '1 hour'")
    sweep(engine)
    row = host(engine, host_id)
    assert row["next_fetch_at"] == row["polite_at"]


@pytest.mark.parametrize("most", [1, 2, 5, 7, 100])
def test_where_there_are_many_hosts_each_has_its_turn(engine: Engine, most: int) -> None:
    crawl_id = make_crawl(engine)
    for host_id in [make_host(engine) for _ in range(7)]:
        admit(engine, admission(host_id, crawl_id))
    woken = []
    for turn in range(7 // most + 1):
        with db.transaction(engine) as tx:
            woken.append(hosts.wake_forgotten(tx, most=most, turn=turn + 5 * (7 // most + 1)))
    assert sum(woken) == 7
    assert max(woken) == min(most, 7)


def test_a_lease_that_ran_out_needs_no_rescue(engine: Engine) -> None:
    """It is simply due again: the sweep leaves the host alone, and tells that its visit was lost once it is claimed."""
    host_id = taken(engine)
    run_out(engine)
    before = {**host(engine, host_id), "now": None}
    assert sweep(engine) == {"woken": 0, "paused": 0, "lost": 0, "pruned": 0}
    assert {**host(engine, host_id), "now": None} == before
    claim(engine)
    assert sweep(engine)["lost"] == 1
    (visit,) = sql(engine, "SELECT ending, ended_at FROM visits")
    assert visit == {"ending": "lost", "ended_at": None}
    assert sweep(engine)["lost"] == 0


def test_a_visit_that_runs_is_not_lost(engine: Engine) -> None:
    taken(engine)
    assert sweep(engine) == {"woken": 0, "paused": 0, "lost": 0, "pruned": 0}


@pytest.mark.parametrize(("over", "paused"), [(False, 0), (True, 1)])
def test_a_pause_under_a_visit_that_never_came_back(engine: Engine, over: bool, paused: int) -> None:
    host_id = taken(engine, name="p.test")
    with db.transaction(engine) as tx:
        hosts.pause(tx, "p.test")
    if over:
        run_out(engine)
    due = host(engine, host_id)["next_fetch_at"]
    assert sweep(engine)["paused"] == paused
    row = host(engine, host_id)
    assert row["state"] == ("paused" if over else "taken")
    if over:
        assert row["polite_at"] >= due, "the dead visit may have sent until its lease ended"


# --- the dead of this machine -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def dead_pid() -> int:
    """Of a process that has ended and been waited for."""
    return subprocess.Popen([sys.executable, "-c", ""]).wait() or int(
        subprocess.check_output([sys.executable, "-c", "import os; print(os.getpid())"])
    )


@pytest.mark.parametrize(
    ("worker", "ended"),
    [
        ("{machine}:{dead}", 1),
        ("{machine}:{alive}", 0),
        ("elsewhere:{dead}", 0),
        ("{host}:{dead}", 0),  # another container or machine of this host name has its own process ids
        ("{host}:0a1b2c3d:{dead}", 0),
    ],
)
def test_leases_of_the_dead_of_this_machine_end_at_once(engine: Engine, dead_pid: int, worker: str, ended: int) -> None:
    name = worker.format(machine=machine(), host=socket.gethostname(), dead=dead_pid, alive=os.getpid())
    host_id = taken(engine, worker=name, delay_s=7.0)
    assert end_leases_of_the_dead(engine) == ended
    row = host(engine, host_id)
    wait = (row["next_fetch_at"] - row["now"]).total_seconds()
    assert (wait <= 7.0) is bool(ended)
    assert (row["lease_until"] <= row["now"]) is bool(ended)
    assert row["state"] == "taken", "the claim sees that a taken lease ran out, and isolates"
    claim(engine, ahead_s=8)
    assert one(engine, "SELECT isolate FROM hosts") == (ISOLATE if ended else 0)


def test_a_machine_whose_name_is_alike_is_another(
    engine: Engine, dead_pid: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Containers may have names with _, which stands for any character in LIKE."""
    mark = machine().rpartition(":")[2]
    taken(engine, worker=f"web-1:{mark}:{dead_pid}", delay_s=7.0)
    monkeypatch.setattr(sweeping, "machine", lambda: f"web_1:{mark}")
    assert end_leases_of_the_dead(engine) == 0
    monkeypatch.setattr(sweeping, "machine", lambda: f"web-1:{mark}")
    assert end_leases_of_the_dead(engine) == 1
