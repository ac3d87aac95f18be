"""Lists of the dashboard: a page at a time, and none ends before its last row."""

from sqlalchemy import Engine

from app.admin.board import lists
from app.admin.board.lists import PAGE, SLICE
from tests.store.rows import make_crawl, sql

REFUSED = """INSERT INTO suppressions (crawl_id, key, reason, url, last_at)
             SELECT :crawl, sha256(convert_to(:reason || n, 'UTF8')), :reason, 'http://x.test/' || :reason || n,
                    CAST(:last AS timestamptz) - n * interval '1 s'
             FROM generate_series(1, :n) AS n"""


def test_refused_links_of_a_rare_reason_are_all_listed(engine: Engine) -> None:
    """They lie behind more links of another reason than a look reads."""
    crawl = make_crawl(engine)
    sql(engine, REFUSED, crawl=crawl, reason="nofollow", last="2026-01-02T00:00Z", n=SLICE + 10)
    sql(engine, REFUSED, crawl=crawl, reason="scope", last="2026-01-01T00:00Z", n=2 * PAGE + 5)
    found, after = [], ""
    for _ in range(10):
        lot = lists.refused_links(engine, "c", reason="scope", after=after)
        found += [row["url"] for row in lot.rows]
        assert len(lot.rows) <= PAGE
        if lot.next is None:
            break
        after = lot.next
    assert found == [f"http://x.test/scope{n}" for n in range(1, 2 * PAGE + 6)]


def test_refused_links_of_any_reason_come_page_by_page(engine: Engine) -> None:
    crawl = make_crawl(engine)
    sql(engine, REFUSED, crawl=crawl, reason="scope", last="2026-01-01T00:00Z", n=PAGE + 5)
    first = lists.refused_links(engine, "c", reason=None)
    assert (len(first.rows), first.next is None) == (PAGE, False)
    second = lists.refused_links(engine, "c", reason=None, after=first.next or "")
    assert (len(second.rows), second.next) == (5, None)
