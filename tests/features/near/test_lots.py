"""What is found is a matter of the pages and their order alone: not of lots, of who compares them, or of who is killed."""

import random

import pytest
from sqlalchemy import Engine

from app.features.near.find import find_near
from app.features.near.memory import NearMemory
from tests.features.near.test_find import prose
from tests.features.near.test_memory import QUEUE, Notes, made, notes, put
from tests.store.rows import make_crawl, sql

HOSTS, PAGES = 8, 12
TABLES = ("duplicates", "fingerprints", "fingerprint_keys", "fingerprints_keyed")


def alike(engine: Engine, seed: int, *crawls: str) -> None:
    """In each crawl hosts whose pages say one of three things, with some words of their own: chains of likes."""
    rng = random.Random(seed)
    for name in crawls:
        crawl = make_crawl(engine, name)
        pages = []
        for host in range(1, HOSTS + 1):
            for page in range(PAGES):
                own = prose(rng.choice((0, 1, 2, 4, 9, 15, 25, 40)), seed=rng.randrange(99))
                pages.append(made(crawl, host, page, f"{prose(220, seed=page % 3)} {own}"))
        put(engine, pages)


def start_again(engine: Engine) -> None:
    for table in TABLES:
        sql(engine, f"DELETE FROM {table}")
    sql(engine, QUEUE)


def by_lots_of(engine: Engine, monkeypatch: pytest.MonkeyPatch, n: int) -> Notes:
    monkeypatch.setattr("app.features.near.find.AT_ONCE", n)
    start_again(engine)
    memory = NearMemory()
    while find_near(engine, within_s=0.0, memory=memory).pages:
        pass
    return notes(engine)


@pytest.mark.parametrize("seed", range(3))
def test_lots_of_any_size_find_the_same(engine: Engine, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    monkeypatch.setattr("app.features.near.find.BACKLOG", 10**6)
    alike(engine, seed, "c")
    one_by_one = by_lots_of(engine, monkeypatch, 1)
    assert {kind for _, _, kind, _, _ in one_by_one} == {"near", "review"}
    assert all(by_lots_of(engine, monkeypatch, n) == one_by_one for n in (7, 200))
