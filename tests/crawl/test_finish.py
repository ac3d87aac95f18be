"""A crawl ends by itself: nothing left in an open state, or at a budget; and only then."""

from typing import Any

import pytest
from sqlalchemy import Engine

from app.crawl.finish import finish
from app.store import crawls, db, urls
from tests.store.rows import Aside, admission, admit, await_blocked, backend, make_crawl, make_host, one, sql

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
        (row,) = sql(engine, "SELECT state, ended_because, finished_at IS NOT NULL AS at FROM crawls")
        assert row == {"state": "finished", "ended_because": "done", "at": True}
    assert finish(engine) == [], "once"


def test_a_crawl_without_seeds_ends(engine: Engine) -> None:
    make_crawl(engine)
    assert finish(engine) == ["c"]


def test_a_crawl_that_gets_seeds_this_moment_does_not_end(engine: Engine) -> None:
    """Neither before they are committed, nor by a look that is older than they are."""
    crawl_id, host_id = make_crawl(engine), make_host(engine)
    with db.transaction(engine) as tx:
        urls.admit(tx, [admission(host_id, crawl_id)])
        crawls.widen(tx, crawl_id=crawl_id, hosts=["h.test"], domains=[], prefixes=[])
        ending = Aside(lambda: finish(engine))
        await_blocked(engine, backend(tx), ending)
    assert ending.outcome() == []
    assert one(engine, "SELECT state FROM crawls") == "active"


@pytest.mark.parametrize(
    ("columns", "got", "because"),
    [
        ({"max_pages": 5}, {"pages": 4}, None),
        ({"max_pages": 5}, {"pages": 5}, "max_pages"),
        ({"max_bytes": 100}, {"bytes": 99}, None),
        ({"max_bytes": 100}, {"bytes": 100}, "max_bytes"),
        ({"max_seconds": 3600}, {}, None),
        ({"max_seconds": 59}, {}, "max_seconds"),
        ({"max_seconds": 1e300}, {}, None),  # Postgres has no such interval: it would fail for all crawls
        ({"max_depth": 0}, {"pages": 10**6}, None),
        ({"max_pages": 5, "keep_fresh": True}, {"pages": 5}, "max_pages"),
        ({"max_pages": 5, "state": "paused"}, {"pages": 5}, None),
    ],
)
def test_a_crawl_ends_at_a_budget(
    engine: Engine, columns: dict[str, Any], got: dict[str, int], because: str | None
) -> None:
    """Two hosts brought it in together, and the crawl has been active for a minute."""
    crawl_id = make_crawl(engine, **columns)
    made = [make_host(engine), make_host(engine)]
    admit(engine, admission(made[0], crawl_id))
    sql(engine, "UPDATE crawls SET active_since = now() - interval '60 s'")
    for host_id, share in zip(made, (1, 0), strict=True):
        sql(
            engine,
            "INSERT INTO crawl_hosts (crawl_id, host_id, pages, bytes) VALUES (:c, :h, :p, :b)",
            c=crawl_id,
            h=host_id,
            p=got.get("pages", 0) - 1 if share else min(got.get("pages", 0), 1),
            b=got.get("bytes", 0) - 1 if share else min(got.get("bytes", 0), 1),
        )
    assert finish(engine) == (["c"] if because else [])
    assert one(engine, "SELECT ended_because FROM crawls") == because


@pytest.mark.parametrize(("visited", "free"), [(False, 3), (True, 5)])
def test_grants_that_a_crash_lost_are_free_again(engine: Engine, visited: bool, free: int) -> None:
    """pages_reserved is 5 of 5, but only 3 pages came: the rest is a running visit's, or nobody's."""
    crawl_id, host_id = make_crawl(engine, max_pages=5, pages_reserved=5), make_host(engine)
    admit(engine, admission(host_id, crawl_id))
    sql(engine, "INSERT INTO crawl_hosts (crawl_id, host_id, pages) VALUES (:c, :h, 3)", c=crawl_id, h=host_id)
    if visited:
        sql(
            engine,
            """UPDATE hosts SET state = 'taken', lease_token = gen_random_uuid(), taken_at = now(),
                                lease_until = now() + interval '1 minute', next_fetch_at = now() + interval '2 minutes'""",
        )
    assert finish(engine) == []
    assert one(engine, "SELECT pages_reserved FROM crawls") == free
