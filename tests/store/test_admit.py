"""The frontier's rows: one per (crawl, URL key), whoever comes first."""

import random
from collections.abc import Callable, Sequence
from functools import partial
from threading import Barrier

import pytest
from sqlalchemy import Connection, Engine, text

from app.store import db, hosts, suppressions, urls
from app.store.suppressions import Suppression
from tests.store.rows import (
    Aside,
    admission,
    admit,
    await_blocked,
    backend,
    make_crawl,
    make_host,
    one,
    result,
    sql,
)

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
