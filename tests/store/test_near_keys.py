"""A deleted crawl's keys go by lots: there are 21 for each of its pages, and the next crawl's begin right behind."""

from sqlalchemy import Engine

from app.policy.focus import fingerprint
from app.store import db, near
from tests.store.rows import make_crawl, make_host, one

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
