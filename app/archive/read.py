"""Reads captures back from the archive: by segment, offset and length."""

from sqlalchemy import Engine

from app.config import Settings
from app.model import Archived, Capture


class Archive:
    """Reads captures of any segment that is here or in the object store. It keeps what it knows of segments.

    Not for several threads.
    """

    def __init__(self, engine: Engine, settings: Settings) -> None:
        self._engine = engine
        self._settings = settings

    def read(self, capture: Capture) -> Archived:
        """The answer that a capture points to, its body content-decoded. A revisit has the body of what it refers to.

        Raises ArchiveMissing, SegmentElsewhere, ServiceError.
        """
        raise NotImplementedError


def read(engine: Engine, settings: Settings, capture: Capture) -> Archived:
    """Read one capture. For many of them make one `Archive`."""
    return Archive(engine, settings).read(capture)
