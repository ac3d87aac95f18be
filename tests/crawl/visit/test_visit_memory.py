"""What a visit holds in memory is bounded, however much a site says."""

from collections.abc import Callable

from app.crawl.frontier import admit as admit
from app.crawl.state.worker import Worker
from app.crawl.visit import visit
from app.model import Budgets
from app.runtime.group_commit import SETTLE_LINKS
from tests.crawl.loop import run, start
from tests.crawl.visit.losses import offers
from tests.crawl.web import Answer, Hit, Site, Web, html
from tests.store.rows import one

LINKS = 2_500


def links(page: int) -> list[str]:
    return [f"/{page}/{number}" for number in range(LINKS)]


def test_links_are_settled_before_they_are_too_many(make: Callable[..., Worker], web: Web) -> None:
    worker = make(settle_s=3_600.0, visit_max_s=3_600.0)
    site = web.site()
    known: list[int] = []

    def page(hit: Hit) -> Answer:
        known.append(one(worker.engine, "SELECT count(*) FROM urls"))
        return html(*links(len(known)))

    pages = SETTLE_LINKS // LINKS + 1
    site.pages = {f"/{number}": page for number in range(pages)}
    start(worker, *(site.url(path) for path in site.pages), budgets=Budgets(max_pages=pages))
    run(worker)
    assert known == [pages] * (pages - 1) + [pages + SETTLE_LINKS]


def test_only_short_references_are_kept_for_the_visit(worker: Worker, web: Web) -> None:
    site = web.site()
    site.pages["/"] = html("/" + "x" * admit.LONGEST_JOIN, "/" + "y" * (admit.LONGEST_JOIN - 1))
    start(worker, site.url(), budgets=Budgets(max_depth=0))
    joined = joined_by(worker, site)
    assert [len(href) for _, href in joined] == [admit.LONGEST_JOIN]


def joined_by(worker: Worker, site: Site) -> dict[tuple[str, str], object]:
    """What the one visit to it has kept at its end."""
    (offer,) = offers(worker)
    taken = visit.take_up(worker, offer.host_id, offer.token)
    assert taken is not None
    visit.go_on(taken)
    assert site.pages_asked == ["/"]
    return dict(taken.picked.joined)
