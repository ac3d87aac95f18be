"""FT17 and FT18 of docs/reliability.md: a worker is cut off from Postgres, or from the broker, and nobody tells it."""

import time
from collections.abc import Mapping

import pytest

from tests.faults.far import Far
from tests.faults.fleet import Child
from tests.faults.kit import MakeRig, Rig
from tests.faults.pace import IMPATIENCE_S, at_most_s, quick_or_long
from tests.faults.web import Line

pytestmark = pytest.mark.faults

BACK_S = 30.0
LOCKED_S = 10.0  # app.store.db: an idle transaction ends
SHORT: Mapping[str, float] = {"request_deadline_s": 0.5, "robots_deadline_s": 0.5, "lease_s": 5.6, "visit_max_s": 3.0}


def test_ft17_a_worker_without_postgres(far: Far, make_rig: MakeRig) -> None:
    """a worker cut off from Postgres, until its leases have ended or for 5 min: it sends nothing once they have, others
    take its hosts over, and it is back by itself within 30 s."""
    pages = quick_or_long(60, 1_700)
    rig = make_rig(**far.options(4), pages=pages, delay_s=0.2, workers=1, slots=8, **SHORT)
    lost = far.worker(rig, "database")
    rig.until_ready()
    rig.seed()
    rig.until(lambda: len(leases(rig, lost)) > 1, "it has two leases")
    with rig.fault("a worker without Postgres"):
        far.cut()
        cut_at, held = time.monotonic(), leases(rig, lost)
        rig.until(lambda: held.keys() <= asked_by_others(rig, lost, cut_at), "its hosts are taken over", IMPATIENCE_S)
        taken_over_s = time.monotonic() - cut_at
        rig.last(max(quick_or_long(rig.pace.lease_s + 1, 300.0) - taken_over_s, 0.0))
        far.heal()
    healed_at = time.monotonic()
    rig.until(lambda: sent_by(rig, lost, healed_at) or rig.is_finished(), "it is back", BACK_S)
    back_s = time.monotonic() - healed_at
    rig.until_finished()
    during = [line for line in sent_by(rig, lost, cut_at) if line.start < healed_at]
    late = [line for line in during if line.wall > held.get(line.host, 0.0)]
    rig.figures |= {
        "leases": len(held),
        "sent_cut_off": len(during),
        "sent_leaseless": len(late),
        "failed_visits": failed_visits(rig, lost),
        "taken_over_s": round(taken_over_s, 1),
        "back_s": round(back_s, 1),
    }
    rig.judge(kills=1)
    assert held
    assert late == []
    assert sent_by(rig, lost, healed_at), "the crawl went on for so long that it was needed again"
    assert taken_over_s <= at_most_s(taken_over_most_s(rig, lost, len(held)))
    assert rig.figures["failed_visits"] <= lost.slots, "it took messages that others could have used"


def leases(rig: Rig, worker: Child) -> dict[str, float]:
    """Hosts that it visits: {name: end of its lease, by the clock}."""
    rows = rig.sql(
        "SELECT h.name, extract(epoch FROM h.lease_until) AS until FROM hosts h JOIN visits v ON v.token = "
        "h.lease_token "
        "WHERE h.state = 'taken' AND v.worker LIKE %s",
        f"%:{worker.pid}",
    )
    return {row["name"]: float(row["until"]) for row in rows}


def sent_by(rig: Rig, worker: Child, since: float) -> list[Line]:
    """Its requests from a moment on; and those of what was started in its place, had it ended."""
    heirs = [child.name for child in rig.fleet.children if (child.within, child.env) == (worker.within, worker.env)]
    return [line for line in rig.web.lines() if line.worker in heirs and line.start >= since]


def taken_over_most_s(rig: Rig, lost: Child, leases: int) -> float:
    """Until its hosts are asked by others, at most: the rest of its slots may each have taken an offer in vain, and
    Postgres may wait for the end of its transaction."""
    return max(rig.pace.recovered_s, LOCKED_S) + (lost.slots - leases) * rig.settings.offer_s


def failed_visits(rig: Rig, worker: Child) -> int:
    return sum(event["child"] == worker.name for event in rig.fleet.events("visit.failed"))


def asked_by_others(rig: Rig, worker: Child, since: float) -> set[str]:
    """Hosts."""
    return {line.host for line in rig.web.lines() if line.worker != worker.name and line.start >= since}


def test_ft18_workers_without_the_broker(far: Far, make_rig: MakeRig) -> None:
    """all workers cut off from Valkey, for 6 s or 5 min: settled pages grow within 30 s of its end, no worker
    started anew."""
    rig = make_rig(**far.options(8), pages=quick_or_long(24, 60), workers=0)
    fleet = [far.worker(rig, "broker") for _ in range(2)]
    rig.seed()
    rig.until_requests(50)
    with rig.fault("no broker", total=True):
        far.cut()
        rig.last(quick_or_long(6.0, 300.0))
        far.heal()
    healed_at, settled = time.monotonic(), rig.settled()
    rig.until(lambda: rig.settled() > settled or rig.is_finished(), "newly settled pages", at_most_s(BACK_S))
    rig.figures["progress_s"] = round(time.monotonic() - healed_at, 1)
    rig.until_finished()
    rig.judge(recovered_s=BACK_S)
    assert all(child.is_alive for child in fleet), "no worker ended"
