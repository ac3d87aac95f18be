"""The fleet's figures, from a real Postgres."""

import socket
from collections.abc import Iterator

import pytest
from prometheus_client.parser import text_string_to_metric_families
from sqlalchemy import Engine, text

from app import plugins
from app.errors import ServiceError
from app.metrics import exposition
from app.metrics.exposition import FLEET
from app.metrics.fleet import BACKLOGS, GOOD_S, FleetPage, targets
from app.store import db, fleet, renders, segments
from app.store.fleet import FleetWatch
from tests.store.rows import LOOKS, claim, clean, make_crawl, make_host, make_visited_host, sql

QUEUES = ["host-00", "host-01"]
MEMORY = {"tiptoe_memory_limit_bytes", "tiptoe_memory_available_bytes"}
HOST = "INSERT INTO hosts (name, queue, delay_s, next_fetch_at, state, blocked_until, resting_because) VALUES "
FETCH = """INSERT INTO fetches (host_id, visit_id, url_key, url, kind, reason, started_at, ended_at, delay_s, outcome,
                                wire_bytes, body_bytes, truncated, total_ms, conditional, attempt)
           SELECT {host}, 1, 'k', 'u', 'page', 'new', at, at + interval '1 s', 1, '{outcome}', 0, 0, false, 1, false, 1
           FROM (SELECT now() - interval '{age} s' AS at) AS moment"""


@pytest.fixture
def engine(database_url: str) -> Iterator[Engine]:
    with clean(database_url) as engine:
        yield engine


def urls(engine: Engine, host_id: int, lane: int, n: int, *, crawl_id: int = 1, state: str = "queued") -> None:
    sql(
        engine,
        f"""INSERT INTO urls (host_id, crawl_id, key, url, state, lane, score, depth, due_at)
            SELECT {host_id}, {crawl_id}, sha256(convert_to({lane} || '/' || {crawl_id} || '/' || n, 'UTF8')), 'u',
                   '{state}', {lane}, 1, 1, now()
            FROM generate_series(1, {n}) AS n""",
    )


def shown(page: FleetPage) -> dict[str, float]:
    """{name and label values: value}"""
    return {
        " ".join([sample.name, *sample.labels.values()]): sample.value
        for found in text_string_to_metric_families(page.page().decode())
        for sample in found.samples
    }


def test_depth_is_by_lane_and_what_is_due_and_unclaimed_is_the_queue(engine: Engine) -> None:
    make_crawl(engine)
    make_crawl(engine, "paused")
    sql(engine, "UPDATE crawls SET state = 'paused' WHERE name = 'paused'")
    sql(engine, HOST + "('due.test', 'host-00', 1, now() - interval '90 s', 'idle', NULL, NULL)")
    sql(engine, HOST + "('later.test', 'host-01', 1, now() + interval '1 h', 'idle', NULL, NULL)")
    urls(engine, 1, 0, 3)
    urls(engine, 1, 2, 5)
    urls(engine, 2, 2, 7)
    urls(engine, 1, 1, 4, state="resting")
    urls(engine, 1, 1, 9, crawl_id=2)
    found = shown(FleetPage(FleetWatch(engine, QUEUES), offer_s=10.0))
    assert [found[f"tiptoe_frontier_urls {lane}"] for lane in range(4)] == [3, 0, 12, 0]
    assert found["tiptoe_queue_depth_urls"] == 8
    assert 90 <= found["tiptoe_dispatch_lag_seconds"] < 600
    assert (found["tiptoe_crawls active"], found["tiptoe_crawls paused"]) == (1, 1)
    assert len(claim(engine)) == 1
    found = shown(FleetPage(FleetWatch(engine, QUEUES), offer_s=10.0))
    assert found["tiptoe_queue_depth_urls"] == 0, "a worker is to visit it"
    assert (found["tiptoe_dispatch_lag_seconds"], found["tiptoe_hosts offered"]) == (0, 1)


def test_a_host_that_is_offered_in_vain_waits_since_its_first_offer(engine: Engine) -> None:
    """Of a queue that nobody serves: each offer sets the moment anew from which it is due."""
    make_crawl(engine)
    sql(engine, HOST + "('due.test', 'host-00', 1, now(), 'idle', NULL, NULL)")
    urls(engine, 1, 1, 1)
    for missed, lag_s in [(0, 0), (1, 10), (2, 20)]:
        assert len(claim(engine)) == 1
        assert shown(FleetPage(FleetWatch(engine, QUEUES), offer_s=10.0))["tiptoe_dispatch_lag_seconds"] == lag_s, (
            missed
        )
        sql(engine, "UPDATE hosts SET lease_until = now() - interval '1 ms', next_fetch_at = now() - interval '1 ms'")
    sql(engine, "UPDATE hosts SET lease_until = now() - interval '2 min', next_fetch_at = now() + interval '1 h'")
    assert shown(FleetPage(FleetWatch(engine, QUEUES), offer_s=10.0))["tiptoe_dispatch_lag_seconds"] == 0, (
        "nobody offers it any more"
    )


def test_hosts_are_counted_by_what_they_do(engine: Engine) -> None:
    """In the words of `v_host_status`: one without a queued URL waits for nothing, whatever its next contact is."""
    make_crawl(engine)
    rest = "now() + interval '1 h'"
    rows = [
        "('due.test', 'host-00', 1, now(), 'idle', NULL, NULL)",
        f"('resting.test', 'host-00', 1, {rest}, 'idle', {rest}, 'rate_limited')",
        f"('waiting.test', 'host-00', 1, {rest}, 'idle', NULL, NULL)",
        "('quiet.test', 'host-00', 1, NULL, 'idle', NULL, NULL)",
        "('emptied.test', 'host-00', 1, now(), 'idle', NULL, NULL)",
        "('paused.test', 'host-00', 1, NULL, 'paused', NULL, NULL)",
    ]
    sql(engine, HOST + ", ".join(rows))
    for host_id in (1, 2, 3):
        urls(engine, host_id, 1, 1)
    make_visited_host(engine)
    found = shown(FleetPage(FleetWatch(engine, QUEUES), offer_s=10.0))
    states = ["due", "offered", "visited", "waiting", "resting", "paused", "quiet"]
    assert [found[f"tiptoe_hosts {state}"] for state in states] == [1, 0, 1, 1, 1, 1, 2]
    assert found["tiptoe_leases"] == 1


# host, seconds ago, outcome; each takes a second, and the delay is one
LOGS = [
    ([(1, 10, "page"), (1, 8, "page"), (2, 8, "page")], 1, 0, 0),
    ([(1, 10, "page"), (1, 8.5, "page")], 1, 0, 1),
    ([(1, 10, "page"), (1, 9.5, "page")], 1, 1, 0),
    ([(1, 10, "unsent"), (1, 9.5, "page")], 0, 0, 0),
    ([(1, 1000, "page"), (1, 999.5, "page")], 0, 0, 0),  # not of the last minutes
]


@pytest.mark.parametrize(("log", "judged", "at_once", "gaps"), LOGS)
def test_the_newest_requests_are_judged_across_visits(
    engine: Engine, log: list[tuple[int, float, str]], judged: int, at_once: int, gaps: int
) -> None:
    for host, age, outcome in log:
        sql(engine, FETCH.format(host=host, age=age, outcome=outcome))
    found = shown(FleetPage(FleetWatch(engine, QUEUES), offer_s=10.0))
    assert found["tiptoe_recent_requests_judged"] == judged
    assert (found["tiptoe_recent_violations concurrent"], found["tiptoe_recent_violations gap"]) == (at_once, gaps)


def test_a_stopped_archive_is_told(engine: Engine) -> None:
    with db.transaction(engine) as tx:
        for node, free, why in [("a", 5, None), ("b", 3, "its disk is full")]:
            segments.note_node(
                tx, node=node, place="/x", free_bytes=free, waiting_bytes=0, stopped_because=why, trouble=None
            )
    found = shown(FleetPage(FleetWatch(engine, QUEUES), offer_s=10.0))
    assert (found["tiptoe_archive_nodes stopped"], found["tiptoe_archive_nodes writing"]) == (1, 1)
    assert found["tiptoe_archive_free_bytes"] == 3


def test_what_waits_for_a_browser_is_counted_and_who_has_one(engine: Engine) -> None:
    assert [make_crawl(engine, "a", render="auto"), make_crawl(engine, "b", render="never"), make_host(engine)] == [
        1,
        2,
        1,
    ]
    sql(
        engine,
        """INSERT INTO renders (host_id, crawl_id, key, url, pattern, state, status, headers, body_sha256, body,
                                ended_at)
           SELECT 1, crawl_id, sha256(n::text::bytea), 'u', 'p', state, 200, '{}', '',
                  CASE state WHEN 'due' THEN ''::bytea END, CASE state WHEN 'done' THEN now() END
           FROM (VALUES (1, 'due', 1), (1, 'due', 2), (1, 'done', 3), (2, 'due', 4)) AS r (crawl_id, state, n)""",
    )
    with db.transaction(engine) as tx:
        for name, problem in [("a", None), ("b", None), ("c", "no Chromium was found")]:
            renders.seen(tx, name=name, browser=None, problem=problem)
    found = shown(FleetPage(FleetWatch(engine, QUEUES), offer_s=10.0))
    assert found["tiptoe_renders_due"] == 2
    assert [found[f"tiptoe_render_workers {state}"] for state in ("ready", "without_browser")] == [2, 1]


def test_what_waits_for_each_feature_is_told(engine: Engine) -> None:
    crawl_id, host_id = make_crawl(engine), make_host(engine)
    for table, n in (("near_queue", 3), ("search_queue", 2)):
        query = f"INSERT INTO {table} (host_id, crawl_id, key) SELECT :h, :c, 'k' FROM generate_series(1, :n)"
        sql(engine, query, h=host_id, c=crawl_id, n=n)
    found = shown(FleetPage(FleetWatch(engine, QUEUES), offer_s=10.0))
    waiting = {queue: found[f"tiptoe_backlog_pages {queue}"] for queue in BACKLOGS}
    assert waiting == {"handlers": 0, "near_duplicates": 3, "search": 2}


def test_a_snapshot_is_of_one_moment_and_only_reads(engine: Engine) -> None:
    with fleet.snapshot(engine) as tx:
        seen = [fleet.now(tx, QUEUES, fleet.NOTHING, fleet.RecentReads()).states]
        make_crawl(engine)
        seen.append(fleet.now(tx, QUEUES, fleet.NOTHING, fleet.RecentReads()).states)
    assert seen == [{}, {}]
    with pytest.raises(ServiceError, match="read-only"), fleet.snapshot(engine) as tx:
        tx.execute(text("UPDATE crawls SET name = 'x'"))


def test_each_queue_of_a_feature_is_in_the_metrics(engine: Engine) -> None:
    with db.transaction(engine) as tx:
        assert sorted(plugins.backlog(tx)) == list(BACKLOGS)


def test_an_empty_database_shows_every_figure_but_that_of_disks(engine: Engine) -> None:
    values = FleetPage(FleetWatch(engine, QUEUES), offer_s=10.0).values()
    assert set(values) - MEMORY == {spec.name for spec in FLEET} - {"tiptoe_archive_free_bytes"}


def test_postgres_is_asked_once_in_a_while_however_many_ask(engine: Engine) -> None:
    now = [0.0]
    page = FleetPage(FleetWatch(engine, QUEUES), offer_s=10.0, monotonic=lambda: now[0])
    assert shown(page)["tiptoe_crawls active"] == 0
    make_crawl(engine)
    assert shown(page)["tiptoe_crawls active"] == 0
    now[0] += GOOD_S
    assert shown(page)["tiptoe_crawls active"] == 1


def test_without_postgres_the_page_says_so_and_comes_back() -> None:
    gone = db.connect("postgresql://nobody@127.0.0.1:9/none")
    page = FleetPage(FleetWatch(gone, QUEUES), offer_s=10.0)
    assert {name: value for name, value in page.values().items() if name not in MEMORY} == {"tiptoe_postgres_up": 0.0}
    assert b"tiptoe_postgres_up 0.0" in exposition.page(exposition.registry(page.values, of_process=False))


def test_a_postgres_that_keeps_silent_is_away_before_it_is_given_up() -> None:
    """A scrape that waited for the end of the attempt would come too late, and say that web is away."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        engine = db.connect(f"postgresql://nobody@127.0.0.1:{silent.getsockname()[1]}/none")
        page = FleetPage(FleetWatch(engine, QUEUES), offer_s=10.0, waits_s=0.1)
        assert page.values()["tiptoe_postgres_up"] == 0.0
        with silent.accept()[0] as connection:
            connection.setblocking(False)
            while True:
                try:
                    assert connection.recv(1024), "it was waited for"
                except BlockingIOError:
                    break
        engine.dispose()


def test_a_process_is_listed_as_long_as_it_has_a_session(engine: Engine, database_url: str) -> None:
    assert targets(engine) == []
    serving = db.connect(database_url, session_name=fleet.session_name("worker", "127.0.0.1", 4711))
    db.check(serving)
    assert targets(engine) == [{"targets": ["127.0.0.1:4711"], "labels": {"role": "worker"}}]
    found = shown(FleetPage(FleetWatch(engine, QUEUES), offer_s=10.0))
    assert (found["tiptoe_processes_serving worker"], found["tiptoe_processes_serving beat"]) == (1, 0)
    serving.dispose()
    assert any(targets(engine) == [] for _ in range(LOOKS)), "it is still listed"  # its backend ends after us
