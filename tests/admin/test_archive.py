"""What a person is told of the archive: what is there, whether it can be written, whether it is sound."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine

from app.admin import archive, report
from app.admin.board.pulse import Live
from app.config import Settings, load
from app.errors import InputError
from app.features.archive.retention import Pruned
from app.features.archive.writer import ArchiveWriter, SegmentLimits
from app.store import db, segments
from tests.features.archive import answers
from tests.features.archive.deposits import deposit
from tests.store.rows import clean, make_crawl, sql


@pytest.fixture
def engine(database_url: str) -> Iterator[Engine]:
    with clean(database_url) as engine:
        yield engine


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return load(home=tmp_path)


@pytest.fixture
def writer(engine: Engine, tmp_path: Path) -> ArchiveWriter:
    limits = SegmentLimits(1_000_000, 3_600)
    return ArchiveWriter(engine, tmp_path / "archive", node="here", worker="here:1", limits=limits, about={})


def note(engine: Engine, *, stopped: str | None = None, trouble: str | None = None) -> None:
    with db.transaction(engine) as tx:
        segments.note_node(
            tx,
            node="here",
            place="/archive",
            free_bytes=1,
            waiting_bytes=12_300_000,
            stopped_because=stopped,
            trouble=trouble,
        )


# what a node reports → grade, finding, remedy
@pytest.mark.parametrize(
    ("reported", "grade", "finding", "remedy"),
    [
        ({}, "ok", None, ""),
        (
            {"stopped": "archive at /a: its disk has 1 MB free; free some, or prune it"},
            "fail",
            "nothing is fetched on here: archive at /a: its disk has 1 MB free",
            "free some, or prune it",
        ),
        (
            {"trouble": "the bucket does not exist; create it"},
            "warn",
            "here cannot upload: the bucket does not exist; create it",
            "12.3 MB wait on its disk, and are tried again",
        ),
    ],
)
def test_health(
    reported: dict[str, str], grade: str, finding: str | None, remedy: str, engine: Engine, settings: Settings
) -> None:
    note(engine, **reported)
    (check,) = archive.health(engine, settings)
    assert (check.name, check.grade, check.remedy) == ("archive", grade, remedy)
    assert check.finding == (finding or str(settings.home / "archive"))


def test_lean_has_none(engine: Engine, tmp_path: Path) -> None:
    note(engine, stopped="it was full")
    (check,) = archive.health(engine, load(home=tmp_path, keep_text=False))
    assert (check.grade, check.finding) == ("ok", "none: TIPTOE_KEEP_TEXT is off")


def test_a_stopped_archive_is_in_status_and_in_the_live_view(engine: Engine) -> None:
    crawl_id = make_crawl(engine)
    note(engine, stopped="it is full")
    assert [node.stopped_because for node in report.status(engine).archive] == ["it is full"]
    assert Live(engine, crawl_id, ()).look().stopped == "it is full"
    note(engine)
    assert Live(engine, crawl_id, ()).look().stopped is None


def test_a_node_that_is_silent_for_minutes_is_not_reported(engine: Engine) -> None:
    note(engine, stopped="it was full")
    sql(engine, "UPDATE archive_nodes SET seen_at = now() - interval '3 minutes'")
    assert report.status(engine).archive == []


def test_listing_check_and_prune_by_the_name_of_a_crawl(
    engine: Engine, settings: Settings, writer: ArchiveWriter
) -> None:
    docs, other = make_crawl(engine, "docs"), make_crawl(engine, "other")
    deposit(writer, answers.recording(crawl_id=docs))
    deposit(writer, answers.recording(crawl_id=other))
    writer.close_all()
    everything = archive.listing(engine, settings).totals
    assert [(each.crawl, each.state, each.segments, each.records) for each in everything] == [
        ("docs", "closed", 1, 1),
        ("other", "closed", 1, 1),
    ]
    assert [each.crawl for each in archive.listing(engine, settings, "docs").totals] == ["docs"]
    assert archive.check(engine, settings, "docs").captures == 1
    assert archive.check(engine, settings).captures == 2
    assert archive.prune(engine, settings, days=1, crawl="docs") == Pruned(0, 0, 0)
    assert archive.prune(engine, settings, days=0, crawl="docs").segments == 1
    assert [(each.crawl, each.state) for each in archive.listing(engine, settings).totals] == [
        ("docs", "gone"),
        ("other", "closed"),
    ]


def test_bad_input_is_named(engine: Engine, settings: Settings) -> None:
    with pytest.raises(InputError, match="crawl nobody: does not exist"):
        archive.listing(engine, settings, "nobody")
    with pytest.raises(InputError, match="-1 days: is not possible; write 0 days or more"):
        archive.prune(engine, settings, days=-1)
