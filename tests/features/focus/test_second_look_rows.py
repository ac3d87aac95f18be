"""Refused URLs that are queued where nothing else of a host is left: the latest of each pattern, the best first."""

from collections.abc import Iterator, Sequence

import pytest
from sqlalchemy import Engine

from app.features.focus import rows as patterns
from app.store import db
from tests.store.rows import admission, admit, clean, make_crawl, make_host, sql


@pytest.fixture
def engine(database_url: str) -> Iterator[Engine]:
    with clean(database_url) as engine:
        yield engine


def refused(
    engine: Engine, host_id: int, crawl_id: int, name: str, each: Sequence[object], *, fetched: int, new: int
) -> None:
    """A pattern with these refused URLs, of which the last was found last; its pages so far, those with new text."""
    found = [admission(host_id, crawl_id, f"/{name}/{end}", score=1 - 0.002 * n) for n, end in enumerate(each)]
    admit(engine, *found[:-1])
    admit(engine, found[-1])
    query = "UPDATE urls SET state = 'refused', cause = 'trap', detail = :name WHERE url LIKE '%/' || :name || '/%'"
    sql(engine, query, name=name)
    row: patterns.Kept = {
        "host_id": host_id,
        "crawl_id": crawl_id,
        "pattern": name,
        "urls": len(each),
        "fetched": fetched,
        "new": new,
        "refused": len(each),
        "lately": 1.0,
        "new_lately": 0.0,
        "rendered": 0,
        "gain": 0,
        "told": 0,
        "spared": 0,
        "grown": 0,
    }
    with db.transaction(engine) as tx:
        patterns.keep(tx, [row])


@pytest.mark.parametrize("most", [1, 2, 3])
def test_the_most_promising_of_each_pattern_are_queued(engine: Engine, most: int) -> None:
    crawl_id, host_id = make_crawl(engine), make_host(engine, "a.test")
    refused(engine, host_id, crawl_id, "trap", range(400), fetched=18, new=0)  # 1 / 20 of 50
    refused(engine, host_id, crawl_id, "chapter", range(46), fetched=3, new=1)  # 2 / 5 of 46
    refused(engine, host_id, crawl_id, "few", range(4), fetched=1, new=0)  # 1 / 3 of 4
    refused(engine, make_host(engine, "b.test"), crawl_id, "other", range(9), fetched=0, new=0)
    with db.transaction(engine) as tx:
        assert patterns.try_refused(tx, [{"host_id": host_id, "crawl_id": crawl_id, "n": most}]) == [crawl_id] * most
    queued = sql(engine, "SELECT url, cause, detail FROM urls WHERE state = 'queued'")
    assert {row["url"].partition("test")[2] for row in queued} == set(["/chapter/45", "/trap/399", "/few/3"][:most])
    assert {(row["cause"], row["detail"]) for row in queued} == {("forced", None)}


def test_of_a_pattern_that_mixes_pages_with_forms_one_of_each_kind_is_queued(engine: Engine) -> None:
    """The three that were tried were forms, by chance, and the pages of a course were lost."""
    crawl_id, host_id = make_crawl(engine), make_host(engine, "a.test")
    kinds = ("page", "quiz", "quiz", "forum", "quiz")
    refused(engine, host_id, crawl_id, "mod", [f"{kinds[n % 5]}/{n}" for n in range(40)], fetched=3, new=0)
    with db.transaction(engine) as tx:
        patterns.try_refused(tx, [{"host_id": host_id, "crawl_id": crawl_id, "n": 3}])
    queued = [row["url"].split("/")[4:] for row in sql(engine, "SELECT url FROM urls WHERE state = 'queued'")]
    assert sorted(kind for kind, _ in queued) == ["forum", "page", "quiz"]
    assert ["quiz", "39"] in queued, "the latest"


def test_what_was_fetched_or_has_too_deep_a_path_is_not(engine: Engine) -> None:
    crawl_id, host_id = make_crawl(engine), make_host(engine, "a.test")
    refused(engine, host_id, crawl_id, "a", range(2), fetched=3, new=0)
    sql(engine, "UPDATE urls SET fetched_at = now() WHERE url LIKE '%/0'")
    sql(engine, "UPDATE urls SET detail = 'depth' WHERE url LIKE '%/1'")
    with db.transaction(engine) as tx:
        assert patterns.try_refused(tx, [{"host_id": host_id, "crawl_id": crawl_id, "n": 5}]) == []
