import io
from pathlib import Path
from typing import Any
from uuid import RFC_4122, UUID

import pytest

from app.features.archive import record, recording
from app.features.archive.record import Payload
from app.features.archive.recording import held
from app.model import CaptureKind, Reply
from app.store.captures import Original
from tests.features.archive import answers
from tests.features.archive.answers import BEGUN
from tests.features.archive.readers import by_warcio, is_accepted, payloads_by_fastwarc


def write(path: Path, *members: bytes) -> Path:
    path.write_bytes(b"".join(members))
    return path


# the payload, however it is held
@pytest.mark.parametrize(
    "payload", [b"", b"x", b"y" * 100_000, io.BytesIO(b"z" * 200_000)], ids=["none", "small", "large", "file"]
)
def test_a_record_is_what_warcio_and_fastwarc_read(tmp_path: Path, payload: Payload) -> None:
    whole = b"".join(record.pieces(payload))
    fields = [
        ("WARC-Type", "resource"),
        ("WARC-Record-ID", record.new_id()),
        ("WARC-Date", record.date(BEGUN)),
        ("WARC-Target-URI", "http://site.test/"),
        ("WARC-Block-Digest", record.labelled(record.digest(payload))),
        ("Content-Type", "text/plain"),
    ]
    path = write(tmp_path / "a.warc.gz", record.member(fields, payload), record.member(fields, payload))
    found = by_warcio(path)
    assert is_accepted(path)
    assert [each.body for each in found] == [whole, whole]
    assert found[0].fields["WARC-Date"] == "2026-11-23T12:00:00.123456Z"
    assert found[1].offset == found[0].length


def test_a_wrong_digest_is_noticed_by_both_readers(tmp_path: Path) -> None:
    fields = [
        ("WARC-Type", "resource"),
        ("WARC-Record-ID", record.new_id()),
        ("WARC-Date", record.date(BEGUN)),
        ("WARC-Block-Digest", record.labelled(record.digest(b"other"))),
        ("Content-Type", "text/plain"),
    ]
    assert not is_accepted(write(tmp_path / "a.warc.gz", record.member(fields, b"this")))


# heads whose lines end as readers do not agree
@pytest.mark.parametrize(
    "head",
    [
        b"HTTP/1.1 200 OK\nContent-Type: text/html\n\n",
        b"HTTP/1.1 200 OK\r\nContent-Type: text/html\n\r\n",
        b"HTTP/1.1 200 OK\nContent-Type: text/html\r\n\n",
        b"HTTP/1.1 200 OK\nTransfer-Encoding: chunked\nX: y\n\n",
        b"HTTP/1.1 200 OK\r\nX: y\r\n \t\r\nContent-Type: text/html\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nX: y\r\n\r\r\nContent-Type: text/html\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nno colon\r\nX: y\r\n folded\r\nX\0Y: z\rQ\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n" + b"X-Many: y\r\n" * 2_500 + b"\r\n",
        b"HTTP/2 200 OK\r\nContent-Type: text/html\r\n\r\n",
        b"HTTP 200 OK\r\nContent-Type: text/html\r\n\r\n",
        b"http/1.1\t200\r\nContent-Type: text/html\r\n\r\n",
        b"HTTP/1.1  200  OK\r\nContent-Type: text/html\r\n\r\n",
        b"HTTP/1.1 200OK\nContent-Type: text/html\n\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: unknown\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\nContent-Type: text/html\r\n\r\n",
    ],
    ids=[
        "LF",
        "LF, then CR LF",
        "the last LF",
        "LF and chunked",
        "a blank line",
        "a CR alone",
        "malformed",
        "long",
        "HTTP/2",
        "HTTP",
        "tab",
        "two blanks",
        "no blank",
        "no number",
        "a negative number",
    ],
)
def test_two_readers_find_one_payload(tmp_path: Path, head: bytes) -> None:
    body = b"<p>hello\n\n<p>and\r\n\r\nmore"
    answer = answers.recording(answers.reply(body, head=head), crawl_id=1)
    sha = record.digest(answer.payload)
    path = write(tmp_path / "a.warc.gz", recording.response(answer, record.new_id(), sha))
    (found,) = by_warcio(path)
    assert is_accepted(path)
    assert (found.body, payloads_by_fastwarc(path)) == (body, [body])
    assert found.status == "200"


def test_a_response_is_kept_as_it_came(tmp_path: Path) -> None:
    body = answers.page(1)
    answer = answers.recording(answers.coded(body), crawl_id=1)
    payload = answer.payload
    path = write(
        tmp_path / "a.warc.gz",
        recording.response(answer, record.new_id(), record.digest(payload)),
        recording.request(answer, "<urn:uuid:1>"),
        recording.metadata(answer, "<urn:uuid:1>"),
    )
    response, request, metadata = by_warcio(path)
    assert is_accepted(path)
    assert response.body == payload != body
    assert ("Content-Encoding", "gzip") in response.http
    assert response.fields["WARC-IP-Address"] == "127.0.0.1"
    assert request.http == [("Host", "site.test"), ("User-Agent", "Tiptoe/0.1.0")]
    assert request.fields["WARC-Concurrent-To"] == "<urn:uuid:1>"
    assert metadata.body == b"outcome: page\r\n"


def test_the_field_of_an_undone_transfer_coding_is_renamed(tmp_path: Path) -> None:
    head = b"HTTP/1.1 200 OK\r\ntransfer-Encoding: chunked\r\nContent-Type: text/html\r\n\r\n"
    answer = answers.recording(answers.reply(b"whole", head=head), crawl_id=1)
    path = write(tmp_path / "a.warc.gz", recording.response(answer, record.new_id(), record.digest(answer.payload)))
    (found,) = by_warcio(path)
    assert is_accepted(path)
    assert found.http == [("X-Archive-Orig-transfer-Encoding", "chunked"), ("Content-Type", "text/html")]
    assert found.body == b"whole"


# the reply → WARC-Truncated
@pytest.mark.parametrize(("fields", "reason"), answers.TRUNCATED)
def test_a_body_that_is_not_all_says_why(fields: dict[str, Any], reason: str | None, tmp_path: Path) -> None:
    answer = answers.recording(answers.reply(**fields), crawl_id=1)
    path = write(tmp_path / "a.warc.gz", recording.response(answer, record.new_id(), record.digest(answer.payload)))
    (found,) = by_warcio(path)
    assert found.fields.get("WARC-Truncated") == reason


ORIGINAL = Original(
    id=7,
    url="http://site.test/first",
    fetched_at=BEGUN,
    kind="page",
    status=200,
    content_type="text/html",
    charset="utf-8",
    body_sha256=b"b" * 32,
    text_sha256=None,
    body_bytes=3,
    truncated=False,
    payload_sha256=b"p" * 32,
)


# the answer, what it repeats → profile, what it refers to
@pytest.mark.parametrize(
    ("reply", "same", "profile", "refers_to"),
    [
        (answers.unmodified(), ORIGINAL, recording.NOT_MODIFIED, "http://site.test/first"),
        (answers.unmodified(), None, recording.NOT_MODIFIED, None),
        (answers.reply(b"again"), ORIGINAL, recording.SAME_PAYLOAD, "http://site.test/first"),
    ],
)
def test_a_revisit_names_what_it_repeats(
    reply: Reply, same: Original | None, profile: str, refers_to: str | None, tmp_path: Path
) -> None:
    answer = answers.recording(reply, crawl_id=1)
    path = write(tmp_path / "a.warc.gz", recording.revisit(answer, record.new_id(), same and held(same)))
    (found,) = by_warcio(path)
    assert is_accepted(path)
    assert (found.kind, found.fields["WARC-Profile"], found.body) == ("revisit", profile, b"")
    assert found.status == str(reply.status)
    assert found.fields.get("WARC-Refers-To-Target-URI") == refers_to
    if same is not None:
        assert found.fields["WARC-Refers-To-Date"] == "2026-11-23T12:00:00.123456Z"
        assert found.fields["WARC-Payload-Digest"] == f"sha256:{(b'p' * 32).hex()}"


def test_an_id_is_a_random_uuid() -> None:
    ids = [record.new_id() for _ in range(200)]
    found = [UUID(id[1:-1]) for id in ids]
    assert {(each.version, each.variant) for each in found} == {(4, RFC_4122)}
    assert [record.named_id(each) for each in found] == ids
    assert len(set(ids)) == len(ids)


def test_a_note_cannot_end_its_line() -> None:
    assert recording.notes({"cause": "a\r\nWARC-Type: evil", "none": None, "depth": 0}) == (
        b"cause: a  WARC-Type: evil\r\ndepth: 0\r\n"
    )


def test_sitemaps_are_archived_from_their_file(tmp_path: Path) -> None:
    file = io.BytesIO(b"<urlset/>" * 10_000)
    answer = answers.recording(
        answers.reply(b"", sunk_bytes=90_000), crawl_id=1, kind=CaptureKind.SITEMAP, body=file, body_sha256=None
    )
    path = write(tmp_path / "a.warc.gz", recording.response(answer, record.new_id(), record.digest(answer.payload)))
    (found,) = by_warcio(path)
    assert is_accepted(path)
    assert found.body == file.getvalue()
