"""/metrics: the fleet's figures; /metrics/targets: the processes that have figures of their own, for `http_sd`.

They want a login where the dashboard has users, and no token. With TIPTOE_METRICS they stand on a port of their own,
too, without a login: Prometheus is no person.
"""

import orjson
from starlette.requests import Request
from starlette.responses import Response

from app.config import Settings
from app.metrics.targets import targets
from app.web.board import Board, board_of

_JSON = "application/json"


def metrics(request: Request) -> Response:
    """The fleet's figures."""
    from app.metrics.exposition import CONTENT_TYPE

    return Response(board_of(request).figures.page(), headers={"content-type": CONTENT_TYPE})


def listed(request: Request) -> Response:
    """The list for Prometheus."""
    return Response(orjson.dumps(targets(board_of(request).engine)), media_type=_JSON)


def serve_beside(settings: Settings, board: Board) -> None:
    """Serve both on the port of TIPTOE_METRICS, if it is set."""
    if settings.metrics is None:
        return
    from app.metrics.exposition import CONTENT_TYPE
    from app.metrics.serve import serve_pages

    pages = {
        "/metrics": lambda: (CONTENT_TYPE, board.figures.page()),
        "/metrics/targets": lambda: (_JSON, orjson.dumps(targets(board.engine))),
    }
    serve_pages(settings.metrics, pages, role="web")
