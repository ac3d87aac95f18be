"""/metrics: the fleet's figures; /metrics/targets: the processes that have figures of their own, for `http_sd`.

They want a login where the dashboard has users, and no token. With TIPTOE_METRICS they stand on a port of their own,
too, without a login: Prometheus is no person.
"""

from functools import lru_cache

import orjson
from sqlalchemy import Engine
from starlette.requests import Request
from starlette.responses import Response

from app.config import Settings
from app.metrics.fleet import FleetPage
from app.metrics.targets import targets
from app.web.board import board_of

_JSON = "application/json"


def metrics(request: Request) -> Response:
    """The fleet's figures."""
    from app.metrics.exposition import CONTENT_TYPE

    board = board_of(request)
    return Response(
        _fleet(board.engine, board.settings.queue_names, board.settings.offer_s).page(),
        headers={"content-type": CONTENT_TYPE},
    )


def listed(request: Request) -> Response:
    """The list for Prometheus."""
    return Response(orjson.dumps(targets(board_of(request).engine)), media_type=_JSON)


def serve_beside(settings: Settings, engine: Engine) -> None:
    """Serve both on the port of TIPTOE_METRICS, if it is set."""
    if settings.metrics is None:
        return
    from app.metrics.exposition import CONTENT_TYPE
    from app.metrics.serve import serve_pages

    pages = {
        "/metrics": lambda: (CONTENT_TYPE, _fleet(engine, settings.queue_names, settings.offer_s).page()),
        "/metrics/targets": lambda: (_JSON, orjson.dumps(targets(engine))),
    }
    serve_pages(settings.metrics, pages, role="web")


@lru_cache(maxsize=1)
def _fleet(engine: Engine, queues: tuple[str, ...], offer_s: float) -> FleetPage:
    """One for both ports: however many ask, Postgres is read once in a while."""
    return FleetPage(engine, queues, offer_s=offer_s)
