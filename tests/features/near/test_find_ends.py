"""The comparison of pages comes to an end, whatever changes: what was compared waits no more."""

import tracemalloc

import pytest

from app.admin import edit
from app.crawl.state.worker import Worker
from app.features.near import rows
from app.features.near.find import Lots, NearFound, catch_up, find_near
from app.features.near.fingerprint import DUPLICATE_BITS
from app.model import CrawlChange
from tests.crawl.loop import run, start
from tests.crawl.web import Answer, Site, Web, html
from tests.features.near.test_find import again, crawled, notes, prose
from tests.features.near.test_find import site as site
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
    found = find_near(engine, within_s=10.0)
    assert (found.pages, found.review) == (2, 1)
    assert one(engine, "SELECT count(*) FROM near_queue") == 0
    assert find_near(engine) == NearFound()
    assert notes(engine) == [(original, "review", page)], "it is the younger one now"


# Pages of one settle are of one microsecond. Where their keys begin alike, too, as those of one pair in 2,048, a lot
# takes both or none.
@pytest.mark.parametrize(("backlog", "pages"), [(10_000, {2, 1}), (2, {4, 3}), (0, {5})])
def test_it_goes_on_past_its_share_while_many_pages_wait(
    worker: Worker, site: Site, backlog: int, pages: set[int]
) -> None:
    found = find_near(crawled(worker, site), within_s=0.0, lots=Lots(pages=2, backlog=backlog, most_s=60.0))
    assert found.pages in pages


def test_pages_are_compared_in_little_memory(worker: Worker, web: Web) -> None:
    """Twelve pages of 2,000 words and their mirrors: what two of them are compared by is not kept for the others."""
    sites = [web.site(), web.site()]
    for each in sites:
        each.pages["/"] = html(*(f"/{n}" for n in range(12)), text=prose(200, 9))
        each.pages |= {f"/{n}": html(text=f"{prose(2_000, n + 20)} Hosted by {each.url()}.") for n in range(12)}
    start(worker, *(each.url() for each in sites), scope="host")
    run(worker)
    tracemalloc.start()
    found = find_near(worker.engine)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found.near == 12
    assert peak < 8_000_000


def test_entries_of_a_reference_are_for_review(worker: Worker, web: Web) -> None:
    site = web.site()
    entries = ["/1/method.html", "/1/vfunc.html", "/2/method.html"]
    site.pages |= {path: html(text=f"{prose()} Read {n} times.", title="Add") for n, path in enumerate(entries)}
    site.pages["/"] = html(*entries, text=prose(200, 9))
    engine = crawled(worker, site)
    find_near(engine)
    found = {frozenset((page, original)): kind for page, kind, original in notes(engine)}
    assert found[frozenset({"/1/method.html", "/2/method.html"})] == "near"
    assert "review" in found.values()


def test_a_crawl_that_has_ended_is_compared_lot_by_lot(worker: Worker, site: Site) -> None:
    engine = crawled(worker, site)
    catch_up(engine, 1, within_s=60.0, pause=never, lots=Lots(pages=1, most_s=0.0))
    assert one(engine, "SELECT count(*) FROM near_queue") == 0
    assert len(notes(engine)) == 1


def test_no_page_is_compared_when_the_time_is_over(worker: Worker, site: Site) -> None:
    engine = crawled(worker, site)
    catch_up(engine, 1, within_s=0.0, pause=never)
    assert one(engine, "SELECT count(*) FROM near_queue") == 5


def test_another_process_that_compares_is_waited_for(worker: Worker, site: Site) -> None:
    engine = crawled(worker, site)
    with engine.connect() as other, other.begin() as held:
        assert len(rows.lot(other, 1, 100, most_bytes=10**6)) == 5
        catch_up(engine, 1, within_s=60.0, pause=held.rollback)
    assert one(engine, "SELECT count(*) FROM near_queue") == 0


def never() -> None:
    raise AssertionError("no other process compares")


def test_the_texts_of_a_lot_are_bounded(worker: Worker, site: Site) -> None:
    """Each lot is one page then, however many bytes that has."""
    engine = crawled(worker, site)
    assert find_near(engine, within_s=0.0, lots=Lots(octets=1)) == NearFound(pages=1)
    assert find_near(engine).pages == 4


def test_pages_of_a_host_are_compared_in_more_bits(worker: Worker, site: Site) -> None:
    site.pages |= {"/a": html(text=f"{prose()} of"), "/b": html(text=f"{prose()} {prose(15, 77)}")}
    engine = crawled(worker, site)
    find_near(engine)
    ((_, kind, _),) = notes(engine)
    assert kind == "review"
    assert one(engine, "SELECT bits FROM duplicates") > DUPLICATE_BITS


def test_a_crawl_that_is_switched_off_loses_its_fingerprints_as_pages_change(worker: Worker, site: Site) -> None:
    engine = crawled(worker, site)
    edit.edit(engine, worker.settings, "c", CrawlChange(near_duplicates=False))
    assert find_near(engine) == NearFound()
    assert one(engine, "SELECT count(*) FROM near_queue") == 0


def test_two_do_not_compare_the_same(worker: Worker, site: Site) -> None:
    engine = crawled(worker, site)
    with engine.begin() as other:
        assert len(rows.lot(other, 1, 2, most_bytes=10**6)) == 2
        assert find_near(engine) == NearFound(), "what is earlier than its own is not compared yet"
    assert find_near(engine).pages == 5
