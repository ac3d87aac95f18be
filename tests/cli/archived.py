"""Fixtures: a crawl `docs` with an archive that answers are put into, and a host `site.test`."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine

from app.admin.robots_report import canonical
from app.config import load
from app.features.archive.recording import RenderedDocument
from app.features.archive.writer import ArchiveWriter, SegmentLimits
from app.model import Capture
from app.store import captures, db
from tests.features.archive import answers
from tests.features.archive.deposits import deposit
from tests.store.rows import clean, make_crawl, make_host, one

URL = "http://site.test/news?a=1"
BODY = "<p>A page.</p>"
Deposit = Callable[..., Capture]


@pytest.fixture(autouse=True)
def engine(database_url: str) -> Iterator[Engine]:
    with clean(database_url) as engine:
        make_crawl(engine, "docs")
        make_host(engine, "site.test")
        yield engine


@pytest.fixture
def writer(engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ArchiveWriter]:
    """A writer of the archive that commands read."""
    monkeypatch.setenv("TIPTOE_HOME", str(tmp_path / "home"))
    folder = tmp_path / "home" / "archive"
    limits = SegmentLimits(1_000_000, 3_600)
    made = ArchiveWriter(engine, folder, node="here", worker="here:1", limits=limits, about={})
    yield made
    made.close_all()


@pytest.fixture
def put(engine: Engine, writer: ArchiveWriter) -> Deposit:
    """put(body, url=…, crawl=…): archive an answer as a settle does; a second apart."""
    seconds = iter(range(1_000))

    def put(body: str | bytes = BODY, *, url: str = URL, crawl: str = "docs", **given: Any) -> Capture:
        octets = body.encode() if isinstance(body, str) else body
        found = canonical(load(), url)
        fields: dict[str, Any] = {
            "crawl_id": one(engine, "SELECT id FROM crawls WHERE name = :n", n=crawl),
            "host_id": one(engine, "SELECT id FROM hosts WHERE name = :n", n=found.host),
            "key": found.key,
            "url": url,
            "at_s": next(seconds),
            "text_sha256": sha256(octets).digest(),
        }
        recording = answers.recording(answers.reply(octets, **given.pop("reply", {})), **{**fields, **given})
        (capture,) = deposit(writer, recording)
        return capture

    return put


@pytest.fixture
def put_rendered(engine: Engine, writer: ArchiveWriter) -> Deposit:
    """put_rendered(capture, body): archive what a browser made of an answer, as a render turn does."""

    def put_rendered(source: Capture, body: str) -> Capture:
        octets = body.encode()
        document = RenderedDocument(
            host_id=source.host_id,
            crawl_id=source.crawl_id,
            key=source.key,
            url=source.url,
            rendered_at=source.fetched_at + timedelta(milliseconds=500),
            status=source.status,
            source=source.id,
            source_record=source.record_id,
            body=octets,
            body_sha256=sha256(octets).digest(),
            text_sha256=sha256(octets).digest(),
            notes={"ending": "quiet"},
        )
        row = writer.append_rendered(document)
        writer.sync([row])
        with db.transaction(engine) as tx:
            (id,) = captures.add(tx, [row]).values()
        return row._replace(id=id)

    return put_rendered
