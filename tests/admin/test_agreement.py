"""Status, host, URL, doctor and views say the same of a host, also when a budget has ended its only crawl.

The live view, the dashboard, `status`, metrics and readiness say the same numbers of a fleet that stands still.
"""

import json
from collections import defaultdict
from typing import Any

import pytest

from app.admin import crawls, doctor, explain, hosts, report
from app.admin.board import pulse
from app.admin.board.pulse import Live, readiness
from app.admin.board.pulse import status as readable
from app.cli.out import as_json_text
from app.crawl.state.worker import Worker
from app.metrics.fleet import HOST_STATES, FleetPage
from app.model import Budgets
from app.model.reasons import HostWait
from app.store import db, fleet, segments
from app.store import hosts as host_rows
from app.store.fleet import FleetWatch
from tests.crawl.loop import go, run, start
from tests.crawl.web import Site, Web, html
from tests.store.rows import claim, one, sql


@pytest.fixture
def site(web: Web) -> Site:
    site = web.site()
    site.pages |= {"/": html(*(f"/{n}" for n in range(9))), **{f"/{n}": html(text=f"Page {n}.") for n in range(9)}}
    return site


def due_again(worker: Worker) -> None:
    """As a visit leaves a host whose crawl ends a moment later."""
    sql(worker.engine, "UPDATE hosts SET next_fetch_at = now() - interval '5 minutes' WHERE state = 'idle'")


def take(worker: Worker, n: int, *, offered: int = 0) -> None:
    """Let workers take up so many hosts that are due; so many more are offered to them."""
    offers = claim(worker.engine, dict.fromkeys(worker.settings.queue_names, n + offered), n=n + offered)
    assert len(offers) == n + offered
    with db.transaction(worker.engine) as tx:
        for offer in offers[:n]:
            assert host_rows.take_up(tx, host_id=offer.host_id, token=offer.token, worker="w:1", lease_s=3600)


def overdue(worker: Worker) -> list[str]:
    checks = doctor.fleet(worker.engine, worker.settings, {})
    return [check.finding for check in checks if check.name in {"beat", "queues"}]


def test_after_a_budget_has_ended_a_crawl_its_hosts_wait_for_nothing(worker: Worker, site: Site) -> None:
    start(worker, site.url(), budgets=Budgets(max_pages=2))
    run(worker)
    due_again(worker)
    waits = "nothing: no URL of it is queued in an active crawl"
    page = hosts.show(worker.engine, worker.settings, site.host)
    assert (page.waits_for, page.host["next_fetch_at"]) == (waits, None)
    assert report.status(worker.engine).waiting == []
    (listed,) = hosts.listed(worker.engine)
    assert (listed["waits_for"], listed["next_fetch_at"]) == ("nothing queued", None)
    assert one(worker.engine, "SELECT count(*) FROM v_due") == 0
    assert overdue(worker) == [
        "0 hosts wait on 0 queues",
        f"no host is overdue; {overdue(worker)[1].partition('; ')[2]}",
    ]
    queued = one(worker.engine, "SELECT min(url) FROM urls WHERE state = 'queued'")
    found = explain.why(worker.engine, worker.settings, queued)
    assert found.host_waits_for == waits
    assert [here.waits_for for here in found.crawls] == [
        ["its crawl, which is finished (max_pages: 2): tiptoe crawl edit c --max-pages N, then tiptoe crawl start c"]
    ]


def test_in_an_active_crawl_the_same_host_is_due_everywhere(worker: Worker, site: Site) -> None:
    crawl = start(worker, site.url())
    due_again(worker)
    page = hosts.show(worker.engine, worker.settings, site.host)
    assert page.waits_for.startswith("a worker: it has been due since")
    assert [(row["because"], row["hosts"]) for row in report.status(worker.engine).waiting] == [("due", 1)]
    assert [row["waits_for"] for row in hosts.listed(worker.engine)] == ["due"]
    assert overdue(worker)[0] == "1 host waits on 1 queue"
    assert overdue(worker)[1].startswith("1 host is overdue")
    crawls.pause(worker.engine, crawl.name)
    assert report.status(worker.engine).waiting == []
    assert hosts.show(worker.engine, worker.settings, site.host).waits_for.startswith("nothing: ")


def test_a_host_under_a_lease_is_being_visited_whatever_is_queued(worker: Worker, site: Site) -> None:
    start(worker, site.url())
    take(worker, 1)
    sql(worker.engine, "UPDATE urls SET state = 'gone', due_at = now()")
    assert [row["because"] for row in report.status(worker.engine).waiting] == ["being visited"]
    assert hosts.show(worker.engine, worker.settings, site.host).host["next_fetch_at"] is not None


def test_the_report_tells_pages_from_robots_and_sitemaps(worker: Worker, site: Site) -> None:
    """Requests by ending: the pages among them are as many as the crawl's."""
    site.robots = "User-agent: *\nDisallow:\n"
    start(worker, site.url())
    run(worker)
    found = report.report(worker.engine, "c")
    endings = {(row["kind"], row["outcome"]): row["fetches"] for row in found.outcomes}
    assert endings[("page", "page")] == found.totals.pages == 10


KINDS = (HostWait.VISITED, HostWait.OFFERED, HostWait.DUE, HostWait.DELAY, HostWait.RESTING, HostWait.PAUSED)
SECONDS_S = 30.0  # that a test may take between two faces


def stand(worker: Worker, web: Web) -> None:
    """Leave a crawl amid its work, with two hosts visited, one offered, one due, two delayed, one resting, one paused.

    One is due though nothing of an active crawl is queued there.
    """
    sites = [web.site() for _ in range(9)]
    for site in sites[:8]:
        site.pages |= {"/": html("/a", "/b", "/none", text=site.host), "/a": html(text="A"), "/b": html(text="B")}
    start(worker, *(site.url() for site in sites[:8]))
    start(worker, sites[8].url(), name="other")
    crawls.pause(worker.engine, "other")
    go(worker)
    for n, site in enumerate(sites[:8]):
        again = "UPDATE urls SET state = 'queued', due_at = NULL WHERE url LIKE :of"
        sql(worker.engine, again, of=f"{site.url()}{'a' if n % 2 else ''}%")
    away, ago = "now() + interval '1 hour'", "now() - interval '5 minutes'"
    standing = [ago, ago, ago, ago, away, away, away, "NULL", "NULL"]
    for n, (site, at) in enumerate(zip(sites, standing, strict=True)):
        more = {
            6: ", blocked_until = now() + interval '1 hour', resting_because = 'rate_limited'",
            7: ", state = 'paused'",
        }
        sql(
            worker.engine, f"UPDATE hosts SET next_fetch_at = {at} {more.get(n, '')} WHERE name = :name", name=site.host
        )
    held = "UPDATE hosts SET next_fetch_at = now() - interval '1 hour' WHERE name = ANY(:names)"
    sql(worker.engine, held, names=[site.host for site in sites[:3]])
    take(worker, 2, offered=1)
    sql(worker.engine, f"UPDATE hosts SET next_fetch_at = {ago} WHERE name = :name", name=sites[8].host)
    sql(
        worker.engine,
        "UPDATE fetches SET started_at = started_at - interval '8 s', ended_at = ended_at - interval '8 s'",
    )
    alike = "INSERT INTO near_queue (host_id, crawl_id, key) SELECT 1, 1, host_id::text::bytea FROM crawl_hosts"
    sql(worker.engine, "DELETE FROM near_queue")
    sql(worker.engine, alike)
    with db.transaction(worker.engine) as tx:
        for node, why in (("a", None), ("b", "its disk is full")):
            segments.note_node(
                tx, node=node, place="/x", free_bytes=9, waiting_bytes=0, stopped_because=why, trouble=None
            )


def by_face(worker: Worker, crawl_id: int) -> dict[str, dict[str, Any]]:
    """{number: {face: value}}"""
    engine, queues = worker.engine, worker.settings.queue_names
    watch = FleetWatch(engine, queues)
    seen, board = Live(engine, crawl_id, queues).look(), pulse.look(watch)
    (tile,) = [each for each in board.crawls if each.line.id == crawl_id]
    own = pulse.look_at(FleetWatch(engine, queues), crawl_id)
    found = report.status(engine)
    told = json.loads(as_json_text(found))
    (row,) = [each for each in told["crawls"] if each["id"] == crawl_id]
    shown: dict[str, Any] = dict(FleetPage(FleetWatch(engine, queues), offer_s=10.0).values())
    probed = readable(FleetWatch(engine, queues))
    faces: dict[str, dict[str, Any]] = defaultdict(dict)
    for name in ("pages", "failed", "bytes"):
        faces[name] |= {"live": getattr(seen, name), "board": getattr(tile, name), "page": getattr(own, name)}
        faces[name] |= {"status": row[name], "report": getattr(report.report(engine, row["name"]).totals, name)}
    faces["queued"] |= {"live": seen.queued, "board": tile.queued, "page": own.queued}
    faces["state"] |= {"live": seen.state, "board": tile.line.state, "status": row["state"]}
    faces["state"]["/status"] = probed["crawls"][row["name"]]
    faces["stopped"] |= {"live": seen.stopped, "board": board.stopped}
    faces["stopped"]["status"] = fleet.stopped(found.archive)
    for kind in KINDS:
        waits = {
            "board": sum(each["hosts"] for each in board.waits if HostWait.of(each["because"]) is kind),
            "status": sum(each["hosts"] for each in told["waiting"] if HostWait.of(each["because"]) is kind),
            "metrics": shown["tiptoe_hosts"][HOST_STATES[kind]],
            "/hosts": sum(HostWait.of(each["waits_for"]) is kind for each in hosts.listed(engine)),
        }
        faces[f"hosts: {kind}"] |= waits
    faces["hosts: being visited"] |= {"tile": board.running, "leases": shown["tiptoe_leases"]}
    faces["hosts: offered"] |= {"tile": board.offers, "queues": sum(probed["queues"].values())}
    faces["hosts: offered"]["offers"] = sum(told["offers"].values())
    active = [name for name, state in probed["crawls"].items() if state == "active"]
    faces["active"] |= {"/status": len(active), "metrics": shown["tiptoe_crawls"]["active"]}
    faces["active"] |= {"status": sum(each["state"] == "active" for each in told["crawls"])}
    backlog = [check.finding for check in doctor.fleet(engine, worker.settings, {}) if check.name == "backlog"]
    compared = shown["tiptoe_backlog_pages"]["near_duplicates",]
    faces["near duplicates"] |= {
        "metrics": f"{compared} pages",
        "doctor": backlog[0].split(" for near")[0].split(", ")[-1],
    }
    if seen.state != "finished":
        faces["queued"]["/status"] = probed["frontier"]["queued"][row["name"]]
    if seen.state == "active":
        faces["queued"]["metrics"] = sum(shown["tiptoe_frontier_urls"].values())
    return faces


@pytest.mark.parametrize("state", ["active", "paused", "finished"])
def test_every_face_says_the_same_numbers(worker: Worker, web: Web, state: str) -> None:
    stand(worker, web)
    if state == "paused":
        crawls.pause(worker.engine, "c")
    if state == "finished":
        sql(
            worker.engine,
            "UPDATE crawls SET state = 'finished', finished_at = now(), ended_because = 'max_pages' WHERE name = 'c'",
        )
    crawl_id = one(worker.engine, "SELECT id FROM crawls WHERE name = 'c'")
    found = by_face(worker, crawl_id)
    assert {name: of for name, of in found.items() if len(set(of.values())) > 1} == {}
    (row,) = sql(worker.engine, "SELECT pages, failed, bytes, queued FROM v_crawl_progress WHERE crawl = 'c'")
    assert {name: found[name]["live"] for name in row} == row
    assert min(row.values()) > 0
    due = [2, 1, 1, 2, 1, 1] if state == "active" else [2, 1, 0, 0, 0, 1]
    assert [found[f"hosts: {kind}"]["board"] for kind in KINDS] == due


def test_readiness_and_metrics_say_the_same_of_work_that_is_late(worker: Worker, web: Web) -> None:
    stand(worker, web)
    watch = FleetWatch(worker.engine, worker.settings.queue_names)
    (late,) = [check.finding for check in readiness(watch, stall_s=60.0).checks if check.name == "beat"]
    lag_s = FleetPage(watch, offer_s=10.0).values()["tiptoe_dispatch_lag_seconds"]
    assert isinstance(lag_s, float)
    said_s = float(late.removeprefix("a host has been due for ").partition(" s")[0].replace(",", ""))
    assert 300 - 1 <= said_s <= lag_s + 1 <= said_s + SECONDS_S


def test_every_face_says_the_same_rate(worker: Worker, site: Site) -> None:
    """Two requests a second, for as long as the test takes: every second one brings no page."""
    crawl = start(worker, site.url())
    sql(worker.engine, "UPDATE crawls SET active_since = now() - interval '1 hour'")
    sql(
        worker.engine,
        """INSERT INTO fetches (host_id, crawl_id, visit_id, url_key, url, kind, reason, started_at, ended_at, delay_s,
                                outcome, wire_bytes, body_bytes, truncated, total_ms, conditional, attempt)
           SELECT 1, :id, 1, 'k', 'u', 'page', 'new', now() + n * interval '0.5 s', now() + n * interval '0.5 s', 1,
                  CASE n % 2 WHEN 0 THEN 'page' ELSE 'server_error' END, 10, 10, false, 1, false, 1
           FROM generate_series(-200, 200) AS n""",
        id=crawl.id,
    )
    watch = FleetWatch(worker.engine, worker.settings.queue_names)
    (tile,), own = pulse.look(watch).crawls, pulse.look_at(watch, crawl.id)
    minute = readable(watch)["last_minute"]
    rates = [
        Live(worker.engine, crawl.id, watch.queues).look().pages_s,
        tile.pages_s,
        own.pages_s,
        minute["pages"] / 60,
    ]
    assert rates == [1.0, 1.0, 1.0, 1.0]
    assert [tile.failed_s, own.failed_s, minute["errors"] / 60] == [1.0, 1.0, 1.0]


def test_a_crawl_of_more_hosts_than_are_read_has_one_estimate(worker: Worker, site: Site) -> None:
    """Pages and bytes are exact; what is estimated is the same everywhere, and is said to be."""
    crawl = start(worker, site.url())
    many = 2 * fleet.BROUGHT_HOSTS
    sql(
        worker.engine,
        """INSERT INTO crawl_hosts (crawl_id, host_id, pages, fetches, failed, bytes)
           SELECT :id, n, 2, 3, n % 2, 10 FROM generate_series(1, :n) AS n""",
        id=crawl.id,
        n=many,
    )
    sums = "INSERT INTO crawl_counts SELECT crawl_id, 0, sum(pages), sum(bytes) FROM crawl_hosts GROUP BY 1"
    sql(worker.engine, sums)
    queues = worker.settings.queue_names
    seen = Live(worker.engine, crawl.id, queues).look()
    (tile,) = pulse.look(FleetWatch(worker.engine, queues)).crawls
    told = report.status(worker.engine)
    (row,) = told.crawls
    assert {(each.pages, each.bytes) for each in (seen, tile, row)} == {(2 * many, 10 * many)}
    assert len({each.failed for each in (seen, tile, row)}) == 1
    assert 0.8 * many / 2 < row.failed < 1.2 * many / 2
    assert (seen.is_exact, tile.is_exact, told.estimated) == (False, False, ["c"])
