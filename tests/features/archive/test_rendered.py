"""What a browser made of an answer, as records: their bytes, who reads them, and that they are no answers."""

import gzip
from dataclasses import replace
from datetime import timedelta
from hashlib import sha256
from pathlib import Path
from uuid import UUID

from sqlalchemy import Engine

from app.features.archive import recording
from app.features.archive.keeper import recover
from app.features.archive.read import Archive
from app.features.archive.recording import RenderedDocument
from app.features.archive.scan import records
from app.features.archive.writer import ArchiveWriter
from app.model import Capture
from app.store import captures, db
from tests.features.archive import answers
from tests.features.archive.conftest import MakeWriter
from tests.features.archive.deposits import deposit
from tests.features.archive.left import abandoned
from tests.features.archive.readers import by_warcio, is_accepted
from tests.store.rows import make_crawl

BODY = "<p>Käse".encode()
DOCUMENT = RenderedDocument(
    host_id=1,
    crawl_id=1,
    key=sha256(b"http://site.test/").digest(),
    url="http://site.test/",
    rendered_at=answers.BEGUN,
    status=200,
    source=7,
    source_record=UUID(int=1),
    body=BODY,
    body_sha256=sha256(BODY).digest(),
    text_sha256=sha256(b"text").digest(),
    at="http://site.test/deep/",
    notes={"ending": "quiet", "asked": 3},
)
GOLDEN = """WARC/1.1\r
WARC-Type: conversion\r
WARC-Record-ID: <urn:uuid:00000000-0000-0000-0000-000000000002>\r
WARC-Date: 2026-11-23T12:00:00.123456Z\r
WARC-Target-URI: urn:rendered:http://site.test/\r
WARC-Block-Digest: sha256:{sha}\r
Content-Type: text/html; charset=utf-8\r
WARC-Refers-To: <urn:uuid:00000000-0000-0000-0000-000000000001>\r
X-Tiptoe-Document-URI: http://site.test/deep/\r
Content-Length: 8\r
\r
<p>Käse\r
\r
"""


def put(writer: ArchiveWriter, source: Capture, body: bytes = BODY) -> Capture:
    """What a browser made of a capture, as a settle writes it."""
    row = writer.append_rendered(
        replace(
            DOCUMENT,
            crawl_id=source.crawl_id,
            source=source.id,
            source_record=source.record_id,
            rendered_at=source.fetched_at + timedelta(seconds=1),
            body=body,
            body_sha256=sha256(body).digest(),
        )
    )
    writer.sync([row])
    with db.transaction(writer.engine) as tx:
        ids = captures.add(tx, [row])
        writer.committed([row], ids)
        found = captures.by_id(tx, crawl_id=row.crawl_id, id=ids[row.segment_id, row.at_offset])
    assert found is not None
    return found


def test_its_bytes(tmp_path: Path) -> None:
    path = tmp_path / "a.warc.gz"
    path.write_bytes(recording.conversion(DOCUMENT, UUID(int=2)) + recording.document_metadata(DOCUMENT, UUID(int=2)))
    (first, second) = by_warcio(path)
    assert is_accepted(path)
    with open(path, "rb") as file:
        (found, _) = records(file, hashes=True)
    assert (found.is_rendered, found.is_answer, found.damage()) == (True, False, None)
    assert gzip.decompress(path.read_bytes()[: found.length]).decode() == GOLDEN.format(sha=sha256(BODY).hexdigest())
    assert (second.kind, second.fields["WARC-Refers-To"]) == ("metadata", first.fields["WARC-Record-ID"])
    assert second.body == b"ending: quiet\r\nasked: 3\r\n"


def test_an_answer_with_the_same_bytes_is_no_revisit_of_it(
    engine: Engine, writer: ArchiveWriter, archive: Archive
) -> None:
    crawl_id = make_crawl(engine)
    (source,) = deposit(writer, answers.recording(crawl_id=crawl_id))
    put(writer, source)
    (twin,) = deposit(writer, answers.recording(answers.reply(BODY), crawl_id=crawl_id, url="http://site.test/twin"))
    assert twin.refers_to is None
    place = (source.host_id, crawl_id, source.key)
    with db.transaction(engine) as tx:
        assert captures.originals(tx, [place])[place].id == source.id, "a 304 confirms the answer"
    assert archive.read(twin).body == BODY


def test_a_torn_segment_is_closed_with_it(
    engine: Engine, make_writer: MakeWriter, archive: Archive, folder: Path
) -> None:
    writer, crawl_id = make_writer(), make_crawl(engine)
    (source,) = deposit(writer, answers.recording(crawl_id=crawl_id))
    document = put(writer, source)
    put(writer, source, b"<p>torn")
    path = abandoned(writer, folder)
    with open(path, "r+b") as file:
        file.truncate(path.stat().st_size - 700)
    (name,) = recover(engine, folder)
    index = (folder / name.replace(".warc.gz", ".cdxj")).read_text().splitlines()
    assert len(index) == 1, "of the answer alone"
    assert is_accepted(folder / name)
    assert archive.read(document).body == BODY
    assert archive.plain(document) == (source, archive.read(source))


def test_it_is_copied_as_it_is_and_not_indexed(
    engine: Engine, writer: ArchiveWriter, make_writer: MakeWriter, archive: Archive, folder: Path
) -> None:
    crawl_id = make_crawl(engine)
    (source,) = deposit(writer, answers.recording(crawl_id=crawl_id))
    document = put(writer, source)
    other = make_writer(worker="here:2")
    segment_id, at = other.copy(crawl_id, archive.member(document))
    other.close_all()
    moved = document._replace(segment_id=segment_id, at_offset=at)
    assert archive.read(moved).body == BODY
    (index,) = list(folder.rglob("*.cdxj"))
    assert index.read_text() == ""
