"""How a page's rendering ends: a row of the batch, done, failed, or due again; what the browser made is archived first.

Its record stands beside the plain answer that it was made from. Not where its owner wants no copy, or the plain answer
is not in the archive. What stands there already is not written again.
"""

from hashlib import sha256
from typing import Final

import structlog

from app.browser.values import Rendering
from app.crawl.state.visit import Visit
from app.features.archive.keep import CAPTURES, holds, keeper_of
from app.features.archive.rendered import RenderedDocument
from app.features.render.put_up import RENDERED
from app.features.render.take_in import TakenIn
from app.model import Url
from app.model.render import RenderEnding
from app.policy import backoff
from app.store import captures, db
from app.store.renders import RenderEnd, TakenRender
from app.store.url_rows import Due

ATTEMPTS_MOST: Final = 3
_log = structlog.get_logger()


def ended(visit: Visit, taken: TakenRender, found: Rendering, brought: TakenIn, *, cached: int) -> None:
    """It was rendered, and read as it stood.   cached: of its requests, those that were not sent"""
    row = _row(taken, state="done", found=found) | {"cached": cached}
    row |= {"brought": brought.brought, "text_sha256": brought.text_sha256, "changed": brought.changed}
    _end(visit, row)


def failed(visit: Visit, taken: TakenRender, cause: str) -> None:
    """No attempt can help."""
    _end(visit, _row(taken, state="failed", cause=cause))


def retried(visit: Visit, taken: TakenRender, cause: str, found: Rendering | None = None, *, cached: int = 0) -> None:
    """The attempt counts; the page is tried again, or has failed by now."""
    attempts = taken.attempts + 1
    if attempts >= ATTEMPTS_MOST:
        row = _row(taken, state="failed", cause=f"{cause}, {attempts} times", attempts=attempts, found=found)
    else:
        due_s = backoff.url_retry_s(attempts, visit.worker.rng)
        row = _row(taken, state="due", cause=cause, attempts=attempts, due_s=due_s, found=found)
    _end(visit, row | {"cached": cached})


def given_back(visit: Visit, taken: TakenRender, cause: str, *, due_s: float, takes: int = 0) -> None:
    """The page was not opened, and is not to blame.   takes: that count further, where it may be after all"""
    _end(visit, _row(taken, state="due", cause=cause, attempts=taken.attempts, due_s=due_s) | {"takes": takes})


def _end(visit: Visit, row: RenderEnd) -> None:
    visit.batch.add(RENDERED, row)
    _log.info("render.ended", state=row["state"], cause=row["cause"], ending=row["ending"], wall_ms=row["wall_ms"])


def _row(
    taken: TakenRender,
    *,
    state: str,
    cause: str | None = None,
    attempts: int = 0,
    due_s: float | None = None,
    found: Rendering | None = None,
) -> RenderEnd:
    return {
        "host_id": taken.host_id,
        "crawl_id": taken.crawl_id,
        "key": taken.key,
        "body_sha256": taken.body_sha256,
        "state": state,
        "cause": cause,
        "attempts": attempts,
        "takes": 0,
        "due_s": due_s,
        "ending": found.ending.value if found else None,
        "brought": None,
        "wall_ms": found.wall_s * 1000 if found else None,
        "cpu_ms": found.cpu_s * 1000 if found else None,
        "asked": found.asked if found else None,
        "answered": found.answered if found else 0,
        "cached": 0,
        "refused": {reason.value: n for reason, n in found.refused.items()} if found else None,
        "text_sha256": None,
        "changed": False,
    }


def check(visit: Visit, due: Due) -> None:
    """Raises ArchiveStopped where the document could not be kept."""
    keeper = keeper_of(visit.worker)
    if keeper is not None and holds(visit, due):
        keeper.check()


def keep(visit: Visit, due: Due, url: Url, taken: TakenRender, found: Rendering, made: TakenIn) -> None:
    """Write the document's records, and put its capture into the batch. Raises ArchiveStopped, ServiceError."""
    keeper = keeper_of(visit.worker)
    if keeper is None or not holds(visit, due) or not made.may_be_kept:
        return
    with db.transaction(visit.worker.engine) as tx:
        source = captures.rendered(
            tx, host_id=taken.host_id, crawl_id=taken.crawl_id, key=taken.key, body_sha256=taken.body_sha256
        )
    body_sha256 = sha256(made.body).digest()
    if source is None or source.standing == body_sha256:
        return
    refused = {f"refused-{reason.value}": n for reason, n in found.refused.items()}
    document = RenderedDocument(
        host_id=taken.host_id,
        crawl_id=taken.crawl_id,
        key=taken.key,
        url=source.url,
        rendered_at=visit.lease.database_time(visit.now()),
        status=source.status,
        source=source.id,
        source_record=source.record_id,
        body=made.body,
        body_sha256=body_sha256,
        text_sha256=made.text_sha256,
        at=made.at.text if made.at.key != url.key else None,
        is_cut=found.ending is RenderEnding.DOM,
        notes={"ending": found.ending.value, "wallTimeMs": round(found.wall_s * 1000), "asked": found.asked, **refused},
    )
    visit.batch.add(CAPTURES, keeper.append_rendered(document))
