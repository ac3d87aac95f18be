"""Where a seed redirects to within its site comes into its crawl's scope, and nothing else does."""

from collections.abc import Callable
from itertools import pairwise

import pytest
from sqlalchemy import Engine

from app.admin import crawls, explain, hosts, report
from app.crawl.state.worker import Worker
from app.crawl.visit import settle
from app.crawl.visit.visit import take_up
from app.model import VisitEnding
from app.policy.scope import MOST_TAKEN_IN
from app.store import crawls as store
from app.store import db
from tests.crawl.loop import bring_forward, go, run, start
from tests.crawl.web import Answer, Site, Web, html, redirect
from tests.store.rows import claim, one, sql

OURS = 13  # hosts of one registrable domain


@pytest.fixture
def ours(web: Web) -> list[Site]:
    """Hosts of boats.test: its apex, www, and others."""
    return [named(web, f"{label}boats.test") for label in ("", "www.", *(f"h{n}." for n in range(OURS - 2)))]


@pytest.fixture
def others(web: Web) -> list[Site]:
    """Hosts of other sites."""
    return [named(web, name) for name in ("harbour.test", "www.harbour.test", "tides.test")]


@pytest.fixture
def worker(make: Callable[..., Worker], ours: list[Site], others: list[Site]) -> Worker:
    return make(resolve=" ".join(f"{site.host}={site.address}" for site in ours + others))


def named(web: Web, name: str) -> Site:
    site = web.site()
    site.host = name
    return site


@pytest.fixture
def apex(ours: list[Site]) -> Site:
    return ours.pop(0)


@pytest.fixture
def www(ours: list[Site], apex: Site) -> Site:
    """Where the apex redirects to: three pages, of which one links to the apex."""
    www = ours.pop(0)
    apex.pages |= {"/": redirect(www.url()), "/old": html(text="Old.")}
    www.pages |= {"/": html("/a", text="Home."), "/a": html("/b", text="A."), "/b": html(apex.url("/old"), text="B.")}
    return www


def taken_in(engine: Engine) -> list[str]:
    return list(one(engine, "SELECT scope_redirects FROM crawls"))


@pytest.mark.parametrize("scope", ["host", "domain", "prefix"])
def test_a_seed_brings_in_the_host_that_it_redirects_to(worker: Worker, apex: Site, www: Site, scope: str) -> None:
    start(worker, apex.url(), scope=scope)
    run(worker)
    assert www.pages_asked == ["/", "/a", "/b"]
    assert apex.pages_asked == ["/", "/old"], "its own host stays in scope"
    added = [] if scope == "domain" else [www.url()]  # whose scope has it already
    assert taken_in(worker.engine) == added
    found = report.report(worker.engine, "c")
    assert found.crawl.scope_redirects == added
    assert found.why_nothing is None


def test_no_more_than_that_host_comes_in(worker: Worker, ours: list[Site], apex: Site, www: Site) -> None:
    other = ours.pop()
    www.pages["/"] = html("/a", other.url(), text="Home.")
    www.pages["/a"] = redirect(other.url())  # of a link
    start(worker, apex.url())
    run(worker)
    assert www.pages_asked == ["/", "/a"]
    assert other.paths == []
    assert taken_in(worker.engine) == [www.url()]


def test_a_prefix_comes_in_as_the_folder_that_was_redirected_to(worker: Worker, apex: Site, www: Site) -> None:
    apex.pages["/docs/"] = redirect(www.url("/docs/start"))
    www.pages |= {"/docs/start": html("/docs/b", "/a", text="Start."), "/docs/b": html(text="B.")}
    start(worker, apex.url("/docs/"), scope="prefix")
    run(worker)
    assert www.pages_asked == ["/docs/start", "/docs/b"]
    assert taken_in(worker.engine) == [www.url("/docs/")]


def test_a_prefix_is_no_wider_for_a_redirect_within_its_origin(worker: Worker, apex: Site) -> None:
    apex.pages["/docs/"] = redirect("/login")
    start(worker, apex.url("/docs/"), scope="prefix")
    run(worker)
    assert apex.pages_asked == ["/docs/"]
    assert taken_in(worker.engine) == []


def test_a_chain_of_redirects_brings_in_each_host_of_it(
    worker: Worker, ours: list[Site], apex: Site, www: Site
) -> None:
    last = ours.pop()
    www.pages["/"] = redirect(last.url("/x"))
    last.pages |= {"/x": html("/y", text="X."), "/y": html(text="Y.")}
    start(worker, apex.url())
    run(worker)
    assert last.pages_asked == ["/x", "/y"]
    assert taken_in(worker.engine) == [www.url(), last.url()]


def test_a_chain_of_hosts_ends_after_ten_hops(worker: Worker, ours: list[Site]) -> None:
    sites = ours[:12]
    for site, after in pairwise(sites):
        site.pages["/"] = redirect(after.url())
    start(worker, sites[0].url())
    run(worker)
    assert [len(site.pages_asked) for site in sites] == [1] * 11 + [0]
    assert len(taken_in(worker.engine)) == 10


def test_many_seeds_that_redirect_to_one_host_bring_it_in_once(
    worker: Worker, ours: list[Site], www: Site, apex: Site
) -> None:
    twin = ours.pop()
    twin.pages["/"] = redirect(www.url("/b"))
    start(worker, apex.url(), twin.url())
    run(worker)
    assert taken_in(worker.engine) == [www.url()]


def test_a_scope_takes_in_so_many_hosts_and_then_no_more(worker: Worker, apex: Site, www: Site) -> None:
    start(worker, apex.url())
    sql(
        worker.engine,
        "UPDATE crawls SET scope_redirects = array_fill('http://x.test/'::text, ARRAY[:n])",
        n=MOST_TAKEN_IN,
    )
    run(worker)
    assert www.paths == []
    assert one(worker.engine, "SELECT reason FROM suppressions") == "scope"


def test_a_visit_that_lost_its_lease_widens_nothing(worker: Worker, apex: Site, www: Site) -> None:
    start(worker, apex.url())
    sql(worker.engine, "UPDATE hosts SET queue = 'host-00', next_fetch_at = now() - interval '1 minute'")
    (offer,) = claim(worker.engine)
    visit = take_up(worker, offer.host_id, offer.token)
    assert visit is not None
    visit.batch.found.taken_in.append((1, www.url()))
    sql(worker.engine, "UPDATE hosts SET lease_token = gen_random_uuid()")
    assert settle.together([visit]) == [(visit, VisitEnding.FENCED)]
    assert taken_in(worker.engine) == []


def test_patterns_hold_for_links_and_not_for_seeds(worker: Worker, apex: Site, www: Site) -> None:
    www.pages["/"] = html("/a", "/b", text="Home.")
    start(worker, apex.url(), include=("/b$",))
    run(worker)
    assert apex.pages_asked == ["/"]
    assert www.pages_asked == ["/", "/b"]


def test_a_seed_is_fetched_though_a_pattern_excludes_it(worker: Worker, apex: Site) -> None:
    apex.pages |= {
        "/": html("/a", "/?page=2", text="Home.", head='<link rel="canonical" href="/?page=1">'),
        "/a": html(text="A."),
    }
    start(
        worker,
        apex.url(),
        exclude=(
            "/$",
            r"page=",
        ),
    )
    run(worker)
    assert apex.pages_asked == ["/", "/a"], "what its page calls canonical is a link"


# --- another site -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scope", ["host", "domain", "prefix"])
def test_a_page_of_another_site_is_fetched_alone(worker: Worker, apex: Site, others: list[Site], scope: str) -> None:
    harbour, www, _ = others
    apex.pages |= {"/": redirect(harbour.url("/?from=boats")), "/old": html("/older", text="Old."), "/older": html()}
    harbour.pages["/?from=boats"] = redirect(www.url("/home"))
    www.pages["/home"] = html(
        "/a", harbour.url("/b"), apex.url("/old"), text="Home.", head="<link rel=canonical href=/>"
    )
    start(worker, apex.url(), scope=scope, sitemaps="all")
    run(worker)
    assert www.paths == ["/robots.txt", "/home"], "no sitemap, no link"
    assert harbour.paths == ["/robots.txt", "/?from=boats"]
    assert apex.pages_asked == ["/", "/old", "/older"], "its own site is crawled"
    assert taken_in(worker.engine) == []
    assert one(worker.engine, "SELECT main_text FROM pages WHERE url = :u", u=www.url("/home")).startswith("Home.")
    reasons = sql(worker.engine, "SELECT DISTINCT reason FROM suppressions WHERE url LIKE '%harbour%'")
    assert reasons == [{"reason": "scope"}]
    found = explain.why(worker.engine, worker.settings, www.url("/home"))
    assert found.crawls[0].scope == "outside: a seed redirects here, and this page alone is fetched"


def test_it_is_fetched_again_in_a_round(worker: Worker, apex: Site, others: list[Site]) -> None:
    apex.pages["/"] = redirect(others[0].url())
    others[0].pages["/"] = html(text="Harbour.")
    start(worker, apex.url())
    run(worker)
    crawls.go_round(worker.engine, "c")
    run(worker)
    assert others[0].pages_asked == ["/", "/"]


def test_a_link_that_redirects_to_another_site_is_not_followed(worker: Worker, apex: Site, others: list[Site]) -> None:
    apex.pages |= {"/": html("/out", text="Home."), "/out": redirect(others[0].url())}
    start(worker, apex.url())
    run(worker)
    assert others[0].paths == []


def test_a_site_of_a_seed_is_no_other_site(worker: Worker, apex: Site, others: list[Site]) -> None:
    """Two seeds: one redirects to the site of the other."""
    harbour, www, _ = others
    apex.pages["/"] = redirect(www.url())
    harbour.pages["/"] = html(text="Harbour.")
    www.pages |= {"/": html("/a", text="Home."), "/a": html(text="A.")}
    start(worker, apex.url(), harbour.url())
    run(worker)
    assert www.pages_asked == ["/", "/a"]
    assert taken_in(worker.engine) == [www.url()]


def test_an_address_is_a_site_of_its_own(worker: Worker, web: Web) -> None:
    one_host, other = web.site(), web.site()
    one_host.pages["/"] = redirect(other.url())
    other.pages |= {"/": html("/a", text="Home."), "/a": html()}
    start(worker, one_host.url())
    run(worker)
    assert other.pages_asked == ["/"]


def test_the_pages_of_other_sites_are_listed_with_the_command_that_crawls_them(
    worker: Worker, apex: Site, www: Site, others: list[Site]
) -> None:
    seeds = [apex.url("/x"), apex.url("/y"), apex.url()]
    targets = [others[0].url("/?a=1&b=2"), others[2].url()]
    apex.pages |= {"/x": redirect(targets[0]), "/y": redirect(targets[1])}
    others[0].pages["/?a=1&b=2"] = others[2].pages["/"] = html(text="Home.")
    crawl = start(worker, *seeds)
    run(worker)
    with db.transaction(worker.engine) as tx:
        found = report.led_away(tx, store.by_id(tx, crawl.id))
    assert found == targets


# --- why nothing came -------------------------------------------------------------------------------------------


def stopped(site: Site) -> None:
    site.close()


def disallows(site: Site) -> None:
    site.robots = "User-agent: *\nDisallow: /\n"


def leads_nowhere(site: Site) -> None:
    site.pages["/"] = redirect("ftp://x.test/")


def leads_on_and_on(site: Site) -> None:
    site.pages |= {"/": redirect("/1")} | {f"/{n}": redirect(f"/{n + 1}") for n in range(1, 20)}


def leads_out_of_its_folder(site: Site) -> None:
    site.pages["/docs/"] = redirect("/login")


def is_broken(site: Site) -> None:
    site.pages["/"] = Answer(status=500)


def is_an_image(site: Site) -> None:
    site.pages["/"] = Answer(headers={"Content-Type": "image/png"}, body=b"png")


@pytest.mark.parametrize(
    ("make_it", "seed", "says"),
    [
        (stopped, "/", ": Connection refused"),
        (disallows, "/", "robots.txt: line 2: Disallow: /"),
        (leads_nowhere, "/", "to no URL of ours"),
        (leads_on_and_on, "/", "not followed (redirects)"),
        (leads_out_of_its_folder, "/docs/", "/login, which is not followed (scope)"),
        (is_broken, "/", "500"),
        (is_an_image, "/", "ended as unwanted: image/png is not read (status 200)"),
        (lambda site: None, "/", "not_found (status 404)"),
    ],
)
def test_a_crawl_that_brought_nothing_says_why(
    worker: Worker, web: Web, make_it: Callable[[Site], None], seed: str, says: str
) -> None:
    site = web.site()
    make_it(site)
    start(worker, site.url(seed), scope="prefix")
    run(worker)
    why = report.report(worker.engine, "c").why_nothing
    assert why is not None
    assert site.url() in why
    assert says in why


def test_each_of_the_first_seeds_says_what_it_waits_for(worker: Worker, web: Web) -> None:
    sites = [web.site() for _ in range(report.MOST_SEEDS + 2)]
    for site in sites:
        site.pages["/"] = Answer(status=429, headers={"Retry-After": "3600"})
    start(worker, *(site.url() for site in sites))
    go(worker)
    *told, more = str(report.report(worker.engine, "c").why_nothing).split("; ")
    named = {line.partition(" ")[0] for line in told}
    assert len(told) == len(named) == report.MOST_SEEDS
    assert named < {site.url() for site in sites}
    assert all("rate_limited" in line for line in told)
    assert more == "and 2 seeds more"


@pytest.mark.parametrize(
    ("make_it", "says"),
    [(stopped, "Connection refused"), (lambda site: setattr(site, "robots", Answer(status=500)), "HTTP 500")],
)
def test_a_seed_behind_a_robots_txt_out_of_reach_says_what_is_wrong_with_it(
    make: Callable[..., Worker], web: Web, make_it: Callable[[Site], None], says: str
) -> None:
    """Also when it may be asked for again, and its host waits for nothing any more."""
    worker = make(backoff_base_s=60.0, backoff_max_s=60.0)  # however slow the visit is, it asks once
    site = web.site()
    make_it(site)
    start(worker, site.url())
    go(worker)
    said = str(report.report(worker.engine, "c").why_nothing)
    assert said.startswith(f"{site.url()} was not fetched yet: robots.txt out of reach: ")
    assert said.endswith(says)
    bring_forward(worker.engine)
    assert report.report(worker.engine, "c").why_nothing == said


def test_a_seed_of_a_paused_host_names_the_command_that_resumes_it(worker: Worker, web: Web) -> None:
    site = web.site()
    start(worker, site.url())
    hosts.pause(worker.engine, site.host)
    why = report.report(worker.engine, "c").why_nothing
    assert why == f"{site.url()} was not fetched yet: its host is paused: tiptoe host resume {site.host}"


def test_a_seed_of_another_round_was_fetched_before(worker: Worker, web: Web) -> None:
    site = web.site()
    start(worker, site.url())
    go(worker)
    sql(worker.engine, "UPDATE urls SET state = 'queued', due_at = NULL WHERE depth = 0")
    why = report.report(worker.engine, "c").why_nothing
    assert why == f"{site.url()} was not fetched again yet: it ended as not_found (status 404) last"


def test_a_seed_that_waits_for_the_delay_of_its_host_says_until_when(worker: Worker, web: Web) -> None:
    """A crawl may end between robots.txt and the first page: Crawl-delay, `--max-seconds`."""
    site = web.site()
    start(worker, site.url())
    sql(worker.engine, "UPDATE hosts SET polite_at = clock_timestamp() + interval '10 minutes'")
    why = str(report.report(worker.engine, "c").why_nothing)
    assert why.startswith(f"{site.url()} was not fetched yet: the delay of its host ends ")
    assert why.endswith("(in 0:10:00)")


def test_seeds_that_redirect_in_a_circle_say_so(worker: Worker, web: Web) -> None:
    """As for a cookie that a browser would bring."""
    site = web.site()
    site.pages |= {"/": redirect("/set"), "/set": redirect("/check"), "/check": redirect("/")}
    site.pages["/gone"] = Answer(status=404)
    start(worker, site.url(), site.url("/gone"))
    run(worker)
    circle, gone = str(report.report(worker.engine, "c").why_nothing).split("; ")
    assert circle == (
        f"{site.url()} redirects to itself by way of {site.url('/set')}: "
        "some sites end that for a cookie, and none is kept"
    )
    assert gone == f"{site.url('/gone')} ended as not_found (status 404)"
    sql(worker.engine, "DELETE FROM urls WHERE url LIKE '%/set' OR url LIKE '%/gone'")  # more seeds than are looked at
    assert report.report(worker.engine, "c").why_nothing == f"{site.url()} redirects to {site.url('/set')}"


def test_why_nothing_without_a_seed(worker: Worker) -> None:
    start(worker)
    assert report.report(worker.engine, "c").why_nothing == "it has no seed"


def test_a_seed_that_redirects_where_nobody_may_go_is_not_followed_there(worker: Worker, web: Web) -> None:
    site = web.site()
    site.pages["/"] = redirect("http://169.254.169.254/latest/meta-data/")
    start(worker, site.url())
    run(worker)
    why = str(report.report(worker.engine, "c").why_nothing)
    assert "http://169.254.169.254/latest/meta-data/ is refused: robots.txt out of reach" in why
    assert one(worker.engine, "SELECT count(*) FROM fetches WHERE status IS NOT NULL AND url LIKE '%169.254%'") == 0
