"""A crawl is counted once for all who look, and never by two at once."""

import time

import pytest
from sqlalchemy import Engine, text

from app.errors import InputError
from app.web.crawl_counts import KEPT_TIMES, CrawlCount, CrawlCounts
from tests.faults.waiting import until
from tests.store.rows import one, sql
from tests.web.served import Browser, settings_of

WAITING = "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = CAST('suppressions' AS regclass)"


def test_however_many_ask_a_crawl_is_counted_once_at_a_time(
    crawled: Engine, browser: Browser, database_url: str
) -> None:
    counts = CrawlCounts(crawled, settings_of(database_url))
    with crawled.begin() as tx:
        tx.execute(text("LOCK TABLE suppressions"))
        asked = [counts.of(name, wait_s=0) for name in ("docs", "docs", "shells", "docs")]
        assert asked == [None] * 4
        assert until(lambda: one(crawled, WAITING), "a count that waits") == 1
        assert counts.of("docs", wait_s=0.2) is None
        assert one(crawled, WAITING) == 1
        assert browser.get("/crawl?name=docs").ok
        assert "Counting every URL" in browser.get("/crawl/counted?name=docs").text
        released = time.monotonic()
    found = counts.of("docs", wait_s=30)
    assert isinstance(found, CrawlCount)
    states = "SELECT state, count(*) AS n FROM urls WHERE crawl_id = 1 GROUP BY state"
    assert found.report.urls == {row["state"]: row["n"] for row in sql(crawled, states)}
    assert counts.of("docs", wait_s=0) is found
    waited = counts.of("shells", wait_s=30)
    assert waited is not None
    assert waited.report.crawl.name == "shells"
    assert waited.until >= released + KEPT_TIMES * waited.took_s, "what it waited for another is not its own"
    assert counts.of("shells", wait_s=0) is waited


def test_a_count_that_failed_is_made_again_when_somebody_asks(crawled: Engine, database_url: str) -> None:
    counts = CrawlCounts(crawled, settings_of(database_url))
    with pytest.raises(InputError, match="does not exist"):
        counts.of("later", wait_s=30)
    sql(crawled, "INSERT INTO crawls (name, scope) VALUES ('later', 'any')")
    try:
        assert until(lambda: counts.of("later", wait_s=30), "a count").report.urls == {}
    finally:
        sql(crawled, "DELETE FROM crawls WHERE name = 'later'")
