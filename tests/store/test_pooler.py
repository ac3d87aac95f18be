"""Behind a real PgBouncer in transaction mode: a crawl, or one line that says what to do."""

from collections.abc import Iterator
from pathlib import Path
from threading import Barrier

import pytest

from app.admin import crawls, doctor, seeds
from app.crawl.state.setup import make_sender, make_worker
from app.errors import InputError, ServiceError
from app.model import CrawlSpec
from app.store import db, migrate
from tests.crawl.loop import make_settings, run
from tests.crawl.web import Web, html
from tests.pooler import PGBOUNCER, pgbouncer, through
from tests.store.rows import Aside, one, sql

REMEDY = r"write \?pooler=transaction at the end of TIPTOE_DATABASE_URL"
pytestmark = pytest.mark.skipif(PGBOUNCER is None, reason="pgbouncer is not installed (apt-get install pgbouncer)")


@pytest.fixture(scope="module")
def pooled(reachable_tmp: Path, database_url: str) -> Iterator[str]:
    """The module's database through a pooler, and said so."""
    with pgbouncer(reachable_tmp / "pooler", database_url) as port:
        yield through(port, database_url, "pooler=transaction")


def test_a_crawl_through_a_pooler(pooled: str) -> None:
    """Four threads over two server connections: each statement, and each lock, in whatever session is free."""
    migrate.upgrade(pooled)
    settings = make_settings(pooled)
    sender = make_sender(settings)
    with Web() as web:
        site = web.site()
        site.pages = {f"/{n}": html(*(f"/{m}" for m in range(30)), text=f"Words of {n}") for n in range(30)}
        engine = db.connect(pooled)
        worker = make_worker(settings, engine=engine, send=sender.send, where=sender.where, name="test:1")
        crawl = crawls.create(engine, "pooled", CrawlSpec(sitemaps="none"))
        seeds.add(engine, settings, crawl, [site.url("/0")])
        run(worker, threads=4)
        assert crawls.find(engine, "pooled").state == "finished"
        assert one(engine, "SELECT count(*) FROM urls WHERE status = 200") == 30
        assert one(engine, "SELECT count(*) FROM hosts WHERE state <> 'idle'") == 0
        engine.dispose()
    sender.close()


def test_the_same_statements_in_turn_over_few_sessions(pooled: str) -> None:
    """So often that the driver would have prepared them."""
    engine = db.connect(pooled)
    threads, barrier = 6, Barrier(6)

    def ask() -> int:
        barrier.wait(60)
        for _ in range(30):
            with db.transaction(engine) as tx:
                db.run(tx, db.queries("hosts")["ids"], {"names": ["a", "b"]}).all()
                db.run(tx, db.queries("crawls")["all"]).all()
        return 30

    assert [each.outcome() for each in [Aside(ask) for _ in range(threads)]] == [30] * threads
    assert one(engine, "SELECT count(*) FROM pg_prepared_statements") == 0
    engine.dispose()


def test_upgrades_at_once_wait_for_one_another(pooled: str) -> None:
    assert [each.outcome() for each in [Aside(lambda: migrate.upgrade(pooled)) for _ in range(2)]] == [None, None]


# PgBouncer's setting
@pytest.mark.parametrize("ignored", ["", "options,extra_float_digits"])
def test_a_pooler_of_which_nothing_was_said_is_one_line(ignored: str, reachable_tmp: Path, database_url: str) -> None:
    with pgbouncer(reachable_tmp / "pooler", database_url, ignore_startup_parameters=ignored) as port:
        for act in (migrate.upgrade, lambda url: db.check(db.connect(url))):
            with pytest.raises(ServiceError, match=REMEDY) as told:
                act(through(port, database_url))
            assert "\n" not in str(told.value)
        (check,) = doctor.database(db.connect(through(port, database_url)))
        assert (check.grade, "pooler=transaction" in check.remedy + check.finding) == ("fail", True)


def test_doctor_says_what_the_role_lacks(pooled: str, reachable_tmp: Path, database_url: str) -> None:
    """No session of ours: what it would set must be the role's, and is for those that begin after that."""
    engine = db.connect(pooled)
    wanted = db.lacks(engine)
    assert any("idle_in_transaction_session_timeout = '10s'" in each for each in wanted)
    check = next(each for each in doctor.database(engine) if each.name == "database")
    assert (check.grade, check.remedy) == ("warn", "; ".join(wanted))
    name = one(engine, "SELECT current_database()")
    for statement in wanted:
        sql(engine, statement.replace(" SET ", f" IN DATABASE {name} SET "))  # the tests' other databases keep theirs
    engine.dispose()
    with pgbouncer(reachable_tmp / "pooler", database_url) as port:
        engine = db.connect(through(port, database_url, "pooler=transaction"))
        assert db.lacks(engine) == []
        engine.dispose()


@pytest.mark.parametrize("mode", ["session", "statement"])
def test_other_modes_are_said_to_be_unknown(mode: str) -> None:
    with pytest.raises(InputError, match="pooler=transaction"):
        db.connect(f"postgresql://x@127.0.0.1:1/x?pooler={mode}")
