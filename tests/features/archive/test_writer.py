"""A writer with real files and rows: what it writes is read back by pointers, and by others' readers."""

import json
import threading
from hashlib import sha256
from pathlib import Path

import pytest
from sqlalchemy import Engine

from app.features.archive import recording
from app.features.archive.read import Archive
from app.features.archive.writer import ArchiveWriter
from app.features.export import rows as export
from app.model import Capture, Reply
from app.store import captures, db
from tests.features.archive import answers
from tests.features.archive.conftest import MakeWriter
from tests.features.archive.deposits import deposit
from tests.features.archive.readers import by_warcio, is_accepted
from tests.store.rows import make_crawl, sql


def final(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.warc.gz"))


def test_an_answer_comes_back_by_its_pointer(engine: Engine, writer: ArchiveWriter, archive: Archive) -> None:
    crawl_id = make_crawl(engine)
    body = answers.page(1)
    (capture,) = deposit(writer, answers.recording(answers.coded(body), crawl_id=crawl_id))
    found = archive.read(capture)
    assert (found.status, found.reason, found.body, found.truncated) == (200, "OK", body, False)
    assert found.header("content-encoding") == "gzip"
    assert (capture.body_sha256, capture.body_bytes, capture.refers_to) == (sha256(body).digest(), len(body), None)


def test_captures_are_found_by_url_and_by_crawl(engine: Engine, writer: ArchiveWriter) -> None:
    one, two = make_crawl(engine, "one"), make_crawl(engine, "two")
    first, again, other = deposit(
        writer,
        answers.recording(answers.reply(b"1"), crawl_id=one),
        answers.recording(answers.reply(b"2"), crawl_id=one, at_s=1),
        answers.recording(answers.reply(b"3"), crawl_id=two),
    )
    with db.transaction(engine) as tx:
        assert captures.of_url(tx, host_id=1, crawl_id=one, key=first.key) == [again, first]
        assert captures.after(tx, crawl_id=one) == [first, again]
        assert captures.after(tx, crawl_id=one, after=first.id) == [again]
        assert captures.after(tx, crawl_id=two, n=1) == [other]
        assert captures.by_id(tx, crawl_id=two, id=first.id) is None
        assert export.latest_captures(tx, crawl_id=one, pages=[(1, first.key)]) == {(1, first.key): again}


def test_a_closed_segment_is_accepted_and_indexed(engine: Engine, writer: ArchiveWriter, folder: Path) -> None:
    crawl_id = make_crawl(engine, "docs of / ../ mine")
    first = answers.recording(crawl_id=crawl_id, url="http://site.test/b")
    second = answers.recording(answers.reply(answers.page(2)), crawl_id=crawl_id, url="http://site.test/a")
    held = deposit(writer, first, second)
    assert final(folder) == []
    writer.close_all()
    (path,) = final(folder)
    assert is_accepted(path)
    kinds = [each.kind for each in by_warcio(path)]
    assert kinds == ["warcinfo", *["response", "request", "metadata"] * 2]
    lines = path.with_name(path.name.replace(".warc.gz", ".cdxj")).read_text().splitlines()
    assert [line.split()[0] for line in lines] == ["test,site)/a", "test,site)/b"]
    said = [json.loads(line.split(" ", 2)[2]) for line in lines]
    assert [(int(each["offset"]), int(each["length"])) for each in said] == [
        (each.at_offset, each.length) for each in reversed(held)
    ]
    assert {each["filename"] for each in said} == {path.name}
    (row,) = sql(engine, "SELECT * FROM segments")
    assert (row["state"], row["bytes"], row["records"]) == ("closed", path.stat().st_size, 2)
    assert row["name"] == str(path.relative_to(folder))
    assert sorted(each.name for each in folder.rglob("*.open")) == []


def test_files_of_a_segment_are_their_owners_and_groups(engine: Engine, writer: ArchiveWriter, folder: Path) -> None:
    deposit(writer, answers.recording(crawl_id=make_crawl(engine)))
    for close in (lambda: None, writer.close_all):
        close()
        files = [each for each in folder.rglob("*") if each.is_file()]
        assert len(files) == 2
        assert {each.stat().st_mode & 0o777 for each in files} == {0o640}


# the next answer, of the same URL or another → what its revisit says; None: it is stored
@pytest.mark.parametrize(
    ("answer", "profile"),
    [
        (answers.reply(b"<p>hello"), recording.SAME_PAYLOAD),
        (answers.unmodified(), recording.NOT_MODIFIED),
        (answers.reply(b"<p>other"), None),
        (answers.coded(b"<p>hello"), None),  # another payload: its headers would not fit the one that is stored
    ],
)
def test_a_body_is_stored_once(
    answer: Reply,
    profile: str | None,
    engine: Engine,
    writer: ArchiveWriter,
    archive: Archive,
    folder: Path,
) -> None:
    crawl_id = make_crawl(engine)
    (first,) = deposit(writer, answers.recording(crawl_id=crawl_id))
    with db.transaction(engine) as tx:
        original = captures.originals(tx, [(1, crawl_id, first.key)])[1, crawl_id, first.key]
    (second,) = deposit(
        writer, answers.recording(answer, crawl_id=crawl_id, at_s=60, original=original, body_sha256=None)
    )
    assert second.refers_to == (None if profile is None else first.id)
    assert archive.read(second).body == (answer.body or b"<p>hello")
    assert archive.read(second).status == answer.status
    if profile is not None:
        assert (second.body_bytes, second.charset) == (first.body_bytes, "utf-8")
        assert second.text_sha256 == first.text_sha256
    writer.close_all()
    (path,) = final(folder)
    assert is_accepted(path)
    assert [each.fields.get("WARC-Profile") for each in by_warcio(path)][4] == profile


def test_the_same_body_at_another_url_is_a_revisit_once_the_first_is_committed(
    engine: Engine, writer: ArchiveWriter, archive: Archive
) -> None:
    crawl_id, other = make_crawl(engine), make_crawl(engine, "other")
    first, twin = deposit(
        writer,
        answers.recording(crawl_id=crawl_id, url="http://site.test/a"),
        answers.recording(crawl_id=crawl_id, url="http://site.test/b"),
    )
    (third,) = deposit(writer, answers.recording(crawl_id=crawl_id, url="http://site.test/c"))
    (elsewhere,) = deposit(writer, answers.recording(crawl_id=other, url="http://site.test/a"))
    assert (first.refers_to, twin.refers_to, elsewhere.refers_to) == (None, None, None)
    assert third.refers_to in {first.id, twin.id}
    assert archive.read(third).body == b"<p>hello"


def test_what_may_not_be_kept_leaves_a_note_and_no_body(engine: Engine, writer: ArchiveWriter, folder: Path) -> None:
    answer = answers.recording(crawl_id=make_crawl(engine), keeps_body=False, notes={"kept": "no: noarchive"})
    assert deposit(writer, answer) == []
    writer.close_all()
    (path,) = final(folder)
    assert is_accepted(path)
    assert [(each.kind, each.body) for each in by_warcio(path)][1:] == [("metadata", b"kept: no: noarchive\r\n")]


def test_a_304_to_what_is_not_in_the_archive_has_no_row(engine: Engine, writer: ArchiveWriter) -> None:
    assert writer.append(answers.recording(answers.unmodified(), crawl_id=make_crawl(engine))) is None


def test_a_segment_is_closed_at_its_size(engine: Engine, make_writer: MakeWriter, folder: Path) -> None:
    writer, crawl_id = make_writer(segment_bytes=1_024), make_crawl(engine)
    for n in range(3):
        deposit(writer, answers.recording(answers.reply(answers.page(n)), crawl_id=crawl_id))
    retired = writer.overdue()
    for file in retired:
        writer.close(file)
    assert len(final(folder)) == len(retired) == 3
    assert is_accepted(*final(folder))


def test_a_segment_is_closed_at_its_age(engine: Engine, make_writer: MakeWriter) -> None:
    now = [0.0]
    writer = make_writer(segment_s=60, monotonic=lambda: now[0])
    deposit(writer, answers.recording(crawl_id=make_crawl(engine)))
    now[0] = 59.0
    assert writer.overdue() == []
    now[0] = 60.0
    assert [file.crawl_id for file in writer.overdue()] == [1]


def test_threads_write_whole_records(engine: Engine, make_writer: MakeWriter, archive: Archive, folder: Path) -> None:
    """Eight at once, over segments that are closed under them all the time."""
    writer, crawl_id = make_writer(segment_bytes=20_000), make_crawl(engine)
    held: list[tuple[Capture, bytes]] = []
    failed: list[BaseException] = []

    def write(thread: int) -> None:
        try:
            for n in range(25):
                body = answers.page(1_000 * thread + n)
                url = f"http://site.test/{thread}/{n}"
                (capture,) = deposit(writer, answers.recording(answers.reply(body), crawl_id=crawl_id, url=url))
                held.append((capture, body))
                for file in writer.overdue() if thread == 0 else ():
                    writer.close(file)
        except BaseException as error:
            failed.append(error)
            raise

    threads = [threading.Thread(target=write, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    writer.close_all()
    assert failed == []
    assert len(held) == 200
    assert [archive.read(capture).body == body for capture, body in held] == [True] * 200
    assert is_accepted(*final(folder))
