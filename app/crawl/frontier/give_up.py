"""Gives up queued URLs of a host, with the settle: the host, or one of its origins, has had its tries."""

from dataclasses import dataclass

from app.crawl.state.batch import Batch
from app.crawl.state.part import SettlePart
from app.crawl.state.settling import Settling
from app.errors import DETAIL_CHARS
from app.model import Cause
from app.policy.lifecycle import UrlState
from app.store import urls


@dataclass(frozen=True, slots=True, kw_only=True)
class GivingUp:
    """Queued URLs of the host that end now.

    prefix        the prefix of these URLs, such as an origin; "" for all
    spares_fresh  leave out those of crawls that keep fresh
    """

    state: UrlState
    cause: Cause
    detail: str | None = None
    prefix: str = ""
    spares_fresh: bool = False


def quarantine(batch: Batch, cause: Cause, detail: str) -> None:
    """Quarantine the URLs of the host that are still queued."""
    batch.add(GIVE_UP, GivingUp(state=UrlState.QUARANTINED, cause=cause, detail=detail[:DETAIL_CHARS]))


def _write(settling: Settling) -> None:
    for visit in settling.visits:
        for ending in visit.batch.rows(GIVE_UP):
            visit.picked.unfetched -= urls.give_up(
                settling.tx,
                host_id=visit.host_id,
                state=ending.state,
                cause=ending.cause,
                detail=ending.detail,
                prefix=ending.prefix,
                spares_fresh=ending.spares_fresh,
            )


GIVE_UP: SettlePart[GivingUp] = SettlePart(
    name="give_up", rank=60, write=_write, words=lambda row: f"the end of {row.prefix or 'all its URLs'}"
)
