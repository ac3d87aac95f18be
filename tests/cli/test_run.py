"""The view's queries tell of one crawl alone, and a lost connection of the command's own ends nothing."""

from collections.abc import Iterator

import pytest
from sqlalchemy import Engine, event

from app.admin.board.pulse import Live, Look
from app.cli.run import LOOK_EVERY_S, compare, patiently, wait_to_look, warned
from app.errors import InputError, ServiceError
from app.store import crawls, db
from app.store.crawls import Crawl
from tests.store.rows import admission, admit, clean, make_crawl, make_due_host, make_host, one, sql


@pytest.fixture
def engine(database_url: str) -> Iterator[Engine]:
    with clean(database_url) as engine:
        yield engine


def crawl(engine: Engine, name: str = "c", **columns: object) -> Crawl:
    crawl_id = make_crawl(engine, name, **columns)
    with db.transaction(engine) as tx:
        return crawls.by_id(tx, crawl_id)


def look(engine: Engine, crawl: Crawl) -> Look:
    return Live(engine, crawl.id, ["host-00", "host-01"]).look()


def test_only_hosts_of_this_crawl(engine: Engine) -> None:
    ours, other = crawl(engine), crawl(engine, "other")
    mine, theirs, none = (make_due_host(engine, name=f"{name}.test") for name in ("mine", "theirs", "none"))
    late = make_host(engine, name="late.test")
    sql(engine, "UPDATE hosts SET next_fetch_at = now() + interval '1 hour' WHERE id = :id", id=late)
    admit(engine, admission(mine, ours.id), admission(late, ours.id), admission(theirs, other.id))
    found = look(engine, ours)
    assert [(host.host, host.waits_for) for host in found.hosts] == [
        ("mine.test", "a worker"),
        ("late.test", None),
    ]
    assert found.queued == 2
    assert none


def test_hosts_that_are_visited_come_first(engine: Engine) -> None:
    ours = crawl(engine)
    due, taken = make_due_host(engine, name="due.test"), make_host(engine, name="taken.test")
    sql(
        engine,
        """WITH held AS (
               UPDATE hosts SET state = 'taken', lease_token = gen_random_uuid(), taken_at = now(),
                      lease_until = now() + interval '1 minute', next_fetch_at = now() + interval '61 s'
               WHERE id = :id RETURNING id, lease_token)
           INSERT INTO visits (host_id, token, queue, worker, taken_at)
           SELECT id, lease_token, 'host-00', 'w', now() FROM held""",
        id=taken,
    )
    admit(engine, admission(due, ours.id), admission(taken, ours.id))
    hosts = look(engine, ours).hosts
    assert [(host.host, host.waits_for, host.next_s is None) for host in hosts] == [
        ("taken.test", "being visited", True),
        ("due.test", "a worker", False),
    ]


def test_failures_by_class_of_the_last_minute(engine: Engine) -> None:
    ours, other, host = crawl(engine), crawl(engine, "other"), make_host(engine)
    sql(engine, "UPDATE crawls SET active_since = now() - interval '1 day'")
    rows = [
        (ours.id, "page", "network", "timeout", None, "1 second"),
        (ours.id, "page", "network", "timeout", None, "2 seconds"),
        (ours.id, "page", "server_error", None, 500, "1 second"),
        (ours.id, "page", "page", None, 200, "1 second"),
        (ours.id, "sitemap", "not_found", None, 404, "1 second"),
        (ours.id, "page", "server_error", None, 500, "1 hour"),
        (other.id, "page", "server_error", None, 503, "1 second"),
    ]
    for crawl_id, kind, outcome, failure, status, ago in rows:
        sql(
            engine,
            """INSERT INTO fetches (host_id, crawl_id, visit_id, url_key, url, kind, reason, started_at, ended_at,
            delay_s,
                                    outcome, failure, status, wire_bytes, body_bytes, truncated, total_ms, conditional,
                                    attempt)
               SELECT :host, :crawl, 1, '', 'http://a.test/', :kind, 'new', at, at, 1,
                      :outcome, :failure, :status, 0, 0, false, 1, false, 1
               FROM (SELECT now() - CAST(:ago AS interval) AS at) AS moment""",
            host=host,
            crawl=crawl_id,
            kind=kind,
            outcome=outcome,
            failure=failure,
            status=status,
            ago=ago,
        )
    assert look(engine, ours).failures == [("timeout", 2), ("HTTP 500", 1)]


def test_a_lost_connection_is_waited_for(engine: Engine, database_url: str, capsys: pytest.CaptureFixture[str]) -> None:
    ours = crawl(engine)
    own = db.connect(database_url, pool_size=1)
    look(own, ours)
    cut = (
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = "
        "current_database()"
    )
    sql(engine, cut)
    calls: list[str] = []
    found = patiently(lambda: (calls.append("asked"), look(own, ours))[1], meanwhile=lambda: calls.append("tended"))
    own.dispose()
    assert found.crawl.name == "c"
    assert calls == ["asked", "tended", "asked"]
    (line,) = capsys.readouterr().err.splitlines()
    assert "waiting for it (Ctrl-C stops waiting)" in line


def test_what_fails_meanwhile_ends_it(engine: Engine) -> None:
    """A worker that cannot stay up is no matter of waiting."""

    def broken() -> None:
        raise ServiceError("worker-1", "ends right after its start")

    def away() -> None:
        raise ServiceError("Postgres", "is away")

    with pytest.raises(ServiceError, match="worker-1"):
        patiently(away, meanwhile=broken)


def test_ctrl_c_says_at_once_that_the_end_takes_a_while(capsys: pytest.CaptureFixture[str]) -> None:
    order: list[str] = []
    with pytest.raises(KeyboardInterrupt), warned(lambda: order.append(capsys.readouterr().err)):
        raise KeyboardInterrupt
    assert order == [""], "the live view ends before the line"
    assert capsys.readouterr().err == "stopping: requests on their way end first; Ctrl-C again stops at once\n"


@pytest.mark.parametrize(("took_s", "waits_s"), [(0.001, 0.25), (0.1, 2.0), (5.0, 10.0), (600.0, 10.0)])
def test_processes_are_tended_however_long_the_last_look_took(took_s: float, waits_s: float) -> None:
    """A look during an outage of five seconds was followed by 100 s in which no worker that had died was replaced."""
    done: list[float] = []
    wait_to_look(took_s, meanwhile=lambda: done.append(0.0), sleep=done.append)
    assert sum(done) == pytest.approx(waits_s)
    assert done[::2] == [0.0] * (len(done) // 2), "tended before each"
    assert max(done) <= LOOK_EVERY_S


def test_pages_that_wait_at_the_end_are_compared(engine: Engine) -> None:
    ours = with_a_page_to_compare(engine)
    assert not compare(engine, ours)
    assert one(engine, "SELECT count(*) FROM near_queue") == 0


def test_an_interrupt_ends_the_comparison_at_once(engine: Engine) -> None:
    ours = with_a_page_to_compare(engine)

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    event.listen(engine, "begin", interrupt)
    assert compare(engine, ours)
    event.remove(engine, "begin", interrupt)
    assert one(engine, "SELECT count(*) FROM near_queue") == 1


def with_a_page_to_compare(engine: Engine) -> Crawl:
    ours = crawl(engine)
    sql(engine, "INSERT INTO near_queue (host_id, crawl_id, key) VALUES (1, :id, 'a')", id=ours.id)
    return ours


def test_a_crawl_that_another_command_deletes_ends_its_own_in_one_line(engine: Engine) -> None:
    ours = crawl(engine)
    live = Live(engine, ours.id, [])
    live.look()
    sql(engine, "DELETE FROM crawls")
    for in_full in (True, False):
        with pytest.raises(InputError, match="was deleted meanwhile"):
            live.look(in_full=in_full)
    with db.transaction(engine) as tx, pytest.raises(InputError, match="was deleted meanwhile"):
        crawls.totals(tx, ours.id)
