"""A link that was seen before costs no round trip (promise F12)."""

from datetime import UTC, datetime

from app.admin.crawls import find
from app.crawl.frontier import admit, pick
from app.crawl.state.finder import Outside
from app.crawl.state.worker import Worker
from app.crawl.state.worth import FoundAt
from app.model import Url
from app.store import db
from app.store.crawls import make_scope
from tests.crawl.loop import run, start
from tests.crawl.web import Web, html


def test_only_new_links_are_put_up_for_admission(worker: Worker, web: Web) -> None:
    site = web.site()
    site.pages |= {"/": html("/a", "/b"), "/a": html("/", "/b"), "/b": html("/a")}
    start(worker, site.url("/"), scope="any")
    run(worker)
    assert put_up(worker, site.url("/"), [site.url(path) for path in ("/a", "/new", "/b", "/")]) == [site.url("/new")]


def test_what_was_forgotten_is_put_up_again(worker: Worker, web: Web) -> None:
    """Its row may be gone: no link is lost for being remembered."""
    site = web.site()
    site.pages |= {"/": html("/a"), "/a": html()}
    start(worker, site.url("/"), scope="any")
    run(worker)
    worker.forget_rows()
    assert put_up(worker, site.url("/"), [site.url("/a")]) == [site.url("/a")]


def test_a_link_of_two_pages_of_a_batch_is_scored_once(worker: Worker, web: Web) -> None:
    """The settle takes the first of both. Where its page is a copy, the second stands for it, with its own place."""
    site = web.site()
    start(worker, site.url("/"), scope="any")
    crawl_id, finder = found_by(worker)
    link = worker.canon.canonicalise(site.url("/new"))
    assert isinstance(link, Url)
    first, second = (
        admit.candidates(finder, crawl_id, [link], FoundAt(site.url(path), depth, 0, relevance=0.0))[0]
        for path, depth in (("/a", 1), ("/b", 9))
    )
    assert (second.found_on, second.depth) == (site.url("/b"), 9)
    assert (second.score, second.score_parts) == (first.score, first.score_parts)


def put_up(worker: Worker, page: str, links: list[str]) -> list[str]:
    """Those links of a page that a settle would bring to the frontier."""
    crawl_id, finder = found_by(worker)
    found = [url for link in links if isinstance(url := worker.canon.canonicalise(link), Url)]
    return [each.url.text for each in admit.candidates(finder, crawl_id, found, FoundAt(page, 1, 0))]


def found_by(worker: Worker) -> tuple[int, Outside]:
    """The crawl, and one who finds links for it."""
    crawl = find(worker.engine, "c")
    finder = Outside(worker=worker, moment=datetime.now(UTC))
    finder.picked.scopes[crawl.id] = make_scope(crawl)
    with db.transaction(worker.engine) as tx:
        pick.load_worth(finder, tx, crawl.id, refuses=False)
    return crawl.id, finder
