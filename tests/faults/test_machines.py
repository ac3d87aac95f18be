"""FT17 of docs/reliability.md, the whole of it: three machines, each with addresses of its own, and one is cut off."""

import time

import pytest

from tests.faults.far import reach
from tests.faults.kit import MakeRig
from tests.faults.lan import NETWORK, Lan
from tests.faults.pace import IMPATIENCE_S, at_most_s, quick_or_long
from tests.faults.test_partition import BACK_S, SHORT, asked_by_others, leases, sent_by, taken_over_most_s

pytestmark = pytest.mark.faults


def test_ft17_three_machines(lan: Lan, make_rig: MakeRig) -> None:
    """one of three machines cut off from everything, until its leases have ended or for 5 min: nothing of it arrives on
    an old lease, then or later; the others take its hosts over; nothing is lost."""
    place = {"hosts": 6, "addresses": lan.web(6), "allow_networks": NETWORK}
    rig = make_rig(**place, pages=quick_or_long(60, 1_700), delay_s=0.2, workers=0, **SHORT)
    env = reach(lan, rig)
    fleet = [rig.fleet.worker(within=machine.within, env=env) for machine in lan.machines]
    rig.until_ready()
    rig.seed()
    lost, cut = fleet[0], lan.machines[0]
    rig.until(lambda: len(leases(rig, lost)) > 1, "it has two leases")
    with rig.fault("a machine is cut off"):
        lan.cut(cut)
        rig.web.catch_up()
        cut_at, held = time.monotonic(), leases(rig, lost)
        rig.until(lambda: held.keys() <= asked_by_others(rig, lost, cut_at), "its hosts are taken over", IMPATIENCE_S)
        taken_over_s = time.monotonic() - cut_at
        rig.last(max(quick_or_long(rig.pace.lease_s + 1, 300.0) - taken_over_s, 0.0))
        lan.heal(cut)
    healed_at = time.monotonic()
    rig.until(lambda: sent_by(rig, lost, healed_at) or rig.is_finished(), "it is back", BACK_S)
    back_s = time.monotonic() - healed_at
    rig.until_finished()
    during = [line for line in sent_by(rig, lost, cut_at) if line.start < healed_at]
    visitors = rig.sql("SELECT DISTINCT worker FROM visits")
    rig.figures |= {
        "machines": len(visitors),
        "leases": len(held),
        "sent_cut_off": len(during),
        "taken_over_s": round(taken_over_s, 1),
        "back_s": round(back_s, 1),
    }
    rig.judge(kills=1)
    assert during == []
    assert taken_over_s <= at_most_s(taken_over_most_s(rig, lost, len(held)))
    assert sent_by(rig, lost, healed_at), "the crawl went on for so long that it was needed again"
    assert len(visitors) == len(fleet)
    assert all(child.is_alive for child in fleet), "no worker ended"
