"""The first page: whether all is well, within ten seconds; and all crawls, requests, failures, and the fleet."""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from app.admin import archive
from app.admin.board import lists
from app.admin.board.pulse import look
from app.admin.failing import how, remedy
from app.store import board, db
from app.web.board import board_of
from app.web.live import crawl_texts, told, tone_of
from app.web.render import page

CRAWLS_MOST = 500
VISITS = 100
RUNNING = 5_000


def show(request: Request) -> Response:
    """The overview."""
    shared = board_of(request)
    checks = shared.checks()
    if any(check.name in {"schema", "postgres"} and check.remedy for check in checks):
        return page(request, "not_ready.html", status=503, checks=checks)
    now = look(shared.fleet)
    return page(
        request,
        "overview.html",
        crawls=[(crawl, crawl_texts(crawl)) for crawl in now.crawls],
        pulse=now,
        live=told(now, checks),
        orders=lists.orders(shared.engine, n=5),
    )


def crawls(request: Request) -> Response:
    """All crawls, by name of state."""
    shared = board_of(request)
    with db.transaction(shared.engine) as tx:
        found = board.crawls(tx, CRAWLS_MOST)
    return page(request, "crawls.html", crawls=found, most=CRAWLS_MOST)


def live(request: Request) -> Response:
    """The newest requests, and the visits that run."""
    shared = board_of(request)
    after = request.query_params.get("after", "")
    lot = lists.requests(shared.engine, after=after)
    with db.transaction(shared.engine) as tx:
        running = board.visiting(tx, VISITS)
    rows = [(row, tone_of(row)) for row in lot.rows]
    return page(request, "live.html", rows=rows, next=lot.next, running=running, is_newest=not after)


def errors(request: Request) -> Response:
    """Failures of the last day by host and by class, of a crawl or of all."""
    crawl = request.query_params.get("crawl") or None
    shared = board_of(request)
    found = lists.errors(shared.engine, crawl)
    by_host = lists.failing(shared.engine, crawl)
    more: dict[str, Any] = {"newest": board.NEWEST, "remedy": remedy, "how": how}
    return page(request, "errors.html", errors=found, by_host=by_host, crawl=crawl, **more)


def fleet(request: Request) -> Response:
    """The fleet."""
    shared = board_of(request)
    with shared.fleet.reading(most=0) as (tx, now):
        workers = board.workers(tx, RUNNING)
        sizes = board.sizes(tx)
        segments = archive.listed(tx, shared.settings)
    return page(
        request,
        "fleet.html",
        checks=shared.checks(),
        workers=workers,
        visits=RUNNING,
        offers=now.offers,
        waits=now.waits,
        percent=now.sampled.percent,
        sizes=sizes,
        archive=segments,
    )
