"""A picture of a page from the archive: `tiptoe page show --screenshot` as a link. Nothing is sent to any site.

Chromium opens the page behind its guard, for one viewer at a time, in the seconds that a rendering may take.
"""

import threading

from starlette.requests import Request
from starlette.responses import Response

from app.errors import ArchiveMissing, InputError, SegmentElsewhere, ServiceError
from app.web.board import board_of
from app.web.render import refusal

taking = threading.BoundedSemaphore(1)
HEADERS = {"x-content-type-options": "nosniff", "content-disposition": 'inline; filename="page.png"'}


def show(request: Request) -> Response:
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
    return Response(found.png, media_type="image/png", headers=HEADERS)
