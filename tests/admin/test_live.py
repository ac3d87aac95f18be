"""The live line: counts of a crawl, its next hosts, and its failures of the last minute."""

import pytest
from sqlalchemy import Engine

from app.admin import crawls
from app.admin.board.pulse import MOST_QUEUED, Live
from app.model import RestReason
from app.store.live import EACH_QUEUE
from tests.store.rows import admission, admit, make_crawl, make_host, sql


def brought(engine: Engine, crawl_id: int, host_id: int, pages: int) -> None:
    sql(
        engine,
        """INSERT INTO crawl_hosts (crawl_id, host_id, pages, fetches, failed, bytes) VALUES (:crawl, :host, :pages, 0,
        1, 10)
           ON CONFLICT (crawl_id, host_id) DO UPDATE SET pages = :pages""",
        crawl=crawl_id,
        host=host_id,
        pages=pages,
    )


def test_few_hosts_are_counted_exactly_at_each_look(engine: Engine) -> None:
    crawl, other = make_crawl(engine), make_crawl(engine, "other")
    hosts = [make_host(engine) for _ in range(3)]
    for host_id in hosts:
        brought(engine, crawl, host_id, 5)
    brought(engine, other, hosts[0], 100)
    live = Live(engine, crawl, [])
    found = live.look()
    assert (found.state, found.pages, found.failed, found.bytes, found.is_exact) == ("active", 15, 3, 30, True)
    brought(engine, crawl, hosts[2], 6)
    assert live.look().pages == 16


def test_no_host_is_shown_as_next_once_a_crawl_is_not_active(engine: Engine) -> None:
    """What its budget left queued is not fetched, whatever the host's row says."""
    crawl, host_id = make_crawl(engine), make_host(engine, queue="host-00", next_fetch_at="2026-01-01T00:00Z")
    admit(engine, admission(host_id, crawl))
    live = Live(engine, crawl, ["host-00"])
    assert len(live.look().hosts) == 1
    for state in ("state = 'paused'", "state = 'finished', finished_at = now(), ended_because = 'max_pages'"):
        sql(engine, f"UPDATE crawls SET {state}")
        assert not live.look().hosts


def test_what_is_queued_is_counted_up_to_a_limit(engine: Engine) -> None:
    crawl, host_id = make_crawl(engine), make_host(engine)
    live = Live(engine, crawl, [])
    for number, queued in enumerate((2, MOST_QUEUED + 10)):
        admit(engine, *(admission(host_id, crawl, f"/{number}/{each}") for each in range(queued)))
        assert live.look().queued == min(queued, MOST_QUEUED)


def fetched(
    engine: Engine,
    crawl_id: int,
    host_id: int,
    *,
    kind: str = "page",
    outcome: str = "server_error",
    status: int | None = 500,
) -> None:
    sql(
        engine,
        """INSERT INTO fetches (host_id, crawl_id, visit_id, url_key, url, kind, reason, started_at, ended_at, delay_s,
                                outcome, status, wire_bytes, body_bytes, truncated, total_ms, conditional, attempt)
           VALUES (:host, :crawl, 1, '', 'u', :kind, 'new', now(), now(), 1, :outcome, :status, 0, 0, false, 1, false,
                   1)""",
        host=host_id,
        crawl=crawl_id,
        kind=kind,
        outcome=outcome,
        status=status,
    )


def waits(engine: Engine, crawl_id: int) -> list[tuple[str, str | None, str | None]]:
    found = Live(engine, crawl_id, ["host-00"]).look().hosts
    return [(row.host, row.waits_for, row.detail) for row in found]


def test_what_a_host_waits_for_besides_its_delay_is_said(engine: Engine) -> None:
    """The reason of a wait is on its row while its next contact is beyond what its pace asks for."""
    crawl = make_crawl(engine)
    host_id = make_host(engine, "a.test", resting_because=RestReason.ROBOTS_OUT_OF_REACH)
    admit(engine, admission(host_id, crawl))
    robots = """INSERT INTO robots (host_id, scheme, port, availability, status, detail, fetched_at, expires_at,
                                    unreachable_since)
                VALUES (:host, :scheme, 80, 'unreachable', :status, :detail, now() - :ago * interval '1 s', now(),
                        now())
                ON CONFLICT (host_id, scheme, port) DO UPDATE SET detail = '', fetched_at = now()"""
    sql(engine, robots, host=host_id, scheme="http", status=500, detail="Connection refused", ago=1)
    sql(engine, robots, host=host_id, scheme="https", status=500, detail="no TLS", ago=2)
    pace = "UPDATE hosts SET next_fetch_at = now() + interval '1 hour', polite_at = now() + :away * interval '1 hour'"
    sql(engine, pace, away=0)
    assert waits(engine, crawl) == [("a.test", "its wait: robots.txt out of reach", "Connection refused")]
    sql(engine, robots, host=host_id, scheme="https", status=500, detail="", ago=0)
    assert waits(engine, crawl) == [("a.test", "its wait: robots.txt out of reach", "HTTP 500")]
    sql(engine, pace, away=1)
    assert waits(engine, crawl) == [("a.test", None, None)]
    sql(engine, "UPDATE hosts SET resting_because = 'address budget', resting_detail = '192.0.2.1', polite_at = now()")
    assert waits(engine, crawl) == [("a.test", "its wait: address budget", "192.0.2.1")]


def test_a_paused_host_is_shown_where_the_crawl_has_something_queued(engine: Engine) -> None:
    crawl, other = make_crawl(engine), make_crawl(engine, "other")
    due, paused, elsewhere = (make_host(engine, f"{name}.test") for name in ("due", "paused", "elsewhere"))
    admit(engine, admission(due, crawl), admission(paused, crawl, "/1"), admission(paused, crawl, "/2"))
    admit(engine, admission(elsewhere, other))
    sql(engine, "UPDATE hosts SET state = 'paused', next_fetch_at = NULL WHERE id <> :due", due=due)
    sql(engine, "UPDATE hosts SET next_fetch_at = now() - interval '1 s' WHERE id = :due", due=due)
    assert waits(engine, crawl) == [("paused.test", "paused by an operator", None), ("due.test", "a worker", None)]
    sql(engine, "UPDATE urls SET state = 'resting', due_at = now() WHERE host_id = :paused", paused=paused)
    assert waits(engine, crawl) == [("due.test", "a worker", None)]


def test_paused_hosts_are_shown_once_nothing_else_is_queued(engine: Engine) -> None:
    """However many they are, and whatever comes before them."""
    crawl = make_crawl(engine)
    hosts = [make_host(engine) for _ in range(3 * EACH_QUEUE)]
    admit(engine, *(admission(host_id, crawl) for host_id in hosts))
    sql(engine, "UPDATE hosts SET state = 'paused', next_fetch_at = NULL")
    assert len(waits(engine, crawl)) == EACH_QUEUE


# kind, outcome, status → whether it counts as failed
FAILURES = [
    ("page", "server_error", 500, True),
    ("page", "not_found", 404, True),
    ("page", "redirect", 301, False),
    ("page", "unwanted", 200, False),
    ("sitemap", "server_error", 500, True),
    ("sitemap", "unwanted", 204, True),
    ("sitemap", "not_found", 404, False),
    ("sitemap", "unchanged", 304, False),
    ("robots", "server_error", 500, False),
    ("subrequest", "server_error", 500, False),
    ("page", "unsent", None, False),
]


@pytest.mark.parametrize(("kind", "outcome", "status", "fails"), FAILURES)
def test_failures_of_the_last_minute_are_those_that_are_counted(
    engine: Engine, kind: str, outcome: str, status: int | None, fails: bool
) -> None:
    crawl, host_id = make_crawl(engine), make_host(engine)
    fetched(engine, crawl, host_id, kind=kind, outcome=outcome, status=status)
    found = Live(engine, crawl, []).look().failures
    assert found == ([(f"HTTP {status}", 1)] if fails else [])


def test_a_round_begins_without_failures(engine: Engine) -> None:
    """They are of the round, as the count beside them is."""
    crawl, host_id = make_crawl(engine), make_host(engine)
    fetched(engine, crawl, host_id)
    brought(engine, crawl, host_id, 1)
    live = Live(engine, crawl, [])
    found = live.look()
    assert (found.failed, found.failures) == (1, [("HTTP 500", 1)])
    crawls.go_round(engine, "c")
    found = live.look()
    assert (found.failed, found.failures) == (0, [])
    fetched(engine, crawl, host_id)
    assert live.look().failures == [("HTTP 500", 1)]


def test_a_look_that_nobody_sees_reads_the_crawl_alone(engine: Engine) -> None:
    crawl, host_id = make_crawl(engine), make_host(engine, queue="host-00", next_fetch_at="2026-01-01T00:00Z")
    admit(engine, admission(host_id, crawl))
    fetched(engine, crawl, host_id)
    brought(engine, crawl, host_id, 3)
    live = Live(engine, crawl, ["host-00"])
    full = live.look()
    brought(engine, crawl, host_id, 5)
    crawls.pause(engine, "c")
    brief = live.look(in_full=False)
    assert (len(full.hosts), full.failures, full.is_full) == (1, [("HTTP 500", 1)], True)
    assert (brief.hosts, brief.failures, brief.is_full) == ((), (), False)
    assert (full.pages, full.queued, full.state) == (3, 1, "active")
    assert (brief.pages, brief.state) == (3, "paused")
    assert live.look().pages == 5
