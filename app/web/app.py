"""Makes the Starlette app: board, guard, routes, and a page for each error.

`app.web.guard` stands before all routes. One that may be asked without a login is named in its PUBLIC too. /healthz and
/readyz are for probes and want neither login nor token: they tell no name, address or number of what is crawled.
/metrics wants a login where the dashboard has users; with TIPTOE_METRICS it stands on a port of its own, too, without.

Each page is answered within PAGE_S, with itself or with word that it took too long. That is an ASGI middleware, so
that a new route cannot forget it. SQL ends at the deadline (`app.store.deadline`). What is still at work then, as a
text that is read, has GRACE_S more; after these its thread is left alone, and the viewer is told. Orders are not
stopped half-way, and what streams has no end of its own.
"""

import asyncio
import resource
import sys
from functools import partial
from typing import Final

import orjson
import structlog
from sqlalchemy import Engine
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app.admin.audit import audit
from app.admin.board.pulse import look, status
from app.admin.board.tally import tally
from app.admin.check import Grade
from app.admin.webhooks import WEBHOOKS
from app.config import Settings
from app.errors import InputError, ServiceError, TookTooLong
from app.metrics.fleet import FleetPage, targets
from app.runtime.once import Once
from app.store.deadline import took_too_long, within
from app.store.fleet import FleetWatch
from app.web import live, order
from app.web.board import POLITENESS, Board, Checks, Pulse, board_of, kept_s, of_crawl
from app.web.guard import WebGuard
from app.web.live import told
from app.web.pages import account, capture, changes, crawl, export_form, hosts, overview, pages_found, url
from app.web.render import ROOT, make_templates, refusal
from app.web.users import Users

_log = structlog.get_logger()
PAGE_S: Final = 20.0
GRACE_S: Final = 2.0
STREAMS: Final = frozenset({"/stream", "/changes/stream", "/export/file"})
STATUS: Final = 504
_WHAT = "this page"
_REMEDY = (
    "ask for less: one crawl, one host, or a narrower filter; or give a command, as `tiptoe page list` or "
    "`tiptoe crawl report`: those may take longer"
)
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
        counts=Once(of_crawl(partial(tally, engine)), kept_s=kept_s),
        exact=Once(of_crawl(partial(tally, engine, exactly=True)), kept_s=kept_s),
        proofs=Once(of_crawl(partial(audit, engine, settings)), kept_s=kept_s),
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


async def healthz(_: Request) -> Response:
    """The process lives and answers: its event loop runs. It asks nobody else."""
    return PlainTextResponse("ok\n")


def readyz(request: Request) -> Response:
    """503 with the names of the checks that fail; their reasons are for people, on the first page."""
    made = [check for check in board_of(request).checks.made() if check.name not in {POLITENESS, WEBHOOKS}]
    checks = {check.name: check.grade is not Grade.FAIL for check in made}
    return JSONResponse(
        {"ready": all(checks.values()), "checks": {name: "ok" if holds else "fail" for name, holds in checks.items()}},
        200 if all(checks.values()) else 503,
    )


def show_status(request: Request) -> Response:
    """How it goes, for a program. It wants a login where the pages do."""
    found = status(board_of(request).fleet, after=request.query_params.get("after", ""))
    found["hosts"] = {name: at and at.isoformat() for name, at in found["hosts"].items()}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return JSONResponse({**found, "memory": {"web_peak_bytes": peak}})


routes: list[BaseRoute] = [
    Route("/healthz", healthz),
    Route("/metrics", metrics),
    Route("/metrics/targets", listed),
    Route("/readyz", readyz),
    Route("/status", show_status),
    Route("/", overview.show),
    Route("/crawls", overview.crawls),
    Route("/crawl", crawl.show),
    Route("/crawl/counted", crawl.counted),
    Route("/refused", crawl.refused),
    Route("/hosts", hosts.show_list),
    Route("/host", hosts.show),
    Route("/url", url.show),
    Route("/rights", url.rights_page),
    Route("/url/capture", capture.show),
    Route("/url/diff", capture.diff),
    Route("/url/download", capture.download),
    Route("/pages", pages_found.pages),
    Route("/changes", changes.show),
    Route("/changes.atom", changes.atom),
    Route("/changes/stream", changes.stream),
    Route("/export", export_form.ask),
    Route("/export/file", export_form.save),
    Route("/page", capture.stored),
    Route("/page/picture", capture.picture),
    Route("/live", overview.live),
    Route("/errors", overview.errors),
    Route("/proof", hosts.proof),
    Route("/search", pages_found.search),
    Route("/items", pages_found.items),
    Route("/traps", pages_found.traps),
    Route("/duplicates", pages_found.duplicates),
    Route("/fleet", overview.fleet),
    Route("/orders", order.show_log),
    Route("/act/{key}", order.ask, methods=["GET"]),
    Route("/act/{key}", order.give, methods=["POST"]),
    Route("/login", account.login, methods=["POST"]),
    Route("/logout", account.logout, methods=["POST"]),
    Route("/stream", live.stream),
    Route("/history", live.history),
    Mount("/static", StaticFiles(directory=ROOT / "static")),
]


class PageDeadline:
    """The middleware. board: of this process.   seconds: that a page may take"""

    def __init__(self, app: ASGIApp, board: Board, seconds: float = PAGE_S) -> None:
        self._app, self._board, self._seconds = app, board, seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] not in {"GET", "HEAD"} or scope["path"] in STREAMS:
            await self._app(scope, receive, send)
            return
        is_begun = is_left = False

        async def told(message: Message) -> None:
            nonlocal is_begun
            if not is_left:
                is_begun = True
                await send(message)

        with within(self._seconds, what=_WHAT, remedy=_REMEDY):
            page = asyncio.ensure_future(self._app(scope, receive, told))
        done, _ = await asyncio.wait({page}, timeout=self._seconds + GRACE_S)
        if done or is_begun:
            await page
            return
        is_left = True
        page.add_done_callback(lambda ended: _note(ended, scope["path"]))
        error = took_too_long(self._seconds, _WHAT, _REMEDY)
        await refusal(Request(scope), self._board, STATUS, f"{error}.")(scope, receive, send)


def _note(ended: "asyncio.Future[None]", path: str) -> None:
    if not ended.cancelled() and ended.exception() is not None:
        _log.warning("web.page_failed", path=path, error=str(ended.exception()))
