"""What cannot be read: the row is there, and its record is not, or is damaged."""

import socket
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import Engine

from app.config import load
from app.errors import ArchiveMissing, SegmentElsewhere
from app.features.archive.read import Archive, read
from app.features.archive.writer import ArchiveWriter
from tests.features.archive import answers
from tests.features.archive.deposits import deposit
from tests.store.rows import make_crawl, sql


def cut(path: Path) -> None:
    with open(path, "r+b") as file:
        file.truncate(path.stat().st_size // 2)


def overwrite(path: Path) -> None:
    path.write_bytes(b"\0" * path.stat().st_size)


def test_a_segment_that_the_system_does_not_read_is_named(
    engine: Engine, writer: ArchiveWriter, archive: Archive, folder: Path
) -> None:
    (capture,) = deposit(writer, answers.recording(crawl_id=make_crawl(engine)))
    writer.close_all()
    (path,) = folder.rglob("*.warc.gz")
    path.unlink()
    path.mkdir()
    with pytest.raises(
        ArchiveMissing, match=r"capture 1 of .*: its segment c/tiptoe-c-.* cannot be read \(Is a directory\)"
    ):
        archive.read(capture)


def test_another_record_is_not_read_in_its_place(engine: Engine, writer: ArchiveWriter, archive: Archive) -> None:
    """A segment that was put under another's name may have a record there, too."""
    crawl_id = make_crawl(engine)
    one, other = (
        capture
        for n in (1, 2)
        for capture in deposit(writer, answers.recording(answers.reply(answers.page(n)), crawl_id=crawl_id))
    )
    with pytest.raises(ArchiveMissing, match="its segment has another record in its place"):
        archive.read(one._replace(at_offset=other.at_offset, length=other.length))


# what was done to the segment → what reading says
@pytest.mark.parametrize(
    ("act", "why"),
    [
        (Path.unlink, r"its segment c/tiptoe-c-.*\.warc\.gz is not in /"),
        (cut, r"segment .* is shorter than its rows say"),
        (overwrite, r"its record is damaged"),
    ],
)
def test_a_segment_that_was_deleted_cut_or_damaged_by_hand(
    act: Callable[[Path], None], why: str, engine: Engine, writer: ArchiveWriter, archive: Archive, folder: Path
) -> None:
    (capture,) = deposit(writer, answers.recording(answers.reply(answers.page(1)), crawl_id=make_crawl(engine)))
    writer.close_all()
    sql(engine, "UPDATE segments SET node = :node", node=socket.gethostname())
    (path,) = folder.rglob("*.warc.gz")
    act(path)
    with pytest.raises(ArchiveMissing, match=f"capture 1 of http://site.test/: {why}"):
        archive.read(capture)


def test_a_segment_on_another_node_is_read_there(engine: Engine, writer: ArchiveWriter, tmp_path: Path) -> None:
    (capture,) = deposit(writer, answers.recording(crawl_id=make_crawl(engine)))
    with pytest.raises(SegmentElsewhere, match="is on the disk of node here; read it there") as raised:
        read(engine, load(home=tmp_path / "another"), capture)
    assert raised.value.node == "here"


def test_a_segment_that_is_gone_says_so(engine: Engine, writer: ArchiveWriter, archive: Archive) -> None:
    (capture,) = deposit(writer, answers.recording(crawl_id=make_crawl(engine)))
    sql(engine, "UPDATE segments SET state = 'gone'")
    with pytest.raises(ArchiveMissing, match="its segment was deleted"):
        archive.read(capture)


def test_a_segment_may_be_closed_between_two_reads(engine: Engine, writer: ArchiveWriter, archive: Archive) -> None:
    (capture,) = deposit(writer, answers.recording(crawl_id=make_crawl(engine)))
    assert archive.read(capture).body == b"<p>hello"
    writer.close_all()
    assert archive.read(capture).body == b"<p>hello"


def test_a_truncated_coded_body_is_read_up_to_where_it_was_cut(
    engine: Engine, writer: ArchiveWriter, archive: Archive
) -> None:
    """We stop at a number of decoded bytes; what arrived by then may decode to more."""
    whole = answers.page(1, 10_000)
    reply = answers.coded(whole)._replace(body=whole[:1_000], truncated=True)
    (capture,) = deposit(writer, answers.recording(reply, crawl_id=make_crawl(engine)))
    found = archive.read(capture)
    assert (found.body, found.truncated) == (whole[:1_000], True)


def test_a_coded_body_that_breaks_off_is_read_as_far_as_it_came(
    engine: Engine, writer: ArchiveWriter, archive: Archive
) -> None:
    whole = answers.page(1, 10_000)
    reply = answers.coded(whole)
    assert isinstance(reply.coded, bytes)
    reply = reply._replace(coded=reply.coded[: len(reply.coded) // 2])
    (capture,) = deposit(writer, answers.recording(reply, crawl_id=make_crawl(engine)))
    found = archive.read(capture).body
    assert 1_000 < len(found) < len(whole)
    assert whole.startswith(found)


def test_a_header_in_utf8_is_read_whole(engine: Engine, writer: ArchiveWriter, archive: Archive) -> None:
    """The second octet of some letters, such as a Russian one, would end a line of text in latin-1."""
    said = "/расходы/åÅ"
    reply = answers.reply(b"", status=301, head=f"HTTP/1.1 301 Где\r\nLocation: {said}\r\nA: b\r\n\r\n".encode())
    (capture,) = deposit(writer, answers.recording(reply, crawl_id=make_crawl(engine)))
    found = archive.read(capture)
    assert found.headers == [("Location", said.encode().decode("latin-1")), ("A", "b")]
