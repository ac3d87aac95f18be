"""Pages that are read when their batch is settled: which, and that none is lost however the settle goes."""

from dataclasses import replace

import pytest

from app.crawl.page import later
from app.crawl.state.visit import Visit
from app.crawl.visit.visit import settle_alone, settle_together
from app.errors import ServiceError
from app.features.archive.keep import ARCHIVE
from app.model import VisitEnding
from tests.crawl.archiving import Archiving
from tests.crawl.loop import start
from tests.crawl.page.test_archiving_stops import random_text
from tests.crawl.page.test_taken_in import Faulty
from tests.crawl.web import Site, Web, html
from tests.features.archive.deposits import all_captures
from tests.features.archive.test_keeper import full_disk
from tests.runtime.gatherings import Basket, Make, gathered, gathering, site_of
from tests.store.rows import one, sql


@pytest.fixture
def basket() -> Basket:
    return Basket()


def unread(visits: list[Visit]) -> list[tuple[int, int]]:
    """Of each visit: pages that are still to be read, and results."""
    return [(len(visit.batch.unread), len(visit.batch.results)) for visit in visits]


def test_pages_are_read_with_their_batch(make: Make, web: Web, basket: Basket) -> None:
    worker = gathering(make, basket)
    sites = [site_of(web, 4) for _ in range(3)]
    start(worker, *(site.url() for site in sites))
    visits = gathered(worker, basket, 3)
    assert unread(visits) == [(1, 0)] * 3
    assert [visit.batch.urls for visit in visits] == [1] * 3
    before = one(worker.engine, "SELECT count(*) FROM pages")
    assert set(basket.settle().values()) == {VisitEnding.PARKED}
    assert one(worker.engine, "SELECT count(*) FROM pages") == before + 3
    assert sql(worker.engine, "SELECT outcome, count(*) AS n FROM urls WHERE fetched_at IS NOT NULL GROUP BY 1") == [
        {"outcome": "page", "n": 6}
    ]


@pytest.mark.parametrize(("chars", "waits"), [(later.LARGEST_BYTES // 2, 1), (later.LARGEST_BYTES, 0)])
def test_a_large_page_is_read_at_once(make: Make, web: Web, basket: Basket, chars: int, waits: int) -> None:
    worker = gathering(make, basket)
    site = web.site()
    site.pages |= {
        "/": html("/1", "/2"),
        "/1": html(text="word " * (chars // 5)),
        "/2": html(text="word " * (chars // 5)),
    }
    start(worker, site.url())
    assert unread(gathered(worker, basket, 1)) == [(waits, 1 - waits)]


def test_many_pages_that_wait_count_like_links(make: Make, web: Web, basket: Basket) -> None:
    worker = gathering(make, basket)
    start(worker, site_of(web, 4).url())
    (visit,) = gathered(worker, basket, 1)
    (page,) = visit.batch.unread
    assert visit.batch.links_expected == page.body_bytes // 200
    basket.settle()


def test_a_page_that_breaks_its_reading_costs_no_visit_of_its_group(make: Make, web: Web, basket: Basket) -> None:
    made = gathering(make, basket)
    worker = replace(made, reading=replace(made.reading, memory_gate=Faulty(ZeroDivisionError("of a bug"))))
    sites = [site_of(web, 3) for _ in range(3)]
    sites[1].pages |= {path: html(text="POISON") for path in sites[1].pages if path != "/"}
    start(worker, *(site.url() for site in sites))
    gathered(worker, basket, 3)
    assert set(basket.settle().values()) == {VisitEnding.PARKED}
    rows = sql(worker.engine, "SELECT h.name, count(*) AS n FROM pages JOIN hosts AS h ON h.id = host_id GROUP BY 1")
    assert {row["name"]: row["n"] for row in rows} == {site.host: 1 if site is sites[1] else 2 for site in sites}
    details = {row["detail"] for row in sql(worker.engine, "SELECT detail FROM urls WHERE cause IS NOT NULL")}
    assert details == {"reading it raised ZeroDivisionError: of a bug"}


def test_what_the_archive_cannot_take_is_settled_when_it_can(
    make: Make, web: Web, basket: Basket, archiving: Archiving
) -> None:
    worker = replace(gathering(make, basket), resources={ARCHIVE: archiving.keeper})
    sites = [_site(web) for _ in range(3)]
    start(worker, *(site.url() for site in sites))
    visits = gathered(worker, basket, 3)
    before = len(all_captures(worker.engine, 1))
    with full_disk(), pytest.raises(ServiceError, match="cannot be written"):
        settle_together(visits)
    assert len(all_captures(worker.engine, 1)) == before
    for visit in visits:
        assert settle_alone(visit).ending in {VisitEnding.NOTHING_DUE, VisitEnding.ARCHIVE_STOPPED}
    captures = all_captures(worker.engine, 1)
    held = {each.url: archiving.archive.read(each).body for each in captures}
    assert len(captures) == len(held), "each answer once, also the one that had to wait"
    assert all(held[site.url("/1")] == site.pages["/1"].body for site in sites)  # type: ignore[union-attr]


def _site(web: Web) -> Site:
    site = web.site()
    site.pages |= {"/": html("/1", text=site.host), "/1": html(text=f"{site.host} {random_text()[:60_000]}")}
    return site
