"""Makes a process's archive from the settings."""

from collections.abc import Callable
from importlib.metadata import version

from sqlalchemy import Engine

from app.config import Settings
from app.features.archive import retention
from app.features.archive.keeper import ArchiveKeeper
from app.features.archive.place import ArchivePlace
from app.features.archive.writer import ArchiveWriter, SegmentLimits


def make_keeper(
    settings: Settings, *, engine: Engine, worker: str, make_room: Callable[[], object] = lambda: None
) -> ArchiveKeeper | None:
    """The archive of a worker process; None where the text is not kept either: lean has none.

    make_room: as of `ArchiveKeeper`
    """
    if not settings.keep_text:
        return None
    place = ArchivePlace(settings.home, settings.archive)
    about = {
        "software": f"Tiptoe/{version('tiptoe')}",
        "format": "WARC File Format 1.1",
        "conformsTo": "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/",
        "robots": "RFC 9309",
        "hostname": place.node,
    }
    if settings.contact is not None:
        about["operator"] = settings.contact
    writer = ArchiveWriter(
        engine,
        place.folder,
        node=place.node,
        worker=worker,
        limits=SegmentLimits(settings.archive_segment_bytes, settings.archive_segment_s),
        about=about,
    )
    return ArchiveKeeper(
        writer,
        place,
        reserve_bytes=settings.archive_reserve_bytes,
        spool_bytes=settings.archive_spool_bytes,
        clean=lambda: retention.clean(engine, settings),
        make_room=make_room,
    )
