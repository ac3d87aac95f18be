"""A real Prometheus, with the files that we ship, scrapes a real fleet: two workers, beat and `tiptoe web`.

What it then knows is what the sites' own logs say; every panel has something to show; alerts fire by their causes.
"""

import itertools
import re
import signal

import pytest

from app.admin import crawls, edit, seeds
from app.metrics.dashboard import ROWS
from app.model.crawl import CrawlChange, CrawlSpec
from tests.acceptance.conftest import manual, until
from tests.crawl.web import Answer, Page, Site, Web, html
from tests.faults.valve import Valve
from tests.metrics.prometheus import needs_prometheus
from tests.metrics.watched import Watched
from tests.store.rows import sql

pytestmark = [pytest.mark.acceptance, needs_prometheus]
PANELS = [panel for _, row in ROWS for panel in row]
RESERVE = str(2**60)  # bytes: more than a disk has
DEEP = 200_000  # URLs, of which the figure is a sample's estimate
OF_EXACT = """SELECT sum(pages) AS pages FROM crawl_hosts
              WHERE crawl_id = (SELECT id FROM crawls WHERE name = 'exact')"""


def too_many_at_first() -> Page:
    answers = itertools.chain([Answer(status=429)], itertools.repeat(html(text="now it is fine")))
    return lambda _: next(answers)


def troubled(site: Site) -> None:
    """Pages that fail in several ways: sixteen are too many at first, some are broken, some are missing."""
    pages: dict[str, Page] = {f"/429-{number}": too_many_at_first() for number in range(16)}
    pages |= {f"/500-{number}": Answer(status=500) for number in range(3)}
    pages |= {"/cut": html(text="x" * 9_000, cut=True), "/drop": Answer(drop=True)}
    site.pages |= pages
    site.pages["/"] = html(*pages, "/missing")


def test_prometheus_knows_what_the_sites_know(watched: Watched, web: Web) -> None:
    """Two workers, one of them killed in the middle; every panel shows something."""
    sites = [web.site() for _ in range(4)]
    for site in sites[1:]:
        manual(site, 12)
    troubled(sites[0])
    killed = watched.worker("w1")
    watched.worker("w2")
    watched.beat()
    prometheus = watched.prometheus
    until(lambda: prometheus.number('count(up{job="tiptoe"} == 1)') == 3, "two workers and beat are scraped")
    watched.crawl("whole", sites)
    until(lambda: (prometheus.number("sum(tiptoe_pages_total)") or 0) >= 5, "pages are counted")
    killed.send_signal(signal.SIGKILL)
    watched.until_finished("whole")

    def in_log() -> int:
        (row,) = sql(watched.engine, "SELECT count(*) AS n FROM fetches WHERE outcome <> 'unsent'")
        return int(row["n"])

    # Per process, the last figure that was scraped: of the killed one, that before its death.
    last = 'sum(max_over_time(tiptoe_fetches_total{{outcome!="unsent"{more}}}[10m]))'
    lost_most = 2 * sum(len(site.log) for site in sites) // 3
    until(lambda: in_log() - lost_most <= (prometheus.number(last.format(more="")) or 0) <= in_log(), "they agree")
    assert prometheus.number("sum(tiptoe_politeness_violations_total)") == 0
    assert prometheus.number("sum(tiptoe_recent_violations)") == 0
    assert prometheus.number('tiptoe_processes_serving{process="worker"}') == 1
    assert [panel.title for panel in PANELS if any(not prometheus.ask(query) for _, query in panel.queries)] == []
    watched.until_firing("TiptoeErrorRateHigh", "TiptoeRateLimited")


def test_a_fleet_that_nobody_kills_is_counted_to_the_request(watched: Watched, web: Web) -> None:
    sites = [web.site() for _ in range(3)]
    for site in sites[1:]:
        manual(site, 8)
    troubled(sites[0])
    watched.worker("w1")
    watched.worker("w2")
    watched.beat()
    prometheus = watched.prometheus
    watched.crawl("exact", sites)
    watched.until_finished("exact")
    asked = sum(len(site.log) for site in sites)
    until(lambda: prometheus.number('sum(tiptoe_fetches_total{outcome!="unsent"})') == asked, f"{asked} requests")
    for status, outcome in [(429, "rate_limited"), (500, "server_error"), (404, "not_found")]:
        seen = sum(hit.status == status for site in sites for hit in site.log if hit.path != "/robots.txt")
        assert prometheus.number(f'sum(tiptoe_fetches_total{{kind!="robots",outcome="{outcome}"}})') == seen > 0
    (row,) = sql(watched.engine, OF_EXACT)
    assert prometheus.number("sum(tiptoe_pages_total)") == row["pages"]


def test_alerts_fire_by_their_causes_and_clear(watched: Watched, web: Web) -> None:
    site = web.site()
    manual(site, 3)
    beat, worker = watched.beat(), watched.worker("w1")
    watched.renderer("r1")
    prometheus = watched.prometheus
    until(lambda: prometheus.number('count by (role) (up{role="render"} == 1)') == 1, "a renderer is scraped")
    until(lambda: prometheus.number('count(up{job="tiptoe"} == 1)') == 3, "a worker and beat are scraped")
    watched.crawl("quiet", [site])
    watched.until_finished("quiet")
    watched.until_quiet("TiptoeWorkersSilent", "TiptoeBeatSilent", "TiptoeWebSilent")
    assert prometheus.firing() == set(), "a fleet that is well"

    beat.send_signal(signal.SIGKILL)
    worker.send_signal(signal.SIGKILL)
    watched.until_firing("TiptoeBeatSilent", "TiptoeWorkersSilent")
    deep = crawls.create(watched.engine, "deep", CrawlSpec())
    seeds.add(watched.engine, watched.settings, deep, (site.url(f"/{number}") for number in range(DEEP)))
    watched.until_firing("TiptoeQueueDeep")

    watched.beat()
    full = watched.worker("w2", TIPTOE_CONSTANT_ARCHIVE_RESERVE_BYTES=RESERVE)
    watched.until_quiet("TiptoeBeatSilent", "TiptoeWorkersSilent", "TiptoeQueueDeep")
    crawls.finish(watched.engine, "deep")
    manual(again := web.site(), 3)
    watched.crawl("again", [again])
    watched.until_firing("TiptoeArchiveStopped")
    full.send_signal(signal.SIGKILL)
    watched.worker("w3")
    watched.until_finished("again")
    watched.until_quiet("TiptoeArchiveStopped")
    assert re.search(r"archive\.stopped", (watched.folder / "worker.log").read_text())


def test_alerts_of_processes_that_hang_or_are_away_fire_and_clear(watched: Watched, web: Web) -> None:
    worker, beat = watched.worker("w1"), watched.beat()
    prometheus = watched.prometheus
    until(lambda: prometheus.number('count(up{job="tiptoe"} == 1)') == 2, "a worker and beat are scraped")
    worker.send_signal(signal.SIGSTOP)
    watched.until_firing("TiptoeProcessUnreachable", "TiptoeWorkersSilent")
    worker.send_signal(signal.SIGCONT)
    watched.until_quiet("TiptoeProcessUnreachable", "TiptoeWorkersSilent")

    for process in (beat, worker):  # nobody is left to claim a host that is due
        process.send_signal(signal.SIGKILL)
    manual(site := web.site(), 3)
    watched.crawl("late", [site])

    watched.web.terminate()
    watched.until_firing("TiptoeWebSilent")
    watched.web.wait(30)
    valve = watched.stack.enter_context(Valve(watched.folder, watched.env["TIPTOE_DATABASE_URL"]))
    watched.serve(TIPTOE_DATABASE_URL=valve.url)
    watched.until_quiet("TiptoeWebSilent")

    valve.remove()
    watched.until_firing("TiptoePostgresAway")
    valve.replace()
    watched.until_quiet("TiptoePostgresAway")

    watched.until_firing("TiptoeDispatchLate")  # a minute after the crawl was made
    watched.worker("w2")
    watched.beat()
    watched.until_quiet("TiptoeDispatchLate")


def test_pages_that_nobody_renders_fire_an_alert_until_their_crawl_renders_no_more(watched: Watched, web: Web) -> None:
    manual(site := web.site(), 3)
    watched.worker("w1")
    watched.beat()
    watched.crawl("shells", [site], render="always", keep_fresh=True)
    watched.until_firing("TiptoeNoBrowser")
    edit.edit(watched.engine, watched.settings, "shells", CrawlChange(render="never"))
    watched.until_quiet("TiptoeNoBrowser")
