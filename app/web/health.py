"""Health: /healthz says that this process serves, /readyz that the crawl can go on, /status how it goes, as JSON.

The first two are for probes and want no login: they tell no name, address or number of anything that is crawled.
"""

import resource
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from sqlalchemy import Engine
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from app.admin.board.readiness import readiness, status
from app.admin.doctor import Check, Grade
from app.config import Settings
from app.web.board import board_of
from app.web.broker import broker_answers

CHECKED_EVERY_S = 3.0


def checks_of(engine: Engine, settings: Settings) -> Sequence[Check]:
    """Check what a crawl needs: readiness, and a broker that answers."""
    found = readiness(engine, settings).checks
    if settings.broker_url is None:
        return found
    if broker_answers(settings.broker_url):
        return [*found, Check(name="broker", grade=Grade.OK, finding="answers")]
    remedy = "start it, or see its log: due hosts wait for it, and nothing is lost"
    return [*found, Check(name="broker", grade=Grade.FAIL, finding="does not answer", remedy=remedy)]


@dataclass(slots=True)
class Checks:
    """The checks for all viewers of a process: looked at once in a while, however many ask."""

    engine: Engine
    settings: Settings
    _at: float = float("-inf")
    _found: Sequence[Check] = ()
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __call__(self) -> Sequence[Check]:
        with self._lock:
            if time.monotonic() - self._at >= CHECKED_EVERY_S:
                self._found = checks_of(self.engine, self.settings)
                self._at = time.monotonic()
            return self._found


async def healthz(_: Request) -> Response:
    """The process lives and answers: its event loop runs. It asks nobody else."""
    return PlainTextResponse("ok\n")


def readyz(request: Request) -> Response:
    """503 with the names of the checks that fail; their reasons are for people, on the first page."""
    shared = board_of(request)
    checks = {check.name: check.grade is not Grade.FAIL for check in checks_of(shared.engine, shared.settings)}
    return JSONResponse(
        {"ready": all(checks.values()), "checks": {name: "ok" if holds else "fail" for name, holds in checks.items()}},
        200 if all(checks.values()) else 503,
    )


def show_status(request: Request) -> Response:
    """How it goes, for a program. It wants a login where the pages do."""
    found = status(board_of(request).engine, after=request.query_params.get("after", ""))
    found["hosts"] = {name: at and at.isoformat() for name, at in found["hosts"].items()}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return JSONResponse({**found, "memory": {"web_peak_bytes": peak}})
