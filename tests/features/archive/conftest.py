"""A writer on the module's own database, empty at the start of each test, and a folder of its own."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine

from app.config import load
from app.features.archive.read import Archive
from app.features.archive.writer import ArchiveWriter, SegmentLimits
from tests.store.rows import clean

MakeWriter = Callable[..., ArchiveWriter]


@pytest.fixture
def engine(database_url: str) -> Iterator[Engine]:
    with clean(database_url) as engine:
        yield engine


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Of the archive, as the settings of `archive` have it."""
    return tmp_path / "home" / "archive"


@pytest.fixture
def make_writer(engine: Engine, folder: Path) -> MakeWriter:
    """make_writer(segment_bytes=…, monotonic=…): a writer as a process has one."""

    def make(
        *, segment_bytes: int = 1_000_000, segment_s: float = 3_600, worker: str = "here:1", **given: object
    ) -> ArchiveWriter:
        return ArchiveWriter(
            engine,
            folder,
            node="here",
            worker=worker,
            limits=SegmentLimits(segment_bytes, segment_s),
            about={"software": "Tiptoe"},
            **given,  # type: ignore[arg-type]
        )

    return make


@pytest.fixture
def writer(make_writer: MakeWriter) -> Iterator[ArchiveWriter]:
    made = make_writer()
    yield made
    made.close_all()


@pytest.fixture
def archive(engine: Engine, tmp_path: Path) -> Archive:
    return Archive(engine, load(home=tmp_path / "home"))
