"""Closed segments in an object store: uploaded, read by ranges, and kept here while it does not serve."""

import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine

from app.config import load
from app.errors import ArchiveMissing, ArchiveStopped, ServiceError
from app.features.archive.keeper import LOOK_S, UPLOAD_AGAIN_S, ArchiveKeeper
from app.features.archive.place import ArchivePlace, upload_closed
from app.features.archive.read import Archive
from app.features.archive.writer import ArchiveWriter
from app.model import Capture
from app.store import db, segments
from tests.features.archive import answers, store
from tests.features.archive.conftest import MakeWriter
from tests.features.archive.deposits import deposit
from tests.features.archive.readers import is_accepted
from tests.features.archive.store import ObjectStore
from tests.features.archive.test_keeper import Clock
from tests.store.rows import make_crawl, sql


@pytest.fixture
def objects(monkeypatch: pytest.MonkeyPatch) -> Iterator[ObjectStore]:
    with store.running(monkeypatch) as running:
        yield running


@pytest.fixture
def far(engine: Engine, tmp_path: Path, objects: ObjectStore) -> Archive:
    """An archive as another node reads it: with an empty folder."""
    return Archive(engine, load(home=tmp_path / "elsewhere", archive=objects.url))


def make_keeper(
    writer: ArchiveWriter, clock: Clock, *, where: str = ObjectStore.url, spool_bytes: int = 10**9
) -> ArchiveKeeper:
    place = ArchivePlace(writer.folder.parent, where)
    return ArchiveKeeper(writer, place, reserve_bytes=0, spool_bytes=spool_bytes, monotonic=clock)


def test_a_closed_segment_is_uploaded_and_read_by_ranges(
    engine: Engine, make_writer: MakeWriter, folder: Path, objects: ObjectStore, far: Archive, tmp_path: Path
) -> None:
    writer, crawl_id = make_writer(), make_crawl(engine)
    first, second = deposit(
        writer,
        answers.recording(answers.reply(answers.page(1)), crawl_id=crawl_id),
        answers.recording(answers.coded(answers.page(2)), crawl_id=crawl_id),
    )
    make_keeper(writer, Clock()).close()
    (row,) = sql(engine, "SELECT * FROM segments")
    stem = row["name"].removesuffix(".warc.gz")
    assert objects.names() == [f"crawls/{stem}.cdxj", f"crawls/{stem}.warc.gz"]
    assert (row["state"], row["place"]) == ("uploaded", f"{objects.url}/{row['name']}")
    assert [path for path in folder.rglob("*") if path.is_file()] == []
    assert [far.read(each).body for each in (first, second)] == [answers.page(1), answers.page(2)]
    remote = ArchivePlace(tmp_path, objects.url).remote
    assert remote is not None
    remote.fetch(row["name"], tmp_path / "back.warc.gz")
    assert is_accepted(tmp_path / "back.warc.gz")
    remote.delete(row["name"])
    with pytest.raises(ArchiveMissing, match="has no such object"):
        far.read(first)


def test_a_store_that_is_down_costs_nothing_but_time(
    engine: Engine, make_writer: MakeWriter, archive: Archive, objects: ObjectStore, far: Archive
) -> None:
    """It goes on fetching, and says what is wrong, up to its bound; then it stops, and goes on when the store does."""
    clock, writer, crawl_id = Clock(), make_writer(segment_bytes=1_024), make_crawl(engine)
    keeper, held = make_keeper(writer, clock, spool_bytes=15_000), list[Capture]()
    objects.stop()
    while len(held) < 20:
        clock.now += UPLOAD_AGAIN_S
        try:
            keeper.check()
        except ArchiveStopped as error:
            assert "wait for it in" in str(error)  # noqa: PT017  # it is the way out of the loop
            break
        body = answers.page(len(held), 5_000)
        held += deposit(writer, answers.recording(answers.reply(body), crawl_id=crawl_id))
        keeper.tend()
        keeper.move()
    keeper.tend()
    with db.transaction(engine) as tx:
        (node,) = segments.nodes(tx)
    assert 1 < len(held) < 20
    assert node.waiting_bytes > 15_000
    assert node.stopped_because is not None
    assert node.trouble is not None
    assert [archive.read(each).body for each in held] == [answers.page(n, 5_000) for n in range(len(held))]
    objects.start()
    clock.now += UPLOAD_AGAIN_S
    keeper.move()
    clock.now += LOOK_S
    keeper.check()
    keeper.close()
    assert [far.read(each).body for each in held] == [answers.page(n, 5_000) for n in range(len(held))]
    assert sql(engine, "SELECT DISTINCT state FROM segments") == [{"state": "uploaded"}]


def test_segments_of_another_database_stay_and_wait_for_nothing(
    engine: Engine, make_writer: MakeWriter, folder: Path, objects: ObjectStore
) -> None:
    """Such as those of a home whose database was made anew: they would stop the archive for good."""
    clock, stray = Clock(), folder / "old" / "tiptoe-old.warc.gz"
    stray.parent.mkdir(parents=True)
    stray.write_bytes(b"x" * 20_000)
    keeper = make_keeper(make_writer(), clock, spool_bytes=15_000)
    with pytest.raises(ArchiveStopped, match="wait for it in"):
        keeper.check()
    keeper.move()
    clock.now += LOOK_S
    keeper.check()
    assert stray.exists()
    assert objects.names() == []


def test_a_store_that_hangs_holds_up_neither_closing_nor_the_bound(
    engine: Engine, make_writer: MakeWriter, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It accepts connections and never answers: an upload waits for it, and nothing else does."""
    clock, writer, crawl_id = Clock(), make_writer(segment_bytes=1_024), make_crawl(engine)
    keeper = make_keeper(writer, clock, spool_bytes=15_000)
    with socket.create_server(("127.0.0.1", 0), backlog=16) as silent:
        for name, value in store.KEYS.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{silent.getsockname()[1]}")
        deposit(writer, answers.recording(answers.reply(answers.page(0, 5_000)), crawl_id=crawl_id))
        keeper.tend()
        uploading = threading.Thread(target=keeper.move)
        uploading.start()
        for n in range(1, 10):
            deposit(writer, answers.recording(answers.reply(answers.page(n, 5_000)), crawl_id=crawl_id))
            clock.now += LOOK_S
            keeper.tend()
        assert uploading.is_alive()
        with pytest.raises(ArchiveStopped, match="wait for it in"):
            keeper.check()
        assert list(folder.rglob("*.open")) == []
    uploading.join()


# where the archive is to be → what the person is told
@pytest.mark.parametrize(
    ("where", "why"),
    [
        ("s3://no-such-bucket/x", "archive at s3://no-such-bucket/x: the bucket does not exist; create it"),
        (ObjectStore.url, None),
    ],
)
def test_a_missing_bucket_is_named(where: str, why: str | None, tmp_path: Path, objects: ObjectStore) -> None:
    remote = ArchivePlace(tmp_path, where).remote
    assert remote is not None
    if why is None:
        remote.check()
        return
    with pytest.raises(ServiceError) as raised:
        remote.check()
    assert str(raised.value) == why


def test_a_store_that_refuses_is_named_in_one_line(tmp_path: Path, objects: ObjectStore) -> None:
    remote = ArchivePlace(tmp_path, objects.url).remote
    assert remote is not None
    objects.stop()
    with pytest.raises(ServiceError, match=f"archive at {objects.url}: does not serve") as raised:
        remote.check()
    assert "\n" not in str(raised.value)


# environment of the store → what the person is told
@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("AWS_ENDPOINT_URL", "127.0.0.1:9000", "AWS_ENDPOINT_URL is no address; write http://host:port"),
        ("AWS_ENDPOINT_URL", "http://a b", "AWS_ENDPOINT_URL is no address; write http://host:port"),
        ("AWS_ACCESS_KEY_ID", None, "half of the credentials is missing; set AWS_ACCESS_KEY_ID"),
    ],
)
def test_an_environment_that_leads_nowhere_is_named_in_one_line(
    tmp_path: Path, objects: ObjectStore, monkeypatch: pytest.MonkeyPatch, name: str, value: str | None, why: str
) -> None:
    remote = ArchivePlace(tmp_path, objects.url).remote
    assert remote is not None
    with monkeypatch.context() as changed:
        changed.delenv(name)
        if value is not None:
            changed.setenv(name, value)
        with pytest.raises(ServiceError, match=f"archive at {objects.url}: {why}") as raised:
            remote.check()
    assert "\n" not in str(raised.value)


def test_without_credentials_the_remedy_is_to_set_them(
    tmp_path: Path, objects: ObjectStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """obstore asks the machine for those of its role, which only Amazon's have."""
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    monkeypatch.setenv("AWS_METADATA_ENDPOINT", "http://127.0.0.1:1")
    remote = ArchivePlace(tmp_path, objects.url).remote
    assert remote is not None
    with pytest.raises(ServiceError, match="there are no credentials; set AWS_ACCESS_KEY_ID"):
        remote.check()


def test_an_upload_that_was_cut_off_before_its_row_is_repeated(
    engine: Engine, make_writer: MakeWriter, folder: Path, objects: ObjectStore, far: Archive
) -> None:
    writer, crawl_id = make_writer(), make_crawl(engine)
    (capture,) = deposit(writer, answers.recording(crawl_id=crawl_id))
    writer.close_all()
    remote = ArchivePlace(folder.parent, objects.url).remote
    assert remote is not None
    (path,) = folder.rglob("*.warc.gz")
    remote.put(path, str(path.relative_to(folder)))
    assert upload_closed(engine, folder, remote, set()) == 1
    assert far.read(capture).body == b"<p>hello"
    assert upload_closed(engine, folder, remote, set()) == 0


def test_a_stray_file_is_left_alone(engine: Engine, folder: Path, objects: ObjectStore) -> None:
    (folder / "c").mkdir(parents=True)
    (folder / "c" / "mine.warc.gz").write_bytes(b"x")
    remote = ArchivePlace(folder.parent, objects.url).remote
    assert remote is not None
    assert upload_closed(engine, folder, remote, set()) == 0
    assert (folder / "c" / "mine.warc.gz").exists()
