"""Segments whose writer died: trimmed, closed, and every row resolves."""

import random
from pathlib import Path

import pytest
from sqlalchemy import Engine

from app.features.archive.keeper import recover
from app.features.archive.read import Archive
from app.store import db, segments
from tests.features.archive import answers, writing
from tests.features.archive.conftest import MakeWriter
from tests.features.archive.deposits import all_captures, deposit
from tests.features.archive.left import abandoned, open_ones
from tests.features.archive.readers import by_warcio, is_accepted
from tests.store.rows import make_crawl, sql

KILLS = 20
STEPS = 5  # of a settle: three answers, the sync, the commit


# what is torn off, or stuck on, in bytes
@pytest.mark.parametrize("tail", [-1, -200, 0, 1, 100])
def test_a_torn_tail_is_trimmed(
    tail: int, engine: Engine, make_writer: MakeWriter, archive: Archive, folder: Path
) -> None:
    writer, crawl_id = make_writer(), make_crawl(engine)
    (capture,) = deposit(writer, answers.recording(crawl_id=crawl_id))
    writer.append(answers.recording(answers.reply(answers.page(2)), crawl_id=crawl_id))
    path = abandoned(writer, folder)
    size = path.stat().st_size
    with open(path, "r+b") as file:
        file.truncate(size + tail)
    (name,) = recover(engine, folder)
    assert archive.read(capture).body == b"<p>hello"
    assert open_ones(folder) == []
    final = folder / name
    assert is_accepted(final)
    whole = 7 if tail >= 0 else 6  # warcinfo, and three records for each answer
    assert len(by_warcio(final)) == whole
    with db.transaction(engine) as tx:
        row = segments.by_name(tx, name)
    assert row is not None
    assert (row.state, row.bytes, row.records) == ("closed", final.stat().st_size, 2)
    assert len(final.with_name(final.name.replace(".warc.gz", ".cdxj")).read_text().splitlines()) == 2


def test_the_segment_of_a_living_process_is_left_alone(engine: Engine, make_writer: MakeWriter, folder: Path) -> None:
    writer, crawl_id = make_writer(), make_crawl(engine)
    deposit(writer, answers.recording(crawl_id=crawl_id))
    assert recover(engine, folder) == []
    (capture,) = deposit(writer, answers.recording(answers.reply(b"next"), crawl_id=crawl_id))
    assert len(open_ones(folder)) == 2
    assert capture.at_offset > 0


def test_a_segment_without_row_and_answers_goes(engine: Engine, make_writer: MakeWriter, folder: Path) -> None:
    writer, crawl_id = make_writer(), make_crawl(engine)
    writer.append(answers.recording(crawl_id=crawl_id, keeps_body=False))
    abandoned(writer, folder)
    sql(engine, "DELETE FROM segments")
    assert recover(engine, folder) == []
    assert list(folder.rglob("*.*")) == []


def test_a_segment_that_was_final_before_its_row_said_so(engine: Engine, make_writer: MakeWriter, folder: Path) -> None:
    writer, crawl_id = make_writer(), make_crawl(engine)
    deposit(writer, answers.recording(crawl_id=crawl_id))
    writer.close_all()
    sql(engine, "UPDATE segments SET state = 'open', bytes = NULL, records = NULL, closed_at = NULL")
    recover(engine, folder)
    (row,) = sql(engine, "SELECT state, bytes, records FROM segments")
    assert row == {"state": "closed", "bytes": next(folder.rglob("*.warc.gz")).stat().st_size, "records": 1}


@pytest.mark.faults
def test_kill_9_at_random_moments_leaves_no_row_without_its_record(
    engine: Engine, database_url: str, archive: Archive, folder: Path
) -> None:
    """A writer is killed in the midst of its writes, 20 times; the next start finds what it left."""
    crawl_id, rng, first = make_crawl(engine), random.Random(16), 0
    for _ in range(KILLS):
        process, steps = writing.start(database_url, folder, crawl_id, first)
        for _ in range(STEPS + rng.randint(0, 5 * STEPS)):
            steps.recv()
        process.kill()
        process.join()
        steps.close()
        first += 1_000
        recover(engine, folder)
    held = all_captures(engine, crawl_id)
    assert len(held) >= KILLS * 3
    for capture in held:
        n = int(capture.url.rpartition("/")[2])
        assert archive.read(capture).body == answers.page(n, 20_000)
    assert open_ones(folder) == []
    assert is_accepted(*folder.rglob("*.warc.gz"))
    assert sql(engine, "SELECT DISTINCT state FROM segments") == [{"state": "closed"}]
