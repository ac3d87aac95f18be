"""Several processes compare: they note the same pairs as one does, also where one is killed."""

import random
import subprocess
import sys
from typing import Any

import pytest
from sqlalchemy import Engine, text

from tests.beat.test_find_near import prose
from tests.beat.test_near_memory import made, notes, put
from tests.store.rows import make_crawl, one, sql

HOSTS, PAGES, LOT = 5, 30, 7
IN_ORDER = "key"
DRAWN = "md5(url)"  # not in the order of their ages
QUEUE = "INSERT INTO near_queue (host_id, crawl_id, key) SELECT host_id, crawl_id, key FROM pages ORDER BY "
TABLES = ("duplicates", "fingerprints", "fingerprint_keys", "fingerprints_keyed", "fingerprint_changes")


@pytest.fixture
def corpus(engine: Engine) -> Engine:
    """Hosts that mirror each other, but for words here and there."""
    rng = random.Random(4)
    crawl = make_crawl(engine, "c")
    pages: list[dict[str, Any]] = []
    for host in range(1, HOSTS + 1):
        for page in range(PAGES):
            own = prose(rng.choice((0, 1, 4, 9, 25, 40)), seed=rng.randrange(99))
            pages.append(made(crawl, host, page, f"{prose(220, seed=page % 13)} {own}"))
    put(engine, pages)
    return engine


@pytest.fixture
def by_one(corpus: Engine, database_url: str) -> list[tuple[Any, ...]]:
    """What one process notes that compares the pages in the order of their ages."""
    sql(corpus, QUEUE + IN_ORDER)
    ended([started(database_url)])
    found = notes(corpus)
    assert {kind for _, _, kind, _, _ in found} == {"near", "review"}
    for table in TABLES:
        sql(corpus, f"DELETE FROM {table}")
    return found


def started(url: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "bench.comparer", url, str(LOT)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    )


def ended(processes: list[subprocess.Popen[str]]) -> list[int]:
    """The pages that each compared."""
    said = [process.communicate(timeout=60)[0] for process in processes]
    assert [process.returncode for process in processes] == [0] * len(processes)
    return [int(each.splitlines()[-1].split()[-1]) for each in said]


@pytest.mark.parametrize(("processes", "order"), [(1, DRAWN), (2, DRAWN), (4, DRAWN), (4, IN_ORDER)])
def test_they_note_the_same_pairs_as_one(
    corpus: Engine, database_url: str, by_one: list[tuple[Any, ...]], processes: int, order: str
) -> None:
    sql(corpus, QUEUE + order)
    compared = ended([started(database_url) for _ in range(processes)])
    assert notes(corpus) == by_one
    assert sum(compared) >= HOSTS * PAGES
    assert one(corpus, "SELECT count(*) FROM fingerprints") == HOSTS * PAGES


# what the killed process waits for: to store fingerprints; to store notes, when its fingerprints are stored
@pytest.mark.parametrize(
    "lock", ["SELECT pg_advisory_xact_lock(hashtext('tiptoe near'))", "LOCK TABLE duplicates IN SHARE MODE"]
)
def test_one_may_be_killed(corpus: Engine, database_url: str, by_one: list[tuple[Any, ...]], lock: str) -> None:
    sql(corpus, QUEUE + DRAWN)
    with corpus.begin() as other:
        other.execute(text(lock))
        killed = started(database_url)
        while not one(corpus, "SELECT count(*) FROM pg_locks WHERE NOT granted"):
            assert killed.poll() is None
        killed.kill()
        killed.communicate()
    ended([started(database_url) for _ in range(4)])
    assert notes(corpus) == by_one
