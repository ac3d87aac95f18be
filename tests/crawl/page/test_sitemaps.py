"""Sitemaps: found, read at the host's own pace, their pages admitted, lastmod believed as far as it told the truth."""

import gzip
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import Engine

from app.admin import crawls, seeds
from app.crawl.page.sitemaps import ELSEWHERE_MOST
from app.crawl.state.worker import Worker
from app.model import Budgets, CrawlSpec, RequestKind
from tests.crawl.loop import go, run, start
from tests.crawl.web import Answer, Site, Web, html
from tests.store.rows import sql, url


def urlset(*entries: str | tuple[str, str], **headers: str) -> Answer:
    """entries: locations, or (location, lastmod)."""
    rows = [(entry, "") if isinstance(entry, str) else entry for entry in entries]
    inner = "".join(f"<url><loc>{loc}</loc>{f'<lastmod>{when}</lastmod>' if when else ''}</url>" for loc, when in rows)
    body = f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{inner}</urlset>'
    return Answer(headers={"Content-Type": "application/xml", **headers}, body=body.encode())


def index(*locations: str) -> Answer:
    inner = "".join(f"<sitemap><loc>{loc}</loc></sitemap>" for loc in locations)
    return Answer(headers={"Content-Type": "application/xml"}, body=f"<sitemapindex>{inner}</sitemapindex>".encode())


def kinds(engine: Engine) -> dict[str, list[str]]:
    """{kind: paths of the frontier}."""
    found: dict[str, list[str]] = {}
    for row in sql(engine, "SELECT kind, url FROM urls ORDER BY url"):
        found.setdefault(row["kind"], []).append("/" + row["url"].split("/", 3)[3])
    return found


@pytest.fixture
def site(web: Web) -> Site:
    site = web.site()
    for path in ("/", "/a", "/b", "/c"):
        site.pages[path] = html(text=path)
    return site


def test_a_sitemap_that_robots_txt_names_is_read_and_its_pages_are_fetched(worker: Worker, site: Site) -> None:
    site.robots = f"User-agent: *\nDisallow: /c\nSitemap: {site.url('/map.xml')}\n"
    site.pages["/map.xml"] = urlset(site.url("/a"), site.url("/b"), site.url("/c"), "http://elsewhere.test/x")
    start(worker, site.url(), sitemaps="declared")
    run(worker)
    assert site.paths[0] == "/robots.txt"
    assert sorted(site.paths[1:]) == ["/", "/a", "/b", "/map.xml"]
    assert url(worker.engine, site.url("/c"))["state"] == "refused"
    assert url(worker.engine, site.url("/a"))["found_on"] == site.url("/map.xml")
    (row,) = sql(worker.engine, "SELECT * FROM sitemaps")
    assert (row["format"], row["entries"], row["problem"]) == ("urlset", 4, None)
    (outside,) = sql(worker.engine, "SELECT reason, url FROM suppressions")
    assert (outside["reason"], outside["url"]) == ("scope", "http://elsewhere.test/x")


# setting, robots.txt, what is asked for besides the page
DISCOVERY = [
    ("none", "Sitemap: /map.xml", set()),
    ("none", None, set()),
    ("declared", None, set()),
    ("declared", "Sitemap: /map.xml", {"/map.xml"}),
    ("all", None, {"/sitemap.xml"}),
    ("all", "Sitemap: /map.xml", {"/map.xml"}),
    ("all", "Sitemap: map.xml\nSitemap: http://[bad\nSitemap: ftp://x/y", {"/map.xml"}),
    ("declared", "Disallow: /map.xml\nSitemap: /map.xml", set()),
]


@pytest.mark.parametrize(("sitemaps", "robots", "asked"), DISCOVERY)
def test_discovery(worker: Worker, site: Site, sitemaps: str, robots: str | None, asked: set[str]) -> None:
    if robots is not None:
        site.robots = f"User-agent: *\n{robots}\n"
    start(worker, site.url(), sitemaps=sitemaps)
    run(worker)
    assert set(site.paths) - {"/robots.txt", "/"} == asked
    assert len(site.paths) == len(set(site.paths)), "nothing twice"


def test_a_guess_that_is_not_there_is_no_failure(worker: Worker, site: Site) -> None:
    crawl = start(worker, site.url(), sitemaps="all")
    run(worker)
    (row,) = sql(worker.engine, "SELECT pages, fetches, failed FROM crawl_hosts WHERE crawl_id = :id", id=crawl.id)
    assert row == {"pages": 1, "fetches": 2, "failed": 0}


def test_an_index_leads_to_sitemaps_three_levels_deep_and_no_deeper(worker: Worker, site: Site) -> None:
    site.robots = "Sitemap: /0.xml"
    for level in range(5):
        site.pages[f"/{level}.xml"] = index(site.url(f"/{level + 1}.xml"), site.url(f"/{level}.xml"))
    start(worker, site.url(), sitemaps="declared")
    run(worker)
    assert kinds(worker.engine)["sitemap"] == ["/0.xml", "/1.xml", "/2.xml", "/3.xml"]


def test_an_index_names_no_sitemaps_of_other_hosts(worker: Worker, site: Site, web: Web) -> None:
    other = web.site()
    site.robots = "Sitemap: /index.xml"
    site.pages["/index.xml"] = index(other.url("/map.xml"))
    start(worker, site.url(), sitemaps="declared")
    run(worker)
    assert other.paths == []


def test_robots_txt_may_name_a_sitemap_on_another_host_which_is_asked_at_its_own_pace(
    worker: Worker, site: Site, web: Web
) -> None:
    other = web.site()
    other.pages["/map.xml"] = urlset(site.url("/a"), other.url("/x"))
    site.robots = f"Sitemap: {other.url('/map.xml')}"
    start(worker, site.url(), sitemaps="declared")
    run(worker)
    assert other.paths == ["/robots.txt", "/map.xml"]
    assert sorted(site.paths) == ["/", "/a", "/robots.txt"]


def test_robots_txt_may_name_few_sitemaps_of_other_domains(worker: Worker, site: Site, web: Web) -> None:
    """Each may be the index of a site that nobody asked us to crawl: 1,000 lines would make a visit of each."""
    other = web.site()
    other.pages |= {f"/{n}.xml": urlset(site.url(f"/{n}")) for n in range(30)}
    lines = [f"Sitemap: {other.url(f'/{n}.xml')}" for n in range(30)]
    site.robots = "\n".join([*lines, "Sitemap: /own.xml"])
    site.pages["/own.xml"] = urlset(site.url("/a"))
    start(worker, site.url(), sitemaps="declared")
    run(worker)
    assert sorted(other.paths) == sorted(["/robots.txt", *(f"/{n}.xml" for n in range(ELSEWHERE_MOST))])
    assert {"/own.xml", "/a"} <= set(site.paths)
    refused = sql(worker.engine, "SELECT DISTINCT reason, detail FROM suppressions")
    assert refused == [{"reason": "scope", "detail": "behind 20 sitemaps of other domains that its robots.txt names"}]


def test_gzip_text_and_feeds(worker: Worker, site: Site) -> None:
    site.robots = "Sitemap: /z.xml.gz\nSitemap: /t.txt\nSitemap: /feed"
    packed = urlset(site.url("/a"))
    site.pages["/z.xml.gz"] = Answer(headers={"Content-Type": "application/gzip"}, body=gzip.compress(packed.body))
    site.pages["/t.txt"] = Answer(headers={"Content-Type": "text/plain"}, body=f"{site.url('/b')}\n".encode())
    site.pages["/feed"] = Answer(
        body=f"<rss><channel><item><link>{site.url('/c')}</link></item></channel></rss>".encode()
    )
    start(worker, site.url(), sitemaps="declared")
    run(worker)
    assert kinds(worker.engine)["page"] == ["/", "/a", "/b", "/c"]
    formats = {row["format"] for row in sql(worker.engine, "SELECT format FROM sitemaps")}
    assert formats == {"urlset", "text", "rss"}


def test_a_large_sitemap_goes_in_by_chunks_and_its_problem_is_kept(worker: Worker, site: Site) -> None:
    site.robots = "User-agent: *\nDisallow: /p/\nSitemap: /map.xml"
    whole = urlset(*(site.url(f"/p/{number}") for number in range(2_500)))
    site.pages["/map.xml"] = Answer(headers=whole.headers, body=whole.body[:-40])
    start(worker, site.url(), sitemaps="declared")
    run(worker)
    (row,) = sql(worker.engine, "SELECT count(*) AS n FROM urls WHERE state = 'refused'")
    assert row["n"] >= 2_499
    (row,) = sql(worker.engine, "SELECT entries, problem FROM sitemaps")
    assert row["entries"] >= 2_499
    assert row["problem"] is not None


def test_a_sitemap_is_no_page_of_the_budget_and_not_stored(worker: Worker, site: Site) -> None:
    site.robots = "Sitemap: /map.xml"
    site.pages["/map.xml"] = urlset(site.url("/a"), site.url("/b"))
    crawl = start(worker, site.url(), sitemaps="declared", budgets=Budgets(max_pages=2))
    run(worker)
    (row,) = sql(worker.engine, "SELECT pages FROM crawl_hosts WHERE crawl_id = :id", id=crawl.id)
    assert row["pages"] == 2
    assert sql(worker.engine, "SELECT url FROM pages WHERE url LIKE '%map.xml'") == []


def test_by_hand(worker: Worker, site: Site) -> None:
    site.pages["/odd-name"] = urlset(site.url("/a"))
    crawl = crawls.create(worker.engine, "hand", CrawlSpec(sitemaps="none"))
    added = seeds.add(
        worker.engine, worker.settings, crawl, [site.url("/odd-name"), "nonsense"], kind=RequestKind.SITEMAP
    )
    assert (added.added, added.bad_count) == (1, 1)
    run(worker)
    assert site.paths == ["/robots.txt", "/odd-name", "/a"]


def test_a_redirected_sitemap_is_still_one(worker: Worker, site: Site) -> None:
    site.robots = "Sitemap: /old.xml"
    site.pages["/old.xml"] = Answer(status=301, headers={"Location": "/new.xml"})
    site.pages["/new.xml"] = urlset(site.url("/a"))
    start(worker, site.url(), sitemaps="declared")
    run(worker)
    assert kinds(worker.engine) == {"page": ["/", "/a"], "sitemap": ["/new.xml", "/old.xml"]}


# --- lastmod


def fresh(worker: Worker, site: Site, **claims: Any) -> None:
    """A crawl that keeps fresh, at rest: everything was fetched once, ten days ago."""
    site.robots = "Sitemap: /map.xml"
    site.pages["/map.xml"] = urlset(site.url("/a"), site.url("/b"))
    start(worker, site.url(), sitemaps="declared", keep_fresh=True)
    for _ in range(4):
        go(worker)
    assert len(site.paths) == 5
    sql(
        worker.engine,
        """UPDATE urls SET fetched_at = now() - interval '10 days', due_at = now() + interval '80 days',
                            changed_at = now() - interval '20 days'""",
    )
    sql(worker.engine, "UPDATE urls SET state = 'queued', due_at = NULL WHERE kind = 'sitemap'")
    sql(worker.engine, "UPDATE hosts SET next_fetch_at = now()")
    if claims:
        sql(worker.engine, "UPDATE sitemaps SET claims = :claims, true_claims = :true_claims", **claims)


def days_ago(days: float) -> str:
    return (datetime.now(UTC) - timedelta(days=days)).isoformat()


# claims before, true ones, lastmod in days ago, whether the page is brought forward
BELIEF = [
    (0, 0, 1, False),  # never tested
    (1, 1, 1, True),
    (5, 4, 1, True),
    (5, 3, 1, False),  # it has lied too often
    (5, 5, 11, False),  # before our last fetch
    (5, 5, -30, False),  # in the future: no statement
]


@pytest.mark.parametrize(("claims", "true_claims", "days", "forward"), BELIEF)
def test_a_believed_lastmod_brings_a_page_forward(
    worker: Worker, site: Site, claims: int, true_claims: int, days: float, forward: bool
) -> None:
    fresh(worker, site, claims=claims, true_claims=true_claims)
    site.pages["/map.xml"] = urlset((site.url("/a"), days_ago(days)), site.url("/b"))
    go(worker)
    (row,) = sql(
        worker.engine, "SELECT due_at <= clock_timestamp() AS due FROM urls WHERE url = :url", url=site.url("/a")
    )
    assert row["due"] is forward
    (row,) = sql(
        worker.engine, "SELECT due_at <= clock_timestamp() AS due FROM urls WHERE url = :url", url=site.url("/b")
    )
    assert row["due"] is False


# lastmod in days ago, whether the page changed, (claims, true_claims) after its recrawl
TRUTH = [
    (1, True, (1, 1)),  # it said so
    (1, False, (1, 0)),  # it cried wolf
    (11, True, (1, 0)),  # it did not tell
    (11, False, (0, 0)),  # no feat
]


@pytest.mark.parametrize(("days", "changes", "score"), TRUTH)
def test_claims_are_scored_against_what_fetches_saw(
    worker: Worker, site: Site, days: float, changes: bool, score: tuple[int, int]
) -> None:
    fresh(worker, site)
    site.pages["/map.xml"] = urlset((site.url("/a"), days_ago(days)))
    go(worker)
    if changes:
        site.pages["/a"] = html(text="another text")
    sql(worker.engine, "UPDATE urls SET state = 'queued', due_at = NULL WHERE url = :url", url=site.url("/a"))
    sql(worker.engine, "UPDATE hosts SET next_fetch_at = now()")
    go(worker)
    (row,) = sql(worker.engine, "SELECT claims, true_claims FROM sitemaps")
    assert (row["claims"], row["true_claims"]) == score


def test_a_sitemap_that_did_not_change_is_304_and_its_interval_grows(make: Callable[..., Worker], site: Site) -> None:
    worker = make(sitemap_interval_s=7200.0)
    site.robots = "Sitemap: /map.xml"
    site.pages["/map.xml"] = urlset(site.url("/a"), ETag='"1"')
    start(worker, site.url(), sitemaps="declared", keep_fresh=True)
    for _ in range(4):
        go(worker)
    before = url(worker.engine, site.url("/map.xml"))
    assert before["state"] == "resting"
    assert before["interval_s"] == pytest.approx(7200, rel=0.01)
    sql(worker.engine, "UPDATE urls SET fetched_at = fetched_at - interval '2 hours' WHERE kind = 'sitemap'")
    sql(worker.engine, "UPDATE urls SET state = 'queued', due_at = NULL WHERE kind = 'sitemap'")
    sql(worker.engine, "UPDATE hosts SET next_fetch_at = now()")
    go(worker)
    after = url(worker.engine, site.url("/map.xml"))
    assert after["status"] == 304
    assert after["interval_s"] > 1.2 * before["interval_s"]
    assert (
        after["interval_s"] * 0.9
        <= (after["due_at"] - after["fetched_at"]).total_seconds()
        <= after["interval_s"] * 1.1
    )


def test_children_on_the_crawls_other_hosts_are_read_and_others_leave_a_row(worker: Worker, web: Web) -> None:
    maps, www, cdn = web.site(), web.site(), web.site()
    maps.robots = f"Sitemap: {maps.url('/index.xml')}"
    maps.pages |= {"/": html(), "/index.xml": index(www.url("/pages.xml"), cdn.url("/far.xml"), "ftp://h/x.xml")}
    www.pages |= {"/": html(), "/pages.xml": urlset(www.url("/listed")), "/listed": html()}
    start(worker, www.url(), maps.url(), sitemaps="declared")
    run(worker)
    assert "/listed" in www.pages_asked
    assert cdn.paths == []
    rows = sql(worker.engine, "SELECT url, reason, found_on FROM suppressions ORDER BY url")
    assert [(row["url"], row["reason"]) for row in rows] == [
        ("ftp://h/x.xml", "scheme"),
        (cdn.url("/far.xml"), "scope"),
    ]
    assert {row["found_on"] for row in rows} == {maps.url("/index.xml")}


def test_children_below_too_many_indexes_leave_a_row(worker: Worker, web: Web) -> None:
    site = web.site()
    site.robots = f"Sitemap: {site.url('/0.xml')}"
    site.pages |= {"/": html()} | {f"/{n}.xml": index(f"/{n + 1}.xml") for n in range(6)}
    start(worker, site.url(), sitemaps="declared")
    run(worker)
    (row,) = sql(worker.engine, "SELECT url, reason FROM suppressions")
    assert row["reason"] == "depth"
