"""Partitions of the logs are made ahead and old ones dropped, beside others and without harm to what stays."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import Engine, text

from app.admin import audit
from app.beat import rotate_logs
from app.crawl.state.worker import Worker
from app.model import VisitEnding
from app.policy.retention import AHEAD, Part
from app.store import db, partitions, visits
from tests.beat.log_rows import age, settings
from tests.crawl.loop import run, start
from tests.crawl.planted import Log, wrong
from tests.crawl.web import Site, Web, html
from tests.store.rows import Aside, await_blocked, backend, one, sql

NOW = datetime.now(UTC)
OLD = NOW - timedelta(days=400)


@pytest.fixture
def engine(make_database: Callable[[], str]) -> Any:
    """A database of its own: what a test does to the partitions ends with it."""
    engine = db.connect(make_database())
    yield engine
    engine.dispose()


def parts(engine: Engine, log: str = "fetches") -> list[Part]:
    with db.transaction(engine) as tx:
        return partitions.parts(tx, log)


def request(engine: Engine, started: datetime, host_id: int = 1, url: str = "http://h.test/") -> str:
    """Log one. Returns the table that it lies in."""
    return str(
        one(
            engine,
            """INSERT INTO fetches (host_id, visit_id, url_key, url, kind, reason, started_at, ended_at, delay_s,
            outcome,
                                    wire_bytes, body_bytes, truncated, total_ms, conditional, attempt)
               VALUES (:host_id, 1, '', :url, 'page', 'new', :at, :at, 1, 'page', 0, 0, false, 1, false, 1)
               RETURNING CAST(tableoid::regclass AS text)""",
            host_id=host_id,
            url=url,
            at=started,
        )
    )


def visited(engine: Engine, taken: datetime) -> None:
    sql(
        engine,
        "INSERT INTO visits (host_id, token, queue, worker, taken_at) VALUES (1, gen_random_uuid(), 'q', 'w:1', :at)",
        at=taken,
    )


def linked(engine: Engine, found: datetime) -> None:
    sql(
        engine,
        "INSERT INTO links (host_id, crawl_id, key, found_at, url, links) VALUES (1, 1, '', :at, 'u', '[]')",
        at=found,
    )


WRITERS: dict[str, Callable[[Engine, datetime], object]] = {"fetches": request, "visits": visited, "links": linked}


# --- made ahead, dropped ----------------------------------------------------------------------------------------


def test_partitions_are_made_ahead_without_a_gap(engine: Engine) -> None:
    age(engine, 100)
    assert rotate_logs.retain(engine, settings())["made"] >= 2
    for log in partitions.LOGS:
        made = parts(engine, log)
        assert [each.lower for each in made] == [None, *(each.upper for each in made[:-1])]
        assert made[-1].upper >= NOW + AHEAD
    assert rotate_logs.retain(engine, settings()) == {"made": 0, "dropped": 0, "forgotten": 0, "waiting": 0}


def test_a_request_lies_where_its_time_is(engine: Engine) -> None:
    age(engine, 100)
    rotate_logs.retain(engine, settings())
    assert request(engine, OLD) == "fetches_past"
    assert request(engine, NOW) == parts(engine)[1].name
    assert request(engine, NOW + timedelta(days=90)) == "fetches_default"


@pytest.mark.parametrize(("keep_days", "kept"), [(0, 2), (500, 2), (200, 1)])
def test_what_is_wholly_old_is_dropped(engine: Engine, keep_days: int, kept: int) -> None:
    age(engine, 300)
    for log in partitions.LOGS:
        assert parts(engine, log)[0].lower is None
    for moment in (OLD, NOW):
        request(engine, moment)
        visited(engine, moment)
    found = rotate_logs.retain(engine, settings(log_keep_days=keep_days))
    assert found["dropped"] == (len(partitions.LOGS) if kept == 1 else 0)
    assert one(engine, "SELECT count(*) FROM fetches") == one(engine, "SELECT count(*) FROM visits") == kept
    assert one(engine, "SELECT count(*) FROM pg_class WHERE relname ~ 'dropped'") == 0


def test_a_partition_is_a_day_wide_where_the_log_is_kept_for_a_month(engine: Engine) -> None:
    age(engine, 1)
    rotate_logs.retain(engine, settings(log_keep_days=7))
    widths = {each.upper - each.lower for each in parts(engine)[2:] if each.lower}
    assert widths == {timedelta(days=1)}


@pytest.mark.parametrize("zone", ["America/New_York", "Pacific/Kiritimati"])
def test_days_are_those_of_utc(engine: Engine, zone: str) -> None:
    sql(engine, f"ALTER DATABASE {engine.url.database} SET timezone = '{zone}'")
    engine.dispose()
    age(engine, 1)
    rotate_logs.retain(engine, settings(log_keep_days=7))
    made = [each for each in parts(engine) if each.lower]
    assert {each.upper.astimezone(UTC).hour for each in made} == {0}
    assert [each.name for each in made] == [
        f"fetches_{each.lower.astimezone(UTC):%Y%m%d}" for each in made if each.lower
    ]


def test_somebody_elses_table_of_a_like_name_is_left_alone(engine: Engine) -> None:
    """Taken out by hand, to be kept as an archive."""
    age(engine, 300)
    sql(engine, "ALTER TABLE fetches DETACH PARTITION fetches_past")
    assert rotate_logs.retain(engine, settings(log_keep_days=30))["dropped"] == len(partitions.LOGS) - 1
    assert one(engine, "SELECT to_regclass('fetches_past') IS NOT NULL") is True


def test_what_a_crash_left_detached_is_dropped(engine: Engine) -> None:
    age(engine, 300)
    rotate_logs.retain(engine, settings())
    with db.transaction(engine) as tx:
        partitions.detach(tx, "fetches", partitions.parts(tx, "fetches")[0])
    assert rotate_logs.retain(engine, settings())["dropped"] == 1


# --- rows that no partition was there for ------------------------------------------------------------------------


@pytest.mark.parametrize("log", partitions.LOGS)
def test_rows_of_the_default_partition_become_one_of_their_own(engine: Engine, log: str) -> None:
    age(engine, 100)
    log_row = WRITERS[log]
    log_row(engine, NOW - timedelta(days=40))
    log_row(engine, NOW)
    rotate_logs.retain(engine, settings())
    assert one(engine, f"SELECT count(*) FROM ONLY {log}_default") == 0
    assert one(engine, f"SELECT count(*) FROM {log}") == 2
    adopted = parts(engine, log)[1]
    assert one(engine, f"SELECT count(*) FROM {adopted.name}") == 2
    assert adopted.lower == parts(engine, log)[0].upper
    log_row(engine, NOW + timedelta(days=90))
    assert one(engine, f"SELECT count(*) FROM ONLY {log}_default") == 1


def test_rows_older_than_all_partitions_stay_and_stop_nothing(engine: Engine) -> None:
    age(engine, 300)
    rotate_logs.retain(engine, settings(log_keep_days=200))
    assert request(engine, OLD) == "fetches_default"
    with engine.begin() as tx:
        tx.exec_driver_sql(f"DROP TABLE {parts(engine)[-1].name}")  # the next one is to be made anew
    assert rotate_logs.retain(engine, settings(log_keep_days=200))["made"] >= 1
    assert parts(engine)[-1].upper >= NOW + AHEAD
    assert one(engine, "SELECT count(*) FROM fetches") == 1


# --- others are in the way ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expires", "keep_days"),
    [(False, 0), (True, 30)],
)
def test_a_long_transaction_stops_neither_us_nor_the_crawl(engine: Engine, expires: bool, keep_days: int) -> None:
    """Whoever reads the log holds a lock that changing its partitions has to wait for; whoever writes waits behind
    us."""
    age(engine, 300)
    if expires:
        rotate_logs.retain(engine, settings())
    with engine.connect() as reader:
        reader.execute(text("SELECT FROM fetches, visits, links"))
        maintenance = Aside(lambda: rotate_logs.retain(engine, settings(log_keep_days=keep_days)))
        await_blocked(engine, backend(reader), maintenance)
        Aside(lambda: request(engine, NOW)).outcome()  # a settle, while maintenance waits or has given up
        found = maintenance.outcome()
        assert (found["made"], found["dropped"]) == (0, 0)
        assert found["waiting"] >= 1
        assert one(engine, "SELECT count(*) FROM fetches") == 1
    found = rotate_logs.retain(engine, settings(log_keep_days=keep_days))
    assert found["waiting"] == 0
    assert found["dropped"] if expires else found["made"]


def test_two_maintainers_do_not_do_it_twice(engine: Engine) -> None:
    age(engine, 300)
    both = [Aside(lambda: rotate_logs.retain(engine, settings(log_keep_days=200))) for _ in range(2)]
    found = [each.outcome() for each in both]
    found.append(rotate_logs.retain(engine, settings(log_keep_days=200)))
    assert sum(each["dropped"] for each in found) == len(partitions.LOGS)
    names = [each.name for each in parts(engine)]
    assert len(names) == len(set(names)) == sum(each["made"] for each in found) / len(partitions.LOGS)


# --- what stays true ---------------------------------------------------------------------------------------------


def test_a_visit_is_closed_in_its_partition_alone(engine: Engine) -> None:
    age(engine, 100)
    rotate_logs.retain(engine, settings())
    visited(engine, NOW)
    plan = """EXPLAIN UPDATE visits SET ended_at = clock_timestamp(), ending = 'x', fetches = fetches + 1
              WHERE id = 1 AND taken_at = CAST(:at AS timestamptz) AND ended_at IS NULL"""
    lines = "\n".join(row["QUERY PLAN"] for row in sql(engine, plan, at=NOW))
    assert parts(engine, "visits")[1].name in lines
    assert "visits_past" not in lines
    with db.transaction(engine) as tx:
        visits.close(tx, [{"id": 1, "taken_at": NOW, "ending": VisitEnding.DELAY, "detail": None, "fetches": 3}])
    assert sql(engine, "SELECT ending, fetches FROM visits") == [{"ending": "delay", "fetches": 3}]


@pytest.mark.parametrize(("copy_s", "found"), [(-86_000.0, {}), (None, {"before_robots": 1, "disallowed": 0})])
def test_the_audit_of_a_cut_log_believes_the_history_of_robots(
    engine: Engine, copy_s: float | None, found: dict[str, int]
) -> None:
    """robots.txt was asked for in what is dropped; what it said still judges what is kept."""
    log = Log(engine)
    a = log.host("a.test", robots=None)
    log.robots(a, 0.0) if copy_s is None else log.copy(a, copy_s, "User-agent: *\nDisallow: /private\n")
    log.page(a, -5.0)
    expected = {name: n for name, n in found.items() if n}
    assert wrong(engine) == ({"a.test": expected} if expected else {})
    if copy_s is not None:
        log.page(a, 5.0, "/private/x")
        assert wrong(engine) == {"a.test": {"disallowed": 1}}


def test_a_copy_of_after_the_request_excuses_nothing(engine: Engine) -> None:
    log = Log(engine)
    a = log.host("a.test", robots=None)
    log.copy(a, 5.0, "")
    log.page(a, 0.0)
    assert wrong(engine) == {"a.test": {"before_robots": 1}}


def test_a_crawl_goes_on_over_retention(make: Callable[..., Worker], web: Web, engine: Engine) -> None:
    """A crawl, its log grown old and dropped, a second round: all is logged, and the audit has nothing to say."""
    worker = make(default_delay_s=0.05, log_keep_days=30)
    site: Site = web.site()
    site.pages |= {"/": html("/a"), "/a": html(text="a")}
    crawl = start(worker, site.url())
    run(worker, hurry=False)
    with worker.engine.begin() as tx:
        for log, time in (("fetches", "started_at"), ("visits", "taken_at")):
            shift = ", ended_at = ended_at - interval '100 days'"
            tx.exec_driver_sql(f"UPDATE {log} SET {time} = {time} - interval '100 days'{shift}")
        tx.exec_driver_sql("UPDATE robots_copies SET since = since - interval '100 days'")
    age(worker.engine, 90)
    assert rotate_logs.retain(worker.engine, worker.settings)["dropped"] == len(partitions.LOGS)
    assert one(worker.engine, "SELECT count(*) FROM fetches") == 0
    again(worker, crawl)
    run(worker, hurry=False)
    assert one(worker.engine, "SELECT count(*) FROM fetches WHERE kind = 'page'") == 2
    found = audit.audit(worker.engine, worker.settings, None)
    assert (found.violations, found.disorder, found.unaccounted) == (0, 0, [])
    assert one(worker.engine, "SELECT count(*) FROM visits WHERE ended_at IS NULL") == 0


def again(worker: Worker, crawl: Any) -> None:
    from app.admin import crawls

    crawls.go_round(worker.engine, crawl.name)
