"""The comparison of pages comes to an end, whatever changes: what was compared waits no more."""

from app.beat.find_near import NearFound, find_near
from app.crawl.state.worker import Worker
from tests.beat.test_find_near import again, crawled, notes, prose
from tests.beat.test_find_near import site as site
from tests.crawl.web import Answer, Site, html
from tests.store.rows import one

TITLES = {"/a": "Waiting.Lazy", "/b": "Waiting.Strict"}  # of things that differ: for review


def read(path: str, times: int) -> Answer:
    return html(text=f"{prose()} Read {times} times.", title=TITLES[path])


def test_two_pages_for_review_do_not_make_each_other_wait(worker: Worker, site: Site) -> None:
    site.pages |= {path: read(path, times) for path, times in zip(TITLES, (17, 918), strict=True)}
    engine = crawled(worker, site)
    find_near(engine)
    ((page, _, original),) = notes(engine)
    site.pages[original] = read(original, 18)
    again(worker)
    found = find_near(engine, within_s=1.0)
    assert (found.pages, found.review) == (2, 1)
    assert one(engine, "SELECT count(*) FROM near_queue") == 0
    assert find_near(engine) == NearFound()
    assert notes(engine) == [(original, "review", page)], "it is the younger one now"
