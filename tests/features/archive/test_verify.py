"""What `verify` finds wrong, and what it does not."""

import re
import socket
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import Engine

from app.config import Settings, load
from app.features.archive.verify import verify
from app.features.archive.writer import ArchiveWriter
from tests.features.archive import answers
from tests.features.archive.deposits import deposit
from tests.store.rows import make_crawl, sql


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return load(home=tmp_path / "home")


def fill(engine: Engine, writer: ArchiveWriter, *, closed: bool = True) -> int:
    """Two pages, a revisit, and a record that no row points to."""
    crawl_id = make_crawl(engine)
    for n in (1, 2, 1):
        deposit(writer, answers.recording(answers.reply(answers.page(n)), crawl_id=crawl_id))
    writer.append(answers.recording(answers.reply(b"fenced"), crawl_id=crawl_id))
    if closed:
        writer.close_all()
    sql(engine, "UPDATE segments SET node = :node", node=socket.gethostname())
    return crawl_id


@pytest.mark.parametrize("closed", [True, False])
def test_a_sound_archive(closed: bool, engine: Engine, writer: ArchiveWriter, settings: Settings) -> None:
    fill(engine, writer, closed=closed)
    found = verify(engine, settings, None)
    assert (found.segments, found.records, found.captures, found.without_row) == (1, 13, 3, 1)
    assert (found.elsewhere, found.flaws) == ([], [])


def break_digest(path: Path) -> None:
    """Another letter within the body, its gzip member made anew."""
    octets = path.read_bytes()
    unpacker, found = zlib.decompressobj(31), b""
    info = unpacker.decompress(octets)
    rest = unpacker.unused_data
    second = zlib.decompressobj(31)
    response = second.decompress(rest).replace(b"<title>1<", b"<title>9<")
    packer = zlib.compressobj(wbits=31)
    found = octets[: len(octets) - len(rest)] + packer.compress(response) + packer.flush() + second.unused_data
    assert info.startswith(b"WARC/1.1")
    path.write_bytes(found)


def flip(path: Path) -> None:
    """A bit within the first response, which stands behind the warcinfo."""
    octets = bytearray(path.read_bytes())
    unpacker = zlib.decompressobj(31)
    unpacker.decompress(octets)
    octets[len(octets) - len(unpacker.unused_data) + 100] ^= 1
    path.write_bytes(octets)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 3])


# what was done to the segment → what is said of it
@pytest.mark.parametrize(
    ("act", "flaws"),
    [
        (break_digest, ["its warc-block-digest is wrong"]),
        (flip, ["byte ", "points to no record"]),
        (cut, ["it is cut", "points to no record"]),
        (Path.unlink, ["is not in /"]),
    ],
)
def test_what_was_done_to_a_segment_by_hand(
    act: Callable[[Path], None],
    flaws: list[str],
    engine: Engine,
    writer: ArchiveWriter,
    settings: Settings,
    folder: Path,
) -> None:
    crawl_id = fill(engine, writer)
    (path,) = folder.rglob("*.warc.gz")
    act(path)
    found = [flaw.what for flaw in verify(engine, settings, crawl_id).flaws]
    assert [any(said in each for each in found) for said in flaws] == [True] * len(flaws)


def test_what_stands_behind_a_damaged_record_is_verified(
    engine: Engine, writer: ArchiveWriter, settings: Settings, folder: Path
) -> None:
    """One capture is lost with it; the next row says where it goes on."""
    fill(engine, writer)
    (path,) = folder.rglob("*.warc.gz")
    (first, *_) = sql(engine, "SELECT at_offset, length FROM captures ORDER BY id")
    octets = bytearray(path.read_bytes())
    octets[first["at_offset"] + first["length"] // 2] ^= 1
    path.write_bytes(octets)
    found = verify(engine, settings, None)
    broken, lost = (flaw.what for flaw in found.flaws)
    assert broken.startswith(f"byte {first['at_offset']}: ")
    assert lost.startswith("capture 1 of ")
    assert (found.records, found.without_row) == (10, 1)


def test_a_segment_that_cannot_be_read_is_a_flaw(
    engine: Engine, writer: ArchiveWriter, settings: Settings, folder: Path
) -> None:
    fill(engine, writer)
    (path,) = folder.rglob("*.warc.gz")
    path.unlink()
    path.mkdir()
    (flaw,) = verify(engine, settings, None).flaws
    assert flaw.what == "cannot be read (Is a directory)"


# what was done to the rows → what is said
@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("UPDATE captures SET at_offset = at_offset + 1 WHERE id = 2", "capture 2 of .* points to no record"),
        ("UPDATE captures SET url = 'http://site.test/other' WHERE id = 2", "capture 2 of .* points to no record"),
        ("DELETE FROM captures WHERE id = 1", "what it refers to has no row"),
    ],
)
def test_what_was_done_to_the_rows(
    statement: str, said: str, engine: Engine, writer: ArchiveWriter, settings: Settings
) -> None:
    fill(engine, writer)
    sql(engine, statement)
    (flaw,) = verify(engine, settings, None).flaws
    assert re.search(said, flaw.what)


def test_a_segment_of_another_node_is_named(engine: Engine, writer: ArchiveWriter, tmp_path: Path) -> None:
    fill(engine, writer)
    sql(engine, "UPDATE segments SET node = 'there'")
    found = verify(engine, load(home=tmp_path / "another"), None)
    assert len(found.elsewhere) == 1
    assert found.flaws == []
