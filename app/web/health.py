"""Health: /healthz says that this process serves, /readyz that the crawl can go on, /status how it goes, as JSON.

The first two are for probes and want neither login nor token: they tell no name, address or number of what is crawled.
"""

import resource
import sys

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from app.admin.board.readiness import status
from app.admin.doctor import Grade
from app.admin.webhooks import WEBHOOKS
from app.web.board import board_of
from app.web.checks import POLITENESS


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
