"""The keeper of a process's archive: while nothing can be kept it refuses, and says so."""

import errno
import json
import os
import resource
import socket
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import datetime
from pathlib import Path

import pytest
import structlog
from sqlalchemy import Engine

from app.errors import ArchiveStopped
from app.features.archive import segment
from app.features.archive.keeper import LOOK_S, RECOVER_MOST_S, REPORT_S, ArchiveKeeper
from app.features.archive.place import ArchivePlace
from app.features.archive.read import Archive
from app.features.archive.recording import Recording
from app.features.archive.writer import ArchiveWriter
from app.model import Capture
from app.store import captures, db, segments
from app.store.segments import ArchiveNode
from tests.acceptance.conftest import until
from tests.features.archive import answers
from tests.features.archive.conftest import MakeWriter
from tests.features.archive.left import abandoned, open_ones
from tests.features.archive.readers import by_warcio, is_accepted
from tests.store.rows import make_crawl, one, sql

FULL_BYTES = 50_000


class Clock:
    """Monotonic seconds, moved by hand."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


@contextmanager
def full_disk() -> Iterator[None]:
    """No file of this process grows beyond FULL_BYTES: a write comes back with an error, or short."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (FULL_BYTES, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def make_keeper(writer: ArchiveWriter, clock: Clock, *, reserve_bytes: int = 0) -> ArchiveKeeper:
    place = ArchivePlace(writer.folder.parent, None)
    return ArchiveKeeper(writer, place, reserve_bytes=reserve_bytes, spool_bytes=1_000_000, monotonic=clock)


def the_node(engine: Engine) -> ArchiveNode:
    with db.transaction(engine) as tx:
        (node,) = segments.nodes(tx)
    return node


def reported_at(engine: Engine) -> datetime:
    at = one(engine, "SELECT seen_at FROM archive_nodes")
    assert isinstance(at, datetime)
    return at


def page(n: int, crawl_id: int) -> Recording:
    return answers.recording(answers.reply(answers.page(n, 8_000)), crawl_id=crawl_id)


def test_a_full_disk_stops_the_archive_and_leaves_whole_records(
    engine: Engine, make_writer: MakeWriter, archive: Archive, folder: Path
) -> None:
    clock, writer, crawl_id = Clock(), make_writer(), make_crawl(engine)
    keeper, rows = make_keeper(writer, clock), list[Capture | None]()
    keeper.check()
    with full_disk():
        with pytest.raises(ArchiveStopped, match=r"cannot be written .*File too large.*; free or mend the disk"):
            rows.extend(keeper.append(page(n, crawl_id)) for n in range(100))
        clock.now += LOOK_S
        with pytest.raises(ArchiveStopped):
            keeper.check()
        keeper.tend()
        assert "File too large" in (the_node(engine).stopped_because or "")
    kept = len(rows)
    assert 1 < kept < 100
    clock.now += LOOK_S
    keeper.check()
    keeper.tend()
    assert the_node(engine).stopped_because is None
    rows.append(keeper.append(page(kept, crawl_id)))
    keeper.sync([row for row in rows if row is not None])
    with db.transaction(engine) as tx:
        captures.add(tx, [row for row in rows if row is not None])
    keeper.close()
    with db.transaction(engine) as tx:
        held = captures.after(tx, crawl_id=crawl_id)
    assert [archive.read(each).body for each in held] == [answers.page(n, 8_000) for n in range(kept + 1)]
    (path,) = folder.rglob("*.warc.gz")
    assert is_accepted(path)
    assert [each.kind for each in by_warcio(path)].count("response") == kept + 1


def index_of(path: Path) -> list[str]:
    """The URLs that the index of a segment lists, each line whole."""
    lines = path.with_name(path.name.replace(".warc.gz", ".cdxj")).read_text().splitlines()
    return sorted(json.loads(line.split(" ", 2)[2])["url"] for line in lines)


def test_a_line_of_the_index_that_was_not_written_whole_is_taken_back(
    engine: Engine, make_writer: MakeWriter, folder: Path
) -> None:
    """Long URLs, which the records pack: the index is the first that the disk has no room for."""
    clock, writer, crawl_id = Clock(), make_writer(), make_crawl(engine)
    keeper, written = make_keeper(writer, clock), list[str]()

    def write(first: int, last: int) -> None:
        for n in range(first, last):
            url = f"http://site.test/{n:03}{'a' * 2_000}"
            keeper.append(answers.recording(answers.reply(b"<p>hello %d" % n), crawl_id=crawl_id, url=url))
            written.append(url)

    with full_disk(), pytest.raises(ArchiveStopped, match="File too large"):
        write(0, 100)
    assert 1 < len(written) < 50
    write(200, 202)
    keeper.close()
    (path,) = folder.rglob("*.warc.gz")
    assert is_accepted(path)
    assert index_of(path) == written
    assert [each.kind for each in by_warcio(path)].count("response") == len(written)


def test_what_a_failed_sync_lost_is_in_no_index(
    engine: Engine, make_writer: MakeWriter, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer, crawl_id = make_writer(), make_crawl(engine)
    urls = [f"http://site.test/{n}" for n in range(4)]
    rows = [writer.append(answers.recording(crawl_id=crawl_id, url=url)) for url in urls[:2]]
    writer.sync([row for row in rows if row is not None])
    lost = [writer.append(answers.recording(crawl_id=crawl_id, url=url)) for url in urls[2:]]

    def fail(file: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with monkeypatch.context() as broken:
        broken.setattr(segment, "_sync", fail)
        with pytest.raises(ArchiveStopped, match="Input/output error"):
            writer.sync([row for row in lost if row is not None])
    writer.close_all()
    with pytest.raises(ArchiveStopped, match="its end was lost with the disk"):
        writer.sync([row for row in lost if row is not None])
    (path,) = folder.rglob("*.warc.gz")
    assert is_accepted(path)
    assert index_of(path) == urls[:2]
    assert sql(engine, "SELECT state, bytes, records FROM segments") == [
        {"state": "closed", "bytes": path.stat().st_size, "records": 2}
    ]


def test_the_reserve_of_the_disk_is_left_alone(engine: Engine, make_writer: MakeWriter) -> None:
    keeper = make_keeper(make_writer(), Clock(), reserve_bytes=2**60)
    with pytest.raises(ArchiveStopped, match=r"its disk has .* free of the .* that it needs; free some"):
        keeper.check()
    keeper.tend()
    node = the_node(engine)
    assert (node.node, node.stopped_because is None) == ("here", False)
    assert node.free_bytes > 0
    keeper.close()


def test_a_folder_that_cannot_be_made_stops_the_archive(engine: Engine, make_writer: MakeWriter, folder: Path) -> None:
    folder.parent.mkdir()
    folder.write_bytes(b"a file is in its place")
    keeper = make_keeper(make_writer(), Clock())
    with pytest.raises(ArchiveStopped, match="cannot be written"):
        keeper.check()
    keeper.close()


def test_what_fares_the_same_is_reported_now_and_then(engine: Engine, make_writer: MakeWriter) -> None:
    clock = Clock()
    keeper = make_keeper(make_writer(), clock)
    keeper.tend()
    first = reported_at(engine)
    keeper.tend()
    assert reported_at(engine) == first
    clock.now += REPORT_S
    keeper.tend()
    assert reported_at(engine) > first
    keeper.close()


def test_while_postgres_is_away_it_is_asked_ever_less_often(engine: Engine, make_writer: MakeWriter) -> None:
    """An outage of an hour is no line of the log a second; and the first report after it comes soon."""
    clock, writer = Clock(), make_writer()
    keeper = make_keeper(writer, clock)
    with closing(socket.socket()) as nobody, structlog.testing.capture_logs() as logs:
        nobody.bind(("127.0.0.1", 0))  # and does not listen
        writer.engine = db.connect(f"postgresql://tiptoe@127.0.0.1:{nobody.getsockname()[1]}/tiptoe")
        began, tried = clock.now, list[float]()
        while clock.now - began < 60:
            before = len(logs)
            keeper.tend()
            tried += [clock.now - began] * (len(logs) - before)
            clock.now += LOOK_S
    assert tried == [0.0, 2.0, 6.0, 14.0, 29.0, 44.0, 59.0]
    assert {log["event"] for log in logs} == {"archive.not_reported"}
    writer.engine.dispose()
    writer.engine = engine
    clock.now += REPORT_S
    keeper.tend()
    assert the_node(engine).node == "here"
    keeper.close()


def test_what_a_dead_process_left_is_closed_once_postgres_is_back(
    engine: Engine, make_writer: MakeWriter, folder: Path
) -> None:
    """A node that starts while Postgres is away would else keep it open until its next start."""
    clock, writer, dead = Clock(), make_writer(worker="here:2"), make_writer()
    dead.append(page(1, make_crawl(engine)))
    abandoned(dead, folder)
    keeper = make_keeper(writer, clock)
    with closing(socket.socket()) as nobody, structlog.testing.capture_logs() as logs:
        nobody.bind(("127.0.0.1", 0))  # and does not listen
        writer.engine = db.connect(f"postgresql://tiptoe@127.0.0.1:{nobody.getsockname()[1]}/tiptoe")
        began, tried = clock.now, list[float]()
        while clock.now - began < 200:
            before = len(logs)
            keeper.close_left()
            tried += [clock.now - began] * (len(logs) - before)
            clock.now += LOOK_S
    assert tried == [0.0, 2.0, 6.0, 14.0, 30.0, 62.0, 122.0, 182.0]
    assert {log["event"] for log in logs} == {"archive.not_recovered"}
    assert open_ones(folder) != []
    writer.engine.dispose()
    writer.engine = engine
    clock.now += RECOVER_MOST_S
    keeper.close_left()
    assert open_ones(folder) == []
    keeper.close()


def test_its_thread_tries_again_by_itself(engine: Engine, make_writer: MakeWriter, folder: Path) -> None:
    clock, writer, dead = Clock(), make_writer(worker="here:2"), make_writer()
    dead.append(page(1, make_crawl(engine)))
    abandoned(dead, folder)
    keeper = make_keeper(writer, clock)
    with closing(socket.socket()) as nobody, structlog.testing.capture_logs() as logs:
        nobody.bind(("127.0.0.1", 0))  # and does not listen
        writer.engine = db.connect(f"postgresql://tiptoe@127.0.0.1:{nobody.getsockname()[1]}/tiptoe")
        keeper.start()
        until(lambda: any(log["event"] == "archive.not_recovered" for log in logs), "a try while Postgres is away")
    writer.engine.dispose()
    writer.engine = engine
    clock.now += RECOVER_MOST_S
    until(lambda: open_ones(folder) == [], "a try once it is back")
    keeper.close()


def test_its_threads_end_with_it(engine: Engine, make_writer: MakeWriter) -> None:
    keeper = make_keeper(make_writer(), Clock())
    before = set(threading.enumerate())
    keeper.start()
    begun = set(threading.enumerate()) - before
    assert {each.name for each in begun} == {"archive"}
    keeper.close()
    for each in set(threading.enumerate()) - before:  # the last move is over, its thread may be about to end
        each.join(timeout=30.0)
        assert not each.is_alive()


def test_closing_the_keeper_makes_segments_final(engine: Engine, make_writer: MakeWriter, folder: Path) -> None:
    keeper, crawl_id = make_keeper(make_writer(), Clock()), make_crawl(engine)
    keeper.append(answers.recording(crawl_id=crawl_id))
    keeper.close()
    assert [path.suffix for path in folder.rglob("*.gz")] == [".gz"]
    assert list(folder.rglob("*.open")) == []
