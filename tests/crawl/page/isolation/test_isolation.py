"""Isolation: a document that ends its reader is quarantined with its cause."""

import re
from collections.abc import Callable
from dataclasses import replace

import pytest

from app.crawl.page import isolation
from app.crawl.visit.visit import CutOff, return_host, visit
from app.errors import ServiceError
from app.model import Budgets, Cause
from app.sandbox.readers import Readers
from app.store import hosts
from app.store import urls as stored_urls
from tests.crawl.loop import bring_forward, go, run, start
from tests.crawl.page.isolation.isolated import PROOF, Make, deadly, row, site_with
from tests.crawl.visit.losses import crash, offers
from tests.crawl.web import Answer, Web, html
from tests.store.rows import one, sql

NO_PROOF = ("killed", "parser died: signal SIGKILL")


def test_what_kills_its_reader_is_quarantined_at_once(poisoned: Make, web: Web) -> None:
    worker, site = poisoned(), site_with(web, deadly(PROOF[0]))
    start(worker, site.url())
    crash(worker, "robots.txt")
    run(worker)
    found = row(worker, site)
    assert (found["state"], found["cause"], found["detail"]) == ("quarantined", Cause.UNREADABLE, PROOF[1])
    assert (found["attempts"], found["parse_failures"], found["status"]) == (1, 1, 200)
    assert sorted(site.pages_asked) == ["/", "/1", "/2", "/poison"]
    assert {each["state"] for each in sql(worker.engine, "SELECT state FROM urls WHERE url NOT LIKE '%poison'")} == {
        "resting"
    }
    assert one(worker.engine, "SELECT count(*) FROM pages WHERE url LIKE '%poison'") == 0
    counted = sql(
        worker.engine, "SELECT sum(pages) AS pages, sum(failed) AS failed, sum(fetches) AS fetches FROM crawl_hosts"
    )
    assert counted == [{"pages": 3, "failed": 1, "fetches": 4}]


def test_what_the_machine_may_have_done_is_tried_again_in_isolation_only(poisoned: Make, web: Web) -> None:
    """Also when its host is in isolation no more."""
    worker, site = poisoned(settle_urls=2), site_with(web, deadly(NO_PROOF[0]))
    start(worker, site.url("/poison"))
    crash(worker, "robots.txt")
    go(worker)
    found = row(worker, site)
    assert (found["state"], found["retrying"], found["parse_failures"], found["detail"]) == (
        "resting",
        True,
        1,
        NO_PROOF[1],
    )
    assert (found["network_failures"], found["server_failures"]) == (0, 0)
    sql(worker.engine, "UPDATE hosts SET isolate = 0")
    run(worker)
    found = row(worker, site)
    assert (found["state"], found["detail"]) == ("quarantined", f"{NO_PROOF[1]}, 2 times")
    assert site.pages_asked == ["/poison"] * 2, "three tries, with that of the visit that was lost"


def test_one_good_reading_forgets_the_deaths(poisoned: Make, web: Web) -> None:
    worker, site = poisoned(), site_with(web, deadly(NO_PROOF[0]))
    start(worker, site.url("/poison"))
    crash(worker, "robots.txt")
    go(worker)
    site.pages["/poison"] = html(text="mended")
    run(worker)
    found = row(worker, site)
    assert (found["state"], found["cause"], found["parse_failures"], found["attempts"]) == ("resting", None, 0, 0)


def test_outside_isolation_nobody_reads_apart(poisoned: Make, web: Web, own_readers: Callable[[], set[int]]) -> None:
    worker, site = poisoned(), site_with(web, html("/3"))
    site.pages["/3"] = html()
    start(worker, site.url())
    run(worker)
    assert len(site.pages_asked) == 5
    assert own_readers() == set()


def test_in_isolation_a_page_is_read_as_ever(poisoned: Make, web: Web, own_readers: Callable[[], set[int]]) -> None:
    worker = poisoned()
    site = site_with(
        web, html("/1?x=ü", title="Überschrift", text="Wörter. " * 20, head="<meta name=robots content=noarchive>")
    )
    start(worker, site.url("/poison"), name="alone")
    crash(worker, "robots.txt")
    run(worker)
    assert len(own_readers()) == 1
    kept = sql(
        worker.engine, "SELECT title, main_text, language, directives, links FROM pages WHERE url LIKE '%poison'"
    )
    assert kept == [
        {"title": "Überschrift", "main_text": None, "language": "en", "directives": "noarchive", "links": 1}
    ]
    assert one(worker.engine, "SELECT count(*) FROM urls WHERE url LIKE '%/1?x=%'") == 1


def test_its_validators_are_not_kept(poisoned: Make, web: Web) -> None:
    """Else a 304 would make a page of it that nobody ever read."""
    worker, site = poisoned(), site_with(web, deadly(PROOF[0], ETag='"1"'))
    start(worker, site.url("/poison"))
    crash(worker, "robots.txt")
    run(worker)
    found = row(worker, site)
    assert (found["etag"], found["body_sha256"]) == (None, None)
    with worker.engine.begin() as tx:
        stored_urls.retry(tx, host_id=found["host_id"], key=found["key"], crawl_id=None)  # type: ignore[arg-type]
    sql(worker.engine, "UPDATE crawls SET state = 'active', ended_because = NULL, finished_at = NULL")
    sql(worker.engine, "UPDATE hosts SET next_fetch_at = now(), isolate = 50")
    run(worker)
    assert [hit.headers["If-None-Match"] for hit in site.log if hit.path == "/poison"] == [None, None]
    assert row(worker, site)["state"] == "quarantined"


def test_it_takes_nothing_from_a_budget_of_pages(poisoned: Make, web: Web) -> None:
    worker, site = poisoned(visit_max_s=0.001), site_with(web, deadly(PROOF[0]))
    start(worker, site.url("/poison"), site.url("/1"), site.url("/2"), budgets=Budgets(max_pages=2))
    crash(worker, "robots.txt")
    sql(worker.engine, "UPDATE urls SET score = 0.1 WHERE url NOT LIKE '%poison'")
    sql(worker.engine, "UPDATE crawls SET pages_reserved = 0")  # what the crash had taken
    go(worker)
    assert site.pages_asked == ["/poison"]
    assert one(worker.engine, "SELECT pages_reserved FROM crawls") == 0
    run(worker)
    assert one(worker.engine, "SELECT sum(pages) FROM crawl_hosts") == 2
    assert sorted(site.pages_asked) == ["/1", "/2", "/poison"]


def test_who_finds_no_free_reader_leaves_and_spends_nothing(poisoned: Make, web: Web) -> None:
    worker = poisoned(readers={"most": 0}, request_deadline_s=0.5, lease_s=5.6)
    site = site_with(web, html())
    start(worker, site.url("/poison"))
    crash(worker, "robots.txt")
    (report,) = go(worker)
    assert report.ending == "readers busy"
    found = row(worker, site)
    assert (found["state"], found["attempts"], found["parse_failures"]) == ("queued", 0, 0)
    assert one(worker.engine, "SELECT sum(pages) FROM crawl_hosts") == 0
    bring_forward(worker.engine)
    run(replace(worker, reading=poisoned().reading))
    assert row(worker, site)["state"] == "resting"


def test_where_no_reader_can_be_started_the_worker_reads(poisoned: Make, web: Web) -> None:
    worker, site = poisoned(readers={"argv": ("/nonexistent",)}), site_with(web, html("/3"))
    site.pages["/sitemap.xml"] = Answer(body=b"<urlset><url><loc>/4</loc></url></urlset>")
    start(worker, site.url("/"), sitemaps="all")
    crash(worker, "robots.txt")
    run(worker)
    assert {"/3", "/4"} <= set(site.pages_asked)


def test_a_reader_gets_no_more_time_than_the_lease_leaves(poisoned: Make, web: Web) -> None:
    """And its end is written."""
    worker = poisoned(readers={"deadline_s": 60.0}, request_deadline_s=1.0, lease_s=7.0)
    site = site_with(web, deadly("sleep"))
    start(worker, site.url("/poison"))
    crash(worker, "robots.txt")
    reports = run(worker)
    found = row(worker, site)
    assert found["state"] == "quarantined"
    assert float(re.findall("parser gave no answer within (.*) s, 2 times", str(found["detail"]))[0]) <= 2.0
    assert "fenced" not in {report.ending for report in reports}


class Noting(Readers):
    """Notes how long it might take, and cannot be started."""

    def page(self, *_: object, within_s: float, **__: object) -> str:  # type: ignore[override]
        self.within_s = within_s
        return "none"


def test_the_lease_begins_anew_before_it_reads(make: Make, web: Web) -> None:
    readers = Noting(deadline_s=10.0, memory_bytes=2**29)
    made = make(request_deadline_s=5.0, lease_s=12.0)
    worker = replace(made, reading=replace(made.reading, readers=readers))
    site = site_with(web, html(delay_s=2.0))
    start(worker, site.url("/poison"))
    crash(worker, "robots.txt")
    run(worker)
    assert 12.0 - 5.0 - 2.0 < readers.within_s <= 12.0 - 5.0


def test_an_answer_is_counted_once_though_postgres_goes_away_before_it_is_read(
    poisoned: Make, web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was brought, and is brought again. The lease is too short to read in isolation, and cannot be extended; nor is
    anything settled, at first."""
    worker, site = poisoned(readers={"deadline_s": 10.0}, request_deadline_s=5.0, lease_s=12.0), web.site()
    site.pages["/"] = html()
    start(worker, site.url())
    sql(worker.engine, "UPDATE urls SET attempts = 1, parse_failures = 1")
    (offer,) = offers(worker)

    def away(*_: object, **__: object) -> bool:
        raise ServiceError("Postgres", "is away")

    with monkeypatch.context() as patch:
        patch.setattr(hosts, "extend", away)
        patch.setattr(hosts, "leave", away)
        with pytest.raises(CutOff) as raised:
            visit(worker, offer.host_id, offer.token)
    assert return_host(raised.value.visit).ending == "readers busy"
    isolation.refund(worker)
    assert sql(worker.engine, "SELECT state, attempts, parse_failures FROM urls") == [
        {"state": "queued", "attempts": 1, "parse_failures": 1}
    ]
    assert one(worker.engine, "SELECT sum(pages) FROM crawl_hosts") == 0
    run(worker)
    assert site.pages_asked == ["/", "/"]
    assert one(worker.engine, "SELECT sum(pages) FROM crawl_hosts") == 1
