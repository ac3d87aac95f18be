"""Makes the Starlette app: board, guard, routes, and a page for each error."""

from functools import partial

from sqlalchemy import Engine
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response

from app.admin.audit import audit
from app.admin.board.pulse import look
from app.admin.board.tally import tally
from app.config import Settings
from app.errors import InputError, ServiceError, TookTooLong
from app.metrics.fleet import FleetPage
from app.store.fleet import FleetWatch
from app.web.board import Board, board_of
from app.web.checks import Checks
from app.web.deadline import PAGE_S, STATUS, PageDeadline
from app.web.guard import WebGuard
from app.web.live import told
from app.web.once import Once
from app.web.pulse import Pulse
from app.web.render import make_templates, refusal
from app.web.routes import routes
from app.web.users import Users


def make_app(settings: Settings, engine: Engine, *, page_s: float = PAGE_S) -> Starlette:
    """The app of one process. engine: its own.   page_s: that a page may take"""
    fleet = FleetWatch(engine, settings.queue_names)
    checks = Checks(fleet, settings)
    board = Board(
        settings=settings,
        engine=engine,
        users=Users(settings),
        fleet=fleet,
        figures=FleetPage(fleet, offer_s=settings.offer_s),
        pulse=Pulse(lambda: told(look(fleet), checks())),
        checks=checks,
        counts=Once(partial(tally, engine)),
        exact=Once(partial(tally, engine, exactly=True)),
        proofs=Once(partial(audit, engine, settings)),
        templates=make_templates(),
    )

    app = Starlette(
        routes=routes,
        middleware=[Middleware(WebGuard, board=board), Middleware(PageDeadline, board=board, seconds=page_s)],
        exception_handlers={
            HTTPException: _not_there,
            InputError: _bad_input,
            ServiceError: _no_service,
            TookTooLong: _too_long,
        },
    )
    app.state.board = board
    return app


async def _not_there(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    why = "There is no such page." if error.status_code == 404 else error.detail
    return refusal(request, board_of(request), error.status_code, why)


async def _bad_input(request: Request, error: Exception) -> Response:
    return refusal(request, board_of(request), 400, f"{error}.")


async def _too_long(request: Request, error: Exception) -> Response:
    return refusal(request, board_of(request), STATUS, f"{error}.")


async def _no_service(request: Request, error: Exception) -> Response:
    return refusal(request, board_of(request), 503, f"{error}. This page tries again by itself.")
