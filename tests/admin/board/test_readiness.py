"""Readiness by progress: a host that nobody claims, offers that nobody takes up, an old schema."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import Engine

from app.admin.board.pulse import left_s, look, look_at, readiness, status
from app.config import load
from app.errors import ServiceError
from app.store import board, db, migrate
from app.store.fleet import QUEUED_MOST, FleetWatch
from tests.store.rows import admission, admit, clean, make_crawl, make_due_host, make_host, sql

SETTINGS = load(_env_file=None, database_url="postgresql://x/y", queues=4)
DUE = "INSERT INTO hosts (name, queue, delay_s, next_fetch_at) VALUES ('a.test', 'host-00', 1, now() - interval '{} s')"


@pytest.fixture
def engine(database_url: str) -> Iterator[Engine]:
    with clean(database_url) as engine:
        yield engine


def watch_of(engine: Engine) -> FleetWatch:
    return FleetWatch(engine, SETTINGS.queue_names)


def failing(engine: Engine) -> list[str]:
    return [check.name for check in readiness(watch_of(engine), stall_s=None).checks if check.remedy]


def test_a_fleet_without_work_is_ready(engine: Engine) -> None:
    assert failing(engine) == []
    sql(engine, DUE.format(600))
    assert failing(engine) == [], "no crawl is active"


# seconds that a host of an active crawl has been due, what fails
@pytest.mark.parametrize(("due_s", "fails"), [(5, []), (600, ["beat"])])
def test_a_host_that_is_due_must_be_claimed(engine: Engine, due_s: int, fails: list[str]) -> None:
    make_crawl(engine)
    sql(engine, DUE.format(due_s))
    assert failing(engine) == fails


# offers in a row that were not taken up, what fails
@pytest.mark.parametrize(("missed", "fails"), [(2, []), (3, ["workers"])])
def test_offers_must_be_taken_up(engine: Engine, missed: int, fails: list[str]) -> None:
    make_crawl(engine)
    sql(
        engine,
        """INSERT INTO hosts (name, queue, delay_s, state, lease_token, lease_until, next_fetch_at, offers_missed)
           VALUES ('a.test', 'host-00', 1, 'offered', gen_random_uuid(), now(), now(), :missed)""",
        missed=missed,
    )
    assert failing(engine) == fails


# revision of the schema, what to do
@pytest.mark.parametrize(
    ("revision", "remedy"),
    [("0001", "tiptoe db upgrade"), ("9999", "9999 is newer than this Tiptoe: upgrade Tiptoe here")],
)
def test_another_schema_is_told_with_its_remedy(engine: Engine, database_url: str, revision: str, remedy: str) -> None:
    sql(engine, "UPDATE alembic_version SET version_num = :revision", revision=revision)
    (check,) = readiness(watch_of(engine), stall_s=None).checks
    assert (check.name, check.remedy) == ("schema", remedy)
    if revision == "9999":
        with pytest.raises(ServiceError, match="its schema 9999 is newer than this Tiptoe"):
            migrate.upgrade(database_url)
    sql(engine, "UPDATE alembic_version SET version_num = :head", head=migrate.revisions()[-1])


def test_postgres_out_of_reach_is_a_finding_and_no_error() -> None:
    found = readiness(watch_of(db.connect("postgresql://tiptoe@127.0.0.1:1/none")), stall_s=None)
    assert (found.is_ready, found.checks[0].name) == (False, "postgres")


def test_the_status_pages_hosts_by_name(engine: Engine) -> None:
    sql(
        engine,
        "INSERT INTO hosts (name, queue, delay_s) SELECT 'h' || lpad(n::text, 3, '0'), 'host-00', 1"
        " FROM generate_series(1, 150) AS n",
    )
    watch = watch_of(engine)
    first = status(watch)
    assert (len(first["hosts"]), first["next"]) == (100, "h100")
    rest = status(watch, after=first["next"])
    assert (len(rest["hosts"]), rest["next"]) == (50, None)


# budget of pages, pages, queued, pages a second → seconds left
@pytest.mark.parametrize(
    ("most", "pages", "queued", "per_s", "left"),
    [
        (1000, 500, 10_000, 10.0, 50.0),
        (1000, 500, 100, 10.0, 10.0),
        (None, 500, 100, 10.0, 10.0),
        (None, 500, QUEUED_MOST, 10.0, None),
        (1000, 500, 100, 0.0, None),
        (1000, 1200, 100, 10.0, 0.0),
    ],
)
def test_the_end_is_projected_by_what_comes_first(
    engine: Engine, most: int | None, pages: int, queued: int, per_s: float, left: float | None
) -> None:
    make_crawl(engine)
    with db.transaction(engine) as tx:
        (line,) = board.crawls(tx, 1)
    assert left_s(line._replace(max_pages=most), pages, queued, per_s) == left
    assert left_s(line._replace(max_pages=most, keep_fresh=True), pages, queued, per_s) is None


@pytest.mark.parametrize(
    "state", ["state = 'paused'", "state = 'finished', finished_at = now(), ended_because = 'operator'"]
)
def test_visits_that_settle_after_the_end_are_counted(engine: Engine, state: str) -> None:
    make_crawl(engine)
    sql(engine, "INSERT INTO crawl_hosts (crawl_id, host_id, pages) VALUES (1, 1, 2)")
    watch = watch_of(engine)
    assert look(watch).crawls[0].pages == 2
    sql(engine, f"UPDATE crawls SET {state}")
    sql(engine, "UPDATE crawl_hosts SET pages = 5")
    assert [look(watch).crawls[0].pages for _ in range(2)] == [5, 5]


def test_a_crawls_phase_is_that_of_its_own_hosts(engine: Engine) -> None:
    """Most hosts of the fleet wait for their delay; the one of this crawl rests, and says why and until when."""
    ids = {name: make_crawl(engine, name, active_since=datetime.now(UTC) - timedelta(hours=1)) for name in "ab"}
    resting = {"resting_because": "rate_limited", "blocked_until": datetime.now(UTC) + timedelta(seconds=600)}
    for n, crawl in enumerate("abbb"):
        host_id = make_host(engine, f"{crawl}{n}.test", **(resting if crawl == "a" else {}))
        sql(engine, "UPDATE hosts SET next_fetch_at = now() + interval '600 s' WHERE id = :id", id=host_id)
        admit(engine, admission(host_id, ids[crawl]))
        sql(engine, "INSERT INTO crawl_hosts (crawl_id, host_id, pages) VALUES (:c, :h, 9)", c=ids[crawl], h=host_id)
    watch = watch_of(engine)
    phases = {each.line.name: each.phase for each in look(watch).crawls}
    assert {name: phase.word for name, phase in phases.items()} == {"a": "resting", "b": "waiting"}
    assert "rate_limited; the first contact is in 10 min" in phases["a"].means
    assert look_at(watch, ids["a"]).phase.word == "resting", "as on the overview"


def test_an_archive_that_cannot_be_written_stops_those_who_keep_one(engine: Engine) -> None:
    since = datetime.now(UTC) - timedelta(hours=1)
    for name in ("kept", "lean"):
        crawl = make_crawl(engine, name, archive=name == "kept", active_since=since)
        admit(engine, admission(make_due_host(engine), crawl))
    sql(
        engine,
        "INSERT INTO archive_nodes (node, place, free_bytes, waiting_bytes, stopped_because, stopped_at)"
        " VALUES ('m', '.', 0, 0, 'it is full', now())",
    )
    phases = {each.line.name: each.phase.word for each in look(watch_of(engine)).crawls}
    assert phases == {"kept": "stopped", "lean": "no worker"}
