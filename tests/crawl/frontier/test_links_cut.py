"""A page with very many links: all of 9,000 are followed, and of more than 20,000 a page says that it has them."""

from collections.abc import Callable

from app.crawl.state.worker import Worker
from app.model import Budgets
from app.parse.html.html import read
from tests.admin.explain.explained import why
from tests.crawl.loop import run, start
from tests.crawl.web import Web, html
from tests.store.rows import one, sql


def test_as_many_links_as_are_read_are_not_cut() -> None:
    markup = b"".join(b"<a href=%d>x</a>" % n for n in range(10))
    for most, links, is_cut in ((11, 10, False), (10, 10, False), (9, 9, True), (0, 0, True)):
        page = read(markup, content_type="text/html", max_links=most)
        assert (len(page.links), page.links_cut) == (links, is_cut)


def test_links_of_a_page_and_of_a_settle_are_bounded(make: Callable[..., Worker], web: Web) -> None:
    """The second page of a batch gets the room that the first one left, and says so; a large first one fills it. The
    page of 9,000 is admitted whole; of the one of 20,010 at most 20,000 are, and `url why` names it for the last.
    """
    worker, site = make(settle_s=600.0), web.site()
    site.pages["/"] = html("/a", "/b")
    site.pages |= {"/a": html(*(f"/a{n}" for n in range(9_000))), "/b": html(*(f"/b{n}" for n in range(20_010)))}
    start(worker, site.url(), budgets=Budgets(max_pages=3))
    run(worker)
    urls = 20_003 if site.pages_asked == ["/", "/a", "/b"] else 29_003
    assert one(worker.engine, "SELECT count(*) FROM urls") == urls
    cut = sql(worker.engine, "SELECT url, links FROM pages WHERE links_cut")
    assert [(page["url"], page["links"]) for page in cut] == [(site.url("/b"), 20_000)]
    assert [each.links_cut for each in why(worker, site.url("/b20009")).elsewhere] == [[site.url("/b")]]
    assert one(worker.engine, "SELECT count(*) FROM urls WHERE url LIKE '%/a%'") == 9_001
    assert one(worker.engine, "SELECT links_cut FROM pages WHERE url LIKE '%/a'") is False
