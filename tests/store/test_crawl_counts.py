"""The sums of a crawl's hosts are those of their rows, whoever writes and whatever is undone."""

import random
from threading import Barrier, Thread

import pytest
from sqlalchemy import Connection, Engine, text

from app.errors import ServiceError
from app.store import crawls, db, deletion
from tests.crawl.writers import MISCOUNTED
from tests.examples import IS_FULL
from tests.store.rows import counted, make_crawl, one, sql

WRITERS, ACTS, HOSTS = 6, 60, 9


class Undone(Exception):
    """What ends a transaction before its commit."""


def act(tx: Connection, dice: random.Random, crawl_ids: list[int]) -> None:
    """A settle of some visits, mostly; a new round; a deletion that is interrupted."""
    crawl_id, kind = dice.choice(crawl_ids), dice.random()
    if kind < 0.1:
        crawls.next_round(tx, crawl_id)
    elif kind < 0.2:
        after = dice.randrange(HOSTS)
        deletion.of_hosts(tx, crawl_id=crawl_id, after=after, until=after + 3)
    else:
        places = {(dice.choice(crawl_ids), dice.randrange(HOSTS)) for _ in range(4)}
        row = {"pages": dice.randrange(3), "fetches": 3, "failed": 0, "bytes": dice.randrange(1_000)}
        crawls.count(tx, [{"crawl_id": crawl, "host_id": host, **row} for crawl, host in places])


def write(engine: Engine, seed: int, crawl_ids: list[int], meeting: Barrier) -> None:
    dice = random.Random(seed)
    meeting.wait(60)
    for _ in range(ACTS):
        end = dice.random()
        try:
            with db.transaction(engine) as tx:
                act(tx, dice, crawl_ids)
                if end < 0.2:
                    raise Undone
                if end < 0.3:  # as if the process were killed
                    tx.execute(text("SELECT pg_terminate_backend(pg_backend_pid())"))
        except (Undone, ServiceError):
            continue


@pytest.mark.parametrize("seed", range(3) if IS_FULL else [0])
def test_they_are_exact_after_several_writers_some_of_which_are_killed(engine: Engine, seed: int) -> None:
    crawl_ids = [make_crawl(engine, f"{seed} {name}") for name in "abc"]
    meeting = Barrier(WRITERS)
    threads = [Thread(target=write, args=(engine, 100 * seed + n, crawl_ids, meeting)) for n in range(WRITERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sql(engine, MISCOUNTED) == []
    assert one(engine, "SELECT count(DISTINCT part) FROM crawl_counts") > 1, "nobody waits for another's part"
    assert one(engine, "SELECT sum(pages) FROM crawl_counts") > 0


def test_they_go_with_their_crawl_and_no_other_s(engine: Engine) -> None:
    gone, stays = make_crawl(engine, "gone"), make_crawl(engine, "stays")
    for crawl_id in (gone, stays):
        counted(engine, crawl_id, 1, pages=2)
    with db.transaction(engine) as tx:
        assert not deletion.crawl(tx, gone), "it is active"
    assert one(engine, "SELECT count(*) FROM crawl_counts") == 2
    sql(engine, "UPDATE crawls SET state = 'finished', finished_at = now()")
    with db.transaction(engine) as tx:
        assert deletion.crawl(tx, gone)
    assert sql(engine, "SELECT crawl_id, pages FROM crawl_counts") == [{"crawl_id": stays, "pages": 2}]
