"""Other people's readers of WARC: whether they accept a segment, and what they find in it."""

import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

from fastwarc.warc import ArchiveIterator as FastIterator
from warcio.archiveiterator import ArchiveIterator


class Read(NamedTuple):
    """A record as warcio reads it.   fields: of its WARC header;   body: the payload, or the whole block"""

    kind: str
    fields: dict[str, str]
    status: str | None
    http: list[tuple[str, str]]
    body: bytes
    offset: int
    length: int


def by_warcio(path: Path) -> list[Read]:
    found = []
    with open(path, "rb") as file:
        records: Any = ArchiveIterator(file, no_record_parse=False)
        for record in records:
            http = record.http_headers
            body = record.raw_stream.read()
            offset = records.get_record_offset()
            found.append(
                Read(
                    record.rec_type,
                    dict(record.rec_headers.headers),
                    http.get_statuscode() if http else None,
                    list(http.headers) if http else [],
                    body,
                    offset,
                    records.get_record_length(),
                )
            )
    return found


def payloads_by_fastwarc(path: Path) -> list[bytes]:
    """The payloads of a segment's HTTP records."""
    with open(path, "rb") as file:
        return [record.reader.read() for record in FastIterator(file, parse_http=True)]


def is_accepted(*paths: Path) -> bool:
    """Whether `warcio check` and fastwarc find every digest right, and a record in each file."""
    names = [str(path) for path in paths]
    warcio = subprocess.run(
        [Path(sys.executable).with_name("warcio"), "check", *names], capture_output=True, timeout=60
    )
    return warcio.returncode == 0 and all(_is_accepted_by_fastwarc(path) for path in paths)


def _is_accepted_by_fastwarc(path: Path) -> bool:
    with open(path, "rb") as file:
        verdicts = [record.verify_block_digest(consume=True) for record in FastIterator(file, parse_http=False)]
    return bool(verdicts) and False not in verdicts
