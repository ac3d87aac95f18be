"""No file descriptor is left for the archive: it stops, keeps none, and goes on when there are some again."""

import os
from pathlib import Path

import pytest
from sqlalchemy import Engine

from app.errors import ArchiveStopped
from app.features.archive import segment
from app.features.archive.keeper import LOOK_S, ArchiveKeeper
from app.features.archive.place import ArchivePlace
from tests.descriptors import few_descriptors, open_files
from tests.features.archive import answers
from tests.features.archive.conftest import MakeWriter
from tests.features.archive.deposits import deposit
from tests.features.archive.test_keeper import Clock
from tests.store.rows import make_crawl

NEEDED = 3  # the segment, its index, and their folder to sync their names


@pytest.mark.parametrize("left", range(NEEDED))
def test_a_segment_that_cannot_be_opened_leaves_nothing(
    left: int, engine: Engine, make_writer: MakeWriter, folder: Path
) -> None:
    writer, answer = make_writer(), answers.recording(crawl_id=make_crawl(engine))
    for _ in range(3):
        with few_descriptors(left), pytest.raises(ArchiveStopped, match=r"Too many open files.*; raise `ulimit -n`"):
            writer.append(answer)
        assert open_files(folder) == []
        assert [path for path in folder.rglob("*") if path.is_file()] == []
    with few_descriptors(NEEDED):
        deposit(writer, answer)
    assert len(open_files(folder)) == NEEDED - 1
    writer.close_all()
    assert open_files(folder) == []


def test_idle_connections_give_way_to_the_archive(engine: Engine, make_writer: MakeWriter) -> None:
    """The keeper gives up what it was told may be given up, and writes with what that held."""
    idle = [os.dup(0) for _ in range(NEEDED)]

    def make_room() -> None:
        while idle:
            os.close(idle.pop())

    clock, writer, answer = Clock(), make_writer(), answers.recording(crawl_id=make_crawl(engine))
    place = ArchivePlace(writer.folder.parent, None)
    keeper = ArchiveKeeper(writer, place, reserve_bytes=0, spool_bytes=1_000_000, make_room=make_room, monotonic=clock)
    keeper.check()
    with few_descriptors(0):
        with pytest.raises(ArchiveStopped):
            keeper.append(answer)
        clock.now += LOOK_S
        keeper.check()
        assert keeper.append(answer) is not None
    keeper.close()


def test_a_full_disk_leaves_connections_alone(engine: Engine, make_writer: MakeWriter, folder: Path) -> None:
    given_up: list[str] = []
    folder.parent.mkdir()
    folder.write_bytes(b"a file is in its place")
    writer = make_writer()
    place = ArchivePlace(writer.folder.parent, None)
    keeper = ArchiveKeeper(
        writer, place, reserve_bytes=0, spool_bytes=1_000_000, make_room=lambda: given_up.append("all")
    )
    with pytest.raises(ArchiveStopped, match="free or mend the disk"):
        keeper.check()
    assert given_up == []
    keeper.close()


def test_a_segment_may_be_finished_again(engine: Engine, make_writer: MakeWriter, folder: Path) -> None:
    """Its files had their final names when something failed: what is left is done, and nothing is missed."""
    writer = make_writer()
    deposit(writer, answers.recording(crawl_id=make_crawl(engine)))
    (opened,) = folder.rglob("*.warc.gz.open")
    writer.close_all()
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    segment.finish(opened)
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
    for path in before:
        path.unlink()
    with pytest.raises(FileNotFoundError):
        segment.finish(opened)
