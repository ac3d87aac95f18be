"""What a visit's settles count is what is in Postgres; and the log of a sample of its URLs."""

from collections import Counter
from collections.abc import Callable

import pytest
from structlog.testing import capture_logs

from app.crawl.state.worker import Worker
from app.crawl.visit import visit as visits
from app.metrics.counts import MEMORY_EVERY_PAGES
from tests.crawl.loop import run, start
from tests.crawl.visit.losses import offers, steal
from tests.crawl.web import Answer, Hit, Web, html
from tests.store.rows import one, sql


def test_counts_equal_the_log_and_the_sites(worker: Worker, web: Web) -> None:
    sites = [web.site(), web.site()]
    for site in sites:
        site.pages["/"] = html("/a", "/b", "/broken", "/cut")
        site.pages |= {"/a": html(text="x"), "/broken": Answer(status=500), "/cut": html(text="y" * 500, cut=True)}
    start(worker, *(site.url() for site in sites))
    run(worker)
    rows = sql(worker.engine, "SELECT kind, outcome, count(*) AS n FROM fetches GROUP BY 1, 2")
    counts = worker.counts
    assert counts.fetches == {(row["kind"], row["outcome"]): row["n"] for row in rows}
    assert counts.fetches["page", "broken"] > 0
    assert counts.pages == one(worker.engine, "SELECT sum(pages) FROM crawl_hosts") == 4
    assert counts.received_bytes == one(worker.engine, "SELECT sum(wire_bytes) FROM fetches")
    assert sum(counts.fetches.values()) == sum(len(site.log) for site in sites)
    assert sum(counts.fetch_s.counts) == sum(counts.fetches.values())
    endings = sql(worker.engine, "SELECT ending, count(*) AS n FROM visits GROUP BY 1")
    assert counts.visits == {row["ending"]: row["n"] for row in endings}
    assert counts.violations == Counter(gap=0, concurrent=0)
    assert counts.fenced == 0


def test_a_visit_that_lost_its_lease_is_counted_apart(worker: Worker, web: Web) -> None:
    site = web.site()

    def late(_: Hit) -> str:
        steal(worker.engine)
        return "<p>late</p>"

    site.pages["/"] = late
    start(worker, site.url())
    (offer,) = offers(worker)
    visits.visit(worker, offer.host_id, offer.token)
    fenced = one(worker.engine, "SELECT count(*) FROM fetches WHERE fenced")
    assert worker.counts.fenced == fenced > 0
    assert worker.counts.pages == 0


def test_memory_is_logged_every_thousand_pages(worker: Worker, web: Web) -> None:
    site = web.site()
    site.pages["/"] = html()
    worker.counts.pages = MEMORY_EVERY_PAGES - 1
    start(worker, site.url())
    with capture_logs() as logs:
        run(worker)
    (told,) = [line for line in logs if line["event"] == "worker.memory"]
    assert told["pages"] == MEMORY_EVERY_PAGES
    assert 10 < told["rss_mib"] < 10_000


@pytest.mark.parametrize(("one_in", "fetched", "refused"), [(0, 0, 0), (1, 3, 1)])
def test_a_sample_of_urls_is_logged(
    make: Callable[..., Worker], web: Web, one_in: int, fetched: int, refused: int
) -> None:
    worker = make(log_trace=one_in)
    site = web.site()
    site.pages["/"] = html("/a", "http://elsewhere.test/")
    site.pages["/a"] = html(text="text")
    start(worker, site.url(), scope="host")
    with capture_logs() as logs:
        run(worker)
    traced = [line for line in logs if line["event"] == "trace.settled"]
    assert len(traced) == fetched  # robots.txt among them
    assert sum(line["event"] == "trace.refused" for line in logs) == refused
    for line in traced:
        row = sql(worker.engine, "SELECT * FROM fetches WHERE url = :url", url=line["url"])[0]
        assert (line["visit"], line["status"], line["bytes"]) == (row["visit_id"], row["status"], row["body_bytes"])
        assert bytes(row["url_key"]).hex().startswith(line["trace"])
    homes = [line["discovered_links_count"] for line in traced if line["url"] == site.url()]
    assert homes == ([2] if one_in else [])
