"""A capture of a page, and what changed between two: the site's answers, or what a browser made of them."""

from collections.abc import Sequence

from starlette.requests import Request
from starlette.responses import Response

from app.admin import captures
from app.errors import ArchiveMissing, InputError, SegmentElsewhere
from app.model import Capture
from app.web.board import board_of
from app.web.render import page

TEXT_CHARS = 50_000  # of main text: who wants more has `tiptoe page show`


def show(request: Request) -> Response:
    """One capture: `tiptoe page show` as a page. `at` and `plain` are as there."""
    shared, query = board_of(request), request.query_params
    try:
        found = captures.show(
            shared.engine,
            shared.settings,
            query.get("u", ""),
            crawl=query.get("crawl") or None,
            at=query.get("at") or None,
            plain=_wants_plain(request),
        )
        text = captures.text_of(found.capture, found.answer, shared.settings)
    except (ArchiveMissing, SegmentElsewhere) as error:
        raise InputError("this capture", str(error)) from error
    return page(
        request,
        "capture.html",
        found=found,
        both=_both(found.capture, found.captures),
        text=text[:TEXT_CHARS],
        is_cut=len(text) > TEXT_CHARS,
    )


def diff(request: Request) -> Response:
    """Two captures of a URL, passage by passage."""
    shared, query = board_of(request), request.query_params
    plain = _wants_plain(request)
    try:
        found = captures.compare(
            shared.engine,
            shared.settings,
            query.get("u", ""),
            crawl=query.get("crawl") or None,
            old=query.get("old") or None,
            new=query.get("new") or None,
            plain=plain,
        )
    except (ArchiveMissing, SegmentElsewhere) as error:
        raise InputError("these captures", str(error)) from error
    return page(request, "diff.html", found=found, plain=plain)


def _wants_plain(request: Request) -> bool:
    return request.query_params.get("plain") == "1"


def _both(shown: Capture, every: Sequence[Capture]) -> tuple[Capture, Capture] | None:
    """The site's answer and the document that a browser made of it, where the capture is one of them."""
    if shown.rendered_from is not None:
        pairs = [(each, shown) for each in every if each.id == shown.rendered_from]
    else:
        pairs = [(shown, each) for each in every if each.rendered_from == shown.id]
    return next(iter(pairs), None)
