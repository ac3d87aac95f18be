"""Traps that only their effect gives away: redirects, facets, calendars without a word; and good pages beside them."""

from collections.abc import Callable
from random import Random

import pytest

from app.crawl.state.worker import Worker
from app.model import Budgets
from app.policy.focus.patterns import SMALL_SITE
from tests.crawl.loop import run, start
from tests.crawl.web import Answer, Hit, Site, Web, html, redirect
from tests.features.focus.test_traps import AMPLE, asked, words
from tests.store.rows import one

MANY = SMALL_SITE + 60


@pytest.fixture
def site(web: Web) -> Site:
    return web.site()


def listed(heading: str, names: list[tuple[str, str]], after: str = "9.99 EUR") -> Answer:
    """A page that says little but the names of others: (path, name)."""
    items = "".join(f'<li><a href="{path}">{name}</a> {after}</li>' for path, name in names)
    page = f"<!doctype html><html lang=en><body><main><h1>{heading}</h1><ul>{items}</ul></main></body></html>"
    return Answer(headers={"Content-Type": "text/html; charset=utf-8"}, body=page.encode())


def test_links_that_lead_back_by_a_redirect_are_a_trap(worker: Worker, site: Site) -> None:
    """To a random article, or to the login form."""
    links = [f"/random/{n}" for n in range(MANY)]
    site.pages |= {path: redirect("/login", 302) for path in links}
    site.pages |= {"/": html("/login", *links, text=words("/")), "/login": html(text=words("login"))}
    start(worker, site.url(), budgets=AMPLE)
    run(worker)
    assert len(asked(site, "/random")) <= 10


# where old URLs lead: to URLs of another shape, or of their own
@pytest.mark.parametrize("to", [lambda n: f"/article/name{n}", lambda n: f"/old/{n + 1_000}"])
def test_redirects_that_lead_to_news_are_followed(worker: Worker, site: Site, to: Callable[[int], str]) -> None:
    links = [f"/old/{n}" for n in range(MANY)]
    for n, path in enumerate(links):
        site.pages[path] = redirect(to(n))
        site.pages[to(n)] = html(text=words(n))
    site.pages["/"] = html(*links, text=words("/"))
    start(worker, site.url(), budgets=AMPLE)
    run(worker)
    assert {to(n) for n in range(MANY)} <= set(site.pages_asked)


def test_redirects_in_two_steps_to_news_are_followed(worker: Worker, site: Site) -> None:
    links = [f"/old/{n}" for n in range(MANY)]
    for n, path in enumerate(links):
        site.pages[path] = redirect(f"/go/{n}/on")
        site.pages[f"/go/{n}/on"] = redirect(f"/article/{n}x")
        site.pages[f"/article/{n}x"] = html(text=words(n))
    site.pages["/"] = html(*links, text=words("/"))
    start(worker, site.url(), budgets=AMPLE)
    run(worker)
    assert len(asked(site, "/article")) == MANY


def test_months_that_show_nothing_but_themselves_are_a_trap(worker: Worker, site: Site) -> None:
    def month(hit: Hit) -> Answer:
        number = int(hit.path.rpartition("=")[2])
        return listed(str(number), [(f"/calendar?month={number + n}", ">") for n in (1, 2, 3)], after="")

    days = {f"/calendar?month={n}": month for n in range(1_000)}
    site.pages |= days
    site.pages["/"] = html(*list(days)[:MANY], text=words("/"))
    start(worker, site.url(), budgets=AMPLE)
    run(worker)
    assert len(asked(site, "/calendar")) <= 10


def test_the_same_names_in_other_orders_are_a_trap(worker: Worker, site: Site) -> None:
    """Facets and sort orders; the things that are listed are all fetched."""
    things = [(f"/thing/{n}x", words(n)[:13]) for n in range(40)]
    site.pages |= {path: html(text=words(path)) for path, _ in things}
    orders = [f"/things?order={n}" for n in range(MANY)]
    for n, path in enumerate(orders):
        site.pages[path] = listed("Things", Random(n).sample(things, 20))
    site.pages["/things"] = listed("Things", things)
    site.pages["/"] = html("/things", *orders, text=words("/"))
    start(worker, site.url(), budgets=AMPLE)
    run(worker)
    assert len(asked(site, "/thing/")) == 40
    assert len(asked(site, "/things?")) < 10


def test_lists_that_name_pages_nobody_named_are_followed(worker: Worker, site: Site) -> None:
    """They say nothing but names, and some are refused before the first of what they name is fetched."""
    lists = [f"/list/{n}" for n in range(MANY)]
    for n, path in enumerate(lists):
        site.pages[path] = listed("List", [(f"/item/{n}x", words(n)[:20])])
        site.pages[f"/item/{n}x"] = html(text=words(n))
    site.pages["/"] = html(*lists, text=words("/"))
    start(worker, site.url(), budgets=AMPLE)
    run(worker)
    assert len(asked(site, "/item")) == MANY
    assert one(worker.engine, "SELECT count(*) FROM urls WHERE cause = 'trap'") == 0


def test_a_view_of_a_known_page_comes_later(worker: Worker, site: Site) -> None:
    near, far = [f"/page/{n}x" for n in range(10)], [f"/more/{n}x" for n in range(10)]
    site.pages |= {path: html(text=words(path)) for path in near + far}
    site.pages |= {f"{path}?ref=list": site.pages[path] for path in near}
    site.pages["/"] = html(*near, "/list", text=words("/"))
    site.pages["/list"] = html(*(f"{path}?ref=list" for path in near), *far, text=words("list"))
    start(worker, site.url(), budgets=Budgets(max_pages=22))
    run(worker)
    assert set(site.pages_asked) == {"/", "/list", *near, *far}


def test_pages_are_not_blamed_for_views_that_came_first(worker: Worker, site: Site) -> None:
    """Links of a campaign lead to them before their own do: their like are fetched all the same."""
    pages = [f"/page/{n}x" for n in range(MANY)]
    site.pages |= {path: html(text=words(path)) for path in pages}
    views = [f"{path}?ref=front" for path in pages[:-20]]
    site.pages |= {view: html("/all", text=words(view.partition("?")[0])) for view in views}
    site.pages["/"] = html(*views, text=words("/"))
    site.pages["/all"] = html(*pages, text=words("all"))
    start(worker, site.url(), budgets=AMPLE)
    run(worker)
    assert set(pages) <= set(site.pages_asked)
