"""Queues that nobody serves do not slow down the others: visits counted round by round, each a look of the dispatcher.

Time passes by shifting what the database remembers.
"""

import random
from collections import Counter
from collections.abc import Mapping, Sequence

import pytest
from sqlalchemy import Engine

from app.beat import claim
from app.beat.claim import ScanWindow
from app.config import Settings, load
from app.errors import ServiceError
from app.store.fleet import MISSES
from app.store.host_rows import Offer
from tests.store.rows import host, one, sql

SETTINGS: Settings = load(_env_file=None)
QUEUES = 32
ROUND_S = 1.0
WARM_UP, ROUNDS = 12, 12  # longer than an offer each

FILL = """INSERT INTO hosts (name, queue, delay_s, next_fetch_at)
          SELECT 'h' || n || '.test', 'host-' || lpad((n % :queues)::text, 2, '0'), 0, now() - interval '1 minute'
          FROM generate_series(0, :hosts - 1) AS n"""
VISIT = """WITH visited AS (
               UPDATE hosts
               SET state = 'idle', lease_token = NULL, lease_until = NULL, offers_missed = 0, next_fetch_at =
               clock_timestamp()
               WHERE state = 'offered' AND lease_token = ANY(CAST(:tokens AS uuid[]))
               RETURNING id, queue
           )
           INSERT INTO visits (host_id, token, queue, worker, taken_at)
           SELECT id, gen_random_uuid(), queue, 'w:1', clock_timestamp() FROM visited"""
PASS = [
    """UPDATE hosts
       SET lease_until = lease_until - make_interval(secs => :s), next_fetch_at = next_fetch_at - make_interval(secs =>
       :s)
       WHERE state = 'offered'""",
    "UPDATE visits SET taken_at = taken_at - make_interval(secs => :s)",
]


def dispatch(engine: Engine, marks: ScanWindow | None = None, settings: Settings = SETTINGS) -> list[Offer]:
    offers: list[Offer] = []
    claim.dispatch(engine, settings, offers.extend, random.Random(1), marks)
    return offers


def visit(engine: Engine, offers: Sequence[Offer]) -> None:
    sql(engine, VISIT, tokens=[offer.token for offer in offers])


def later(engine: Engine, seconds: float) -> None:
    for statement in PASS:
        sql(engine, statement, s=seconds)


def visits_a_round(engine: Engine, dead: int) -> float:
    """The mean over ROUNDS; queues below `dead` are served by nobody."""
    sql(engine, "TRUNCATE hosts, visits CASCADE")
    sql(engine, FILL, queues=QUEUES, hosts=QUEUES * 60)
    visited, marks = 0, ScanWindow()
    sql(engine, "ANALYZE hosts")
    for number in range(WARM_UP + ROUNDS):
        served = [offer for offer in dispatch(engine, marks) if int(offer.queue.removeprefix("host-")) >= dead]
        visit(engine, served)
        visited += len(served) if number >= WARM_UP else 0
        later(engine, ROUND_S)
    return visited / ROUNDS


@pytest.mark.faults
def test_the_rest_of_the_fleet_keeps_its_rate(engine: Engine) -> None:
    with_all = visits_a_round(engine, 0)
    assert with_all == SETTINGS.offers_max
    rates = {dead: visits_a_round(engine, dead) for dead in (4, 16)}
    assert min(rates.values()) >= 0.9 * with_all, rates


def test_from_the_first_tick_a_queue_without_workers_has_its_share_and_no_more(engine: Engine) -> None:
    sql(engine, FILL, queues=QUEUES, hosts=QUEUES * 60)
    assert set(Counter(offer.queue for offer in dispatch(engine)).values()) == {4}
    assert dispatch(engine) == []


def test_an_unserved_queue_is_probed_with_the_same_host(engine: Engine) -> None:
    """So that a worker that stopped reading is known by the misses of a host, however many are due
    (workers.watchdog)."""
    settings = load(_env_file=None, queues=1)
    sql(engine, FILL, queues=1, hosts=100)
    assert len(dispatch(engine, settings=settings)) == 32
    probed = []
    for _ in range(MISSES):
        later(engine, settings.offer_s + 0.1)
        (offer,) = dispatch(engine, settings=settings)
        probed.append(offer.host_id)
        assert dispatch(engine, settings=settings) == []
    assert set(probed) == {probed[0]}
    assert host(engine, probed[0])["offers_missed"] == MISSES


def test_a_probe_that_is_taken_up_opens_the_queue(engine: Engine) -> None:
    settings = load(_env_file=None, queues=1)
    sql(engine, FILL, queues=1, hosts=100)
    dispatch(engine, settings=settings)
    later(engine, settings.offer_s + 0.1)
    visit(engine, dispatch(engine, settings=settings))
    assert len(dispatch(engine, settings=settings)) == 32


def test_a_lost_message_does_not_close_a_queue_that_is_served(engine: Engine) -> None:
    settings = load(_env_file=None, queues=1)
    sql(engine, FILL, queues=1, hosts=100)
    _lost, *others = dispatch(engine, settings=settings)
    visit(engine, others)
    later(engine, settings.offer_s + 0.1)
    assert len(dispatch(engine, settings=settings)) == 32


@pytest.mark.parametrize(("unread", "offered"), [(0, 32), (30, 2), (32, 0), (64, 0)])
def test_a_queue_full_of_messages_gets_none(engine: Engine, unread: int, offered: int) -> None:
    settings = load(_env_file=None, queues=1)
    sql(engine, FILL, queues=1, hosts=100)
    offers: list[Offer] = []

    def told(queues: Sequence[str], most: int) -> Mapping[str, int]:
        assert most == 32
        return dict.fromkeys(queues, unread)

    claim.dispatch(engine, settings, offers.extend, random.Random(1), None, told)
    assert len(offers) == offered


def test_a_broker_that_is_away_costs_no_offer(engine: Engine) -> None:
    sql(engine, FILL, queues=1, hosts=3)

    def away(queues: Sequence[str], most: int) -> Mapping[str, int]:
        raise ServiceError("the broker", "is away")

    with pytest.raises(ServiceError):
        claim.dispatch(engine, SETTINGS, list.extend, random.Random(1), None, away)  # type: ignore[arg-type]
    assert one(engine, "SELECT count(*) FROM hosts WHERE state = 'idle'") == 3


def test_missed_hosts_are_offered_before_those_that_are_due_for_longer(engine: Engine) -> None:
    """Else, while workers are short of time, they would line up behind all others each time."""
    settings = load(_env_file=None, queues=1)
    sql(engine, FILL, queues=1, hosts=100)
    offers = dispatch(engine, settings=settings)
    visit(engine, offers[:4])  # the queue is served
    later(engine, settings.offer_s + 0.1)
    sql(engine, "UPDATE hosts SET next_fetch_at = now() - interval '1 hour' WHERE state = 'idle'")
    again = [offer.host_id for offer in dispatch(engine, settings=settings)]
    missed = {offer.host_id for offer in offers[4:]}
    assert (set(again[: len(missed)]), len(again)) == (missed, 32)
    assert one(engine, "SELECT sum(offers_missed) FROM hosts") == len(missed)
