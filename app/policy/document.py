"""Finds the document of a page among its captures: a rendered one stands until an answer needs no browser. Pure.

captures.sql, export.sql and extractions.sql say the same of rows.
"""

from collections.abc import Sequence
from http import HTTPStatus

from app.model import Capture, CaptureKind


def document_of(captures: Sequence[Capture]) -> Capture | None:
    """The document of a URL; None without a page. captures: of that URL, the latest first."""
    for each in captures:
        if each.kind == CaptureKind.RENDERED:
            return each
        if each.kind == CaptureKind.PAGE and each.status != HTTPStatus.NOT_MODIFIED and not each.to_render:
            break
    return plain_of(captures)


def plain_of(captures: Sequence[Capture]) -> Capture | None:
    """The latest answer that was read as a page, or a 304 that confirms one."""
    return next((each for each in captures if each.kind == CaptureKind.PAGE), None)


def documents(captures: Sequence[Capture], latest: Capture) -> list[Capture]:
    """The documents from before `latest`. An answer that a browser was to open is one only beside its like."""
    return [
        each
        for each in captures
        if each.id < latest.id
        and each.kind in {CaptureKind.PAGE, CaptureKind.RENDERED}
        and (latest.to_render or not each.to_render)
    ]
