"""What archiving a page costs (promise A1): microseconds of CPU, of which how many in what, beside warcio.

    python -m bench.archive [pages]        default 4000

The bar is 500 µs a page. A page is 14 kB of HTML made of our own documentation, which packs to less than half; and the
same packed by the server. Everything is written to a folder in /tmp and synced every 50 pages, as a settle does; rows
are not, which `bench.crawl` counts. warcio writes the same request and response, with digests.
"""

import gzip
import io
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import Any

from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from app.features.archive import record, recording
from app.features.archive.recording import Recording
from app.features.archive.segment import SegmentFile
from app.features.archive.writer import index_line
from app.model import CaptureKind, Reply

BAR_US = 500.0
PAGE_BYTES = 14_000
SETTLE = 50
ROUNDS = 5
_HEAD = (
    "HTTP/1.1 200 OK\r\nServer: nginx\r\nDate: Mon, 23 Nov 2026 12:00:00 GMT\r\n"
    "Content-Type: text/html; charset=utf-8\r\n"
    'Last-Modified: Sun, 22 Nov 2026 12:00:00 GMT\r\nETag: "5f3-61a"\r\nConnection: keep-alive\r\n'
)
_ASKED = {
    "Host": "site.test",
    "Accept": "text/html,application/xhtml+xml;q=0.9",
    "Accept-Language": "*",
    "Accept-Encoding": "gzip, deflate, br, zstd",
    "User-Agent": "Tiptoe/0.2.0 (+https://crawl.example.org/; crawl@example.org)",
}
_NOTES = {"outcome": "page", "hopsFromSeed": 3, "via": "http://site.test/docs/", "charset": "utf-8"}


def bodies(pages: int) -> list[bytes]:
    """Different pages of 14 kB."""
    text = "".join(path.read_text() for path in sorted(Path("docs").glob("*.md"))).encode()
    step = max((len(text) - PAGE_BYTES) // pages, 1)
    return [b"<html><title>%d</title>" % n + text[n * step :][:PAGE_BYTES] for n in range(pages)]


def answer(n: int, body: bytes, *, is_packed: bool) -> Recording:
    head = _HEAD + ("Content-Encoding: gzip\r\n\r\n" if is_packed else "\r\n")
    reply = Reply(
        status=200,
        started_s=0,
        ended_s=0,
        headers={"content-type": "text/html; charset=utf-8"},
        body=body,
        head=head.encode(),
        coded=gzip.compress(body, 6, mtime=0) if is_packed else None,
        address="127.0.0.1",
        asked=_ASKED,
    )
    return Recording(
        host_id=1,
        crawl_id=1,
        key=bytes(32),
        url=f"http://site.test/docs/page-{n}",
        kind=CaptureKind.PAGE,
        fetched_at=datetime.now(UTC),
        reply=reply,
        body_sha256=sha256(body).digest(),
        charset="utf-8",
        notes=_NOTES,
    )


def ours(folder: Path) -> Callable[[Recording], None]:
    """Our records, their index line, and a sync every 50 pages."""
    file = SegmentFile(folder, f"ours-{time.monotonic_ns()}", crawl_id=1, begun=0.0)
    turns = count(1)

    def write(each: Recording) -> None:
        id, payload = record.new_id(), each.payload
        digest = each.body_sha256 if payload is each.reply.body else None
        digest = digest or record.digest(payload)
        first = recording.response(each, id, digest)
        members = [first, recording.request(each, id), recording.metadata(each, id)]
        file.append(
            members,
            lambda at: index_line(each, file.path.name, at, is_revisit=False, digest=digest, length=len(first)),
        )
        if next(turns) % SETTLE == 0:
            file.sync(file.size)

    return write


def theirs(folder: Path) -> Callable[[Recording], None]:
    """warcio's records, without index and sync."""
    stream = open(folder / f"theirs-{time.monotonic_ns()}.warc.gz", "wb")  # noqa: SIM115  # open as long as the round
    writer: Any = WARCWriter(stream, gzip=True)

    def write(each: Recording) -> None:
        fields = [tuple(line.split(": ", 1)) for line in each.reply.head.decode().split("\r\n")[1:] if line]
        payload = each.payload
        assert isinstance(payload, bytes)
        response = writer.create_warc_record(
            each.url,
            "response",
            payload=io.BytesIO(payload),
            http_headers=StatusAndHeaders("200 OK", fields, protocol="HTTP/1.1"),
        )
        request = writer.create_warc_record(
            each.url,
            "request",
            http_headers=StatusAndHeaders("GET / HTTP/1.1", list(_ASKED.items()), is_http_request=True),
        )
        writer.write_request_response_pair(request, response)

    return write


def cpu_us(write: Callable[[Recording], None], answers: list[Recording]) -> float:
    """Microseconds of CPU a page, the kernel's included."""
    begin_s = time.process_time()
    for each in answers:
        write(each)
    return (time.process_time() - begin_s) / len(answers) * 1e6


def main() -> None:
    pages = int(sys.argv[1]) if len(sys.argv) > 1 else 4_000
    sides = {
        f"{what}, {how}": (
            make,
            [answer(n, body, is_packed=is_packed) for n, body in enumerate(bodies(pages // ROUNDS))],
        )
        for what, make in (("ours", ours), ("warcio", theirs))
        for how, is_packed in (("plain", False), ("packed by the server", True))
    }
    found: dict[str, list[float]] = {name: [] for name in sides}
    with tempfile.TemporaryDirectory(prefix="tiptoe-bench-") as folder:
        for _ in range(ROUNDS):
            for name, (make, answers) in sides.items():
                found[name].append(cpu_us(make(Path(folder)), answers))
    for name, each in found.items():
        print(f"{name:<30} {min(each):6.0f} µs a page (of {ROUNDS} rounds; the worst {max(each):.0f})")
    worst = min(found["ours, plain"])
    print(f"the bar is {BAR_US:.0f}: {'held' if worst <= BAR_US else 'NOT HELD'}")
    sys.exit(worst > BAR_US)


if __name__ == "__main__":
    main()
