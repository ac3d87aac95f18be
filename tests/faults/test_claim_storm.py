"""FT16 of docs/reliability.md: more claimers than there will ever be dispatchers, and a planner that knows nothing."""

import random
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from app.store import db, hosts
from app.store.host_rows import Offer
from tests.faults.kit import MakeRig, Rig
from tests.faults.pace import quick_or_long

pytestmark = pytest.mark.faults

CLAIMERS = 64
QUEUES = [f"host-{number:02d}" for number in range(32)]
ROOMS_MOST = 40
OFFER_S = 3_600.0  # none runs out while the storm lasts

# Nested loops alone, as a planner takes that holds the table for empty: there a claim by IN (SELECT … LIMIT n) takes
# too many.
OFF = ("hashjoin", "mergejoin", "material", "hashagg", "sort")
MISLED = "%20".join(["-c%20plan_cache_mode=force_generic_plan", *(f"-c%20enable_{each}=off" for each in OFF)])


def test_ft16_claim_storm(make_rig: MakeRig, rng: random.Random) -> None:
    """64 claimers at once over 20,000 due hosts (or 1,000,000), statistics of an empty table, nested loops alone: no
    claim brings more than it asked for, of all or of a queue, and each host is claimed once."""
    count = quick_or_long(20_000, 1_000_000)
    rig = make_rig(hosts=1, pages=1, workers=0, beats=0)
    rig.sql("ALTER TABLE hosts SET (autovacuum_enabled = off)")
    rig.sql("ANALYZE hosts")
    rig.sql(
        "INSERT INTO hosts (name, queue, delay_s, next_fetch_at) "
        "SELECT 'h' || n || '.test', 'host-' || lpad((n %% 32)::text, 2, '0'), 1, now() - make_interval(secs => "
        "n %% 997) "
        "FROM generate_series(1, %s) AS n",
        count,
    )
    assert rig.sql("SELECT reltuples FROM pg_class WHERE relname = 'hosts'")[0]["reltuples"] <= 0, "stale statistics"
    start = Barrier(CLAIMERS)
    with ThreadPoolExecutor(CLAIMERS) as pool:
        storms = [pool.submit(storm, rig, random.Random(rng.random()), start) for _ in range(CLAIMERS)]
        found = [each.result() for each in storms]
    claims = [claim for claims in found for claim in claims]
    times = Counter(offer.host_id for _, _, offers in claims for offer in offers)
    rig.figures |= {
        "hosts": count,
        "claims": len(claims),
        "claimers_at_work": sum(any(offers for _, _, offers in claims) for claims in found),
        "claimed": len(times),
        "claimed_twice": sum(n > 1 for n in times.values()),
        "too_many": sum(is_too_many(*claim) for claim in claims),
    }
    assert rig.figures["too_many"] == 0
    assert rig.figures["claimed_twice"] == 0
    assert rig.figures["claimed"] == count, "none is passed over"
    assert rig.figures["claimers_at_work"] > CLAIMERS // 2, "they were at it at the same time"


Claim = tuple[dict[str, int], int, Sequence[Offer]]


def storm(rig: Rig, rng: random.Random, start: Barrier) -> list[Claim]:
    """Claim until three claims of all queues in a row bring nothing: (capacity, n, what came) of each."""
    engine = db.connect(f"{rig.database_url}?options={MISLED}", pool_size=1)
    claims: list[Claim] = []
    try:
        with db.transaction(engine) as tx:
            tx.exec_driver_sql("SELECT 1")
        start.wait()
        while len(claims) < 3 or any(offers for _, _, offers in claims[-3:]):
            n = rng.randint(1, 128)
            capacity = {queue: rng.randint(1, ROOMS_MOST) for queue in rng.sample(QUEUES, len(QUEUES))}
            with db.transaction(engine) as tx:
                offers = hosts.claim_due(tx, capacity=capacity, n=n, ahead_s=0.25, offer_s=OFFER_S, isolate=50)
            claims.append((capacity, n, offers))
    finally:
        engine.dispose()
    return claims


def is_too_many(capacity: dict[str, int], n: int, offers: Sequence[Offer]) -> bool:
    of_queue = Counter(offer.queue for offer in offers)
    return len(offers) > n or any(of_queue[queue] > capacity[queue] for queue in of_queue)
