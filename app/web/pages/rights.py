"""Rights: what the owner of a URL or a host allows, and how many pages of a crawl each verdict has."""

from starlette.requests import Request
from starlette.responses import Response

from app.admin import rights
from app.web.board import board_of
from app.web.render import page


def show(request: Request) -> Response:
    """The rights of a URL, a host or a crawl; without one, a form that asks for it."""
    shared, asked = board_of(request), request.query_params.get("u", "").strip()
    crawl = request.query_params.get("crawl", "").strip()
    return page(
        request,
        "rights.html",
        found=rights.of(shared.engine, shared.settings, asked) if asked else None,
        crawl_name=crawl,
        counted=rights.by_crawl(shared.engine, crawl) if crawl else None,
    )
