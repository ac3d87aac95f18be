"""A crawl ends by itself: nothing left in an open state, or at a budget; and only then."""

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import Engine, text

from app.beat.finish import finish
from app.policy.scope import ScopeKind, scope_of
from app.store import crawls, db, hosts, urls
from tests.store.rows import (
    Aside,
    admission,
    admit,
    await_blocked,
    backend,
    claim,
    counted,
    make_crawl,
    make_host,
    one,
    sql,
)
from tests.store.test_plans import looked_at

REST = "due_at = now() + interval '1 day'"


@pytest.mark.parametrize(
    ("change", "columns", "ended"),
    [
        ("state = 'queued'", {}, False),
        (f"state = 'resting', {REST}", {}, True),
        (f"state = 'resting', retrying = true, {REST}", {}, False),
        ("state = 'refused', cause = 'c'", {}, True),
        (f"state = 'gone', {REST}", {}, True),
        ("state = 'quarantined', cause = 'c'", {}, True),
        ("state = 'alias', alias_of = 'u'", {}, True),
        (f"state = 'resting', {REST}", {"keep_fresh": True}, False),
        (f"state = 'resting', {REST}", {"state": "paused"}, False),
    ],
)
def test_a_crawl_ends_when_no_url_is_in_an_open_state(
    engine: Engine, change: str, columns: dict[str, Any], ended: bool
) -> None:
    crawl_id = make_crawl(engine, **columns)
    admit(engine, admission(make_host(engine), crawl_id))
    sql(engine, f"UPDATE urls SET {change}")
    assert finish(engine) == (["c"] if ended else [])
    if ended:
        (row,) = sql(engine, "SELECT state, ended_because, ended_detail, finished_at IS NOT NULL AS at FROM crawls")
        assert row == {"state": "finished", "ended_because": "done", "ended_detail": None, "at": True}
    assert finish(engine) == [], "once"


def test_a_crawl_without_seeds_ends(engine: Engine) -> None:
    make_crawl(engine)
    assert finish(engine) == ["c"]


@pytest.mark.parametrize("change", ["state = 'queued'", f"state = 'resting', retrying = true, {REST}"])
def test_a_crawl_that_gets_open_urls_this_moment_does_not_end(engine: Engine, change: str) -> None:
    """Neither before they are committed, nor by a look that is older than they are."""
    crawl_id, host_id = make_crawl(engine), make_host(engine)
    with db.transaction(engine) as tx:
        urls.admit(tx, [admission(host_id, crawl_id)])
        tx.execute(text(f"UPDATE urls SET {change}"))
        crawls.widen(tx, crawl_id=crawl_id, around=scope_of([], kind=ScopeKind.HOST))
        ending = Aside(lambda: finish(engine))
        assert await_blocked(engine, backend(tx), ending)
    assert ending.outcome() == []
    assert one(engine, "SELECT state FROM crawls") == "active"


@pytest.mark.parametrize(
    # columns, what was got → the ending and its detail
    ("columns", "got", "ending"),
    [
        ({"max_pages": 5}, {"pages": 4}, None),
        ({"max_pages": 5}, {"pages": 5}, "max_pages: 5"),
        ({"max_bytes": 100}, {"bytes": 99}, None),
        ({"max_bytes": 100}, {"bytes": 100}, "max_bytes: 100"),
        ({"max_seconds": 3600}, {}, None),
        ({"max_seconds": 59}, {}, "max_seconds: 59"),
        ({"max_seconds": 1e300}, {}, None),  # Postgres has no such interval: it would fail for all crawls
        ({"max_depth": 0}, {"pages": 10**6}, None),
        ({"max_pages": 5, "keep_fresh": True}, {"pages": 5}, "max_pages: 5"),
        ({"max_pages": 5, "state": "paused"}, {"pages": 5}, None),
    ],
)
def test_a_crawl_ends_at_a_budget(
    engine: Engine, columns: dict[str, Any], got: dict[str, int], ending: str | None
) -> None:
    """Two hosts brought it in together, and the crawl has been active for a minute."""
    crawl_id = make_crawl(engine, **columns)
    made = [make_host(engine), make_host(engine)]
    admit(engine, admission(made[0], crawl_id))
    sql(engine, "UPDATE crawls SET active_since = now() - interval '60 s'")
    for host_id, share in zip(made, (1, 0), strict=True):
        counted(
            engine,
            crawl_id,
            host_id,
            pages=got.get("pages", 0) - 1 if share else min(got.get("pages", 0), 1),
            bytes=got.get("bytes", 0) - 1 if share else min(got.get("bytes", 0), 1),
        )
    assert finish(engine) == (["c"] if ending else [])
    with db.transaction(engine) as tx:
        assert crawls.by_id(tx, crawl_id).ending == ending
        crawls.start(tx, crawl_id)
        assert crawls.by_id(tx, crawl_id).ending is None, "the detail goes with it"


LEASE = """UPDATE hosts SET state = 'taken', lease_token = v.token, taken_at = v.taken_at,
                           lease_until = now() + CAST(:lease AS interval), next_fetch_at = now() + CAST(:lease AS
                           interval)
           FROM visits AS v WHERE v.host_id = hosts.id AND v.host_id = :host"""
VISIT = """INSERT INTO visits (host_id, token, queue, worker, taken_at)
           SELECT :host, gen_random_uuid(), 'host-00', 'w', pages_held_until + CAST(:taken AS interval) FROM crawls"""


def spent(engine: Engine) -> tuple[int, int]:
    """A crawl whose 5 pages are all granted, but 3 came, from a host where more wait. Returns the ids of both."""
    crawl_id, host_id = make_crawl(engine, max_pages=5), make_host(engine)
    admit(engine, admission(host_id, crawl_id))
    with db.transaction(engine) as tx:
        assert crawls.reserve(tx, crawl_id=crawl_id, n=9) == 5
    counted(engine, crawl_id, host_id, pages=3)
    return crawl_id, host_id


def visited(engine: Engine, host_id: int, *, taken: str, lease: str) -> None:
    """taken: since when, from the last grant on;   lease: for how long, from now on."""
    sql(engine, VISIT, host=host_id, taken=taken)
    sql(engine, LEASE, host=host_id, lease=lease)


@pytest.mark.parametrize(
    ("taken", "lease", "reserved"),
    [
        (None, "", 3),
        ("-1 s", "1 minute", 5),  # it may hold some
        ("0 s", "1 minute", 5),
        ("1 ms", "1 minute", 3),  # nothing was left to be granted to it
        ("-1 s", "-1 s", 3),
    ],
)
def test_grants_that_a_crash_lost_are_free_again(engine: Engine, taken: str | None, lease: str, reserved: int) -> None:
    """As soon as no visit can hold them: none that was taken up before the last grant and may still write."""
    _, host_id = spent(engine)
    if taken is not None:
        visited(engine, host_id, taken=taken, lease=lease)
    assert finish(engine) == []
    assert one(engine, "SELECT pages_reserved FROM crawls") == reserved


def test_another_crawl_s_visits_do_not_keep_lost_grants(engine: Engine) -> None:
    """Its hosts are visited all the time, ours among them; of each one visit was there at the last grant."""
    _, host_id = spent(engine)
    others = [make_host(engine) for _ in range(3)]
    for each in (host_id, *others):
        visited(engine, each, taken="-1 s", lease="1 minute")
    for each in (host_id, *others):
        finish(engine)
        assert one(engine, "SELECT pages_reserved FROM crawls") == 5
        sql(engine, "UPDATE visits SET ended_at = now(), ending = 'x' WHERE host_id = :h", h=each)
        sql(
            engine,
            "UPDATE hosts SET state = 'idle', lease_token = NULL, lease_until = NULL, taken_at = NULL WHERE id = :h",
            h=each,
        )
        visited(engine, each, taken="1 ms", lease="1 minute")
    finish(engine)
    assert one(engine, "SELECT pages_reserved FROM crawls") == 3


def test_a_visit_whose_grants_were_counted_free_writes_nothing(engine: Engine) -> None:
    """Its lease ran out, and nobody has come for its host since: its pages would be one too many."""
    _, host_id = spent(engine)
    visited(engine, host_id, taken="-1 s", lease="-1 s")
    token = one(engine, "SELECT lease_token FROM hosts")
    finish(engine)
    with db.transaction(engine) as tx:
        assert hosts.lock_leased(tx, host_id=host_id, token=token) is None
    assert [offer.host_id for offer in claim(engine)] == [host_id], "it is due as after any lost lease"


def test_a_lease_that_ran_out_is_left_alone_while_pages_are_left(engine: Engine) -> None:
    crawl_id, host_id = spent(engine)
    with db.transaction(engine) as tx:
        crawls.reserve(tx, crawl_id=crawl_id, n=-1)
    visited(engine, host_id, taken="-1 s", lease="-1 s")
    token = one(engine, "SELECT lease_token FROM hosts")
    finish(engine)
    assert one(engine, "SELECT lease_token FROM hosts") == token


def test_a_recount_sees_the_visit_of_a_grant_that_it_waited_for(engine: Engine) -> None:
    """A take-up that reserves, not committed yet: its visit is there once its crawl's row is free."""
    crawl_id, host_id = spent(engine)
    with db.transaction(engine) as tx:
        crawls.reserve(tx, crawl_id=crawl_id, n=-1)
        crawls.reserve(tx, crawl_id=crawl_id, n=1)
        tx.execute(text(VISIT), {"host": host_id, "taken": "-1 ms"})
        tx.execute(text(LEASE), {"host": host_id, "lease": "1 minute"})
        ending = Aside(lambda: finish(engine))
        assert await_blocked(engine, backend(tx), ending)
    assert ending.outcome() == []
    assert one(engine, "SELECT pages_reserved FROM crawls") == 5


def test_a_visit_s_give_back_in_another_order_does_not_deadlock(engine: Engine) -> None:
    """Whoever ends crawls holds one at a time, so that it cannot stand in the way of a visit of several."""
    first, second = make_crawl(engine, "first", max_pages=5), make_crawl(engine, "second", max_pages=5)
    for crawl_id, host_id in ((first, make_host(engine)), (second, make_host(engine))):
        admit(engine, admission(host_id, crawl_id))
        counted(engine, crawl_id, host_id, pages=5)
    sql(engine, "UPDATE crawls SET pages_reserved = 5")
    with db.transaction(engine) as tx:
        crawls.reserve(tx, crawl_id=second, n=-1)
        ending = Aside(lambda: finish(engine))
        await_blocked(engine, backend(tx), ending)
        crawls.reserve(tx, crawl_id=first, n=-1)
    assert ending.outcome() == ["first", "second"]


RESTING_FIRST = """INSERT INTO urls (host_id, crawl_id, key, url, state, due_at, lane, score, depth)
                   SELECT :host, :crawl, sha256(convert_to(url, 'UTF8')), url, state,
                          CASE state WHEN 'resting' THEN now() + interval '1 day' END, 1, 0.5, 1
                   FROM generate_series(1, 6000) AS n,
                        LATERAL (SELECT 'http://h.test/' || n AS url,
                                        CASE WHEN n <= 3000 THEN 'resting' ELSE 'queued' END AS state) AS made"""
COUNTS = "INSERT INTO crawl_hosts (crawl_id, host_id, pages) SELECT :crawl, n, 1 FROM generate_series(1, 3000) AS n"


def test_a_look_at_a_large_crawl_reads_a_row_or_two(make_database: Callable[[], str]) -> None:
    """Of its URLs, which lie in the order in which they were found and fetched, and of the sums of its hosts."""
    engine = db.connect(make_database())
    crawl_id, host_id = make_crawl(engine, max_pages=10**9), make_host(engine, "h.test")
    sql(engine, RESTING_FIRST, host=host_id, crawl=crawl_id)
    sql(engine, COUNTS, crawl=crawl_id)
    counted(engine, crawl_id, host_id, pages=1)
    sql(engine, "ANALYZE urls, crawl_hosts, crawl_counts, crawls")
    for name, table, most in (("finish_candidates", "urls", 1), ("spent_candidates", "crawl_hosts", 0)):
        (found,) = one(engine, f"EXPLAIN (ANALYZE, FORMAT JSON) {db.queries('crawls')[name].text}")
        assert sum(looked_at(found["Plan"], table)) <= most, name
    assert finish(engine) == []
    engine.dispose()
