"""Notes for handlers what comes into the archive, by the hooks."""

from collections.abc import Mapping, Sequence
from http import HTTPStatus

import structlog
from sqlalchemy import Connection

from app.crawl.state.part import SettleStep
from app.crawl.state.settling import Settling
from app.errors import InputError, ServiceError
from app.features.archive.keep import CAPTURES
from app.features.extract.process import specs_of
from app.hooks import Opening, answers
from app.model import CaptureKind
from app.model.handler import HandlerSpec
from app.store import extractions
from app.store.extractions import DuePage

HANDLERS = "handlers"  # the worker's resource: Sequence[HandlerSpec]
_log = structlog.get_logger()


def _due(settling: Settling) -> None:
    """Note for handlers what is in the archive now, and what a browser made of it. A 304 brings nothing."""
    handlers: Sequence[HandlerSpec] = settling.visits[0].worker.resources.get(HANDLERS, ())
    ids = settling.brought.get(CAPTURES, {})
    if not handlers or not ids:
        return
    due = [
        DuePage(
            row.host_id,
            row.crawl_id,
            row.key,
            row.url,
            ids[row.segment_id, row.at_offset],
            row.body_sha256,
            row.to_render,
        )
        for row in settling.rows(CAPTURES)
        if row.kind in {CaptureKind.PAGE, CaptureKind.RENDERED} and row.status != HTTPStatus.NOT_MODIFIED
    ]
    extractions.due(settling.tx, due, handlers)


@answers
def resources(opening: Opening) -> Mapping[str, object]:
    """The handlers that get pages. Where they do not load the crawl goes on: a run over the archive makes up for it."""
    settings = opening.settings
    if not settings.handlers:
        return {}
    try:
        return {
            HANDLERS: specs_of(
                settings.handlers, memory_bytes=settings.handler_memory_bytes, variables=settings.handler_variables
            )
        }
    except (InputError, ServiceError) as error:
        _log.error("handlers.not_loaded", error=str(error))
        return {}


@answers
def steps() -> Sequence[SettleStep]:
    return [SettleStep(name="extractions", rank=190, write=_due)]


@answers
def backlog(tx: Connection) -> Mapping[str, int]:
    return {"handlers": extractions.waiting(tx, most=20_000)}  # counted no further


@answers
def hosts_deleted(tx: Connection, crawl_id: int, after: int, until: int) -> None:
    extractions.hosts_deleted(tx, crawl_id, after=after, until=until)
