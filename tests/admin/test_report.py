"""What a crawl came to, in numbers that a person could count by hand; and steering crawls by name."""

import pytest

from app.admin import report, steer
from app.admin.edit import Change
from app.crawl.state.worker import Kit
from app.errors import InputError
from app.store.crawls import Budgets
from tests.crawl.loop import go, run, start
from tests.crawl.web import Answer, Web, html


@pytest.fixture
def crawled(kit: Kit, web: Web) -> Kit:
    """Two hosts: one with a page, a twin, a refused and a broken one; one with a page alone."""
    site, other = web.site(), web.site()
    site.robots = "User-agent: *\nDisallow: /private\n"
    twin = html(text="The same words twice.")
    site.pages |= {"/": html("/a", "/twin", "/private", "/broken", "http://x.test/"), "/a": twin, "/twin": twin}
    site.pages["/broken"] = Answer(status=500)
    other.pages["/"] = html(text="Alone.")
    start(kit, site.url(), other.url())
    run(kit)
    return kit


def test_the_report_counts_what_happened(crawled: Kit) -> None:
    found = report.report(crawled.engine, "c")
    assert found.crawl.state == "finished"
    assert (found.totals.pages, found.totals.fetches, found.totals.failed, found.totals.hosts) == (4, 7, 3, 2)
    assert found.urls == {"alias": 1, "quarantined": 1, "refused": 1, "resting": 3}
    assert [(row["outcome"], row["status"], row["fetches"]) for row in found.outcomes] == [
        ("page", 200, 4),
        ("server_error", 500, 3),
    ]
    assert [(row["reason"], row["links"]) for row in found.reasons] == [("scope", 1)]
    assert {row["state"]: row["urls"] for row in found.causes} == {"quarantined": 1, "refused": 1}
    assert found.duplicates == {"body": 1}
    assert [(row["pages"], row["fetches"], row["failed"]) for row in found.hosts] == [(3, 6, 3), (1, 1, 0)]


def test_a_report_of_a_crawl_that_is_not_there(kit: Kit) -> None:
    start(kit, "http://a.test/")
    with pytest.raises(InputError, match="there are: c"):
        report.report(kit.engine, "d")


def test_status_says_what_goes_on(crawled: Kit) -> None:
    start(crawled, "http://waiting.test/", name="later")
    found = report.status(crawled.engine)
    assert [(row.name, row.state) for row in found.crawls] == [("c", "finished"), ("later", "active")]
    assert [(row["because"], row["hosts"]) for row in found.waiting] == [("due", 1)]
    assert found.offers == {}
    assert len(found.visits) == min(report.LATEST_VISITS, len(found.visits))
    assert report.totals(crawled.engine) == found.crawls


def test_status_counts_offers(kit: Kit) -> None:
    start(kit, "http://waiting.test/")
    from app.beat import claim

    claim.dispatch(kit.engine, kit.settings, lambda offer: None, kit.rng)
    assert list(report.status(kit.engine).offers.values()) == [1]


def test_a_finished_crawl_goes_round_again(crawled: Kit) -> None:
    assert steer.start(crawled.engine, "c", again=True).round == 2
    assert report.totals(crawled.engine)[0].pages == 0
    run(crawled)
    assert report.totals(crawled.engine)[0].pages == 4


def test_a_finished_crawl_with_nothing_queued_does_not_start(crawled: Kit) -> None:
    with pytest.raises(InputError, match=r"is finished \(done\); nothing is queued; .*--again"):
        steer.start(crawled.engine, "c")


def test_a_crawl_at_its_budget_does_not_start(kit: Kit, web: Web) -> None:
    site = web.site()
    site.pages |= {"/": html("/a", "/b"), "/a": html(), "/b": html()}
    start(kit, site.url(), budgets=Budgets(max_pages=1))
    run(kit)
    with pytest.raises(InputError, match=r"is finished \(max_pages\); tiptoe crawl edit c --max-pages N, then"):
        steer.start(kit.engine, "c")


def test_pause_and_resume(kit: Kit, web: Web) -> None:
    site = web.site()
    site.pages["/"] = html()
    start(kit, site.url())
    steer.pause(kit.engine, "c")
    go(kit)
    assert site.log == []
    assert steer.resume(kit.engine, "c").state == "active"
    run(kit)
    assert site.pages_asked == ["/"]


def test_only_what_is_paused_resumes_and_what_is_active_pauses(kit: Kit) -> None:
    start(kit, "http://a.test/")
    with pytest.raises(InputError, match="is active, not paused"):
        steer.resume(kit.engine, "c")
    steer.finish(kit.engine, "c")
    with pytest.raises(InputError, match="is finished already"):
        steer.finish(kit.engine, "c")
    with pytest.raises(InputError, match="only an active crawl can be paused"):
        steer.pause(kit.engine, "c")


def test_a_crawl_has_one_scope(kit: Kit) -> None:
    made = steer.open_crawl(kit.engine, "new", Change(scope="domain"))
    assert made.scope == "domain"
    assert steer.open_crawl(kit.engine, "new", Change(scope=None)).id == made.id
    assert steer.open_crawl(kit.engine, "new", Change(scope="domain")).id == made.id
    with pytest.raises(InputError, match="has the scope domain already"):
        steer.open_crawl(kit.engine, "new", Change(scope="host"))
    assert steer.open_crawl(kit.engine, "other", Change(scope=None)).scope == "host"
