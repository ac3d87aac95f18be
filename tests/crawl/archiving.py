"""A worker with an archive of its own, and what a crawl left in it."""

from dataclasses import replace
from pathlib import Path

from sqlalchemy import Engine

from app.config import load
from app.crawl.state.worker import Worker
from app.features.archive.keep import ARCHIVE
from app.features.archive.keeper import ArchiveKeeper
from app.features.archive.place import ArchivePlace
from app.features.archive.read import Archive
from app.features.archive.verify import verify
from app.features.archive.writer import ArchiveWriter, SegmentLimits
from app.model import Capture
from tests.crawl.web import Site
from tests.features.archive.deposits import all_captures
from tests.features.archive.readers import is_accepted
from tests.features.archive.test_keeper import Clock


class Archiving:
    """A worker with an archive, and what is in it."""

    def __init__(self, worker: Worker, home: Path) -> None:
        self.place = ArchivePlace(home, None)
        writer = ArchiveWriter(
            worker.engine,
            self.place.folder,
            node=self.place.node,
            worker="w",
            limits=SegmentLimits(10**9, 3_600),
            about={},
        )
        self.clock = Clock()
        self.keeper = ArchiveKeeper(writer, self.place, reserve_bytes=0, spool_bytes=0, monotonic=self.clock)
        self.worker = replace(worker, resources={ARCHIVE: self.keeper})
        self.settings = load(home=home)
        self.archive = Archive(worker.engine, self.settings)

    @property
    def engine(self) -> Engine:
        return self.worker.engine

    def captures(self, site: Site) -> dict[str, Capture]:
        """The last capture of each path of a site."""
        return {each.url.removeprefix(site.url().rstrip("/")): each for each in all_captures(self.engine, 1)}

    def kinds(self, site: Site) -> dict[str, str]:
        return {path: each.kind for path, each in self.captures(site).items()}

    def close(self) -> list[Path]:
        """Make the segments final. Returns them; they are accepted by others' readers, and verified."""
        self.keeper.close()
        paths = sorted(self.place.folder.rglob("*.warc.gz"))
        assert is_accepted(*paths)
        assert verify(self.engine, self.settings, None).flaws == []
        return paths
