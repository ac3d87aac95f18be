"""A page as it is stored, and as the archive has it: its text, Markdown, source and headers; and what changed.

Nothing of a site is ever rendered: it is a text on a page of ours, or a file to be saved. A picture is taken of the
archived page, for one viewer at a time: Chromium opens it behind its guard, and sends nothing to any site.
"""

import re
import threading
from collections.abc import Sequence
from enum import StrEnum
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.responses import Response

from app import plugins
from app.admin import captures
from app.admin.captures import CapturedUrl, CapturePage
from app.errors import ArchiveMissing, InputError, SegmentElsewhere, ServiceError
from app.model import Capture
from app.policy import media_type
from app.web.board import Board, board_of
from app.web.render import page, refusal
from app.words import none_of

TEXT_CHARS = 50_000  # of a text: the whole of it is a download
SAVED = {
    "content-type": "application/octet-stream",
    "content-security-policy": "sandbox; default-src 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
}
taking = threading.BoundedSemaphore(1)


class CapturePart(StrEnum):
    """A part of a capture that is shown or saved."""

    TEXT = "text"
    MARKDOWN = "markdown"
    SOURCE = "source"


def stored(request: Request) -> Response:
    """A page of a crawl: what is stored of it, its text first, and its captures."""
    shared, query = board_of(request), request.query_params
    url, crawl = query.get("u", ""), query.get("crawl", "")
    row, captured = captures.stored(shared.engine, shared.settings, url, crawl), _captured(shared, url, crawl)
    if row is None and captured is None:
        remedy = f"crawl {crawl} has neither a text nor a capture of it; tiptoe url why {url} says why"
        raise InputError(url, remedy)
    text = (row and row["main_text"]) or ""
    is_cut = len(text) > TEXT_CHARS
    return page(
        request,
        "page.html",
        row=row,
        columns=plugins.columns_of(shared.settings.plugins, row and row["data"]),
        captured=captured,
        crawl=crawl,
        url=url,
        text=text[:TEXT_CHARS],
        is_cut=is_cut,
    )


def show(request: Request) -> Response:
    """One capture: `tiptoe page show` as a page. `at` and `plain` are as there."""
    shared, part = board_of(request), _part(request)
    found = _found(request)
    text = _text(shared, found, part)
    return page(
        request,
        "capture.html",
        found=found,
        both=_both(found.capture, found.captures),
        part=part,
        text=text[:TEXT_CHARS],
        is_cut=len(text) > TEXT_CHARS,
    )


def download(request: Request) -> Response:
    """A part of a capture as a file to be saved: its body byte for byte, its text, or its Markdown."""
    shared, part = board_of(request), _part(request)
    found = _found(request)
    content = found.answer.body if part is CapturePart.SOURCE else _text(shared, found, part).encode()
    return Response(content, headers={**SAVED, "content-disposition": named(file_name(found, part))})


def named(name: str) -> str:
    """The header of a file that is saved under a name of letters, digits, `-`, `_` and `.`."""
    return f'attachment; filename="{name}"'


def file_name(found: CapturePage, part: CapturePart) -> str:
    """The name of a saved file: of letters, digits, - and _ alone, whatever the URL is."""
    parts = urlsplit(found.capture.url)
    name = plain_name(f"{parts.hostname}{parts.path}") or "page"
    if part is CapturePart.TEXT:
        return f"{name}.txt"
    if part is CapturePart.MARKDOWN:
        return f"{name}.md"
    kind = media_type.of(found.answer.header("content-type") or found.capture.content_type, found.answer.body)
    return f"{name}.{'html' if media_type.is_html(kind) else 'txt' if media_type.is_text(kind) else 'bin'}"


def plain_name(text: str) -> str:
    """A name for a file, of letters, digits, - and _ alone; it may be empty."""
    return re.sub(r"[^A-Za-z0-9_-]+", "-", text).strip("-")[:100]


def _part(request: Request) -> CapturePart:
    asked = request.query_params.get("as") or CapturePart.TEXT
    try:
        return CapturePart(asked)
    except ValueError:
        raise InputError(f"as {asked!r}", none_of(asked, list(CapturePart))) from None


def _found(request: Request) -> CapturePage:
    """The capture that is asked for. Raises InputError."""
    shared, query = board_of(request), request.query_params
    try:
        return captures.show(
            shared.engine,
            shared.settings,
            query.get("u", ""),
            crawl=query.get("crawl") or None,
            at=query.get("at") or None,
            plain=_wants_plain(request),
        )
    except (ArchiveMissing, SegmentElsewhere) as error:
        raise InputError("this capture", str(error)) from error


def _text(shared: Board, found: CapturePage, part: CapturePart) -> str:
    match part:
        case CapturePart.TEXT:
            return captures.text_of(found.capture, found.answer, shared.settings)
        case CapturePart.MARKDOWN:
            return captures.markdown_apart(found.capture, found.answer, shared.settings)
        case CapturePart.SOURCE:
            return captures.html_of(found.capture, found.answer)


def _captured(shared: Board, url: str, crawl: str) -> CapturedUrl | None:
    try:
        return captures.captured(shared.engine, shared.settings, url, crawl)
    except InputError:  # there is none
        return None


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


def picture(request: Request) -> Response:
    """The picture as PNG. Raises InputError where nothing is archived, or no browser is here."""
    from app.admin import screenshot  # what a worker imports, for a page that few ask for

    shared, query = board_of(request), request.query_params
    if not taking.acquire(blocking=False):
        return refusal(request, shared, 429, "Another picture is being taken; ask again when it is there.")
    try:
        found = screenshot.take(
            shared.engine,
            shared.settings,
            query.get("u", ""),
            crawl=query.get("crawl") or None,
            at=query.get("at") or None,
        )
    except (ArchiveMissing, SegmentElsewhere) as error:
        raise InputError("this capture", str(error)) from error
    except ServiceError as error:
        return refusal(request, shared, 500, f"{error}.")
    finally:
        taking.release()
    return Response(
        found.png,
        media_type="image/png",
        headers={"x-content-type-options": "nosniff", "content-disposition": 'inline; filename="page.png"'},
    )
