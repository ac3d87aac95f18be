"""Lists, verifies and prunes the archive, by the names of crawls."""

from sqlalchemy import Engine

from app.admin.crawls import find
from app.archive import retention, verify
from app.archive.retention import Pruned
from app.archive.verify import Verdict
from app.config import Settings
from app.errors import InputError
from app.model import Segment, SegmentState
from app.store import crawls, db, segments

DAYS_MOST = 100_000


def listed(engine: Engine, name: str | None, *, after: int = 0, limit: int = 1_000) -> list[tuple[str, Segment]]:
    """(crawl, segment) of a crawl, or of all, those that are deleted left out, the oldest first. Raises InputError."""
    crawl_id = find(engine, name).id if name is not None else None
    with db.transaction(engine) as tx:
        names = {crawl.id: crawl.name for crawl in crawls.every(tx)}
        found: list[Segment] = []
        while len(found) < limit:
            lot = segments.of_crawl(tx, crawl_id, after=after)
            if not lot:
                break
            after = lot[-1].id
            found += [each for each in lot if each.state != SegmentState.GONE]
    return [(names.get(each.crawl_id, f"crawl-{each.crawl_id}"), each) for each in found[:limit]]


def verified(engine: Engine, settings: Settings, name: str | None) -> Verdict:
    """Verify the segments of a crawl, or of all, that are within reach. Raises InputError, ServiceError."""
    return verify.verify(engine, settings, find(engine, name).id if name is not None else None)


def pruned(engine: Engine, settings: Settings, name: str | None, *, days: int) -> Pruned:
    """Delete closed segments that are older than this. Raises InputError, ServiceError, ArchiveMissing."""
    if not 0 <= days <= DAYS_MOST:
        raise InputError(f"--days {days}", f"is out of range; use 0 to {DAYS_MOST:,}")
    crawl_id = find(engine, name).id if name is not None else None
    return retention.prune(engine, settings, days=days, crawl_id=crawl_id)
