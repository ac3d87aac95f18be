"""The first page: whether all is well, within ten seconds."""

from starlette.requests import Request
from starlette.responses import Response

from app.web.render import page


def show(request: Request) -> Response:
    return page(request, "overview.html")
