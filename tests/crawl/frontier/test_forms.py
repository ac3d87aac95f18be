"""Two forms of a URL: what is sent and what it is known by. robots.txt is asked about what was linked, too."""

import itertools
from hashlib import sha256

import pytest

from app.admin import crawls, seeds
from app.crawl.state.worker import Worker
from tests.crawl.loop import go, run, start
from tests.crawl.web import Answer, Site, Web, html, redirect
from tests.store.rows import make_host, sql, url

SORTED, LINKED = "/shop?add=1&orderby=price", "/shop?orderby=price&add=1"


def rows(worker: Worker) -> list[tuple[str, str]]:
    found = sql(worker.engine, "SELECT regexp_replace(url, '^http://[^/]+', '') AS path, state FROM urls ORDER BY path")
    return [(row["path"], row["state"]) for row in found]


def shop(web: Web, *links: str, robots: str = "") -> Site:
    site = web.site()
    site.robots = f"User-agent: *\n{robots}"
    site.pages["/"] = html(*links)
    site.pages |= dict.fromkeys((SORTED, LINKED, "/shop"), html(text="shop"))
    return site


def test_a_link_is_sent_as_it_was_linked_and_stored_once(worker: Worker, web: Web) -> None:
    site = shop(web, LINKED, SORTED, LINKED)
    start(worker, site.url())
    run(worker)
    assert site.pages_asked == ["/", LINKED]
    assert url(worker.engine, site.url(LINKED))["key"] == sha256(site.url(SORTED).encode()).digest()


def test_a_rule_about_the_first_parameter_refuses_the_link_that_has_it_first(worker: Worker, web: Web) -> None:
    site = shop(web, LINKED, robots="Disallow: /*?orderby=")
    start(worker, site.url())
    run(worker)
    assert site.pages_asked == ["/"]
    assert rows(worker) == [("/", "resting"), (LINKED, "refused")]


@pytest.mark.parametrize("links", list(itertools.permutations([LINKED, SORTED, "/shop?add=1&orderby=price#top"])))
def test_of_the_forms_on_a_page_the_allowed_one_is_sent(worker: Worker, web: Web, links: tuple[str, ...]) -> None:
    site = shop(web, *links, robots="Disallow: /*?orderby=")
    start(worker, site.url())
    run(worker)
    assert site.pages_asked == ["/", SORTED]


@pytest.mark.parametrize("is_known", [True, False])
def test_an_allowed_form_that_is_found_later_reopens_the_refusal(worker: Worker, web: Web, is_known: bool) -> None:
    site = shop(web, LINKED, "/next", robots="Disallow: /*?orderby=")
    site.pages["/next"] = html(SORTED)
    start(worker, site.url(), *([] if is_known else [site.url(LINKED)]))
    run(worker)
    assert site.pages_asked == ["/", "/next", SORTED]
    assert rows(worker) == [("/", "resting"), ("/next", "resting"), (SORTED, "resting")]


def test_so_does_one_that_another_host_links_to(worker: Worker, web: Web) -> None:
    site = shop(web, LINKED, robots="Disallow: /*?orderby=")
    start(worker, site.url(), scope="any")
    run(worker)
    other = web.site()
    other.pages["/"] = html(site.url(SORTED))
    seeds.add(worker.engine, worker.settings, crawls.find(worker.engine, "c"), [other.url()])
    run(worker)
    assert site.pages_asked == ["/", SORTED]


def test_a_form_that_was_fetched_stays_the_one_that_is_sent(worker: Worker, web: Web) -> None:
    site = shop(web, LINKED, "/next")
    site.pages["/next"] = html(SORTED)
    start(worker, site.url())
    run(worker)
    assert site.pages_asked.count(SORTED) == 0
    assert site.pages_asked.count(LINKED) == 1


@pytest.mark.parametrize("rule", ["/*?utm_", "/*utm_source"])
@pytest.mark.parametrize("as_seed", [True, False])
def test_a_rule_about_a_parameter_that_is_not_sent_refuses_the_link(
    worker: Worker, web: Web, rule: str, as_seed: bool
) -> None:
    link = "/shop?utm_source=x"
    site = shop(web, *([] if as_seed else [link]), robots=f"Disallow: {rule}")
    start(worker, site.url(), *([site.url(link)] if as_seed else []))
    run(worker)
    assert site.pages_asked == ["/"]
    assert (rows(worker)[1], sql(worker.engine, "SELECT linked FROM urls WHERE state = 'refused'")) == (
        ("/shop", "refused"),
        [{"linked": link}],
    )


def test_without_the_parameter_it_is_reopened(worker: Worker, web: Web) -> None:
    site = shop(web, "/shop?utm_source=x", "/shop", robots="Disallow: /*utm_")
    start(worker, site.url())
    run(worker)
    assert site.pages_asked == ["/", "/shop"]


def test_a_legacy_page_links_in_its_own_encoding(worker: Worker, web: Web) -> None:
    site = web.site()
    body = '<a href="/suche?q=\u00fcber&x=\u00e4">a</a><a href="/\u00fc">b</a>'
    site.pages["/"] = Answer(body=body.encode("cp1252"), headers={"Content-Type": "text/html; charset=iso-8859-1"})
    start(worker, site.url())
    run(worker)
    assert sorted(site.pages_asked) == ["/", "/%C3%BC", "/suche?q=%FCber&x=%E4"]


def test_a_redirect_to_another_spelling_of_itself_is_followed(worker: Worker, web: Web) -> None:
    site = shop(web, LINKED)
    site.pages[LINKED] = redirect(SORTED)
    start(worker, site.url())
    run(worker)
    assert site.pages_asked == ["/", LINKED, SORTED]
    assert rows(worker)[1] == (SORTED, "resting")


def test_and_one_back_and_forth_ends(worker: Worker, web: Web) -> None:
    site = shop(web, LINKED)
    site.pages |= {LINKED: redirect(SORTED), SORTED: redirect(LINKED)}
    start(worker, site.url())
    run(worker)
    assert len(site.pages_asked) <= 1 + worker.settings.attempts_max
    assert rows(worker)[1][1] == "quarantined"


def test_rows_of_0_1_are_sent_as_they_stand_and_new_links_find_them(worker: Worker, web: Web) -> None:
    """That release sent and hashed the sorted form, values of repeated parameters in order."""
    old = "/shop?a=1&a=2&b=3"
    site = shop(web, "/shop?b=3&a=1&a=2")
    site.pages[old] = html()
    crawl = start(worker, site.url())
    (host_id,) = (row["id"] for row in sql(worker.engine, "SELECT id FROM hosts"))
    sql(
        worker.engine,
        """INSERT INTO urls (host_id, crawl_id, key, url, state, lane, score, depth)
           VALUES (:host, :crawl, sha256(convert_to(:url, 'UTF8')), :url, 'queued', 1, 1, 0)""",
        host=host_id,
        crawl=crawl.id,
        url=site.url(old),
    )
    run(worker)
    assert sorted(site.pages_asked) == ["/", old]


def test_bad_ports_are_refused(worker: Worker, web: Web) -> None:
    site = web.site()
    site.pages["/"] = html("http://h.test:25/", "http://h.test:6667/")
    start(worker, site.url(), scope="any")
    run(worker)
    found = sql(worker.engine, "SELECT DISTINCT reason FROM suppressions")
    assert [row["reason"] for row in found] == ["port"]


@pytest.mark.parametrize(("away", "state"), [("11 hours", "queued"), ("13 hours", "refused"), ("31 days", "queued")])
def test_a_link_to_another_host_is_judged_by_what_is_in_force_there(
    worker: Worker, web: Web, away: str, state: str
) -> None:
    """Its robots.txt cannot be had: nothing, its last good copy, or everything is allowed; only the copy refuses a
    link."""
    site = web.site()
    site.pages["/"] = html("http://other.test/no")
    host_id = make_host(worker.engine, "other.test")
    sql(
        worker.engine,
        """INSERT INTO robots (host_id, scheme, port, availability, status, body, fetched_at, expires_at,
        unreachable_since)
           VALUES (:id, 'http', 80, 'unreachable', 503, convert_to(:body, 'UTF8'), now(), now() + interval '1 hour',
                   now() - CAST(:away AS interval))""",
        id=host_id,
        body="User-agent: *\nDisallow: /no",
        away=away,
    )
    start(worker, site.url(), scope="any")
    go(worker)
    assert url(worker.engine, "http://other.test/no")["state"] == state
