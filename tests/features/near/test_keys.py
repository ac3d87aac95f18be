"""Keys of fingerprints: a deleted crawl's go by lots, and a release that wants them of all finds them."""

from collections.abc import Callable

from sqlalchemy import Engine

from app.features.near import fingerprint
from app.features.near import rows as near
from app.features.near.rows import Keyed
from app.store import db
from tests.store.revisions import move
from tests.store.rows import make_crawl, make_host, one, sql

VALUES = [0, 2**64 - 1]  # the least keys, and the greatest


def test_the_keys_of_a_crawl_go_lot_by_lot_and_no_others(engine: Engine) -> None:
    host, crawls = make_host(engine), [make_crawl(engine, name) for name in "abc"]
    with db.transaction(engine) as tx:
        wanted = {(host, crawl, bytes([n])): value for crawl in crawls for n, value in enumerate(VALUES)}
        near.put_keys(tx, near.put(tx, wanted))
    left, each = [], len(VALUES) * len(fingerprint.keys(0))
    for _ in range(each // 10 + 2):
        with db.transaction(engine) as tx:
            left.append(near.drop_crawl(tx, crawls[1], n=10))
    assert left == [10] * (each // 10) + [each % 10, 0]
    assert one(engine, "SELECT count(*) FROM fingerprint_keys") == 2 * each


def test_a_release_of_before_finds_a_key_of_every_fingerprint(make_database: Callable[[], str]) -> None:
    """But of pages that repeat another. A later upgrade takes all for written."""
    engine = db.connect(make_database())
    host, crawl = make_host(engine), make_crawl(engine)
    with db.transaction(engine) as tx:
        wanted = {(host, crawl, bytes([n])): value for n, value in enumerate([*VALUES, 0x9A9765F67C4F6DCC, 1 << 63, 7])}
        old, *others, repeating = near.put(tx, wanted)
        near.put_keys(tx, [old])
        near.compared(tx, Keyed(crawl, old.id, 0))
    sql(
        engine,
        """INSERT INTO duplicates (host_id, crawl_id, key, url, kind, of_url)
           VALUES (:host, :crawl, :key, 'a', 'near', 'b')""",
        host=host,
        crawl=crawl,
        key=repeating.where[2],
    )
    move(engine, "0027")
    stored = {(row["key"], row["fingerprint_id"]) for row in sql(engine, "SELECT * FROM fingerprint_keys")}
    assert stored == {(crawl << 25 | key, each.id) for each in [old, *others] for key in fingerprint.keys(each.value)}
    assert one(engine, "SELECT count(*) FROM fingerprint_keys") == len(stored)
    move(engine, "0028")
    assert one(engine, "SELECT up_to FROM fingerprints_keyed") == repeating.id
    move(engine, "head")
    with db.transaction(engine) as tx:
        assert near.keyed(tx, crawl) == Keyed(crawl, repeating.id, 0)
        assert near.held(tx, crawl, beyond=repeating.id) == b""
    engine.dispose()
