"""FT1 to FT6 and FT8 of docs/reliability.md: what happens to the crawler's own processes."""

import random
import time
from collections.abc import Callable, Sequence

import pytest

from tests.faults.fleet import Child
from tests.faults.kit import SLOTS, MakeRig, Rig
from tests.faults.log_judge import gaps_after
from tests.faults.pace import at_most_s, quick_or_long
from tests.faults.servers import OwnValkey
from tests.faults.web import Line

pytestmark = pytest.mark.faults


def test_ft0_nothing(make_rig: MakeRig) -> None:
    """nothing, for comparison: every page once."""
    rig = make_rig()
    rig.seed()
    rig.until_finished()
    rig.judge()
    assert rig.figures["requests"] == len(rig.web.truth) + 2 * len(rig.web.hosts)  # robots.txt and /sitemap.xml


def test_ft1_kill_9_in_mid_fetch(make_rig: MakeRig, rng: random.Random) -> None:
    """kill -9 of a worker in mid-fetch, 8 times or 20: repeats <= kills x slots; each killed URL done within L + P.

    Pages are held open for a second, so that there is a middle. Nobody is killed over a page that would be poison then:
    three deaths in isolation make it that, by definition.
    """
    kills = quick_or_long(8, 20)
    pages = quick_or_long(64, 90)  # a worker may have all hosts in hand: there must be something left for the last one
    rig = make_rig(pages=pages, workers=3)
    for page in range(2, pages, 3):
        rig.web.hold(f"/page-{page}.html", 1.0)
    rig.seed()
    torn: list[tuple[float, set[str]]] = []
    for _ in range(kills):
        rig.more_requests(rng.randint(4, 12))
        victim = rig.until(lambda: may_be_killed(rig), "a worker in mid-fetch")
        with rig.fault("kill -9 of a worker"):
            victim.kill()
        torn.append((rig.faults[-1].end, taken_by(rig, victim)))
        rig.fleet.worker()
    rig.until_finished()
    killed = [line for line in rig.web.lines() if line.gone]
    again_s = max(until_again_s(rig.web.lines(), line, torn) for line in killed)
    rig.figures |= {
        "kills": kills,
        "torn_off": sum(len(hosts) for _, hosts in torn),
        "killed_urls": len(killed),
        "again_s": round(again_s, 1),
    }
    rig.judge(kills=kills)
    assert killed
    assert again_s <= at_most_s(rig.pace.recovered_s)


def may_be_killed(rig: Rig) -> Child | None:
    """A worker with a request under way, no page of its hosts with a death behind it that was counted; and another is
    at work."""
    at_work = {line.worker for line in rig.web.lines()}
    fetching = {line.worker for line in rig.web.in_flight()}
    rows = rig.sql("SELECT h.name FROM hosts h JOIN urls u ON u.host_id = h.id WHERE u.parse_failures > 1")
    dying = {row["name"] for row in rows}
    if sum(worker.name in at_work for worker in rig.fleet.workers) < 2:
        return None
    found = (each for each in rig.fleet.workers if each.name in fetching and not dying & taken_by(rig, each))
    return next(found, None)


def taken_by(rig: Rig, worker: Child) -> set[str]:
    """Hosts that it visits."""
    rows = rig.sql(
        "SELECT h.name FROM hosts h JOIN visits v ON v.token = h.lease_token WHERE h.state = 'taken' AND "
        "v.worker LIKE %s",
        f"%:{worker.pid}",
    )
    return {row["name"] for row in rows}


def until_again_s(lines: Sequence[Line], killed: Line, torn: Sequence[tuple[float, set[str]]]) -> float:
    """Seconds until the URL was asked for again, from the last kill that tore a visit off its host before that."""
    again = min(
        line.start
        for line in lines
        if (line.host, line.path) == (killed.host, killed.path) and line.start > killed.start
    )
    return again - max(at for at, hosts in torn if killed.host in hosts and at < again)


def test_ft2_kill_9_of_everything(make_rig: MakeRig) -> None:
    """kill -9 of the whole fleet at 10, 50 and 90 %: the same, and after a restart no second robots.txt of a host that
    the database knows."""
    rig = make_rig(delay_s=0.2)
    rig.seed()
    again = 0
    for share in (0.1, 0.5, 0.9):
        rig.until_share(share)
        with rig.fault("kill -9 of all", total=True):
            for child in rig.fleet.children:
                if child.is_alive:
                    child.kill()
            known = {row["name"] for row in rig.sql("SELECT h.name FROM robots r JOIN hosts h ON h.id = r.host_id")}
            killed_at = time.monotonic()
            rig.start()
            rig.until_ready()
        rig.until(lambda at=killed_at: any(line.start > at for line in rig.web.lines()), "the crawl goes on")  # type: ignore[misc]
        again += sum(
            line.path == "/robots.txt" and line.start > killed_at and line.host in known for line in rig.web.lines()
        )
    rig.until_finished()
    rig.figures["robots_again"] = again
    rig.judge(kills=3, slots=2 * SLOTS)
    assert again == 0


def test_ft3_sigterm(make_rig: MakeRig) -> None:
    """SIGTERM to a worker, then to beat and all workers: 0 repeats, exit within the request's deadline + 5 s, 0 leases
    left."""
    rig = make_rig(pages=24)
    for page in (3, 8, 13, 18):
        rig.web.hold(f"/page-{page}.html", 1.0)
    rig.seed()
    rig.until_share(0.2)
    worker = rig.fleet.named(rig.until_in_flight(rig.fleet.workers).worker or "")
    with rig.fault("SIGTERM to a worker"):
        took = [stop_s(rig, [worker.name])]
    left = taken_by(rig, worker)
    rig.fleet.worker()
    rig.until_share(0.6)
    with rig.fault("SIGTERM to all", total=True):
        took.append(stop_s(rig, [child.name for child in rig.fleet.beats]))
        took.append(stop_s(rig, [child.name for child in rig.fleet.workers]))
        left |= {row["name"] for row in rig.sql("SELECT name FROM hosts WHERE state IN ('offered', 'taken')")}
        rig.start()
        rig.until_ready()
    rig.until_finished()
    rig.figures |= {"stopped_s": round(max(took), 1), "leases_left": len(left)}
    rig.judge()
    assert max(took) <= at_most_s(rig.settings.request_deadline_s + 5)
    assert not left


# what is done to Valkey, how it ends
LOSSES = [
    pytest.param(OwnValkey.freeze, OwnValkey.thaw, id="broker silent"),
    pytest.param(OwnValkey.kill, OwnValkey.start, id="broker gone"),
]


@pytest.mark.parametrize(("begin", "end"), LOSSES)
def test_ft3_sigterm_without_a_broker(
    make_rig: MakeRig, begin: Callable[[OwnValkey], None], end: Callable[[OwnValkey], None]
) -> None:
    """SIGTERM to beat and all workers, whose broker is silent or gone: beat ends within 5 s, the workers within the
    request's deadline + 15 s, 0 leases left, and the next ones go on."""
    rig = make_rig(hosts=4, pages=quick_or_long(30, 60), visit_max_s=1.0)  # some end meanwhile, and ring
    rig.seed()
    rig.until_share(0.2)
    with rig.fault("SIGTERM without a broker", total=True):
        begin(rig.valkey)
        rig.last(3.0)  # beat sends a message each second, a worker says every other second that it lives
        beat_s = stop_s(rig, [child.name for child in rig.fleet.beats])
        workers_s = stop_s(rig, [child.name for child in rig.fleet.workers])
        left = rig.sql("SELECT name FROM hosts WHERE state = 'taken'")
        end(rig.valkey)
        rig.start()
        rig.until_ready()
    rig.until_finished()
    rig.figures |= {"beat_s": round(beat_s, 1), "workers_s": round(workers_s, 1), "leases_left": len(left)}
    rig.judge()
    assert beat_s <= at_most_s(5)
    assert workers_s <= at_most_s(rig.settings.request_deadline_s + 15)
    assert not left


def stop_s(rig: Rig, names: list[str]) -> float:
    """SIGTERM to all at once; seconds until the last has ended."""
    children = [rig.fleet.named(name) for name in names]
    for child in children:
        child.terminate()
    return max(child.ended_after_s(60) for child in children)


def test_ft4_a_zombie_writes(make_rig: MakeRig) -> None:
    """SIGSTOP of a worker for 3 L, then SIGCONT: others finish its pages, its writes are refused, and it sends nothing
    without a fresh lease.

    Exempt is what was in flight when the signal came. The delay is short enough for a visit to wait within its lease:
    that is where the signal finds most of them, with the request still to come. One worker has all hosts then; the
    other comes after. No budget of an address makes up for a lease that nobody looks at.
    """
    rig = make_rig(hosts=4, pages=quick_or_long(90, 180), delay_s=0.2, workers=1)
    rig.web.hold("/page-7.html", 1.0)
    rig.seed()
    rig.until_requests(24)
    zombie = rig.fleet.named(rig.until_in_flight(rig.fleet.workers).worker or "")
    with rig.fault("SIGSTOP"):
        zombie.freeze()
    rig.fleet.worker()
    held = frozenset(line.id for line in rig.web.lines() if line.worker == zombie.name and line.end is None)
    rig.last(3 * rig.pace.lease_s)
    with rig.fault("SIGCONT"):
        zombie.thaw()
    thawed_at = time.monotonic()
    rig.until(lambda: any(rig.fleet.events("visit.fenced")), "the zombie's write is refused")
    rig.until_finished()
    own = [line for line in rig.web.lines() if line.worker == zombie.name and line.start >= thawed_at]
    refused = sum(1 for event in rig.fleet.events("visit.fenced") if event["child"] == zombie.name)
    rig.figures |= {"in_flight": len(held), "refused_visits": refused, "zombie_requests": len(own)}
    rig.judge(kills=1, exempt=held)


def test_ft5_beat_is_away(make_rig: MakeRig) -> None:
    """kill -9 of beat, 5 s or 60 without one: the rate stays over 90 %, or comes back within 60 s of beat; no burst.

    Nor a standstill: more comes while it is away."""
    away_s = quick_or_long(5.0, 60.0)
    rig = make_rig(pages=quick_or_long(60, 300), visit_max_s=quick_or_long(1.5, 10.0))
    rig.seed()
    rig.until_share(0.15)
    began, before = time.monotonic(), len(rig.web.lines())
    rig.more_requests(70)
    rate = (len(rig.web.lines()) - before) / (time.monotonic() - began)
    with rig.fault("beat is away"):
        rig.fleet.beats[0].kill()
        killed_at, before = time.monotonic(), len(rig.web.lines())
        rig.last(away_s)
        kept = (len(rig.web.lines()) - before) / away_s / rate
        rig.more_requests(30)
        rig.fleet.beat()
    back_at = time.monotonic()
    rig.until(lambda: rate_over(rig, 3.0) >= 0.9 * rate or rig.is_finished(), "the rate comes back", 60)
    rig.figures |= {
        "away_s": round(away_s),
        "rate_kept": round(kept, 2),
        "rate_back_s": round(time.monotonic() - back_at, 1),
    }
    rig.until_finished()
    rig.judge()
    assert min(gaps_after(rig.web.lines(), killed_at, away_s + 10)) >= rig.pace.delay_s - 0.005


def rate_over(rig: Rig, window_s: float) -> float:
    since = time.monotonic() - window_s
    return sum(line.start >= since for line in rig.web.lines()) / window_s


@pytest.mark.parametrize("beats", [2, 5])
def test_ft6_several_beats(make_rig: MakeRig, beats: int) -> None:
    """two (five) beats for a whole crawl: as many requests as with one."""
    rig = make_rig(beats=beats, hosts=6, pages=16)
    rig.seed()
    rig.until_finished()
    rig.figures["beats"] = beats
    rig.judge()
    assert rig.figures["requests"] == len(rig.web.truth) + 2 * len(rig.web.hosts)


def test_ft8_rapid_restarts(make_rig: MakeRig, rng: random.Random) -> None:
    """rolling restarts by SIGTERM, 5 or 100: no repeats, no attempt spent, done within 2 T."""
    restarts, pages = quick_or_long((5, 50), (100, 1_200))
    rig = make_rig(pages=pages)
    rig.seed()
    rig.until_requests(10)
    for _ in range(restarts):
        rig.fleet.worker()
        rig.more_requests(rng.randint(10, 30))
        oldest = rig.fleet.workers[0]
        with rig.fault("SIGTERM to a worker"):
            oldest.terminate()
            oldest.ended_after_s(30)
    rig.until_finished()
    spent = rig.sql("SELECT url FROM fetches WHERE attempt > 1")
    undisturbed_s = (pages + 2) * rig.pace.delay_s  # at the least: of each host also robots.txt and /sitemap.xml
    rig.figures |= {
        "restarts": restarts,
        "T_s": round(undisturbed_s, 1),
        "took_s": round(lasted_s(rig), 1),
        "attempts_spent": len(spent),
    }
    rig.judge()
    assert spent == []
    assert lasted_s(rig) <= at_most_s(2 * undisturbed_s)


def lasted_s(rig: Rig) -> float:
    lines = rig.web.lines()
    return max(line.end or line.start for line in lines) - lines[0].start
