"""The cap per host (promise F7): it holds, the lowest score is evicted or waits, the log says so, and nothing else is
lost."""

from collections.abc import Callable
from hashlib import sha256

import pytest

from app.admin import crawls, doctor, explain, report
from app.admin.check import Grade
from app.admin.seeds import add
from app.crawl.state.worker import Worker
from app.model import Budgets, Url
from app.policy.focus.profile_text import profile_of
from app.policy.focus.score import score
from tests.crawl.loop import go, run, start
from tests.crawl.waiting import CAP, branches, estimate, flat, plant, refused, state, waiting
from tests.crawl.web import Answer, Site, Web, html
from tests.store.rows import one, sql


@pytest.fixture
def worker(make: Callable[..., Worker]) -> Worker:
    return make(frontier_max_per_host=CAP, settle_urls=5)


@pytest.fixture
def slow(make: Callable[..., Worker]) -> Worker:
    """It settles after each URL: the seed comes first, and all of what was planted is there yet."""
    return make(frontier_max_per_host=CAP, settle_urls=1)


@pytest.fixture
def site(web: Web) -> Site:
    return web.site()


# --- it holds -----------------------------------------------------------------------------------------------------


def test_links_of_a_host_to_itself_keep_to_the_cap(worker: Worker, site: Site) -> None:
    """Exactly, whenever a page is asked for; and the table holds what was fetched and one cap's worth."""
    seen: list[int] = []
    branches(worker.engine, site, width=30, seen=seen)
    start(worker, site.url(), budgets=Budgets(max_pages=30))
    run(worker)
    assert max(seen) == CAP
    assert one(worker.engine, "SELECT count(*) FROM urls") <= 30 + CAP + worker.settings.settle_urls
    assert len(refused(worker.engine)) > 250
    assert estimate(worker.engine, site) <= CAP


def test_a_trap_costs_no_more_than_its_pages(worker: Worker, site: Site) -> None:
    """A page with a hundred times the cap, and nothing but such pages behind it."""
    seen: list[int] = []
    branches(worker.engine, site, width=CAP * 100, seen=seen)
    start(worker, site.url(), budgets=Budgets(max_pages=4))
    run(worker)
    assert max(seen) == CAP
    assert one(worker.engine, "SELECT count(*) FROM urls") <= 4 + CAP + worker.settings.settle_urls


def test_a_sitemap_keeps_to_the_cap(worker: Worker, site: Site) -> None:
    """2,500 entries come in by chunks, each judged by what the ones before left."""
    urls = "".join(f"<url><loc>{site.url(f'/{number}')}</loc></url>" for number in range(2_500))
    body = f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{urls}</urlset>'
    site.robots = "Sitemap: /map.xml"
    site.pages["/map.xml"] = Answer(headers={"Content-Type": "application/xml"}, body=body.encode())
    seen: list[int] = []

    def asked(hit: object) -> Answer:
        seen.append(waiting(worker.engine, site))
        return html(text=f"page {len(seen)}")

    site.pages |= {f"/{number}": asked for number in range(2_500)}
    start(worker, site.url(), sitemaps="declared")
    run(worker)
    assert max(seen) <= CAP
    fetched = one(worker.engine, "SELECT count(*) FROM urls WHERE fetched_at IS NOT NULL AND kind = 'page'")
    assert CAP <= fetched <= CAP + 1
    assert len(refused(worker.engine)) >= 2_500 - CAP
    assert one(worker.engine, "SELECT state FROM crawls") == "finished"


def test_below_the_cap_nothing_gives_way(worker: Worker, site: Site) -> None:
    flat(site, CAP)
    start(worker, site.url())
    run(worker)
    assert len(site.pages_asked) == CAP + 1
    assert refused(worker.engine) == {}


def test_no_cap_is_no_cap(make: Callable[..., Worker], site: Site) -> None:
    worker = make(frontier_max_per_host="")
    assert worker.settings.frontier_max_per_host is None
    flat(site, 300)
    start(worker, site.url())
    run(worker)
    assert len(site.pages_asked) == 301


# --- the lowest score is evicted ---------------------------------------------------------------------------------


def test_a_better_newcomer_takes_the_place_of_the_worst(slow: Worker, site: Site) -> None:
    worker = slow
    crawl = start(worker, site.url())
    plant(worker, crawl, site, *(f"/low/{number}" for number in range(CAP - 5)), score=0.05)
    plant(worker, crawl, site, *(f"/mid/{number}" for number in range(4)), score=0.2)
    site.pages["/"] = html(*(f"/new/{number}" for number in range(6)))
    site.pages |= {
        f"/{kind}/{number}": html(text=f"{kind}{number}") for kind in ("low", "mid", "new") for number in range(20)
    }
    run(worker)
    gone = refused(worker.engine)
    assert len(gone) == 5, "6 newcomers, and the seed's own place is free"
    assert all("/low/" in url for url in gone), "the lowest score"
    assert set(gone) == {site.url(f"/low/{number}") for number in range(CAP - 10, CAP - 5)}, "of equals the youngest"
    assert set(gone.values()) == {"cap per host: evicted"}
    assert {state(worker.engine, url) for url in gone} == {None}
    assert {state(worker.engine, site.url(f"/new/{number}")) for number in range(6)} == {"resting"}


def test_what_a_visit_has_in_hand_does_not_give_way(worker: Worker, site: Site) -> None:
    """It has fetched these, and is about to say so."""
    crawl = start(worker, site.url())
    low = [f"/low/{number}" for number in range(CAP - 1)]
    plant(worker, crawl, site, *low)
    site.pages["/"] = html(*(f"/new/{number}" for number in range(2 * CAP)))
    site.pages |= {path: html(text=path) for path in low}
    run(worker)
    asked = [path for path in low if path in site.pages_asked]
    assert len(asked) == worker.settings.settle_urls - 1
    assert {state(worker.engine, site.url(path)) for path in asked} == {"resting"}
    assert {site.url(path) for path in low} - refused(worker.engine).keys() == {site.url(path) for path in asked}


def score_of(worker: Worker, text: str) -> float:
    """The score of a link from the seed."""
    url = worker.canon.canonicalise(text)
    assert isinstance(url, Url)
    return score(profile_of("general"), url, depth=1).parts.score


def test_a_newcomer_that_is_no_better_is_the_one_that_gives_way(slow: Worker, site: Site) -> None:
    worker = slow
    crawl = start(worker, site.url())
    plant(
        worker,
        crawl,
        site,
        *(f"/old/{number}" for number in range(CAP - 1)),
        score=score_of(worker, site.url("/new/0")),
    )
    site.pages["/"] = html(*(f"/new/{number}" for number in range(4)))
    run(worker)
    gone = refused(worker.engine)
    assert set(gone) == {site.url(f"/new/{number}") for number in range(1, 4)}
    assert set(gone.values()) == {"cap per host: not admitted"}


def test_what_was_fetched_before_does_not_count_and_never_gives_way(worker: Worker, site: Site) -> None:
    """A round over a large site leaves room for what is new there."""
    paths = flat(site, CAP)
    crawl = start(worker, site.url())
    run(worker)
    for times in (1, 2, 3):
        more = [f"/more{times}/{number}" for number in range(CAP)]
        site.pages |= {path: html(text=path) for path in more}
        paths += more
        site.pages["/"] = html(*paths, text=str(times))
        crawls.go_round(worker.engine, crawl.name, worker.settings)
        run(worker)
    assert refused(worker.engine) == {}
    assert set(site.pages_asked) == {"/", *paths}


def test_seeds_are_never_refused_and_never_give_way(worker: Worker, site: Site) -> None:
    flat(site, 3 * CAP)
    seeds = [site.url(f"/seed/{number}") for number in range(3 * CAP)]
    site.pages |= {f"/seed/{number}": html(text=str(number)) for number in range(3 * CAP)}
    crawl = start(worker, site.url(), *seeds)
    assert waiting(worker.engine, site) == 3 * CAP + 1
    more = add(worker.engine, worker.settings, crawl, [site.url(f"/late/{number}") for number in range(CAP)])
    assert more.added == CAP
    run(worker)
    assert not [url for url in refused(worker.engine) if "/seed/" in url or "/late/" in url]
    assert {state(worker.engine, url) for url in seeds} == {"resting"}


# --- the keys that workers know -----------------------------------------------------------------------------------


def test_what_was_refused_comes_in_when_there_is_room(worker: Worker, site: Site) -> None:
    """In the same process, by a link that is found later."""
    paths = flat(site, CAP + 10)
    late = paths[-10:]
    site.pages[paths[0]] = html("/again")
    site.pages["/again"] = html(*late)
    start(worker, site.url())
    run(worker)
    assert len(refused(worker.engine)) >= 9
    assert set(site.pages_asked) == {"/", "/again", *paths}


def test_what_gave_way_comes_in_when_there_is_room(slow: Worker, site: Site, web: Web) -> None:
    """Though the process that let it go had known it, and had just met it again."""
    worker = slow
    start(worker, web.site().url(), name="before")  # the first visit forgets what nobody can know yet
    run(worker)
    crawl = start(worker, site.url())
    low = [f"/low/{number}" for number in range(CAP - 1)]
    for path in low[:-1]:
        worker.caches.known.add(crawl.id, sha256(site.url(path).encode()).digest())
    plant(worker, crawl, site, *low)
    site.pages["/"] = html(low[-1], *(f"/new/{number}" for number in range(8)))
    site.pages |= {f"/new/{number}": html("/again", text=str(number)) for number in range(8)}
    site.pages |= {path: html(text=path) for path in low}
    site.pages["/again"] = html(*low)
    run(worker)
    assert len(refused(worker.engine)) >= 7
    assert set(low) <= set(site.pages_asked)


def test_another_process_learns_of_it_with_the_next_round(
    worker: Worker, make: Callable[..., Worker], site: Site
) -> None:
    """It knew the key; the row is gone since."""
    paths = flat(site, 3)
    crawl = start(worker, site.url())
    run(worker)
    other = make(frontier_max_per_host=CAP)
    crawls.go_round(worker.engine, crawl.name)
    run(other)
    sql(worker.engine, "DELETE FROM urls WHERE url = :url", url=site.url(paths[1]))
    site.pages["/"] = html(*paths, text="changed")
    crawls.go_round(worker.engine, crawl.name)
    run(other)
    assert state(worker.engine, site.url(paths[1])) == "resting"
    assert site.pages_asked.count(paths[1]) == 3


def test_what_is_known_is_known_for_an_hour(worker: Worker) -> None:
    known, key = worker.caches.known, b"k" * 32
    known.renew(0.0)
    known.add(1, key)
    known.renew(3_599.0)
    assert known.has(1, key)
    known.renew(3_600.0)
    assert not known.has(1, key)
    known.add(1, key)
    known.forget(2, key)
    assert known.has(1, key)
    known.forget(1, key)
    assert not known.has(1, key)


# --- who wants to know --------------------------------------------------------------------------------------------


def test_url_why_and_the_report_and_doctor_say_so(slow: Worker, site: Site) -> None:
    worker = slow
    flat(site, CAP + 1)
    start(worker, site.url(), keep_fresh=True)
    go(worker)
    (late,) = refused(worker.engine)
    found = explain.why(worker.engine, worker.settings, late)
    assert found.crawls == []
    (would_be,) = found.elsewhere
    assert would_be.verdict.startswith("it was evicted while the frontier was full")
    assert [(row["reason"], row["detail"]) for row in found.suppressions] == [
        ("frontier_full", "cap per host: not admitted")
    ]
    assert [(row["reason"], row["links"]) for row in report.report(worker.engine, "c").reasons] == [
        ("frontier_full", 1)
    ]
    assert report.report(worker.engine, "c", worker.settings).full_hosts == []
    sql(worker.engine, "UPDATE hosts SET unfetched = :cap", cap=CAP)
    assert report.report(worker.engine, "c", worker.settings).full_hosts == [site.host]
    (check,) = [check for check in doctor.fleet(worker.engine, worker.settings, {}) if check.name == "frontier"]
    assert (check.grade, check.finding) == (Grade.WARN, f"hosts at their cap of 20 URLs: {site.host}")
    assert "TIPTOE_FRONTIER_MAX_PER_HOST" in check.remedy
