"""Pages that take long are made once for all who look, and never by two at once: counts and proofs of a crawl."""

import time
from dataclasses import replace
from functools import partial
from html import escape

import pytest
from sqlalchemy import Engine, text

from app.admin.board.tally import tally
from app.errors import InputError
from app.runtime.once import Made, Once
from app.web.board import kept_s
from tests.faults.waiting import until
from tests.store.rows import one, sql
from tests.web.served import Browser

SAYS = "nothing waits: `tiptoe seed add` <b> gives it more"
COUNTING = [
    ("/crawl/counted?name=docs", "Counting …"),
    ("/crawl/counted?name=docs&exactly=1", "Counting every URL and request …"),
]
WAITING = "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = CAST('{}' AS regclass)"


def test_however_many_ask_a_crawl_is_counted_once_at_a_time(crawled: Engine, browser: Browser) -> None:
    counts, waiting = Once(partial(tally, crawled), kept_s=kept_s), WAITING.format("suppressions")
    with crawled.begin() as tx:
        tx.execute(text("LOCK TABLE suppressions"))
        asked = [counts.of(name, wait_s=0) for name in ("docs", "docs", "shells", "docs")]
        assert asked == [None] * 4
        assert until(lambda: one(crawled, waiting), "a count that waits") == 1
        assert counts.of("docs", wait_s=0.2) is None
        assert one(crawled, waiting) == 1
        assert browser.get("/crawl?name=docs").ok
        for path, words in COUNTING:
            answer = browser.get(path).text
            assert words in answer
            assert f'hx-get="{escape(path)}"' in answer, "it asks for the same again"
        released = time.monotonic()
    found = counts.of("docs", wait_s=30)
    assert isinstance(found, Made)
    states = """SELECT CASE state WHEN 'resting' THEN 'done' ELSE state END AS state, count(*) AS n
                FROM urls WHERE crawl_id = 1 GROUP BY 1"""
    assert found.value.states == {row["state"]: row["n"] for row in sql(crawled, states)}
    assert counts.of("docs", wait_s=0) is found
    waited = counts.of("shells", wait_s=30)
    assert waited is not None
    assert waited.value.crawl.name == "shells"
    assert waited.until >= released + kept_s(waited.took_s), "what it waited for another is not its own"
    assert counts.of("shells", wait_s=0) is waited


def test_what_failed_is_made_again_when_somebody_asks(crawled: Engine) -> None:
    counts = Once(partial(tally, crawled), kept_s=kept_s)
    with pytest.raises(InputError, match="does not exist"):
        counts.of("later", wait_s=30)
    sql(crawled, "INSERT INTO crawls (name, scope) VALUES ('later', 'any')")
    try:
        assert until(lambda: counts.of("later", wait_s=30), "a count").value.states == {}
    finally:
        sql(crawled, "DELETE FROM crawls WHERE name = 'later'")


def test_the_proof_of_a_crawl_that_takes_long_takes_one_session_of_all_who_wait(
    crawled: Engine, browser: Browser
) -> None:
    """Those that each held one would let no other page open."""
    waiting = WAITING.format("host_events")
    with crawled.begin() as tx:
        tx.execute(text("LOCK TABLE host_events"))
        for _ in range(3):
            answer = browser.get("/proof?crawl=docs")
            assert "data-again" in answer.text
        assert one(crawled, waiting) == 1
        assert browser.get("/hosts").ok
    assert browser.until("/proof?crawl=docs", "No violation.").ok
    assert browser.get("/proof?crawl=nope").status_code == 400


def test_an_estimate_is_marked_and_leads_to_the_exact_count(crawled: Engine, browser: Browser) -> None:
    found = tally(crawled, "docs")
    read = {**found.percents, "urls": 0.8, "fetches": 12.5}
    estimate = replace(found, percents=read, states={"queued": 5_123_456, "resting": 30}, verdict=[SAYS])
    board = browser.app.state.board
    browser.app.state.board = replace(board, counts=Once(lambda _: estimate, kept_s=kept_s))
    try:
        page = browser.until("/crawl/counted?name=docs", "Count every row").text
    finally:
        browser.app.state.board = board
    assert f"Estimated (≈) from {found.seen} URLs of this crawl, 0.8 % of the frontier, 12.5 % of the log" in page
    assert "<li>nothing waits: <code>tiptoe seed add</code> &lt;b&gt; gives it more</li>" in page
    assert '<td>queued</td><td class="n">≈ 5,100,000</td>' in page
    assert '<td>resting</td><td class="n">≈ 30</td>' in page
    assert f'<td class="n">{found.reasons[0]["links"]}</td>' in page, "of a table that was read whole"
    exact = browser.until("/crawl/counted?name=docs&exactly=1", "URLs by state").text
    assert "≈" not in exact


@pytest.mark.parametrize(
    ("path", "words", "of_docs"),
    [
        ("/crawl/counted?name=docs", "URLs by state", "<td>done</td>"),
        ("/crawl/counted?name=docs&exactly=1", "URLs by state", "<td>done</td>"),
        ("/proof?crawl=docs", "What was checked", '<th scope="row">'),
    ],
)
def test_a_crawl_that_is_made_anew_has_numbers_of_its_own(
    crawled: Engine, browser: Browser, path: str, words: str, of_docs: str
) -> None:
    """Those of the crawl that was deleted are kept for minutes, under a name that another has by now."""
    assert of_docs in browser.until(path, words).text
    sql(crawled, "UPDATE crawls SET name = 'deleted' WHERE name = 'docs'")
    sql(crawled, "INSERT INTO crawls (name, scope) VALUES ('docs', 'host')")
    try:
        assert of_docs not in browser.until(path, words).text
    finally:
        sql(crawled, "DELETE FROM crawls WHERE name = 'docs'")
        sql(crawled, "UPDATE crawls SET name = 'docs' WHERE name = 'deleted'")
