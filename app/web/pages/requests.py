"""Requests: those that come in now, and failures by class with an example of each."""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from app.admin.board import lists
from app.admin.failing import how, remedy
from app.store import board, db
from app.web.board import board_of
from app.web.live import tone_of
from app.web.render import page

VISITS = 100


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
