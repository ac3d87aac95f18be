"""Segments are gone through record by record, wherever the pieces that are read end."""

import io
import zlib

import pytest

from app.features.archive import record, recording, scan
from app.net.head import HEADER_BYTES_MAX, STATUS_BYTES_MAX
from tests.features.archive import answers

PIECE = record.PIECE_BYTES


def member(block: bytes) -> bytes:
    head = f"WARC/1.1\r\nWARC-Type: resource\r\nContent-Length: {len(block)}\r\n\r\n".encode()
    packer = zlib.compressobj(wbits=record.GZIP)
    return packer.compress(head + block + b"\r\n\r\n") + packer.flush()


# Zeros: some bytes of gzip become several pieces, and the next records stand in the same piece of the file.
@pytest.mark.parametrize("size", [0, 1, PIECE - 1, PIECE, PIECE + 1, 2 * PIECE, 3 * PIECE + 7])
@pytest.mark.parametrize("hashes", [False, True])
def test_every_record_is_found_once_whatever_its_size(size: int, hashes: bool) -> None:
    members = [member(b"first"), member(b"\0" * size), member(b"last"), member(b"\0" * size)]
    found = list(scan.records(io.BytesIO(b"".join(members)), hashes=hashes))
    assert [each.length for each in found] == [len(each) for each in members]
    assert [each.offset for each in found] == [sum(map(len, members[:n])) for n in range(len(members))]


@pytest.mark.parametrize("field", [b"Transfer-Encoding:\n", b"a:\n"])
def test_the_longest_header_is_told_from_the_body(field: bytes) -> None:
    """As it is archived: lines end in CR LF, and a transfer-coding that was undone is renamed."""
    status = b"HTTP/1.1 200 ".ljust(STATUS_BYTES_MAX - 1, b"x") + b"\n"
    reply = answers.reply(b"<p>", head=status + field * (HEADER_BYTES_MAX // len(field) - 1) + b"\n")
    made = recording.response(answers.recording(reply, crawl_id=1), record.new_id(), record.digest(b"<p>"))
    (found,) = scan.records(io.BytesIO(made), hashes=True)
    assert found.damage() is None
