"""The audit of real crawls, its verdict, and whose hosts and addresses it looks at. Planted violations:
test_audit_planted."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from sqlalchemy import Engine, event

from app.admin import audit, crawls, hosts
from app.crawl.state.robots_book import RobotsBook
from app.crawl.state.worker import Worker
from app.errors import InputError
from app.policy.robots import Robots
from app.store import db
from tests.crawl.loop import go, run, start
from tests.crawl.planted import LASTS_S, Log, audited, wrong
from tests.crawl.web import Answer, Site, Web, html, redirect
from tests.store.rows import make_crawl, sql

ADDRESS: dict[str, Any] = {"address_budget": "192.0.2.7", "address_gap_s": 0.5}


@pytest.fixture
def site(web: Web) -> Site:
    site = web.site()
    site.robots = "User-agent: *\nDisallow: /private\n"
    site.pages |= {"/": html("/a", "/private/x"), "/a": html(text="a")}
    return site


# --- real crawls ------------------------------------------------------------------------------------------------


def test_a_polite_crawl_has_no_violation(make: Callable[..., Worker], site: Site) -> None:
    worker = make(default_delay_s=0.05)
    start(worker, site.url())
    run(worker, hurry=False)
    found = audit.audit(worker.engine, worker.settings, "c")
    assert (found.fetches, found.violations, found.disorder, found.unaccounted) == (3, 0, 0, [])
    assert found.verdict == "2 requests for URLs, 1 for robots.txt or tdmrep.json, 1 host: no violation"
    (host,) = found.hosts
    assert (host.host, host.unjudged, host.largest_concurrency) == (site.host, 0, 1)
    assert host.smallest_gap_s is not None
    assert 0.05 <= host.smallest_gap_s <= min(site.gaps()) + 0.001


class FaultyBook(RobotsBook):
    """Reads no file: a bug of ours."""

    def parsed(self, body: bytes) -> Robots:
        raise KeyError("of a bug")


def test_a_file_that_cannot_be_read_leaves_its_requests_unjudged(worker: Worker, site: Site) -> None:
    start(worker, site.url())
    run(worker)
    with db.transaction(worker.engine) as tx:
        (whole,) = audit.judge(tx, worker.settings, None).values()
        (found,) = audit.judge(tx, worker.settings, None, book=FaultyBook("t")).values()
    assert (whole.unjudged, whole.disallowed) == (0, 0)
    assert (found.unjudged, found.disallowed) == (2, 0)


def test_hosts_that_share_an_address_are_audited_together(make: Callable[..., Worker], web: Web) -> None:
    """Names of one loopback address would need a name server: what is shared here is a network."""
    worker = make(front_gaps_s="127.0.0.0/8=0.1")
    sites = [web.site() for _ in range(3)]
    for site in sites:
        site.pages["/"] = html()
    start(worker, *(site.url() for site in sites))
    run(worker)
    (network,) = audit.audit(worker.engine, worker.settings, None).addresses
    assert (network.budget, network.hosts, network.fetches) == ("127.0.0.0/8", 3, 6)
    assert (network.smallest_allowed_s, network.largest_concurrency) == (0.1, 1)
    seen = min(later.started - earlier.started for earlier, later in pairwise(web.log))
    assert network.smallest_gap_s == pytest.approx(seen, abs=0.05)


def test_two_origins_of_a_host_and_robots_that_moved(worker: Worker, site: Site, web: Web) -> None:
    beside, elsewhere = web.site(beside=site), web.site()
    beside.robots = redirect(elsewhere.url("/robots.txt"))
    elsewhere.robots = "User-agent: *\nDisallow: /\n"
    beside.pages["/"] = site.pages["/moved"] = html()
    start(worker, site.url(), site.url("/moved"), beside.url())
    run(worker)
    assert audit.audit(worker.engine, worker.settings, None).violations == 0


def test_a_rest_that_an_operator_ended(worker: Worker, site: Site) -> None:
    site.pages["/"] = Answer(status=429, headers={"Retry-After": "3600"})
    start(worker, site.url())
    go(worker)
    site.pages["/"] = html()
    hosts.release(worker.engine, site.host)
    run(worker, hurry=False)
    assert site.pages_asked == ["/", "/"]
    assert audit.audit(worker.engine, worker.settings, None).violations == 0
    sql(worker.engine, "DELETE FROM host_events")
    assert audit.audit(worker.engine, worker.settings, None).hosts[0].during_block > 0


# --- whose hosts, whose addresses -------------------------------------------------------------------------------


@pytest.fixture
def log(engine: Engine) -> Log:
    return Log(engine)


def test_an_empty_log_has_no_violation(engine: Engine) -> None:
    found = audited(engine)
    assert (found.verdict, found.holds) == (
        "0 requests for URLs, 0 for robots.txt or tdmrep.json, 0 hosts: no violation",
        True,
    )


def crawled_by(log: Log, name: str, crawl: str, *starts: float) -> int:
    host_id, crawl_id = log.host(name), make_crawl(log.engine, crawl)
    for start_s in starts:
        log.page(host_id, start_s, crawl_id=crawl_id, **ADDRESS)
    return host_id


def test_the_worst_come_first_and_a_crawl_has_its_own(log: Log) -> None:
    crawled_by(log, "a.test", "good", 2.0, 4.0)
    bad = crawled_by(log, "b.test", "bad", 12.0, 14.0, 14.5)
    assert [host.host for host in audited(log.engine).hosts] == ["b.test", "a.test"]
    assert [host.host for host in audited(log.engine, "good").hosts] == ["a.test"]
    assert audited(log.engine, "good").violations == 0
    assert wrong(log.engine, "bad") == {"b.test": {"gap_violations": 1}}
    log.visit(bad, 90.0, ends=None, ending="lost")
    assert audited(log.engine, "good").unaccounted == []
    assert [each.host for each in audited(log.engine, "bad").unaccounted] == ["b.test"]


def test_the_addresses_of_a_crawl_are_audited_with_all_that_others_asked_of_them(log: Log) -> None:
    crawled_by(log, "a.test", "one", 10.0)
    crawled_by(log, "b.test", "other", 10.2)
    log.page(log.host("c.test"), 20.0, address_budget="192.0.2.8", address_gap_s=0.5)
    assert wrong(log.engine, "one") == {"192.0.2.7": {"gap_violations": 1}}
    assert [(each.budget, each.hosts) for each in audited(log.engine, "one").addresses] == [("192.0.2.7", 2)]
    assert len(audited(log.engine).addresses) == 2


def test_a_crawl_has_the_hosts_of_all_its_rounds(log: Log) -> None:
    """--again begins its counts per host anew; the log goes on."""
    crawled_by(log, "a.test", "docs", 2.0)
    assert sql(log.engine, "SELECT FROM crawl_hosts") == []
    assert [host.host for host in audited(log.engine, "docs").hosts] == ["a.test"]


def test_a_crawl_that_is_not_there(engine: Engine) -> None:
    crawls.create(engine, "c")
    with pytest.raises(InputError, match="there are: c"):
        audited(engine, "d")


def test_a_host_close_to_a_violation_comes_before_one_that_is_not(log: Log) -> None:
    for name, gap_s in (("a.test", 50.0), ("b.test", 1.5), ("c.test", 9.0)):
        log.page(log.host(name), LASTS_S + gap_s)
    assert [host.host for host in audited(log.engine).hosts] == ["b.test", "c.test", "a.test"]
    a = sql(log.engine, "SELECT id FROM hosts WHERE name = 'a.test'")[0]["id"]
    log.page(a, 99.0, visit=log.visit(a, 100.0, ends=200.0))
    assert [host.host for host in audited(log.engine).hosts] == ["a.test", "b.test", "c.test"]


# --- how it is read ---------------------------------------------------------------------------------------------


def test_the_log_is_read_in_pages(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    """More hosts and requests than one page of rows holds: each refused request is found once."""
    for name in ("a.test", "b.test", "c.test"):
        host_id = log.host(name, robots="User-agent: *\nDisallow: /private\n")
        for number in range(4):
            log.page(host_id, 2.0 + 2 * number, "/private")
    monkeypatch.setattr(audit, "AT_ONCE", 2)
    assert [host.disallowed for host in audited(log.engine).hosts] == [4, 4, 4]


def test_all_of_it_is_one_snapshot(log: Log, engine: Engine) -> None:
    """What visits commit between two queries of the audit is in neither."""
    a = log.host("a.test", robots="User-agent: *\nDisallow: /private\n")
    log.page(a, 2.0)
    planted: list[int | bool] = []

    def plant(*_: object) -> None:
        if not planted:
            planted.append(True)
            planted.append(log.page(a, 4.0, "/private"))

    event.listen(engine, "after_cursor_execute", plant)
    found = audited(engine)
    event.remove(engine, "after_cursor_execute", plant)
    assert len(planted) == 2
    assert (found.fetches, found.violations) == (2, 0)
    assert wrong(engine) == {"a.test": {"disallowed": 1}}


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM v_politeness_audit WHERE host_id = 1",
        "SELECT * FROM v_politeness_audit WHERE host_id = ANY('{1,2}')",
        "SELECT * FROM v_politeness_audit WHERE host_id = (SELECT id FROM hosts WHERE name = 'a.test')",
    ],
)
def test_one_host_is_audited_without_reading_the_whole_log(engine: Engine, query: str) -> None:
    with engine.begin() as tx:
        tx.exec_driver_sql("SET LOCAL enable_seqscan = off")
        plan = [row[0] for row in tx.exec_driver_sql(f"EXPLAIN {query}")]
    assert not [line for line in plan if "Seq Scan on fetches" in line]
    assert [line for line in plan if "fetches_past_host" in line]


def test_the_view_and_the_command_agree(log: Log, engine: Engine) -> None:
    a = log.host("a.test")
    log.page(a, 0.5)
    log.page(a, 5.0, rest_s=60.0)
    log.page(a, 9.0, fenced=True)
    log.event(a, 200.0, "released")
    (row,) = sql(engine, "SELECT * FROM v_politeness_audit")
    (host,) = audited(engine).hosts
    assert {name: getattr(host, name) for name in row if name != "host_id"} == {
        name: value for name, value in row.items() if name != "host_id"
    }
    assert (row["gap_violations"], row["during_block"], row["fenced"], row["disorder"]) == (1, 1, 1, 0)
