"""Serves what a person asks of the archive: what is there, whether it is sound, pruning it, reading its pages again.

No site is asked for anything.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, Engine

from app.admin import crawls
from app.admin.check import Check, Grade, broken
from app.admin.crawls import find
from app.beat.reread_pages import Reread, Rereading, make_readers
from app.config import Settings
from app.errors import InputError, TiptoeError
from app.features.archive import retention, verify
from app.features.archive.place import ArchivePlace
from app.features.archive.retention import Pruned
from app.features.archive.verify import Verification
from app.parse.html.html import READER
from app.store import db, reread, segments
from app.store.segments import ArchiveNode, SegmentTotals
from app.words import sized


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveListing:
    """The contents of the archive.   place: where it is;   totals: by crawl and state;   nodes: that write to it"""

    place: str
    totals: Sequence[SegmentTotals]
    nodes: Sequence[ArchiveNode]


def listing(engine: Engine, settings: Settings, crawl: str | None = None) -> ArchiveListing:
    """The segments of a crawl, or of all, counted. Raises InputError for a crawl that does not exist."""
    crawl_id = None if crawl is None else crawls.find(engine, crawl).id
    with db.transaction(engine) as tx:
        return listed(tx, settings, crawl_id)


def listed(tx: Connection, settings: Settings, crawl_id: int | None = None) -> ArchiveListing:
    """List segments in the caller's transaction."""
    return ArchiveListing(
        place=str(ArchivePlace(settings.home, settings.archive)),
        totals=segments.summary(tx, crawl_id),
        nodes=segments.nodes(tx),
    )


def check(engine: Engine, settings: Settings, crawl: str | None = None) -> Verification:
    """Verify every record that is here or in the object store, and pointers both ways.

    Raises InputError, ServiceError.
    """
    return verify.verify(engine, settings, None if crawl is None else crawls.find(engine, crawl).id)


def check_age(days: int) -> None:
    """Raise InputError unless segments can be so old."""
    if days < 0:
        raise InputError(f"{days} days", "is not possible; write 0 days or more (0: all closed segments)")


def prune(engine: Engine, settings: Settings, *, days: int, crawl: str | None = None) -> Pruned:
    """Delete segments that were closed more than `days` ago. Raises InputError, ServiceError, ArchiveMissing."""
    check_age(days)
    crawl_id = None if crawl is None else crawls.find(engine, crawl).id
    return retention.prune(engine, settings, days=days, crawl_id=crawl_id)


def erase(engine: Engine, settings: Settings, *, crawl: str | None = None) -> Pruned:
    """Rewrite segments without the records of withdrawn pages. Raises InputError, ServiceError, ArchiveMissing."""
    crawl_id = None if crawl is None else crawls.find(engine, crawl).id
    return retention.erase(engine, settings, crawl_id=crawl_id)


def health(engine: Engine, settings: Settings) -> list[Check]:
    """Check the archive's place from here, and what its nodes report. The schema must be at head."""
    if not settings.keep_text:
        return [Check(name="archive", grade=Grade.OK, finding="none: TIPTOE_KEEP_TEXT is off")]
    place = ArchivePlace(settings.home, settings.archive)
    found: list[Check] = []
    if place.remote is not None:
        try:
            place.remote.check()
        except TiptoeError as error:
            found.append(broken("archive", error))
    with db.transaction(engine) as tx:
        nodes = segments.nodes(tx)
    found += [_node(node) for node in nodes if node.stopped_because or node.trouble]
    return found or [Check(name="archive", grade=Grade.OK, finding=str(place))]


def _node(node: ArchiveNode) -> Check:
    if node.stopped_because is not None:
        what, _, remedy = node.stopped_because.rpartition("; ")
        return Check(
            name="archive",
            grade=Grade.FAIL,
            finding=f"nothing is fetched on {node.node}: {what}",
            remedy=remedy,
        )
    return Check(
        name="archive",
        grade=Grade.WARN,
        finding=f"{node.node} cannot upload: {node.trouble}",
        remedy=f"{sized(node.waiting_bytes)} wait on its disk, and are tried again",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RereadCrawl:
    """A crawl whose pages were read again.   left: texts that an earlier version found, and that stay as they are"""

    crawl: str
    found: Reread
    left: int


def reread_crawl(
    engine: Engine, settings: Settings, name: str, *, tell: Callable[[Reread], object] = lambda _: None
) -> RereadCrawl:
    """Read all pages again whose text another version of the reader found.

    tell: called after each lot with what was found so far. Raises InputError, ServiceError.
    """
    crawl = find(engine, name)
    readers = make_readers(settings)
    reading = Rereading(engine, settings, crawl.id, readers)
    try:
        while reading.lot():
            tell(reading.found)
    finally:
        readers.close()
    with db.transaction(engine) as tx:
        left = reread.waiting(tx, crawl_id=crawl.id, reader=READER)
    return RereadCrawl(crawl=name, found=reading.found, left=left)
