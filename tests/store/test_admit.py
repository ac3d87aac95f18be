"""The frontier's rows: one per (crawl, URL key) whoever comes first, moved only as app.policy.lifecycle allows."""

import random
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from threading import Barrier
from typing import Any

import pytest
from sqlalchemy import Connection, Engine, text

from app.model import Cause
from app.policy.lifecycle import URL_TRANSITIONS, UrlEvent, UrlState
from app.store import caps, crawls, db, hosts, suppressions, urls
from app.store.suppressions import Suppression
from app.store.urls import Admission
from tests.store.rows import (
    Aside,
    admission,
    admit,
    await_blocked,
    backend,
    host,
    make_crawl,
    make_host,
    one,
    result,
    sql,
    wanted,
    weak,
)

# What a row in each state has besides, as the CHECKs want it.
STATES: dict[UrlState, dict[str, Any]] = {
    UrlState.QUEUED: {},
    UrlState.RESTING: {"due_at": "past"},
    UrlState.REFUSED: {"cause": "robots.txt"},
    UrlState.GONE: {"due_at": "past"},
    UrlState.QUARANTINED: {"cause": "broken 3 times"},
    UrlState.ALIAS: {"alias_of": "http://elsewhere.test/"},
}


def stand(engine: Engine, row: Admission, state: UrlState, *, retrying: bool = False, due: str = "past") -> None:
    """Admit a URL and put it into a state."""
    admit(engine, row)
    columns = STATES[state]
    sql(
        engine,
        """UPDATE urls SET state = :state, cause = :cause, alias_of = :alias_of, retrying = :retrying, attempts = 2,
                           due_at = now() + CAST(:due AS interval)
           WHERE key = :key AND crawl_id = :crawl_id""",
        state=state.value,
        cause=columns.get("cause"),
        alias_of=columns.get("alias_of"),
        retrying=retrying,
        due=None if "due_at" not in columns else "-1 minute" if due == "past" else "1 minute",
        key=row["key"],
        crawl_id=row["crawl_id"],
    )


def state_of(engine: Engine, row: Admission) -> str | None:
    """None: it is not in the frontier."""
    query = "SELECT state FROM urls WHERE key = :key AND crawl_id = :crawl_id"
    found = sql(engine, query, key=row["key"], crawl_id=row["crawl_id"])
    return str(found[0]["state"]) if found else None


# --- one row (invariant 4) --------------------------------------------------------------------------------------


def test_who_comes_first_makes_the_row(engine: Engine) -> None:
    crawl_id, host_id = make_crawl(engine), make_host(engine)
    first = admission(host_id, crawl_id, "/a", depth=3, found_on="http://first.test/")
    second = admission(host_id, crawl_id, "/a", depth=1, found_on="http://second.test/")
    with db.transaction(engine) as tx:
        assert urls.admit(tx, [first]).rows == 1
    with db.transaction(engine) as tx:
        again = urls.admit(tx, [second])
    assert (again.rows, again.woken) == (0, set())
    assert sql(engine, "SELECT depth, found_on FROM urls") == [{"depth": 3, "found_on": "http://first.test/"}]


def test_crawls_have_rows_of_their_own(engine: Engine) -> None:
    host_id = make_host(engine)
    admit(engine, *(admission(host_id, make_crawl(engine, name), "/a") for name in ("one", "two")))
    assert one(engine, "SELECT count(*) FROM urls") == 2


def test_only_queued_rows_wake_their_host(engine: Engine) -> None:
    crawl_id, first, second = make_crawl(engine), make_host(engine), make_host(engine)
    refused = admission(second, crawl_id, "/b", state="refused", cause="robots.txt")
    with db.transaction(engine) as tx:
        assert urls.admit(tx, [admission(first, crawl_id, "/a"), refused]).woken == {first}


def test_many_admit_the_same_links_in_any_order(engine: Engine) -> None:
    """Eight threads, overlapping batches, each in an order of its own (F11): no deadlock, no lost row, none twice."""
    crawl_id = make_crawl(engine)
    made = [make_host(engine) for _ in range(5)]
    everything = [admission(host_id, crawl_id, f"/{number}") for host_id in made for number in range(40)]
    threads, rounds = 8, 6
    barrier = Barrier(threads)

    def admitter(seed: int) -> int:
        rng = random.Random(seed)
        new = 0
        for _ in range(rounds):
            batch = rng.sample(everything, 120)
            barrier.wait(60)
            with db.transaction(engine) as tx:
                new += urls.admit(tx, batch[:60]).rows
                new += urls.admit(tx, []).rows
            with db.transaction(engine) as tx:
                new += urls.admit(tx, batch[60:]).rows
        return new

    news = [each.outcome() for each in [Aside(partial(admitter, seed)) for seed in range(threads)]]
    with db.transaction(engine) as tx:
        rest = urls.admit(tx, everything).rows
    assert sum(news) + rest == len(everything) == one(engine, "SELECT count(*) FROM urls")
    assert sum(news) > 100, "most came in by the threads"


def test_many_make_the_same_hosts_in_any_order(engine: Engine) -> None:
    names = [f"h{number:03d}.test" for number in range(120)]
    threads = 8
    barrier = Barrier(threads)

    def maker(seed: int) -> dict[str, int]:
        wanted = random.Random(seed).sample(names, 90)
        barrier.wait(60)
        with db.transaction(engine) as tx:
            return hosts.ensure(
                tx, rows=[{"name": name, "domain": None, "queue": "host-00"} for name in wanted], delay_s=1.0
            )

    found = [each.outcome() for each in [Aside(partial(maker, seed)) for seed in range(threads)]]
    ids = {row["name"]: row["id"] for row in sql(engine, "SELECT name, id FROM hosts")}
    assert all(len(made) == 90 for made in found), "each got the id of every host that it asked for"
    assert all(ids[name] == host_id for made in found for name, host_id in made.items())


Order = Callable[[Connection, Sequence[int]], object]


def _admit_urls(tx: Connection, numbers: Sequence[int]) -> object:
    return urls.admit(tx, [admission(1, 1, "/", key=bytes([number]) * 32) for number in numbers])


def _make_hosts(tx: Connection, numbers: Sequence[int]) -> object:
    rows = [{"name": f"h{number}.test", "domain": None, "queue": "host-00"} for number in numbers]
    return hosts.ensure(tx, rows=rows, delay_s=1.0)


def _note_suppressions(tx: Connection, numbers: Sequence[int]) -> object:
    row: Suppression = {"crawl_id": 1, "key": b"", "reason": "scope", "url": "u", "detail": None, "found_on": None}
    suppressions.note(tx, [{**row, "key": bytes([number]) * 32} for number in numbers])
    return None


@pytest.mark.parametrize("write", [_admit_urls, _make_hosts, _note_suppressions])
def test_rows_are_locked_in_one_order_whatever_order_they_come_in(engine: Engine, write: Order) -> None:
    """T1 has 1. T2 comes with 9 to 1: it must not hold any while it waits for 1, for T1 comes for them next."""

    def both() -> None:
        with db.transaction(engine) as tx:
            tx.execute(text("SET LOCAL enable_mergejoin = off"))  # which happens to sort
            write(tx, range(9, 0, -1))

    with db.transaction(engine) as tx:
        write(tx, [1])
        aside = Aside(both)
        assert await_blocked(engine, backend(tx), aside)
        write(tx, range(2, 10))
    aside.outcome()


def test_a_row_that_is_being_admitted_is_waited_for(engine: Engine) -> None:
    """The loser of the race waits for the winner's commit, and then knows the row as known."""
    crawl_id, host_id = make_crawl(engine), make_host(engine)
    row = admission(host_id, crawl_id)

    def admit_too() -> int:
        with db.transaction(engine) as tx:
            return urls.admit(tx, [row]).rows

    with db.transaction(engine) as tx:
        urls.admit(tx, [row])
        aside = Aside(admit_too)
        assert await_blocked(engine, backend(tx), aside)
    assert aside.outcome() == 0


def test_a_known_row_under_a_settle_is_not_waited_for(engine: Engine) -> None:
    crawl_id, host_id = make_crawl(engine), make_host(engine)
    row = admission(host_id, crawl_id)
    admit(engine, row)

    def admit_again() -> int:
        with db.transaction(engine) as tx:
            return urls.admit(tx, [row]).rows

    with db.transaction(engine) as tx:
        urls.record(tx, [result(row, "resting", due_s=60)])
        aside = Aside(admit_again)
        assert not await_blocked(engine, backend(tx), aside)
    assert aside.outcome() == 0


# --- the lifecycle ----------------------------------------------------------------------------------------------


def _retry(tx: Connection, row: Admission) -> None:
    urls.retry(tx, host_id=row["host_id"], key=row["key"], crawl_id=None)


def _reopen(tx: Connection, row: Admission) -> None:
    urls.reopen(tx, host_id=row["host_id"], rows=[{"crawl_id": row["crawl_id"], "key": row["key"]}])


def _give_up(state: UrlState) -> Callable[[Connection, Admission], None]:
    return lambda tx, row: (
        urls.give_up(tx, host_id=row["host_id"], state=state.value, cause=Cause.OTHER, detail="why"),
        None,
    )[1]


def go_round(tx: Connection, crawl_id: int) -> dict[int, int]:
    new: Counter[int] = Counter()
    for lot in urls.lots_of_round(tx, crawl_id):
        new.update(urls.go_round(tx, crawl_id, lot))
    return dict(new)


def _record(state: UrlState) -> Callable[[Connection, Admission], None]:
    def act(tx: Connection, row: Admission) -> None:
        more: dict[str, Any] = {"due_s": 60} if state in {UrlState.RESTING, UrlState.GONE} else {}
        more |= {"cause": Cause.OTHER, "detail": "why"} if state in {UrlState.REFUSED, UrlState.QUARANTINED} else {}
        more |= {"alias_of": "u"} if state is UrlState.ALIAS else {}
        urls.record(tx, [result(row, state.value, **more)])

    return act


SQL_EVENTS: list[tuple[str, UrlEvent, Callable[[Connection, Admission], None]]] = [
    ("promote", UrlEvent.DUE, lambda tx, row: (urls.promote(tx, 10), None)[1]),
    ("reopen", UrlEvent.REOPENED, _reopen),
    ("retry", UrlEvent.RETRIED, _retry),
    ("go_round", UrlEvent.RETRIED, lambda tx, row: (go_round(tx, row["crawl_id"]), None)[1]),
    ("put_off", UrlEvent.PUT_OFF, lambda tx, row: (caps.put_off(tx, [weak(row)], due_s=60), None)[1]),
    ("give_way", UrlEvent.GAVE_WAY, lambda tx, row: (caps.give_way(tx, [weak(row)]), None)[1]),
    ("give_up: refused", UrlEvent.DISALLOWED, _give_up(UrlState.REFUSED)),
    ("give_up: quarantined", UrlEvent.EXHAUSTED, _give_up(UrlState.QUARANTINED)),
    *(
        (f"record: {event}", event, _record(target))
        for (state, event), target in URL_TRANSITIONS.items()
        if state is UrlState.QUEUED and target is not None and event is not UrlEvent.PUT_OFF
    ),
]


@pytest.mark.parametrize("state", list(UrlState))
@pytest.mark.parametrize(("name", "event", "act"), SQL_EVENTS)
def test_sql_moves_a_url_as_the_table_says(
    engine: Engine, name: str, event: UrlEvent, act: Callable[[Connection, Admission], None], state: UrlState
) -> None:
    """And leaves it where it is when the table has no such row."""
    row = admission(make_host(engine), make_crawl(engine, keep_fresh=True))
    stand(engine, row, state)
    with db.transaction(engine) as tx:
        act(tx, row)
    assert state_of(engine, row) == URL_TRANSITIONS.get((state, event), state)


@pytest.mark.parametrize(
    ("state", "event", "columns"),
    [
        (UrlState.QUEUED, UrlEvent.ADMITTED, {}),
        (UrlState.REFUSED, UrlEvent.DISALLOWED, {"cause": "robots.txt"}),
        (UrlState.RESTING, UrlEvent.PUT_OFF, {"due_s": 60.0}),
    ],
)
def test_a_row_is_admitted_as_the_table_says(
    engine: Engine, state: UrlState, event: UrlEvent, columns: dict[str, Any]
) -> None:
    row = admission(make_host(engine), make_crawl(engine), state=state.value, **columns)
    admit(engine, row)
    assert state_of(engine, row) == URL_TRANSITIONS[None, event]


def test_every_event_is_one_that_sql_performs() -> None:
    performed = {event for _, event, _ in SQL_EVENTS} | {UrlEvent.ADMITTED}
    assert performed == set(UrlEvent)


def test_what_an_admission_finds_it_leaves_as_it_is(engine: Engine) -> None:
    host_id, crawl_id = make_host(engine), make_crawl(engine)
    for number, state in enumerate(UrlState):
        stand(engine, admission(host_id, crawl_id, f"/{number}"), state)
    before = sql(engine, "SELECT * FROM urls ORDER BY id")
    admit(engine, *(admission(host_id, crawl_id, f"/{number}") for number in range(len(UrlState))))
    assert sql(engine, "SELECT * FROM urls ORDER BY id") == before


def test_record_writes_what_is_queued_once(engine: Engine) -> None:
    host_id, crawl_id = make_host(engine), make_crawl(engine)
    rows = [admission(host_id, crawl_id, path) for path in ("/a", "/b", "/c")]
    admit(engine, *rows)
    sql(engine, "UPDATE urls SET state = 'gone' WHERE url LIKE '%/b'")
    with db.transaction(engine) as tx:
        urls.record(tx, [result(row, "resting", host_id=host_id + 1, due_s=60, etag='"w"') for row in rows])
        urls.record(tx, [result(row, "resting", due_s=60, etag='"x"') for row in rows])
        urls.record(tx, [result(row, "resting", due_s=60, etag='"y"') for row in rows])
    etags = sql(engine, "SELECT etag FROM urls WHERE etag IS NOT NULL")
    assert [row["etag"] for row in etags] == ['"x"', '"x"'], "a doubled settle finds nothing queued"


def test_an_attempt_is_counted_on_queued_urls_only(engine: Engine) -> None:
    row = admission(make_host(engine), make_crawl(engine))
    where: dict[str, Any] = {name: row[name] for name in ("host_id", "crawl_id", "key")}
    admit(engine, row)
    with db.transaction(engine) as tx:
        assert urls.count_attempt(tx, **where) == 1
        assert urls.count_attempt(tx, **where) == 2
    stand(engine, row, UrlState.GONE)
    with db.transaction(engine) as tx:
        assert urls.count_attempt(tx, **where) is None


@pytest.mark.parametrize("state", list(UrlState))
def test_going_round_forgets_why_and_keeps_the_validators(engine: Engine, state: UrlState) -> None:
    row = admission(make_host(engine), make_crawl(engine))
    stand(engine, row, state, retrying=state is UrlState.RESTING)
    sql(engine, "UPDATE urls SET etag = 'e', interval_s = 5")
    with db.transaction(engine) as tx:
        assert go_round(tx, row["crawl_id"]) == ({} if state is UrlState.QUEUED else {row["host_id"]: 1})
    columns = "state, etag, interval_s, retrying" + ("" if state is UrlState.QUEUED else ", attempts, cause, due_at")
    (found,) = sql(engine, f"SELECT {columns} FROM urls")
    kept = {"state": "queued", "etag": "e", "interval_s": 5.0, "retrying": False}
    assert found == kept | ({} if state is UrlState.QUEUED else {"attempts": 0, "cause": None, "due_at": None})


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
