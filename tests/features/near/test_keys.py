"""Keys of fingerprints find what is alike; a deleted crawl's go by lots; an upgrade makes them anew."""

import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from sqlalchemy import Engine

from app.features.near import fingerprint
from app.features.near import rows as near
from app.features.near.compare_lot import by_key
from app.features.near.rows import Fingerprint
from app.features.near.simhash import PRINT_BYTES, Print, Prints
from app.store import db
from tests.store.revisions import move
from tests.store.rows import make_crawl, make_host, one, sql

VALUES = [0, 2**64 - 1, 0x9A9765F67C4F6DCC, 1 << 63, 7]  # the least keys, the greatest, and others


def test_the_keys_of_a_crawl_go_lot_by_lot_and_no_others(engine: Engine) -> None:
    host, crawls = make_host(engine), [make_crawl(engine, name) for name in "abc"]
    with db.transaction(engine) as tx:
        wanted = {(host, crawl, bytes([n])): (n, value) for crawl in crawls for n, value in enumerate(VALUES)}
        near.put_keys(tx, near.put(tx, wanted))
    left, each = [], len(VALUES) * len(fingerprint.keys(0))
    for _ in range(each // 10 + 2):
        with db.transaction(engine) as tx:
            left.append(near.drop_crawl(tx, crawls[1], n=10))
    assert left == [10] * (each // 10) + [each % 10, 0]
    assert one(engine, "SELECT count(*) FROM fingerprint_keys") == 2 * each


def turned(value: int, *bits: int) -> int:
    return value ^ sum(1 << bit for bit in bits)


def test_those_that_differ_in_five_bits_are_found_and_no_others_nor_those_of_another_crawl(engine: Engine) -> None:
    host, crawl, other = make_host(engine), make_crawl(engine), make_crawl(engine, "d")
    rng = random.Random(1)
    for value in VALUES:
        close = [turned(value, *rng.sample(range(64), n % 6)) for n in range(60)]
        far = [turned(value, *rng.sample(range(64), 6)) for _ in range(20)]
        all_of = {(host, crawl, bytes([n])): (n, each) for n, each in enumerate([*close, *far])}
        with db.transaction(engine) as tx:
            made = near.put(tx, all_of | {(host, other, b"k"): (0, value)})
            near.put_keys(tx, made)
            asked, mine = Fingerprint(0, (host, crawl, b""), 0, value), Print(0, 0, value)
            sent, but_one = (near.by_keys(tx, [asked], ids, most=1_000) for ids in ([], [made[0].id]))
            tx.rollback()
        wanted = {each.id for each in made if each.value in close and each.where[1] == crawl}
        found = Prints.of_bytes(sent).alike(Prints.of([mine]), bits=5, most=100)
        assert {each.other for each in found} == wanted
        assert {each.value for each in made if each.id in Prints.of_bytes(sent).ids} <= {*close, *far}
        assert {*Prints.of_bytes(sent).ids} - {*Prints.of_bytes(but_one).ids} == {made[0].id}


def test_no_more_are_looked_at_than_asked_for_and_of_a_key_the_oldest(engine: Engine) -> None:
    host, crawl = make_host(engine), make_crawl(engine)
    with db.transaction(engine) as tx:
        near.put_keys(tx, near.put(tx, {(host, crawl, bytes([n])): (90 - n, 7) for n in range(20)}))
        found = near.by_keys(tx, [Fingerprint(0, (host, crawl, b""), 0, 7)], [], most=3)
    assert len(found) == 3 * PRINT_BYTES
    assert Prints.of_bytes(found).places.tolist() == [71, 72, 73]


def test_of_a_large_family_the_oldest_of_each_key_are_looked_at(engine: Engine) -> None:
    """Each page is found, however many others its lot meets; a family without end costs each lot the same."""
    host, crawl, rng = make_host(engine), make_crawl(engine), random.Random(4)
    values = [rng.getrandbits(64) for _ in range(5)]
    lot = [Fingerprint(1_000 + n, (host, crawl, b""), 999, turned(value, 3, 40)) for n, value in enumerate(values)]
    family = {(host, crawl, bytes([n, m])): (n + 5 * m, value) for n, value in enumerate(values) for m in range(20)}
    with db.transaction(engine) as tx:
        made = near.put(tx, family)
        near.put_keys(tx, made)
        whole, bounded = (by_key(tx, lot, {made[0].id}, most=most) for most in (10_000, 3))
    assert sorted(whole) == sorted(bounded)
    assert {like.id for like in bounded} == {each.id for each in lot}
    assert max(like.place for like in bounded) <= 5 * 9
    assert made[0].id not in {like.other for like in bounded}


def test_a_place_is_the_order_of_time_and_key() -> None:
    began, step = datetime(2026, 11, 28, tzinfo=UTC), timedelta(microseconds=1)
    keys = [b"", b"\x00", b"\x01", b"\x7f\xff", b"\x80" + bytes(30), b"\xff" * 32]
    pages = [(began + n * step, key) for n in range(3) for key in keys]
    places = [near.place_of(*page) for page in pages]
    assert places == sorted(places)
    assert all(0 < place < 1 << 63 for place in places)
    assert near.place_of(began, keys[-1]) < near.place_of(began + step, b"")


def test_what_was_noted_and_can_be_found_outlasts_an_upgrade(make_database: Callable[[], str]) -> None:
    engine = db.connect(make_database())
    move(engine, "0039")
    host, crawl = make_host(engine), make_crawl(engine)
    for n, value in enumerate(VALUES):
        signed = value - (1 << 64) if value >> 63 else value
        query = "INSERT INTO fingerprints (host_id, crawl_id, key, simhash) VALUES (:h, :c, :k, :s)"
        sql(engine, query, h=host, c=crawl, k=bytes([n]), s=signed)
    query = """INSERT INTO duplicates (host_id, crawl_id, key, url, kind, of_url)
               VALUES (:host, :crawl, :key, 'a', 'near', 'b')"""
    sql(engine, query, host=host, crawl=crawl, key=bytes([len(VALUES) - 1]))
    sql(engine, "INSERT INTO near_queue (host_id, crawl_id, key) VALUES (:h, :c, 'k')", h=host, c=crawl)
    move(engine, "head")
    stored = {(row["key"], row["fingerprint_id"]) for row in sql(engine, "SELECT * FROM fingerprint_keys")}
    ids = [row["id"] for row in sql(engine, "SELECT id FROM fingerprints ORDER BY place")]
    originals = zip(ids, VALUES[:-1], strict=False)
    assert stored == {(crawl << 25 | key, id) for id, value in originals for key in fingerprint.keys(value)}
    assert one(engine, "SELECT count(*) FROM duplicates") == one(engine, "SELECT count(*) FROM near_queue") == 1
    sql(engine, "INSERT INTO fingerprints_due VALUES (:c, 1, :id, 0, true)", c=crawl, id=ids[0])
    move(engine, "0039")
    assert one(engine, "SELECT count(*) FROM near_queue") == 2, "what was to be compared is"
    assert one(engine, "SELECT count(*) FROM fingerprint_keys") == 21 * (len(VALUES) - 1)
    move(engine, "head")
    assert one(engine, "SELECT count(*) FROM fingerprint_keys") == 3 * (len(VALUES) - 1)
    engine.dispose()
