"""Scores are raised of URLs that wait for their first fetch, and of no others."""

from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import Engine

from app.store import db, urls
from tests.store.rows import admission, admit, clean, make_crawl, make_host, sql, url


@pytest.fixture
def engine(database_url: str) -> Iterator[Engine]:
    with clean(database_url) as engine:
        yield engine


# columns of the row, score that it is to get → the score and parts that it has then
@pytest.mark.parametrize(
    ("columns", "score", "expected"),
    [
        ({}, 0.75, (0.75, -9)),
        ({}, 0.25, (0.5, 7)),
        ({"state": "'resting', due_at = now()"}, 0.75, (0.5, 7)),
        ({"fetched_at": "now()"}, 0.75, (0.5, 7)),
    ],
)
def test_only_what_waits_for_its_first_fetch_is_raised(
    engine: Engine, columns: dict[str, str], score: float, expected: tuple[float, int]
) -> None:
    crawl_id, host_id = make_crawl(engine), make_host(engine, "a.test")
    row = admission(host_id, crawl_id, "/x", score=0.5, score_parts=7)
    admit(engine, row, admission(host_id, crawl_id, "/y", score=0.5, score_parts=7))
    for name, value in columns.items():
        sql(engine, f"UPDATE urls SET {name} = {value} WHERE key = :key", key=row["key"])
    raise_: Any = {"host_id": host_id, "crawl_id": crawl_id, "key": row["key"], "score": score, "score_parts": -9}
    with db.transaction(engine) as tx:
        urls.raise_scores(tx, [raise_])
    found = url(engine, row["url"])
    assert (found["score"], found["score_parts"]) == expected
    assert url(engine, row["url"].replace("/x", "/y"))["score"] == 0.5
