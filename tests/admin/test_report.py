"""What a crawl came to, in numbers that a person could count by hand."""

import pytest

from app.admin import crawls, report
from app.crawl.state.worker import Worker
from app.errors import InputError
from tests.crawl.loop import run, start
from tests.crawl.web import Answer, Web, html
from tests.store.rows import sql


@pytest.fixture
def crawled(worker: Worker, web: Web) -> Worker:
    """Two hosts: one with a page, a twin, a refused and a broken one; one with a page alone."""
    site, other = web.site(), web.site()
    site.robots = "User-agent: *\nDisallow: /private\n"
    twin = html(text="The same words twice.")
    site.pages |= {"/": html("/a", "/twin", "/private", "/broken", "http://x.test/"), "/a": twin, "/twin": twin}
    site.pages["/broken"] = Answer(status=500)
    other.pages["/"] = html(text="Alone.")
    start(worker, site.url(), other.url())
    run(worker)
    return worker


def test_the_report_counts_what_happened(crawled: Worker) -> None:
    found = report.report(crawled.engine, "c")
    assert found.crawl.state == "finished"
    assert (found.totals.pages, found.totals.fetches, found.totals.failed, found.totals.hosts) == (4, 7, 3, 2)
    assert found.urls == {"alias": 1, "done": 3, "quarantined": 1, "refused": 1}
    assert [(row["outcome"], row["status"], row["fetches"]) for row in found.outcomes] == [
        ("page", 200, 4),
        ("server_error", 500, 3),
    ]
    assert [(row["reason"], row["links"]) for row in found.reasons] == [("scope", 1)]
    assert {row["state"]: row["urls"] for row in found.causes} == {"quarantined": 1, "refused": 1}
    assert found.duplicates == {"body": 1}
    assert [(row["pages"], row["fetches"], row["failed"]) for row in found.hosts] == [(3, 6, 3), (1, 1, 0)]


def test_a_report_of_a_crawl_that_is_not_there(worker: Worker) -> None:
    start(worker, "http://a.test/")
    with pytest.raises(InputError, match="there are: c"):
        report.report(worker.engine, "d")


def test_status_says_what_goes_on(crawled: Worker) -> None:
    start(crawled, "http://waiting.test/", name="later")
    found = report.status(crawled.engine)
    assert [(row.name, row.state) for row in found.crawls] == [("c", "finished"), ("later", "active")]
    assert [(row["because"], row["hosts"]) for row in found.waiting] == [("due", 1)]
    assert found.offers == {}
    assert len(found.visits) == min(report.LATEST_VISITS, len(found.visits))
    assert [each for each, _ in report.listed(crawled.engine)] == found.crawls


def test_status_estimates_what_many_hosts_wait_for(worker: Worker) -> None:
    """From half of the table's 100 blocks or so: an estimate seven standard deviations off would fail."""
    crawl = start(worker, "http://waiting.test/", "http://other.test/")
    sql(
        worker.engine,
        """INSERT INTO hosts (name, queue, delay_s, next_fetch_at)
           SELECT n || repeat('x', 200) || '.test', 'host-00', 1, now() - interval '1 hour'
           FROM generate_series(1, 2998) AS n""",
    )
    sql(
        worker.engine,
        """INSERT INTO urls (host_id, crawl_id, kind, key, url, state, lane, score, depth, hops)
           SELECT id, :crawl, 'page', decode(lpad(to_hex(id), 8, '0'), 'hex'), 'u', 'queued', 1, 1, 0, 0
           FROM hosts WHERE name LIKE '%x.test'""",
        crawl=crawl.id,
    )
    exact = report.status(worker.engine, most=3_000)
    assert (exact.waiting_percent, [(row["because"], row["hosts"]) for row in exact.waiting]) == (100, [("due", 3_000)])
    sampled = report.status(worker.engine, most=1_500)
    assert sampled.waiting_percent == pytest.approx(50)
    assert [row["because"] for row in sampled.waiting] == ["due"]
    assert sampled.waiting[0]["hosts"] == pytest.approx(3_000, rel=0.7)


def test_status_counts_offers(worker: Worker) -> None:
    start(worker, "http://waiting.test/")
    from app.beat import claim

    claim.dispatch(worker.engine, worker.settings, lambda offer: None, worker.rng)
    assert list(report.status(worker.engine).offers.values()) == [1]


def test_a_finished_crawl_goes_round_again(crawled: Worker) -> None:
    assert crawls.start_round(crawled.engine, "c").round == 2
    assert report.listed(crawled.engine)[0][0].pages == 0
    run(crawled)
    assert report.listed(crawled.engine)[0][0].pages == 4
