"""Retention by whole segments: what pages and revisits still need is copied, and nothing points to what went."""

from pathlib import Path

import pytest
from sqlalchemy import Engine

from app.config import Settings, load
from app.features.archive import retention
from app.features.archive.place import ArchivePlace
from app.features.archive.read import Archive
from app.features.archive.retention import Pruned
from app.features.archive.verify import verify
from app.features.archive.writer import ArchiveWriter
from app.model import Capture
from app.store import db, pages
from app.store.pages import PageRow
from tests.features.archive import answers, store
from tests.features.archive.conftest import MakeWriter
from tests.features.archive.deposits import all_captures, deposit
from tests.features.archive.readers import is_accepted
from tests.features.archive.store import ObjectStore
from tests.features.archive.test_keeper import Clock
from tests.features.archive.test_upload import make_keeper
from tests.store.rows import make_crawl, sql


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return load(home=tmp_path / "home")


def page_row(engine: Engine, capture: Capture) -> None:
    """The page is one that the crawl has."""
    row: PageRow = {
        "host_id": capture.host_id,
        "crawl_id": capture.crawl_id,
        "key": capture.key,
        "url": capture.url,
        "status": 200,
        "content_type": None,
        "charset": "utf-8",
        "language": None,
        "language_detected": None,
        "published_at": None,
        "published_from": None,
        "modified_at": None,
        "modified_from": None,
        "published_on": None,
        "modified_on": None,
        "title": None,
        "headline": None,
        "author": None,
        "data": None,
        "description": None,
        "main_text": None,
        "body_sha256": b"",
        "text_sha256": b"",
        "body_bytes": 0,
        "needs_script": None,
        "truncated": False,
        "links": 0,
        "canonical_url": None,
        "directives": None,
        "opt_out": None,
        "depth": 0,
        "reader": 2,
    }
    with db.transaction(engine) as tx:
        pages.keep(tx, [row])


def old(engine: Engine, *segment_ids: int) -> None:
    sql(engine, "UPDATE segments SET closed_at = now() - interval '8 days' WHERE id = ANY(:ids)", ids=list(segment_ids))


def put(writer: ArchiveWriter, crawl_id: int, path: str, body: bytes, **given: object) -> Capture:
    """Archive a page in a segment of its own."""
    url = f"http://site.test/{path}"
    (capture,) = deposit(writer, answers.recording(answers.reply(body), crawl_id=crawl_id, url=url, **given))
    for file in writer.overdue():
        writer.close(file)
    return capture


@pytest.fixture
def small(make_writer: MakeWriter) -> ArchiveWriter:
    return make_writer(segment_bytes=1_024)


def test_old_segments_go_and_what_is_needed_stays(
    engine: Engine, small: ArchiveWriter, archive: Archive, settings: Settings, folder: Path
) -> None:
    crawl_id = make_crawl(engine)
    first = put(small, crawl_id, "page", answers.page(1))  # an older body of a page: it goes
    second = put(small, crawl_id, "page", answers.page(2))  # the page's last body: it stays
    shared = put(small, crawl_id, "shared", answers.page(3))  # a revisit that stays needs it
    stale = put(small, crawl_id, "stale", answers.page(4))  # nothing needs it
    revisit = put(small, crawl_id, "again", answers.page(3), at_s=60)
    assert revisit.refers_to == shared.id
    page_row(engine, first)
    old(engine, *(each.segment_id for each in (first, second, shared, stale)))
    pruned = retention.prune(engine, settings, days=7)
    assert (pruned.segments, pruned.copied) == (4, 2)
    left = {each.id: each for each in all_captures(engine, crawl_id)}
    assert left.keys() == {second.id, shared.id, revisit.id}
    assert archive.read(left[second.id]).body == answers.page(2)
    assert archive.read(left[shared.id]).body == archive.read(revisit).body == answers.page(3)
    states = sql(engine, "SELECT state, count(*) AS n FROM segments GROUP BY state ORDER BY state")
    assert states == [{"state": "closed", "n": 2}, {"state": "gone", "n": 4}]
    assert len(list(folder.rglob("*.warc.gz"))) == len(list(folder.rglob("*.cdxj"))) == 2
    assert is_accepted(*folder.rglob("*.warc.gz"))
    assert verify(engine, settings, crawl_id).flaws == []
    assert retention.prune(engine, settings, days=7) == Pruned(0, 0, 0)


def test_the_last_capture_of_a_page_stays_with_what_it_repeats(
    engine: Engine, small: ArchiveWriter, archive: Archive, settings: Settings
) -> None:
    crawl_id = make_crawl(engine)
    shared = put(small, crawl_id, "shared", answers.page(1))
    twin = put(small, crawl_id, "twin", answers.page(1))
    page_row(engine, twin)
    old(engine, shared.segment_id, twin.segment_id)
    assert retention.prune(engine, settings, days=7).copied == 2
    left = {each.id: each for each in all_captures(engine, crawl_id)}
    assert left.keys() == {shared.id, twin.id}
    assert archive.read(left[twin.id]).body == answers.page(1)


def test_young_open_and_other_crawls_segments_stay(
    engine: Engine, small: ArchiveWriter, make_writer: MakeWriter, settings: Settings
) -> None:
    mine, other = make_crawl(engine), make_crawl(engine, "other")
    young = put(small, mine, "young", answers.page(1))
    aged = put(small, other, "aged", answers.page(2))
    old(engine, aged.segment_id)
    still = put(make_writer(worker="here:2"), mine, "open", answers.page(3))
    old(engine, still.segment_id)
    assert retention.prune(engine, settings, days=7, crawl_id=mine) == Pruned(0, 0, 0)
    assert {each.id for each in all_captures(engine, mine)} == {young.id, still.id}
    assert retention.prune(engine, settings, days=7).segments == 1
    assert all_captures(engine, other) == []


def test_the_log_points_to_nothing_that_went(engine: Engine, small: ArchiveWriter, settings: Settings) -> None:
    crawl_id = make_crawl(engine)
    capture = put(small, crawl_id, "a", answers.page(1))
    sql(
        engine,
        "INSERT INTO fetches (host_id, crawl_id, visit_id, url_key, url, kind, reason, started_at, ended_at, delay_s, "
        "outcome, wire_bytes, body_bytes, truncated, total_ms, conditional, attempt, segment_id, at_offset, length) "
        "VALUES (1, :crawl, 1, '', '', 'page', 'new', now(), now(), 1, "
        "'page', 0, 0, false, 1, false, 1, :segment, :at, :length)",
        crawl=crawl_id,
        segment=capture.segment_id,
        at=capture.at_offset,
        length=capture.length,
    )
    assert verify(engine, settings, crawl_id).flaws == []
    sql(engine, "UPDATE segments SET opened_at = now() - interval '8 days'")
    old(engine, capture.segment_id)
    sql(engine, "UPDATE fetches SET started_at = now() - interval '8 days', ended_at = now()")
    assert retention.prune(engine, settings, days=7).segments == 1
    assert sql(engine, "SELECT segment_id, at_offset, length FROM fetches") == [
        {"segment_id": None, "at_offset": None, "length": None}
    ]


def test_a_crawl_takes_its_segments_along(
    engine: Engine, small: ArchiveWriter, archive: Archive, settings: Settings, folder: Path
) -> None:
    mine, other = make_crawl(engine), make_crawl(engine, "other")
    put(small, mine, "a", answers.page(1))
    kept = put(small, other, "a", answers.page(2))
    retention.delete_crawl(engine, settings, mine)
    assert all_captures(engine, mine) == []
    assert archive.read(kept).body == answers.page(2)
    assert [path.parent.name for path in folder.rglob("*.warc.gz")] == ["other"]


def test_a_segment_that_was_open_when_its_crawl_was_deleted_goes_when_it_is_closed(
    engine: Engine, make_writer: MakeWriter, settings: Settings, folder: Path
) -> None:
    writer, crawl_id = make_writer(), make_crawl(engine)
    deposit(writer, answers.recording(crawl_id=crawl_id))
    retention.delete_crawl(engine, settings, crawl_id)
    writer.close_all()
    assert retention.sweep(engine, ArchivePlace(settings.home, None)) == 1
    assert [path for path in folder.rglob("*") if path.is_file()] == []


def test_uploaded_segments_go_from_the_store(
    engine: Engine, small: ArchiveWriter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with store.running(monkeypatch) as objects:
        far = load(home=tmp_path / "home", archive=ObjectStore.url)
        crawl_id = make_crawl(engine)
        first, last = put(small, crawl_id, "page", answers.page(1)), put(small, crawl_id, "page", answers.page(2))
        page_row(engine, first)
        make_keeper(small, Clock()).close()
        old(engine, first.segment_id, last.segment_id)
        assert verify(engine, far, crawl_id).captures == 2
        pruned = retention.prune(engine, far, days=7)
        assert (pruned.segments, pruned.copied) == (2, 1)
        assert objects.names() == []
        (left,) = all_captures(engine, crawl_id)
        assert (left.id, Archive(engine, far).read(left).body) == (last.id, answers.page(2))
        make_keeper(small, Clock()).close()
        assert len(objects.names()) == 2
        retention.delete_crawl(engine, far, crawl_id)
        assert objects.names() == []
