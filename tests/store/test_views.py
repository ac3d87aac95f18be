"""What views make of rows that are known."""

from typing import Any

from sqlalchemy import Engine

from app.policy.lifecycle import UrlState, said_state
from tests.store.rows import admission, make_crawl, make_host, sql
from tests.store.url_states import stand

FETCH = """
INSERT INTO fetches (host_id, crawl_id, visit_id, url_key, url, kind, reason, started_at, ended_at, delay_s, outcome,
                     wire_bytes, body_bytes, truncated, total_ms, conditional, attempt, body_sha256)
SELECT :host, :crawl, 1, decode(:key, 'escape'), 'http://h.test/', 'page', :reason, now() + :n * interval '1 s',
       now() + interval '1 hour', 1, :outcome, 10, 10, false, 1, false, 1, decode(:body, 'escape')"""
# key of the URL, reason, outcome, body
LOG: list[tuple[str, str, str, str | None]] = [
    ("a", "new", "page", "one"),
    ("a", "recrawl", "unchanged", None),
    ("a", "recrawl", "page", "one"),
    ("a", "recrawl", "page", "two"),
    ("a", "retry", "page", "three"),
    ("b", "new", "page", "one"),
    ("b", "recrawl", "not_found", None),
    ("b", "recrawl", "gone", None),
    ("c", "recrawl", "page", "one"),  # what came before it was cut from the log
    ("c", "recrawl", "timeout", None),
]


def test_recrawl_yield_is_what_fetching_again_brought(engine: Engine) -> None:
    crawl, host = make_crawl(engine), make_host(engine, "h.test")
    other = make_crawl(engine, "other")
    for n, (key, reason, outcome, body) in enumerate(LOG):
        values: dict[str, Any] = {"host": host, "crawl": crawl, "n": n, "key": key, "reason": reason}
        sql(engine, FETCH, **values, outcome=outcome, body=body)
    sql(engine, FETCH, host=host, crawl=other, n=99, key="a", reason="recrawl", outcome="page", body="one")
    rows = sql(engine, "SELECT * FROM v_recrawl_yield ORDER BY crawl")
    assert [(row["crawl"], row["host"], row["recrawls"]) for row in rows] == [
        ("c", "h.test", 7),
        ("other", "h.test", 1),
    ]
    kinds = ("not_modified", "same_body", "changed", "gone", "wire_bytes")
    assert tuple(rows[0][kind] for kind in kinds) == (1, 1, 1, 2, 70)
    assert tuple(rows[1][kind] for kind in kinds) == (0, 0, 0, 0, 10)


def test_duplicates_name_the_page_that_they_repeat(engine: Engine) -> None:
    crawl, host = make_crawl(engine), make_host(engine, "h.test")
    sql(
        engine,
        """INSERT INTO duplicates (host_id, crawl_id, key, url, kind, of_url)
           VALUES (:host, :crawl, 'k', 'http://h.test/copy', 'text', 'http://h.test/')""",
        host=host,
        crawl=crawl,
    )
    (row,) = sql(engine, "SELECT * FROM v_duplicates")
    assert (row["crawl"], row["host"], row["kind"], row["title"]) == ("c", "h.test", "text", None)
    assert (row["url"], row["of_url"]) == ("http://h.test/copy", "http://h.test/")


def test_what_is_due_says_its_state_in_the_words_of_commands(engine: Engine) -> None:
    """As `said_state` does; `state` and `waits_for` keep their values."""
    crawl, host = make_crawl(engine, state="active", keep_fresh=True), make_host(engine, "h.test")
    stand(engine, admission(host, crawl, "/queued"), UrlState.QUEUED)
    stand(engine, admission(host, crawl, "/retrying"), UrlState.RESTING, retrying=True)
    stand(engine, admission(host, crawl, "/deferred"), UrlState.RESTING)
    stand(engine, admission(host, crawl, "/done"), UrlState.RESTING)
    sql(engine, "UPDATE urls SET fetched_at = now() WHERE url LIKE '%/done'")
    rows = sql(engine, "SELECT d.*, fetched_at, retrying FROM v_due AS d JOIN urls USING (url) ORDER BY url")
    assert [(row["state"], row["waits_for"], row["said"]) for row in rows] == [
        ("resting", "recrawl", "deferred"),
        ("resting", "recrawl", "done"),
        ("queued", "host", "queued"),
        ("resting", "retry", "retrying"),
    ]
    assert [row["said"] for row in rows] == [
        said_state(row["state"], retrying=row["retrying"], is_fetched=row["fetched_at"] is not None) for row in rows
    ]
