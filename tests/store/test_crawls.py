"""Counters of a crawl's hosts: several hosts' at once, beside an operator who begins the next round."""

import pytest
from sqlalchemy import Engine, text

from app.store import crawls, db
from tests.store.rows import Aside, await_blocked, backend, make_crawl, one


def count(engine: Engine, crawl_id: int, *host_ids: int) -> None:
    counted = {"pages": 1, "fetches": 1, "failed": 0, "bytes": 1}
    with db.transaction(engine) as tx:
        crawls.count(tx, [{"crawl_id": crawl_id, "host_id": host_id, **counted} for host_id in host_ids])


@pytest.mark.parametrize("settle_is_first", [True, False])
def test_a_settle_and_the_next_round_do_not_lock_each_other_out(engine: Engine, settle_is_first: bool) -> None:
    """Whoever is first waits at host 3, and the other behind it; in another order each would hold what the other
    wants."""
    crawl_id = make_crawl(engine)
    for host_id in (1, 2, 3):
        count(engine, crawl_id, host_id)

    def next_round() -> None:
        with db.transaction(engine) as tx:
            crawls.next_round(tx, crawl_id)

    acts = [lambda: count(engine, crawl_id, 2, 3, 1), next_round]
    with db.transaction(engine) as tx:
        tx.execute(text("SELECT FROM crawl_hosts WHERE host_id = 3 FOR UPDATE"))
        first = Aside(acts[0 if settle_is_first else 1])
        assert await_blocked(engine, backend(tx), first)
        second = Aside(acts[1 if settle_is_first else 0])
        while second.is_alive() and one(engine, "SELECT count(*) FROM pg_locks WHERE NOT granted") < 2:
            pass
    first.outcome()
    second.outcome()
    pages = one(engine, "SELECT coalesce(sum(pages), 0) FROM crawl_hosts")
    assert pages == (0 if settle_is_first else 3)
