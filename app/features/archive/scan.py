"""Goes through a segment from its start: its records, their digests, and where it breaks off.

A record is whole if its gzip member is (length and CRC-32), and its block has the length that its header says.
"""

import re
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import BinaryIO

from app.features.archive import record
from app.features.archive.record import IndexEntry

# The WARC header, and the HTTP header after it: 320 KiB as received, and fields that are renamed get almost twice as
# long.
HEAD_BYTES = 1024 * 1024
_END = re.compile(rb"\r?\n\r?\n")
_END_OF_RECORD = b"\r\n\r\n"


class BrokenRecord(Exception):
    """A record is not whole: torn, cut or damaged.   at: where it begins;   size: of the file"""

    def __init__(self, at: int, why: str) -> None:
        super().__init__(f"byte {at}: {why}")
        self.at = at


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundRecord:
    """A record of a segment.

    offset, length   of its gzip member
    fields           of its WARC header, names in lower case
    http             the HTTP header of its block, with the empty line; b"" where it has none
    block_sha256, payload_sha256   of what is there; None: not asked for, or no payload
    """

    offset: int
    length: int
    fields: Mapping[str, str]
    http: bytes
    block_sha256: bytes | None = None
    payload_sha256: bytes | None = None

    @property
    def kind(self) -> str:
        return self.fields.get("warc-type", "")

    @property
    def is_answer(self) -> bool:
        return self.kind in {"response", "revisit"}

    @property
    def is_rendered(self) -> bool:
        return self.kind == "conversion"

    def damage(self) -> str | None:
        """How its digests differ from what its header says; None: they do not."""
        found = {"warc-block-digest": self.block_sha256}
        if self.kind == "response":
            found["warc-payload-digest"] = self.payload_sha256
        for name, sha in found.items():
            said = self.fields.get(name)
            if said is not None and sha is not None and said != record.labelled(sha):
                return f"its {name} is wrong"
        return None


def records(file: BinaryIO, *, hashes: bool = False) -> Iterator[FoundRecord]:
    """The records of a segment, in order. Raises BrokenRecord at the first that is not whole.

    hashes: compute the digests of their blocks and payloads.
    """
    source = _Source(file)
    while not source.is_at_end():
        yield _one(source, hashes)


def index_line(found: FoundRecord, name: str) -> bytes:
    """The index line of a response or revisit.   name: of the segment's file, without the folder"""
    said = found.fields
    status, content_type = http_status(found.http), http_field(found.http, b"content-type")
    return record.line(
        IndexEntry(
            url=said.get("warc-target-uri", ""),
            moment=datetime.fromisoformat(said["warc-date"]),
            mime=record.REVISIT if found.kind == "revisit" else record.media_type(content_type),
            status=status,
            digest=said.get("warc-payload-digest", ""),
            length=found.length,
            offset=found.offset,
            name=name,
        )
    )


def http_status(head: bytes) -> int:
    """The status of an HTTP header; 0 where it has none."""
    words = head.partition(b"\n")[0].split(None, 2)
    return int(words[1]) if len(words) > 1 and words[1].isdigit() else 0


def http_field(head: bytes, name: bytes) -> str | None:
    """The first value of a field of an HTTP header."""
    for line in head.splitlines()[1:]:
        written, colon, value = line.partition(b":")
        if colon and written.strip().lower() == name:
            return value.strip().decode("latin-1")
    return None


def split(octets: bytes) -> tuple[dict[str, str], bytes]:
    """A record without its gzip: the fields of its header, names in lower case, and the rest. Raises ValueError."""
    end = octets.find(b"\r\n\r\n")
    if not octets.startswith(b"WARC/") or end < 0:
        raise ValueError("no WARC header")
    lines = octets[:end].decode("utf-8", "replace").split("\r\n")[1:]
    fields = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    return fields, octets[end + 4 :]


def http_end(block: bytes) -> int:
    """Where the payload of an HTTP message begins."""
    found = _END.search(block)
    return len(block) if found is None else found.end()


class _Source:
    """A file that is read in pieces, of which some may be given back."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._held = b""
        self.at = file.tell()

    def is_at_end(self) -> bool:
        if not self._held:
            self._held = self._file.read(record.PIECE_BYTES)
        return not self._held

    def next(self) -> bytes:
        held, self._held = self._held or self._file.read(record.PIECE_BYTES), b""
        self.at += len(held)
        return held

    def give_back(self, rest: bytes) -> None:
        self._held, self.at = rest, self.at - len(rest)


def _one(source: _Source, hashes: bool) -> FoundRecord:
    """The next record."""
    at, block = source.at, _Block(hashes)
    unpacker = zlib.decompressobj(record.GZIP)
    try:
        while not unpacker.eof:
            piece = source.next()
            if not piece:
                raise BrokenRecord(at, "it is cut")
            while True:
                block.add(unpacker.decompress(piece, record.PIECE_BYTES))
                piece = unpacker.unconsumed_tail
                if not piece or unpacker.eof:  # at the end it may hold what belongs to the next record
                    break
        source.give_back(unpacker.unused_data)
        fields = block.fields()
    except (zlib.error, ValueError) as error:
        raise BrokenRecord(at, str(error)) from error
    return FoundRecord(
        offset=at,
        length=source.at - at,
        fields=fields,
        http=block.http,
        block_sha256=block.digest(),
        payload_sha256=block.payload_digest(),
    )


class _Block:
    """The content of a member: its start is kept, the rest is counted, and hashed where digests are asked for."""

    def __init__(self, hashes: bool) -> None:
        self._start = bytearray()
        self._size = 0
        self._tail = b""
        self._hashes = (sha256(), sha256()) if hashes else None
        self._split: tuple[dict[str, str], int, bytes] | None = None

    def add(self, piece: bytes) -> None:
        self._size += len(piece)
        if self._split is None:
            self._start += piece
            if len(self._start) >= HEAD_BYTES:
                self._open()
        else:
            self._hash(piece)

    def fields(self) -> dict[str, str]:
        """The fields of the header. Raises ValueError where the block has not the length that they say."""
        fields, at, _ = self._split or self._open()
        if self._size - at - len(_END_OF_RECORD) != int(fields.get("content-length", -1)):
            raise ValueError("its length is not what its header says")
        return fields

    @property
    def http(self) -> bytes:
        return self._split[2] if self._split is not None else b""

    def digest(self) -> bytes | None:
        return self._hashes[0].digest() if self._hashes is not None else None

    def payload_digest(self) -> bytes | None:
        return self._hashes[1].digest() if self._hashes is not None and self.http else None

    def _open(self) -> tuple[dict[str, str], int, bytes]:
        fields, rest = split(bytes(self._start))
        is_http = fields.get("content-type", "").startswith("application/http")
        http = rest[: http_end(rest)] if is_http else b""
        self._split = fields, len(self._start) - len(rest), http
        if self._hashes is not None:
            self._hashes[0].update(http)
        self._hash(rest[len(http) :])
        self._start.clear()
        return self._split

    def _hash(self, piece: bytes) -> None:
        """Hash all but the record's end, which is not known to be it until more comes."""
        if self._hashes is None:
            return
        whole = self._tail + piece
        cut = max(len(whole) - len(_END_OF_RECORD), 0)
        for sha in self._hashes:
            sha.update(whole[:cut])
        self._tail = whole[cut:]
