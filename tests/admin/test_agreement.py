"""Status, host, URL, doctor and views say the same of a host, also when a budget has ended its only crawl."""

import pytest

from app.admin import crawls, doctor, explain, hosts, report
from app.crawl.state.worker import Worker
from app.model import Budgets
from tests.crawl.loop import run, start
from tests.crawl.web import Site, Web, html
from tests.store.rows import one, sql


@pytest.fixture
def site(web: Web) -> Site:
    site = web.site()
    site.pages |= {"/": html(*(f"/{n}" for n in range(9))), **{f"/{n}": html(text=f"Page {n}.") for n in range(9)}}
    return site


def due_again(worker: Worker) -> None:
    """As a visit leaves a host whose crawl ends a moment later."""
    sql(worker.engine, "UPDATE hosts SET next_fetch_at = now() - interval '5 minutes' WHERE state = 'idle'")


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
        ["its crawl, which is finished (max_pages): tiptoe crawl edit c --max-pages N, then tiptoe crawl start c"]
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
    sql(
        worker.engine,
        """UPDATE hosts SET state = 'taken', lease_token = gen_random_uuid(), taken_at = now(),
                  lease_until = now() + interval '1 hour', next_fetch_at = now() + interval '1 hour'""",
    )
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
