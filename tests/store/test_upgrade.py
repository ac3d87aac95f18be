"""At head an upgrade touches nothing and waits for nobody. Where it would drop something of a person's own it stops."""

from collections.abc import Callable, Iterator

import pytest
from sqlalchemy import Engine, text

from app.errors import InputError, ServiceError
from app.store import db, migrate
from tests.store.rows import Aside, await_blocked, backend, one, sql

OURS = "SELECT oid FROM pg_class WHERE relkind = 'v' AND relname LIKE 'v\\_%' ORDER BY oid"


@pytest.fixture
def url(make_database: Callable[[], str]) -> str:
    return make_database()


@pytest.fixture
def engine(url: str) -> Iterator[Engine]:
    engine = db.connect(url)
    yield engine
    engine.dispose()


def age(engine: Engine) -> None:
    """As a database whose views are of the Tiptoe before."""
    sql(engine, "COMMENT ON TABLE alembic_version IS NULL")
    assert not migrate.is_at_head(engine)


def test_at_head_a_persons_views_stay(url: str, engine: Engine) -> None:
    sql(engine, "CREATE VIEW mine AS SELECT crawl, pages FROM v_crawl_progress")
    before = sql(engine, OURS)
    migrate.upgrade(url)
    assert migrate.is_at_head(engine)
    assert sql(engine, OURS) == before
    assert sql(engine, "SELECT * FROM mine") == []


def test_at_head_no_reader_is_waited_for(url: str, engine: Engine) -> None:
    with engine.connect() as reader:
        reader.execute(text("SELECT * FROM v_due"))
        reader.execute(text("LOCK TABLE urls, crawls, v_crawl_progress IN ACCESS SHARE MODE"))
        upgrade = Aside(lambda: migrate.upgrade(url))
        assert not await_blocked(engine, backend(reader), upgrade)
        upgrade.outcome()


def test_views_of_the_version_before_are_made_anew(url: str, engine: Engine) -> None:
    age(engine)
    before = sql(engine, OURS)
    migrate.upgrade(url)
    assert migrate.is_at_head(engine)
    assert not [row for row in sql(engine, OURS) if row in before]


@pytest.mark.parametrize("kind", ["VIEW", "MATERIALIZED VIEW"])
def test_what_stands_on_them_is_not_dropped(url: str, engine: Engine, kind: str) -> None:
    age(engine)
    sql(engine, f"CREATE {kind} mine AS SELECT crawl FROM v_crawl_progress")
    before = sql(engine, OURS)
    with pytest.raises(
        InputError, match=r"would drop objects of your own .*view mine depends on view v_crawl_progress"
    ):
        migrate.upgrade(url)
    assert sql(engine, OURS) == before
    assert sql(engine, "SELECT * FROM mine") == []
    sql(engine, f"DROP {kind} mine")
    migrate.upgrade(url)
    assert migrate.is_at_head(engine)


def test_a_long_reader_is_waited_for_a_while_only(url: str, engine: Engine) -> None:
    age(engine)
    with engine.connect() as reader:
        reader.execute(text("SELECT * FROM v_due"))
        with pytest.raises(ServiceError, match="waited 50ms for another session's lock; end long queries"):
            migrate.upgrade(url, lock_timeout="50ms")
    migrate.upgrade(url)
    assert one(engine, "SELECT obj_description('alembic_version'::regclass)") == migrate.views_fingerprint()
