"""What each crawl's minutes were like, from a crawl whose every request is known."""

import pytest

from app.admin import crawls, deletion, report
from app.admin.crawls import go_round
from app.beat.measure import measure
from app.crawl.state.worker import Worker
from app.store import server
from tests.crawl.loop import run, start
from tests.crawl.web import Answer, Site, Web, html
from tests.store.rows import one, sql


@pytest.fixture
def site(web: Web) -> Site:
    site = web.site()
    site.robots = Answer(body=b"User-agent: *\nDisallow: /private/\n")
    site.pages |= {
        "/": html("/a", "/copy", "/missing", "/private/x", "http://elsewhere.test/", text="The front of it all."),
        "/a": html(text="Another page, about robots."),
        "/copy": html(text="Another page, about robots."),
    }
    return site


def measured(worker: Worker) -> dict[str, object]:
    (row,) = sql(worker.engine, "SELECT * FROM v_crawl_metrics ORDER BY at DESC LIMIT 1")
    return row


def test_a_row_is_what_the_requests_brought(worker: Worker, site: Site) -> None:
    start(worker, site.url())
    run(worker)
    row = measured(worker)
    assert (row["crawl"], row["requests"], row["pages"], row["recrawls"]) == ("c", 4, 3, 0)
    assert row["density_ratio"] == pytest.approx(2 / 4), "three pages, of which one is a copy"
    assert row["fetch_success_rate"] == pytest.approx(3 / 4)
    assert row["duplicate_discard_rate"] == pytest.approx(1 / 3)
    assert row["p1_coverage_rate"] == pytest.approx(1)
    assert row["discard_rate"] == pytest.approx(1 / 6), "one link of six leads out of the scope"
    assert (row["frontier_depth"], row["robots_denials"], row["change_yield"]) == (0, 1, None)


def test_recrawls_yield_changes(worker: Worker, site: Site) -> None:
    start(worker, site.url())
    run(worker)
    site.pages["/a"] = html(text="Quite another text by now.")
    go_round(worker.engine, "c", worker.settings)
    run(worker)
    row = measured(worker)
    assert row["change_yield"] == pytest.approx(1 / int(str(row["recrawls"])))


def test_a_crawl_is_measured_when_it_ends_and_no_more(worker: Worker, site: Site) -> None:
    start(worker, site.url())
    assert measure(worker.engine) == 1
    run(worker)
    assert measure(worker.engine) == 0
    assert one(worker.engine, "SELECT count(*) FROM crawl_metrics") == 2
    assert one(worker.engine, "SELECT sum(requests) FROM crawl_metrics") == 4, "each request is in one row"


def test_the_report_shows_the_days(worker: Worker, site: Site) -> None:
    start(worker, site.url())
    run(worker)
    found = report.report(worker.engine, "c")
    (day,) = found.days
    assert (day.requests, day.pages, day.frontier_depth) == (4, 3, 0)
    assert found.verdict == ["nothing waits: `tiptoe seed add c URL` gives it more"]


def test_what_a_person_ended_is_measured_next_and_what_ended_long_ago_is_not(worker: Worker, site: Site) -> None:
    start(worker, site.url())
    crawls.finish(worker.engine, "c")
    sql(
        worker.engine,
        "UPDATE crawls SET created_at = now() - interval '3 days', state_since = now() - interval '2 days'",
    )
    assert measure(worker.engine) == 0
    sql(worker.engine, "UPDATE crawls SET state_since = now() - interval '1 minute'")
    assert [measure(worker.engine), measure(worker.engine)] == [1, 0]


def test_old_rows_go_and_so_do_those_of_a_deleted_crawl(worker: Worker, site: Site) -> None:
    start(worker, site.url())
    measure(worker.engine)
    sql(worker.engine, "UPDATE crawl_metrics SET at = now() - interval '91 days'")
    measure(worker.engine)
    assert one(worker.engine, "SELECT count(*) FROM crawl_metrics") == 1
    run(worker)
    deletion.delete(worker.engine, worker.settings, "c")
    assert one(worker.engine, "SELECT count(*) FROM crawl_metrics") == 0


def test_two_do_not_measure_the_same(worker: Worker, site: Site) -> None:
    start(worker, site.url())
    with worker.engine.begin() as tx:
        assert server.be_alone(tx, "measure")
        assert measure(worker.engine) == 0
