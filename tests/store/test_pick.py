"""What is promoted, picked and granted."""

from threading import Barrier

import pytest
from sqlalchemy import Engine

from app.policy.lifecycle import UrlState
from app.store import crawls, db, hosts, urls
from tests.store.rows import (
    Aside,
    admission,
    admit,
    host,
    make_crawl,
    make_host,
    one,
    sql,
    wanted,
)
from tests.store.url_states import stand

# --- promote ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("crawl_state", ["active", "paused", "finished"])
@pytest.mark.parametrize("keep_fresh", [False, True])
@pytest.mark.parametrize(
    ("state", "retrying", "due"),
    [
        (UrlState.RESTING, True, "past"),
        (UrlState.RESTING, True, "future"),
        (UrlState.RESTING, False, "past"),
        (UrlState.RESTING, False, "future"),
        (UrlState.GONE, False, "past"),
        (UrlState.GONE, False, "future"),
    ],
)
def test_due_urls_are_promoted_where_their_crawl_wants_it(
    engine: Engine, crawl_state: str, keep_fresh: bool, state: UrlState, retrying: bool, due: str
) -> None:
    crawl_id = make_crawl(engine, keep_fresh=keep_fresh)
    row = admission(make_host(engine), crawl_id)
    stand(engine, row, state, retrying=retrying, due=due)
    sql(
        engine,
        "UPDATE crawls SET state = :s, finished_at = CASE WHEN :s = 'finished' THEN now() END",
        s=crawl_state,
    )
    wanted = crawl_state == "active" and due == "past" and (retrying or keep_fresh)
    with db.transaction(engine) as tx:
        assert urls.promote(tx, 10) == ({row["host_id"]} if wanted else set())
    (found,) = sql(engine, "SELECT state, retrying, due_at IS NULL AS free, attempts FROM urls")
    assert (found["state"], found["free"]) == (("queued", True) if wanted else (state.value, False))
    assert found["retrying"] is (retrying and not wanted)
    assert found["attempts"] == 2, "a retry goes on counting"


def test_promote_takes_the_longest_due_of_each_crawl(engine: Engine) -> None:
    host_id = make_host(engine)
    for name in ("one", "two"):
        crawl_id = make_crawl(engine, name)
        for number in range(5):
            stand(engine, admission(host_id, crawl_id, f"/{number}"), UrlState.RESTING, retrying=True)
    sql(engine, "UPDATE urls SET due_at = now() - make_interval(secs => right(url, 1)::int)")
    with db.transaction(engine) as tx:
        urls.promote(tx, 2)
    promoted = sql(engine, "SELECT right(url, 1) AS n FROM urls WHERE state = 'queued' ORDER BY 1")
    assert [row["n"] for row in promoted] == ["3", "3", "4", "4"]


def test_promoters_at_once_do_not_wait_for_one_another(engine: Engine) -> None:
    row = admission(make_host(engine), make_crawl(engine))
    stand(engine, row, UrlState.RESTING, retrying=True)
    with db.transaction(engine) as tx:
        assert urls.promote(tx, 10) == {row["host_id"]}

        def promote_too() -> set[int]:
            with db.transaction(engine) as other:
                return urls.promote(other, 10)

        assert Aside(promote_too).outcome() == set()


# --- picking ----------------------------------------------------------------------------------------------------


def test_a_pick_is_the_best_of_each_lane_and_active_crawl(engine: Engine) -> None:
    host_id, other = make_host(engine), make_host(engine)
    active, paused = make_crawl(engine, "active"), make_crawl(engine, "paused", state="paused")
    admit(
        engine,
        *(
            admission(host_id, crawl_id, f"/{lane}/{score}", lane=lane, score=score)
            for crawl_id in (active, paused)
            for lane in range(4)
            for score in (0.25, 1.0, 0.5)
        ),
        admission(other, active, "/elsewhere"),
    )
    stand(engine, admission(host_id, active, "/resting", score=9.0), UrlState.RESTING)
    with db.transaction(engine) as tx:
        picked = urls.pick(tx, [wanted(host_id, 2)])
    assert {due.crawl_id for due in picked} == {active}
    by_lane = {lane: [due.score for due in picked if due.lane == lane] for lane in range(4)}
    assert by_lane == {lane: [1.0, 0.5] for lane in range(4)}


def test_of_equals_the_oldest_is_picked(engine: Engine) -> None:
    host_id, crawl_id = make_host(engine), make_crawl(engine)
    for path in ("/c", "/a", "/b"):
        admit(engine, admission(host_id, crawl_id, path))
    with db.transaction(engine) as tx:
        assert [due.url[-2:] for due in urls.pick(tx, [wanted(host_id, 2)])] == ["/c", "/a"]


# --- budgets ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "granted"),
    [
        ([3, 3, 3], [3, 3, 1]),
        ([7, 1], [7, 0]),
        ([9], [7]),
        ([5, -2, 5], [5, -2, 4]),
        ([7, -7, 7], [7, -7, 7]),
        ([0], [0]),
    ],
)
def test_pages_are_granted_as_far_as_the_budget_goes(engine: Engine, asked: list[int], granted: list[int]) -> None:
    crawl_id = make_crawl(engine, max_pages=7)
    with db.transaction(engine) as tx:
        assert [crawls.reserve(tx, crawl_id=crawl_id, n=n) for n in asked] == granted
    assert one(engine, "SELECT pages_reserved FROM crawls") == sum(granted)


def test_visits_at_once_are_not_granted_more_than_there_is(engine: Engine) -> None:
    crawl_id = make_crawl(engine, max_pages=100)
    barrier = Barrier(8)

    def ask() -> int:
        barrier.wait(60)
        found = 0
        for _ in range(10):
            with db.transaction(engine) as tx:
                found += crawls.reserve(tx, crawl_id=crawl_id, n=3)
        return found

    assert sum(each.outcome() for each in [Aside(ask) for _ in range(8)]) == 100


def test_a_host_has_a_next_contact_after_admission_and_wake(engine: Engine) -> None:
    row = admission(make_host(engine), make_crawl(engine))
    with db.transaction(engine) as tx:
        woken = urls.admit(tx, [row]).woken
    with db.transaction(engine) as tx:
        hosts.wake(tx, sorted(woken))
    found = host(engine, row["host_id"])
    assert found["next_fetch_at"] <= found["now"]
