"""What is found is a matter of the pages and their order alone: not of lots, nor of who compares them or is killed."""

import random
from functools import partial
from threading import Event, Thread

import pytest
from sqlalchemy import Engine, text

from app.admin import deletion
from app.errors import ServiceError
from app.features.near import rows as near
from app.features.near.compare_lot import compare, fingerprint
from app.features.near.find import Lots, NearFound, find_near
from app.store import db
from tests.crawl.loop import make_settings
from tests.examples import IS_FULL
from tests.features.near.documents import Notes, alike, enter, made, notes, put, start_again
from tests.features.near.test_find import prose
from tests.store.rows import Aside, make_crawl, one, sql

COMPARER = "one who compares"
VICTIMS = f"SELECT pid FROM pg_stat_activity WHERE application_name = '{COMPARER}' AND datname = current_database()"
EARLIER = """
SELECT count(*) FROM duplicates AS d
JOIN pages AS p ON (p.host_id, p.crawl_id, p.key) = (d.host_id, d.crawl_id, d.key)
JOIN pages AS o ON (o.host_id, o.crawl_id, o.key) = (d.of_host_id, d.crawl_id, d.of_key)
WHERE (o.fetched_at, o.key) < (p.fetched_at, p.key)"""
CHANGE = """
WITH changed AS (
    UPDATE pages SET main_text = :text WHERE host_id = :host_id AND crawl_id = :crawl_id AND key = :key
    RETURNING host_id, crawl_id, key)
INSERT INTO near_queue (host_id, crawl_id, key) SELECT * FROM changed"""


def lots_of(n: int) -> Lots:
    return Lots(pages=n, backlog=10**6)


def by_lots_of(engine: Engine, n: int, *, is_known: bool = True) -> Notes:
    start_again(engine, is_known=is_known)
    while find_near(engine, within_s=0.0, lots=lots_of(n)).pages:
        pass
    return notes(engine)


@pytest.mark.parametrize("seed", range(2))
def test_lots_of_any_size_find_the_same(engine: Engine, seed: int) -> None:
    alike(engine, seed, "c", hosts=5)
    one_by_one = by_lots_of(engine, 1)
    assert {kind for _, _, kind, _, _ in one_by_one} == {"near", "review"}
    assert one(engine, EARLIER) == len(one_by_one), "the original is the earlier of the two"
    assert all(by_lots_of(engine, n) == one_by_one for n in (7, 200))
    assert all(by_lots_of(engine, n, is_known=False) == one_by_one for n in (7, 200)), "all wait for the last then"


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


def compare_all(url: str, seed: int, size: Lots) -> int:
    """As a process does it that is started again when it was killed. Returns how many lots it has done."""
    dice, engine, lots = random.Random(seed), db.connect(url, session_name=COMPARER), 0
    while True:
        try:
            with db.transaction(engine) as tx:
                if not near.crawls(tx):
                    break
            lots += find_near(engine, within_s=dice.choice((0.0, 0.05)), lots=size).pages > 0
        except ServiceError:
            pass
    engine.dispose()
    return lots


# one crawl or three, and whether pages wait for the last: each with each where CI runs it
@pytest.mark.parametrize("seed", range(4) if IS_FULL else (0, 1))
def test_one_process_and_four_some_of_which_are_killed_find_the_same(
    engine: Engine, database_url: str, seed: int
) -> None:
    alike(engine, seed, *("a", "abc")[seed % 2], hosts=5)
    alone = by_lots_of(engine, 200)
    pages = random.Random(seed).choice((3, 5, 11))
    start_again(engine, is_known=seed % 3 > 0)
    killer = Killer(engine, random.Random(seed))
    killer.start()
    asides = [Aside(partial(compare_all, database_url, 10 * seed + n, lots_of(pages))) for n in range(4)]
    lots = [aside.outcome() for aside in asides]
    killer.stopping.set()
    killer.join()
    assert notes(engine) == alone
    assert (len(alone) > 0, killer.killed > 0, sum(n > 0 for n in lots) > 1) == (True, True, True)


def mirrors(engine: Engine, *seconds: int) -> list[str]:
    """Pages of one crawl that say nearly the same, fetched at these seconds. Returns their URLs."""
    crawl = make_crawl(engine)
    pages = [
        made(crawl, n + 1, 0, f"{prose(220, seed=1)} Hosted by friend {n}.", second=at) for n, at in enumerate(seconds)
    ]
    put(engine, pages)
    return [page["url"] for page in pages]


def pairs(engine: Engine) -> set[tuple[str, str]]:
    return {(url, of_url) for _, url, _, of_url, _ in notes(engine)}


def test_an_earlier_page_that_comes_late_is_the_original(engine: Engine) -> None:
    first, *others = mirrors(engine, 1, 2, 3, 4)
    enter(engine, *others)
    find_near(engine)
    assert pairs(engine) == {(each, others[0]) for each in others[1:]}
    enter(engine, first)
    find_near(engine, within_s=60.0)
    assert pairs(engine) == {(each, first) for each in others}
    assert one(engine, "SELECT count(*) FROM fingerprint_keys") == 3, "of the original alone"


def test_a_page_is_not_compared_before_an_earlier_one_of_the_queue(engine: Engine) -> None:
    late, early = mirrors(engine, 2, 1)
    enter(engine, late)
    with db.transaction(engine) as tx:
        (waiting,) = near.lot(tx, 1, 10, most_bytes=10**6)
        fingerprint(tx, [waiting])
        near.done(tx, 1, [waiting.id])
    enter(engine, early)
    with db.transaction(engine) as tx:
        assert near.due(tx, 1, 10, most_bytes=10**6) == []
    find_near(engine)
    assert pairs(engine) == {(late, early)}


def given_fingerprints(engine: Engine) -> None:
    with db.transaction(engine) as tx:
        waiting = near.lot(tx, 1, 100, most_bytes=10**6)
        near.done(tx, 1, [each.id for each in fingerprint(tx, waiting).pages])


def test_what_is_known_of_a_page_holds_until_another_process_has_had_it(engine: Engine) -> None:
    (page,) = mirrors(engine, 1)
    enter(engine, page)
    with db.transaction(engine) as tx:
        done, known = fingerprint(tx, near.lot(tx, 1, 10, most_bytes=10**6))
        near.done(tx, 1, [each.id for each in done])
    with db.transaction(engine) as tx:
        (due,) = near.due(tx, 1, 10, most_bytes=10**6, at_hand=known)
    assert (due.is_known, due.url) == (True, page)
    find_near(engine)
    enter(engine, page)
    given_fingerprints(engine)
    with db.transaction(engine) as tx:
        (again,) = near.due(tx, 1, 10, most_bytes=10**6, at_hand=known)
    assert (again.id, again.is_known, again.url) == (due.id, False, page)


def test_what_depends_on_pages_of_another_process_is_left_and_all_else_compared(engine: Engine) -> None:
    first, second = mirrors(engine, 1, 2)
    put(engine, [made(1, 9, 0, prose(220, seed=8), second=3)])
    enter(engine, first, second, "http://h9.test/0")
    given_fingerprints(engine)
    with db.transaction(engine) as other:
        (held,) = near.due(other, 1, 1, most_bytes=10**6)
        assert held.url == first
        assert find_near(engine) == NearFound(pages=1), "nobody waits"
        assert (near.waiting(other, crawl_id=1, most=10), pairs(engine)) == (2, set())
    assert find_near(engine) == NearFound(pages=2, near=1)
    assert pairs(engine) == {(second, first)}


def test_an_original_that_another_process_compares_anew_is_not_relied_on(engine: Engine) -> None:
    """It may repeat another, as it turns out."""
    first, second = mirrors(engine, 1, 2)
    enter(engine, first)
    find_near(engine)
    enter(engine, first)
    given_fingerprints(engine)
    enter(engine, second)
    with db.transaction(engine) as other:
        assert [each.url for each in near.due(other, 1, 1, most_bytes=10**6)] == [first]
        assert find_near(engine) == NearFound()
    assert find_near(engine).near == 1
    assert pairs(engine) == {(second, first)}


def test_a_page_that_is_compared_while_an_earlier_one_comes_is_compared_again(engine: Engine) -> None:
    first, second = mirrors(engine, 1, 2)
    enter(engine, second)
    given_fingerprints(engine)
    with db.transaction(engine) as other:
        compare(other, near.due(other, 1, 1, most_bytes=10**6))
        enter(engine, first)
        assert find_near(engine) == NearFound(pages=1), "it is an original, as it is earlier"
    assert find_near(engine) == NearFound(pages=1, near=1)
    assert pairs(engine) == {(second, first)}


def test_two_that_give_one_page_its_fingerprint_give_it_once(engine: Engine) -> None:
    """It stands in the queue twice, and each holds a row."""
    (page,) = mirrors(engine, 1)
    enter(engine, page)
    find_near(engine)
    for _ in range(2):
        enter(engine, page)
    with db.transaction(engine) as one_process, db.transaction(engine) as another:
        (mine,), (theirs,) = (near.lot(tx, 1, 1, most_bytes=10**6) for tx in (one_process, another))
        assert mine.id != theirs.id
        assert fingerprint(one_process, [mine]).pages == [mine]
        assert fingerprint(another, [theirs]).pages == [], "it is left in the queue"
    assert find_near(engine).pages == 1
    assert one(engine, "SELECT count(*) FROM near_queue") == 0


@pytest.mark.parametrize("pages", [8, 200])
def test_pages_that_change_leave_nothing_behind(engine: Engine, pages: int) -> None:
    alike(engine, 1, "c", "d", hosts=5)
    start_again(engine)
    rng = random.Random(5)
    for gone in (None, False, False, True):
        if gone is not None:
            rows = sql(engine, "SELECT host_id, crawl_id, key FROM pages ORDER BY url, crawl_id")
            changed = [row | {"text": None if gone else prose(220, rng.randrange(9))} for row in rng.sample(rows, 25)]
            with engine.begin() as tx:
                tx.execute(text(CHANGE), changed)
        find_near(engine, within_s=60.0, lots=Lots(pages=pages, most_s=60.0))
    assert one(engine, "SELECT count(*) FROM near_queue") == one(engine, "SELECT count(*) FROM fingerprints_due") == 0
    keyed = "SELECT fingerprint_id FROM fingerprint_keys"
    assert one(engine, f"SELECT count(*) FROM ({keyed} EXCEPT SELECT id FROM fingerprints) AS lost") == 0
    assert {row["n"] for row in sql(engine, f"SELECT count(*) AS n FROM ({keyed}) AS k GROUP BY fingerprint_id")} == {3}
    repeats = """SELECT count(*) FROM duplicates JOIN fingerprints AS f USING (host_id, crawl_id, key)
                 WHERE kind = 'near' AND f.id IN (SELECT fingerprint_id FROM fingerprint_keys)"""
    assert one(engine, repeats) == 0, "nobody looks for these"


def test_a_crawl_that_is_deleted_while_it_is_compared_leaves_nothing_to_compare(
    engine: Engine, database_url: str
) -> None:
    pages = mirrors(engine, 1, 2)
    enter(engine, *pages)
    given_fingerprints(engine)
    deletion.delete(engine, make_settings(database_url), "c", patience_s=0.0)
    assert find_near(engine) == NearFound()
    for table in ("near_queue", "fingerprints", "fingerprint_keys", "fingerprints_due"):
        assert one(engine, f"SELECT count(*) FROM {table}") == 0
