"""Endings of crawls are those of `CrawlEnding` and no other, in rows of earlier versions too."""

from collections.abc import Callable, Iterator

import pytest
from sqlalchemy import Engine
from sqlalchemy.exc import IntegrityError

from app.model import CrawlEnding
from app.store import crawls, db
from tests.store.revisions import move
from tests.store.rows import make_crawl, sql

# as it was, the ending, the detail
ENDINGS: list[tuple[str | None, CrawlEnding | None, str | None]] = [
    (None, None, None),
    *((each.value, each, None) for each in CrawlEnding if each is not CrawlEnding.OTHER),
    ("of a version long ago", CrawlEnding.OTHER, "of a version long ago"),
]
FINISHED = "UPDATE crawls SET state = 'finished', finished_at = now(), ended_because = :because"


@pytest.mark.parametrize("ending", CrawlEnding)
def test_postgres_takes_each(engine: Engine, ending: CrawlEnding) -> None:
    crawl_id = make_crawl(engine)
    sql(engine, FINISHED, because=ending)
    with db.transaction(engine) as tx:
        assert crawls.by_id(tx, crawl_id).ended_because is ending
        assert crawls.totals(tx, crawl_id).ended_because is ending


def test_postgres_takes_no_other(engine: Engine) -> None:
    make_crawl(engine)
    with pytest.raises(IntegrityError, match="crawls_ending_known"):
        sql(engine, FINISHED, because="bored")


@pytest.fixture
def before(make_database: Callable[[], str]) -> Iterator[Engine]:
    """At the revision before, with a crawl for each row."""
    engine = db.connect(make_database())
    move(engine, "0011")
    for n, (was, _, _) in enumerate(ENDINGS):
        sql(
            engine,
            """INSERT INTO crawls (name, scope, state, ended_because, finished_at)
               VALUES (:name, 'any', :state, :was, CASE WHEN :state = 'finished' THEN now() END)""",
            name=f"c{n}",
            state="finished" if was else "active",
            was=was,
        )
    yield engine
    engine.dispose()


def found(engine: Engine, columns: str) -> list[tuple[object, ...]]:
    return [tuple(row.values()) for row in sql(engine, f"SELECT {columns} FROM crawls ORDER BY id")]


def test_words_of_earlier_versions_become_the_detail_of_other(before: Engine) -> None:
    move(before, "0019")
    assert found(before, "ended_because, ended_detail") == [(ending, detail) for _, ending, detail in ENDINGS]


def test_the_way_back_restores_them(before: Engine) -> None:
    move(before, "0019")
    move(before, "0011")
    assert found(before, "ended_because") == [(was,) for was, _, _ in ENDINGS]
