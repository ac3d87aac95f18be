"""Workers, beat, queues and the archive."""

from starlette.requests import Request
from starlette.responses import Response

from app.admin import archive
from app.store import board
from app.web.board import board_of
from app.web.render import page

VISITS = 5_000


def show(request: Request) -> Response:
    """The fleet."""
    shared = board_of(request)
    with shared.fleet.reading(most=0) as (tx, now):
        workers = board.workers(tx, VISITS)
        sizes = board.sizes(tx)
        segments = archive.listed(tx, shared.settings)
    return page(
        request,
        "fleet.html",
        checks=shared.checks(),
        workers=workers,
        visits=VISITS,
        offers=now.offers,
        waits=now.waits,
        percent=now.sampled.percent,
        sizes=sizes,
        archive=segments,
    )
