"""The first page: whether all is well, within ten seconds; and all crawls."""

from starlette.requests import Request
from starlette.responses import Response

from app.admin.board import lists
from app.admin.board.pulse import look
from app.store import board, db
from app.web.board import board_of
from app.web.live import crawl_texts, told
from app.web.render import page

LATEST_ORDERS = 5
CRAWLS_MOST = 500


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
        orders=lists.orders(shared.engine, n=LATEST_ORDERS),
    )


def crawls(request: Request) -> Response:
    """All crawls, by name of state."""
    shared = board_of(request)
    with db.transaction(shared.engine) as tx:
        found = board.crawls(tx, CRAWLS_MOST)
    return page(request, "crawls.html", crawls=found, most=CRAWLS_MOST)
