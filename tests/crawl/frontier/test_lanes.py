"""The lanes of a host share what a visit picks, by their weights (promise F5)."""

import random
from collections.abc import Callable

import pytest

from app.crawl.state.worker import Worker
from app.crawl.visit.visit import take_up
from app.policy.focus.profile_text import GENERAL, profile_of
from app.store import db, hosts
from tests.store.rows import admission, admit, make_crawl, make_due_host, one

WEIGHTS = profile_of(GENERAL).weights
MANY = 60  # URLs of each lane: more than a visit picks


@pytest.fixture
def picked(make: Callable[..., Worker]) -> Callable[[int], list[int]]:
    """The lanes of what a visit picks first, with this seed of chance, of a host with many URLs in each."""
    worker = make()
    crawl_id, host_id = make_crawl(worker.engine), make_due_host(worker.engine, delay_s=0.0)
    name = one(worker.engine, "SELECT name FROM hosts")
    admit(
        worker.engine,
        *(admission(host_id, crawl_id, f"/{lane}/{n}", lane=lane) for lane in WEIGHTS for n in range(MANY)),
    )

    def pick(seed: int) -> list[int]:
        worker.rng.seed(seed)
        with db.transaction(worker.engine) as tx:
            offer = hosts.offer_now(tx, name=name, offer_s=10.0, isolate=1)
        assert offer is not None
        visit = take_up(worker, host_id, offer.token)
        assert visit is not None
        with db.transaction(worker.engine) as tx:
            hosts.return_loan(tx, host_id=host_id, token=offer.token, age_s=None, rest_s=None, why=None)
        return [due.lane for due in visit.picked.due]

    return pick


def test_lanes_share_a_pick_by_their_weights(picked: Callable[[int], list[int]]) -> None:
    drawn = [lane for seed in range(12) for lane in picked(seed)]
    assert set(drawn) == set(WEIGHTS), "none starves"
    share = {lane: drawn.count(lane) / len(drawn) for lane in WEIGHTS}
    meant = {lane: weight / sum(WEIGHTS.values()) for lane, weight in WEIGHTS.items()}
    assert share == pytest.approx(meant, abs=0.05)


def test_a_lane_of_less_weight_may_go_first(picked: Callable[[int], list[int]]) -> None:
    firsts = {picked(seed)[0] for seed in random.Random(1).sample(range(1_000), 12)}
    assert len(firsts) > 1
