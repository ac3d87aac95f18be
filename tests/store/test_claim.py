"""The claim: due hosts only, each once, never more than there is room for."""

from collections import Counter
from threading import Barrier
from typing import Any

import pytest
from sqlalchemy import Engine

from app.store import db, fleet, hosts
from app.store.host_rows import Offer
from tests.store.rows import ISOLATE, OFFER_S, Aside, claim, host, make_due_host, make_host, one, sql


def run_out(engine: Engine, host_id: int) -> None:
    """The lease ended a while ago, and the delay after it has passed."""
    sql(
        engine,
        """UPDATE hosts SET lease_until = now() - interval '5 minutes', next_fetch_at = now() - interval '4 minutes',
                            taken_at = CASE WHEN taken_at IS NULL THEN NULL ELSE now() - interval '6 minutes' END
           WHERE id = :id""",
        id=host_id,
    )


def test_the_claim_takes_what_each_queue_has_room_for(engine: Engine) -> None:
    for queue in ("host-00", "host-01", "host-02", "host-03"):
        for _ in range(10):
            make_due_host(engine, queue=queue)
    capacity = {"host-00": 3, "host-01": 0, "host-02": 100}
    claimed = claim(engine, capacity)
    assert Counter(offer.queue for offer in claimed) == {"host-00": 3, "host-02": 10}
    assert one(engine, "SELECT count(*) FROM hosts WHERE state = 'offered'") == 13


@pytest.mark.parametrize(("n", "claimed"), [(0, 0), (1, 1), (5, 5), (6, 6), (100, 6)])
def test_the_claim_takes_no_more_than_it_is_to_in_all(engine: Engine, n: int, claimed: int) -> None:
    for queue in ("host-00", "host-01"):
        for _ in range(10):
            make_due_host(engine, queue=queue)
    assert len(claim(engine, {"host-00": 3, "host-01": 3}, n=n)) == claimed
    assert one(engine, "SELECT count(*) FROM hosts WHERE state = 'offered'") == claimed
    assert claim(engine, {}, n=n) == []


def test_the_longest_due_come_first(engine: Engine) -> None:
    made = [make_due_host(engine) for _ in range(5)]
    for age, host_id in zip([1, 5, 3, 4, 2], made, strict=True):
        sql(
            engine,
            "UPDATE hosts SET next_fetch_at = now() - make_interval(mins => :m) WHERE id = :id",
            m=age,
            id=host_id,
        )
    assert {offer.host_id for offer in claim(engine, {"host-00": 2})} == {made[1], made[3]}


def test_a_claimed_host_is_due_again_when_its_offer_and_delay_are_over(engine: Engine) -> None:
    host_id = make_due_host(engine, delay_s=7.0)
    (offer,) = claim(engine)
    row = host(engine, host_id)
    assert (row["state"], row["lease_token"], row["taken_at"]) == ("offered", offer.token, None)
    assert abs((row["next_fetch_at"] - row["lease_until"]).total_seconds() - 7.0) < 0.001
    assert 0 < (row["lease_until"] - row["now"]).total_seconds() <= OFFER_S


def test_a_claim_never_brings_the_polite_moment_forward(engine: Engine) -> None:
    early, late = make_due_host(engine), make_due_host(engine)
    sql(engine, "UPDATE hosts SET polite_at = now() + interval '1 hour' WHERE id = :id", id=early)
    sql(engine, "UPDATE hosts SET polite_at = now() - interval '1 hour' WHERE id = :id", id=late)
    before = {host_id: host(engine, host_id) for host_id in (early, late)}
    claim(engine)
    assert host(engine, early)["polite_at"] == before[early]["polite_at"]
    assert host(engine, late)["polite_at"] == before[late]["next_fetch_at"]  # what it waited for beyond its pace


def test_a_crashed_lease_leaves_its_delay_to_the_next_claim(engine: Engine) -> None:
    """The dead visit may have sent until its lease ended: no contact before that plus the delay."""
    host_id = make_due_host(engine)
    (offer,) = claim(engine)
    with db.transaction(engine) as tx:
        hosts.take_up(tx, host_id=host_id, token=offer.token, worker="w:1", lease_s=60)
    sql(engine, "UPDATE hosts SET lease_until = now() - interval '1 s', next_fetch_at = now() + interval '5 s'")
    due = host(engine, host_id)["next_fetch_at"]
    assert claim(engine) == []
    (again,) = claim(engine, ahead_s=10)
    with db.transaction(engine) as tx:
        taken = hosts.take_up(tx, host_id=host_id, token=again.token, worker="w:1", lease_s=60)
    assert taken is not None
    assert abs(taken.wait_s - (due - taken.now).total_seconds()) < 0.001


@pytest.mark.parametrize(
    ("columns", "age_s", "claimed"),
    [
        ({}, 60, True),
        ({}, -5, True),  # due within the look ahead
        ({}, -60, False),
        ({}, None, False),  # nothing queued
        ({"state": "paused"}, None, False),
        ({"pause_requested": True}, 60, False),
        ({"queue": "host-99"}, 60, False),  # nobody asks for it
    ],
)
def test_only_due_hosts_are_claimed(
    engine: Engine, columns: dict[str, Any], age_s: float | None, claimed: bool
) -> None:
    host_id = make_host(engine, **columns)
    sql(
        engine,
        "UPDATE hosts SET next_fetch_at = now() - make_interval(secs => CAST(:age AS float)) WHERE id = :id",
        age=age_s,
        id=host_id,
    )
    assert bool(claim(engine, ahead_s=10)) is claimed


@pytest.mark.parametrize("taken", [False, True])
def test_a_standing_lease_is_not_claimed_even_if_it_looks_due(engine: Engine, taken: bool) -> None:
    host_id = make_due_host(engine)
    (offer,) = claim(engine)
    if taken:
        with db.transaction(engine) as tx:
            hosts.take_up(tx, host_id=host_id, token=offer.token, worker="w:1", lease_s=60)
    sql(engine, "UPDATE hosts SET next_fetch_at = now() - interval '1 minute'")
    assert claim(engine, ahead_s=5) == []


@pytest.mark.parametrize(
    ("taken", "before", "isolate"), [(False, 0, 0), (False, 3, 3), (True, 0, ISOLATE), (True, 3, ISOLATE)]
)
def test_a_lease_that_ran_out_is_claimed_anew_and_a_taken_one_isolates(
    engine: Engine, taken: bool, before: int, isolate: int
) -> None:
    host_id = make_due_host(engine, isolate=before)
    (offer,) = claim(engine)
    if taken:
        with db.transaction(engine) as tx:
            hosts.take_up(tx, host_id=host_id, token=offer.token, worker="w:1", lease_s=60)
    run_out(engine, host_id)
    (again,) = claim(engine)
    row = host(engine, host_id)
    assert again.token != offer.token
    assert (row["state"], row["taken_at"], row["isolate"]) == ("offered", None, isolate)


def test_claimers_at_once_never_get_the_same_host(engine: Engine) -> None:
    """Many rounds of four claimers with a connection each, and queues too small for all."""
    threads, rounds, count = 4, 25, 60
    for number in range(count):
        make_due_host(engine, queue=f"host-0{number % 3}")
    capacity = {"host-00": 7, "host-01": 7, "host-02": 7}
    barrier = Barrier(threads)

    def claimer() -> list[list[Offer]]:
        found = []
        for _ in range(rounds):
            barrier.wait(60)
            found.append(claim(engine, capacity))
            if barrier.wait(60) == 0:  # one of them gives all hosts back for the next round
                sql(
                    engine,
                    """UPDATE hosts SET state = 'idle', lease_token = NULL, lease_until = NULL, taken_at = NULL,
                                        next_fetch_at = now() - interval '1 minute'""",
                )
        return found

    by_claimer = [each.outcome() for each in [Aside(claimer) for _ in range(threads)]]
    for of_round in zip(*by_claimer, strict=True):
        claimed = [offer.host_id for offers in of_round for offer in offers]
        assert len(claimed) == len(set(claimed))
        assert claimed, "somebody gets something"
        for offers in of_round:
            assert all(count <= 7 for count in Counter(offer.queue for offer in offers).values())


def test_a_second_claim_does_not_wait_for_the_first(engine: Engine) -> None:
    for _ in range(4):
        make_due_host(engine)
    with db.transaction(engine) as tx:
        first = hosts.claim_due(tx, capacity={"host-00": 2}, n=9, ahead_s=0, offer_s=OFFER_S, isolate=ISOLATE)
        second = Aside(lambda: claim(engine)).outcome()  # not committed yet: skipped, not waited for
    assert not {offer.host_id for offer in first} & {offer.host_id for offer in second}
    assert len(first) == len(second) == 2


def test_offers_that_stand_are_counted_and_visits(engine: Engine) -> None:
    made = [make_due_host(engine) for _ in range(4)]
    make_due_host(engine, queue="host-01")
    offers = {offer.host_id: offer for offer in claim(engine, {"host-00": 9, "host-01": 9})}
    with db.transaction(engine) as tx:
        hosts.take_up(tx, host_id=made[0], token=offers[made[0]].token, worker="w:1", lease_s=60)
    run_out(engine, made[1])
    with db.transaction(engine) as tx:
        now = fleet.now(tx, ["host-00", "host-01"], fleet.NOTHING, fleet.RecentReads(), most=0)
    assert (now.offers, now.visited) == ({"host-00": 2, "host-01": 1}, 1)


def test_borrowing_keeps_to_the_pace_and_to_leases(engine: Engine) -> None:
    def borrow(name: str) -> bool:
        with db.transaction(engine) as tx:
            return hosts.borrow(tx, name=name, lease_s=15, isolate=50) is not None

    names = ["free", "soon", "blocked", "paused", "offered"]
    made = {name: make_host(engine, name) for name in names}
    hour = "now() + interval '1 hour'"
    sql(engine, f"UPDATE hosts SET polite_at = {hour} WHERE name = 'soon'")
    sql(engine, f"UPDATE hosts SET blocked_until = {hour} WHERE name = 'blocked'")
    sql(engine, "UPDATE hosts SET state = 'paused' WHERE name = 'paused'")
    sql(engine, "UPDATE hosts SET next_fetch_at = now() WHERE name = 'offered'")
    claim(engine)
    assert {name: borrow(name) for name in names} == {
        "free": True,
        "soon": False,
        "blocked": False,
        "paused": False,
        "offered": False,
    }
    assert not borrow("free"), "it is lent out"
    assert not borrow("unheard of")
    row = host(engine, made["free"])
    assert (row["state"], row["next_fetch_at"] > row["lease_until"]) == ("taken", True)


def test_a_borrowed_host_comes_back_with_its_delay(engine: Engine) -> None:
    make_host(engine, "lent", delay_s=30.0)
    with db.transaction(engine) as tx:
        lease = hosts.borrow(tx, name="lent", lease_s=15, isolate=50)
    assert lease is not None
    host_id, token = lease.host_id, lease.token
    with db.transaction(engine) as tx:
        hosts.return_loan(tx, host_id=host_id, token=token, age_s=2.0)
    row = host(engine, host_id)
    assert (row["state"], row["lease_token"], row["next_fetch_at"]) == ("idle", None, None)
    assert abs((row["polite_at"] - row["last_contact_at"]).total_seconds() - 30.0) < 0.01


def test_a_host_lent_out_after_a_crash_is_still_isolated(engine: Engine) -> None:
    host_id = make_due_host(engine, name="poisoned.test")
    (offer,) = claim(engine)
    with db.transaction(engine) as tx:
        hosts.take_up(tx, host_id=host_id, token=offer.token, worker="w:1", lease_s=60)
    run_out(engine, host_id)
    sql(engine, "UPDATE hosts SET polite_at = now() - interval '1 hour'")
    with db.transaction(engine) as tx:
        lease = hosts.borrow(tx, name="poisoned.test", lease_s=15, isolate=50)
        assert lease is not None
        hosts.return_loan(tx, host_id=host_id, token=lease.token, age_s=0)
    sql(engine, "UPDATE hosts SET next_fetch_at = now() - interval '1 s'")
    claim(engine)
    assert host(engine, host_id)["isolate"] == ISOLATE
