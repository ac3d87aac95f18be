"""What is found is a matter of the pages and their order alone: not of lots, nor of who compares them or is killed."""

import random
from functools import partial
from threading import Event, Thread

import pytest
from sqlalchemy import Engine

from app.errors import ServiceError
from app.features.near import rows as near
from app.features.near.find import Lots, find_near
from app.features.near.memory import NearMemory
from app.store import db
from tests.features.near.test_find import prose
from tests.features.near.test_memory import QUEUE, Notes, made, notes, put
from tests.store.rows import Aside, make_crawl, one, sql

HOSTS, PAGES = 8, 12
COMPARER = "one who compares"
VICTIMS = f"SELECT pid FROM pg_stat_activity WHERE application_name = '{COMPARER}' AND datname = current_database()"
TABLES = ("duplicates", "fingerprints", "fingerprint_keys", "fingerprints_keyed")


def alike(engine: Engine, seed: int, *crawls: str, hosts: int = HOSTS) -> None:
    """In each crawl hosts whose pages say one of three things, with some words of their own: chains of likes."""
    rng = random.Random(seed)
    for name in crawls:
        crawl = make_crawl(engine, name)
        pages = []
        for host in range(1, hosts + 1):
            for page in range(PAGES):
                own = prose(rng.choice((0, 1, 2, 4, 9, 15, 25, 40)), seed=rng.randrange(99))
                pages.append(made(crawl, host, page, f"{prose(220, seed=page % 3)} {own}"))
        put(engine, pages)


def lots_of(n: int) -> Lots:
    return Lots(pages=n, backlog=10**6)


def start_again(engine: Engine) -> None:
    for table in TABLES:
        sql(engine, f"DELETE FROM {table}")
    sql(engine, QUEUE)


def by_lots_of(engine: Engine, n: int, *, most_held: int = 10**6) -> Notes:
    start_again(engine)
    memory = NearMemory(most_held=most_held)
    while find_near(engine, within_s=0.0, memory=memory, lots=lots_of(n)).pages:
        pass
    return notes(engine)


@pytest.mark.parametrize("seed", range(3))
def test_lots_of_any_size_find_the_same(engine: Engine, seed: int) -> None:
    alike(engine, seed, "c")
    one_by_one = by_lots_of(engine, 1)
    assert {kind for _, _, kind, _, _ in one_by_one} == {"near", "review"}
    assert all(by_lots_of(engine, n) == one_by_one for n in (7, 200))


class Killer(Thread):
    """Ends sessions of those who compare, now and then, as if their processes were killed."""

    def __init__(self, engine: Engine, dice: random.Random) -> None:
        super().__init__(daemon=True)
        self._engine, self._dice = engine, dice
        self.stopping, self.killed = Event(), 0

    def run(self) -> None:
        while not self.stopping.wait(self._dice.random() * 0.05):
            victims = sql(self._engine, VICTIMS)
            if victims:
                one(self._engine, "SELECT pg_terminate_backend(:pid)", pid=self._dice.choice(victims)["pid"])
                self.killed += 1


def compare(url: str, seed: int, size: Lots, held: int) -> int:
    """As a process does it that is started again when it was killed. Returns how many lots it has done."""
    dice, engine, lots = random.Random(seed), db.connect(url, session_name=COMPARER), 0
    memory = NearMemory(most_held=held)
    while True:
        try:
            with db.transaction(engine) as tx:
                if not near.crawls(tx):
                    break
            lots += find_near(engine, within_s=dice.choice((0.0, 0.05)), memory=memory, lots=size).pages > 0
        except ServiceError:
            memory = NearMemory(most_held=held)
    engine.dispose()
    return lots


@pytest.mark.parametrize("seed", range(20))
def test_one_process_and_four_some_of_which_are_killed_find_the_same(
    engine: Engine, database_url: str, seed: int
) -> None:
    held = (0, 7, 10**6)[seed % 3]
    alike(engine, seed, "a", "b", "c", hosts=5)
    alone = by_lots_of(engine, 200, most_held=held)
    pages = random.Random(seed).choice((3, 5, 11))
    start_again(engine)
    killer = Killer(engine, random.Random(seed))
    killer.start()
    asides = [Aside(partial(compare, database_url, 10 * seed + n, lots_of(pages), held)) for n in range(4)]
    lots = [aside.outcome() for aside in asides]
    killer.stopping.set()
    killer.join()
    assert notes(engine) == alone
    assert (len(alone) > 0, killer.killed > 0, sum(n > 0 for n in lots) > 1) == (True, True, True)
