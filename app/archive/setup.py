"""Makes a process's archive from the settings."""

from importlib.metadata import version

from sqlalchemy import Engine

from app.archive import retention
from app.archive.keeper import ArchiveKeeper
from app.archive.place import Place
from app.archive.writer import ArchiveWriter, Limits
from app.config import Settings


def make_keeper(settings: Settings, *, engine: Engine, worker: str) -> ArchiveKeeper | None:
    """The archive of a worker process; None where the text is not kept either: lean has none."""
    if not settings.keep_text:
        return None
    place = Place(settings.home, settings.archive)
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
        limits=Limits(settings.archive_segment_bytes, settings.archive_segment_s),
        about=about,
    )
    return ArchiveKeeper(
        writer,
        place,
        reserve_bytes=settings.archive_reserve_bytes,
        spool_bytes=settings.archive_spool_bytes,
        clean=lambda: retention.clean(engine, settings),
    )
