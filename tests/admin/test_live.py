"""The live line: exact for a few hosts, a slice a look for many."""

from collections import Counter

from sqlalchemy import Engine

from app.admin.live import MOST_QUEUED, Live, Round
from app.store.live import Slice
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
    assert (found.state, found.pages, found.failed, found.bytes, found.is_whole) == ("active", 15, 3, 30, True)
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
        assert live.look().hosts == []


def test_many_are_gone_through_a_slice_at_a_time(engine: Engine) -> None:
    crawl = make_crawl(engine)
    hosts = [make_host(engine) for _ in range(5)]
    for host_id in hosts:
        brought(engine, crawl, host_id, 1)
    live = Live(engine, crawl, [], slice=2)
    assert [(found.pages, found.is_whole) for found in (live.look() for _ in range(3))] == [
        (2, False),
        (4, False),
        (5, True),
    ]
    brought(engine, crawl, hosts[0], 11)
    brought(engine, crawl, hosts[4], 101)
    assert [live.look().pages for _ in range(3)] == [15, 15, 115]


def test_what_is_queued_is_counted_up_to_a_limit(engine: Engine) -> None:
    crawl, host_id = make_crawl(engine), make_host(engine)
    live = Live(engine, crawl, [])
    for number, queued in enumerate((2, MOST_QUEUED + 10)):
        admit(engine, *(admission(host_id, crawl, f"/{number}/{each}") for each in range(queued)))
        assert live.look().queued == min(queued, MOST_QUEUED)


def test_rows_that_go_and_come_are_right_after_a_round() -> None:
    """Keys 1 to 6, a slice of two; then 1 and 2 go and 7, 8 and 9 come."""
    keys, reading = [1, 2, 3, 4, 5, 6], Round()

    def after(key: int) -> Slice:
        found = [each for each in keys if each > key][:2]
        return Slice(len(found), found[-1] if found else None, Counter(keys=len(found)))

    for _ in range(4):
        total = reading.read(after, 2)
    assert (total["keys"], reading.is_whole) == (6, True)
    keys[:] = [3, 4, 5, 6, 7, 8, 9]
    for _ in range(4):
        total = reading.read(after, 2)
    assert total["keys"] == 7
    keys[:] = []
    assert reading.read(after, 2)["keys"] == 0
