"""FT7 and FT9 to FT11 of docs/reliability.md: what happens to messages, and to the broker."""

import random
import time
from collections.abc import Callable

import pytest
import redis

from app.celery import make_app
from tests.faults.echo import Echo
from tests.faults.kit import MakeRig, Rig
from tests.faults.pace import quick_or_long

pytestmark = pytest.mark.faults


def test_ft7_every_message_five_times(make_rig: MakeRig) -> None:
    """every message five times, and all of them again after the crawl: not one request more."""
    rig = make_rig(workers=0, beats=0)
    with Echo(rig.valkey.url, copies=4) as echo:
        rig.start()
        rig.seed()
        rig.until_finished()
        requests = len(rig.web.lines())
        for beat in rig.fleet.beats:
            beat.kill()
        echo.replay()
        rig.until(lambda: echo.queued() == 0 and is_idle(rig), "all messages are dealt with")
        rig.figures |= {"messages": len(echo.seen), "requests_by_replay": len(rig.web.lines()) - requests}
    rig.judge()
    visits = sum(queue.startswith(b"host-") for queue, _ in echo.seen)
    assert visits >= len(rig.web.hosts), "messages of visits were among them"
    assert rig.figures["requests_by_replay"] == 0
    assert rig.figures["requests"] == len(rig.web.truth) + 2 * len(rig.web.hosts)


def is_idle(rig: Rig) -> bool:
    """No worker has a task."""
    app = make_app(rig.settings.model_copy(update={"broker_url": rig.valkey.url}))
    try:
        tasks = app.control.inspect(timeout=2).active() or {}
    finally:
        app.close()
    return len(tasks) == len(rig.fleet.workers) and not any(tasks.values())


def test_ft9_flushall(make_rig: MakeRig) -> None:
    """FLUSHALL each second for 6 s, or each 10 s for 2 min: nothing missed, no repeats, the rate over 80 %, and no
    InconsistencyError."""
    every_s, times = quick_or_long((1.0, 6), (10.0, 12))
    rig = make_rig(pages=quick_or_long(40, 500))
    rig.seed()
    rig.until_requests(60)
    began, before = time.monotonic(), len(rig.web.lines())
    rig.more_requests(60)
    rate = (len(rig.web.lines()) - before) / (time.monotonic() - began)
    began, before = time.monotonic(), len(rig.web.lines())
    with rig.valkey.client() as client:
        for _ in range(times):
            with rig.fault("FLUSHALL"):
                client.flushall()
            rig.last(every_s)
    kept = (len(rig.web.lines()) - before) / (time.monotonic() - began) / rate
    rig.until_finished()
    rig.figures |= {
        "flushes": times,
        "rate_kept": round(kept, 2),
        "inconsistency_errors": rig.fleet.count("InconsistencyError"),
    }
    rig.judge()
    assert rig.figures["inconsistency_errors"] == 0
    assert kept > quick_or_long(0.0, 0.8), "others share the machine with the quick form"


def test_ft10_the_broker_is_killed(make_rig: MakeRig, rng: random.Random) -> None:
    """Valkey kill -9, nothing kept, away for 1 to 4 s (or 60) and back, 3 times or 50: settled pages grow within
    30 s of its return, no worker started anew."""
    cycles = quick_or_long(3, 50)
    rig = make_rig(pages=quick_or_long(36, 600))
    rig.seed()
    rig.until_requests(40)
    fleet, resumed = list(rig.fleet.children), []
    for _ in range(cycles):
        rig.more_requests(rng.randint(5, 30))
        with rig.fault("Valkey is away"):
            rig.valkey.kill()
            rig.last(rng.choice(quick_or_long((1.0, 2.0, 4.0), (1.0, 3.0, 10.0, 60.0))))
            rig.valkey.start()
        back_at, settled = time.monotonic(), rig.settled()
        rig.until(lambda n=settled: rig.settled() > n or rig.is_finished(), "newly settled pages", 30)  # type: ignore[misc]
        resumed.append(time.monotonic() - back_at)
    rig.until_finished()
    rig.figures |= {"cycles": cycles, "progress_s": round(max(resumed), 1)}
    rig.judge(recovered_s=30)
    assert all(child.is_alive for child in fleet), "no worker ended"


def oom(client: "redis.Redis") -> None:
    client.config_set("maxmemory", 1)


def plenty(client: "redis.Redis") -> None:
    client.config_set("maxmemory", 0)


def replica(client: "redis.Redis") -> None:
    client.replicaof("127.0.0.1", "1")


def master(client: "redis.Redis") -> None:
    client.replicaof("NO", "ONE")


# what is done to Valkey, how it ends
REFUSALS = [pytest.param(oom, plenty, id="out of memory"), pytest.param(replica, master, id="read-only")]


@pytest.mark.parametrize(("begin", "end"), REFUSALS)
def test_ft11_the_broker_refuses_writes(
    make_rig: MakeRig, begin: Callable[["redis.Redis"], None], end: Callable[["redis.Redis"], None]
) -> None:
    """Valkey out of memory (noeviction), or a read-only replica, for 4 s or 60: nothing quarantined, and it resumes."""
    rig = make_rig(pages=24)
    rig.seed()
    rig.until_requests(50)
    fleet = list(rig.fleet.children)
    with rig.valkey.client() as client:
        with rig.fault("Valkey refuses writes"):
            begin(client)
            rig.last(quick_or_long(4.0, 60.0))
            end(client)
        back_at, settled = time.monotonic(), rig.settled()
        rig.until(lambda: rig.settled() > settled or rig.is_finished(), "newly settled pages", 30)
    rig.figures |= {"progress_s": round(time.monotonic() - back_at, 1)}
    rig.until_finished()
    rig.judge(recovered_s=30)
    assert all(child.is_alive for child in fleet), "no worker ended"
