"""Segments are gone through record by record, wherever the pieces that are read end."""

import io
import zlib

import pytest

from app.features.archive import record, scan

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
