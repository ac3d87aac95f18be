"""Writes the events of pages, by the hooks: in the settle that changes them, behind all that it writes of them."""

from collections.abc import Sequence

import structlog
from sqlalchemy import Engine

from app.config import Settings
from app.crawl.page.attempt import Attempt
from app.crawl.page.read import PAGES
from app.crawl.state.part import SettlePart, SettleStep
from app.crawl.state.settling import Settling
from app.crawl.state.visit import Visit
from app.features.changes import deliver, rows
from app.features.changes.rows import TurnedUrl
from app.hooks import Janitor, answers
from app.model import Outcome
from app.policy.lifecycle import UrlState


def _write(settling: Settling) -> None:
    """Write what a settle made new, changed, and deleted. A page that is there again has one event alone."""
    again = settling.brought.get(TURNED, ())
    kept = [page for page in settling.brought[PAGES] if page.is_changed and page[:3] not in again]
    rows.dropped(settling.tx, settling.dropped)
    rows.kept(settling.tx, kept)


TURNED: SettlePart[TurnedUrl] = SettlePart(
    name="turned",
    rank=194,
    write=lambda settling: rows.turned(settling.tx, settling.rows(TURNED)),
    words=lambda _: "that a page is gone, or there again",
)


@answers
def steps() -> Sequence[SettleStep]:
    return [TURNED, SettleStep(name="changes", rank=195, write=_write)]


@answers
def janitors() -> Sequence[Janitor]:
    return [
        Janitor(name="forget_changes", every_s=60.0, act=forget),
        Janitor(name="webhooks", every_s=1.0, act=deliver.deliver),
    ]


@answers
def answered(visit: Visit, attempt: Attempt) -> None:
    """Note a URL whose page may be gone now, or there again. Of a URL that never had a page nothing is noted."""
    due, result = attempt.due, attempt.brought.result
    if result is None or (due.known.text_sha256 is None and due.gone_at is None):
        return
    is_gone = result["state"] == UrlState.GONE
    if due.gone_at is None if is_gone else due.gone_at is not None and _is_page(result["outcome"]):
        row: TurnedUrl = {
            "host_id": visit.host_id,
            "crawl_id": due.crawl_id,
            "key": due.key,
            "was_gone": not is_gone,
        }
        visit.batch.add(TURNED, row)


def _is_page(outcome: str | None) -> bool:
    return outcome in {Outcome.PAGE, Outcome.UNCHANGED}


# Keeps the events within their time: old ones go, but for the last of each page that is there.


LOTS = 20  # of a run
_log = structlog.get_logger()


def forget(engine: Engine, settings: Settings) -> int:
    """Delete old events, a number of lots. Returns how many."""
    forgotten = 0
    for _ in range(LOTS):
        looked, gone = rows.forget(engine, keep_days=settings.changes_keep_days)
        forgotten += gone
        if looked < rows.FORGOTTEN_AT_ONCE:
            break
    if forgotten:
        _log.info("changes.forgotten", events=forgotten)
    return forgotten
