"""Exports to an S3-compatible store: parts, a single object, going on, and what cannot be."""

import gc
from collections.abc import Iterator
from pathlib import Path

import obstore
import pytest
from obstore.store import S3Store

from app.errors import InputError, ServiceError
from tests.features.archive.store import BUCKET, ObjectStore, running
from tests.features.export.conftest import HOSTS, PAGES, Planted

ALL = HOSTS * PAGES


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Iterator[ObjectStore]:
    with running(monkeypatch) as store:
        yield store


def lines(store: ObjectStore, name: str) -> int:
    bucket = S3Store(BUCKET, endpoint=store.endpoint, client_options={"allow_http": True})
    return bytes(obstore.get(bucket, name).bytes()).count(b"\n")


def test_a_single_object(planted: Planted, store: ObjectStore) -> None:
    assert planted.export("pages", f"s3://{BUCKET}/out/pages.csv").rows == ALL
    assert store.names() == ["out/pages.csv"]
    assert lines(store, "out/pages.csv") == ALL + 1


def test_parts_go_on_behind_the_last_whole_one(planted: Planted, store: ObjectStore) -> None:
    def tell(rows: int) -> None:
        if rows > 60:
            raise KeyboardInterrupt

    place = f"s3://{BUCKET}/out/"
    with pytest.raises(KeyboardInterrupt):
        planted.export("pages", place, part_rows=50, tell=tell)
    assert store.names() == ["out/export.json", "out/part-00001.jsonl"]
    done = planted.export("pages", place, part_rows=50)
    assert (done.rows, done.is_resumed, len(done.parts)) == (ALL, True, 3)
    assert [lines(store, f"out/{name}") for name in done.parts] == [50, 50, 20]


def test_a_file_for_each_page(planted: Planted, store: ObjectStore) -> None:
    planted.export("pages", f"s3://{BUCKET}/book/", form="markdown", where=("host=h1.test",))
    names = [name for name in store.names() if name.startswith("book/http_h1.test/page-") and name.endswith(".md")]
    assert len(names) == PAGES


def test_nothing_is_left_in_the_temporary_folder(
    planted: Planted, store: ObjectStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    planted.export("pages", f"s3://{BUCKET}/out/", part_rows=50)
    gc.collect()
    assert list(tmp_path.iterdir()) == []


def test_a_bucket_that_there_is_not(planted: Planted, store: ObjectStore) -> None:
    with pytest.raises(ServiceError, match=r"--to s3://no-such-bucket/out: the bucket does not exist; create it"):
        planted.export("pages", "s3://no-such-bucket/out/")


def test_without_the_library(planted: Planted, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "obstore", None)
    with pytest.raises(InputError, match=r"--to s3://b/out/: needs obstore; run `.*pip install 'obstore"):
        planted.export("pages", "s3://b/out/")
