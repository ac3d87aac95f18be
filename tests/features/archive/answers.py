"""Answers to be archived, as a visit would hand them over."""

import gzip
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any

from app.features.archive.recording import Recording
from app.model import CaptureKind, Failure, Reply

BEGUN = datetime(2026, 11, 23, 12, 0, 0, 123456, tzinfo=UTC)
ASKED = {"Host": "site.test", "User-Agent": "Tiptoe/0.1.0"}


def page(n: int, size: int = 1_000) -> bytes:
    """A body of its own."""
    start = f"<html><title>{n}</title>".encode()
    return start + b"".join(sha256(b"%d %d" % (n, each)).hexdigest().encode() for each in range(size // 64))


def reply(body: bytes = b"<p>hello", *, status: int = 200, head: bytes | None = None, **fields: Any) -> Reply:
    """A reply; its header lists the fields that are not given otherwise."""
    given = b"HTTP/1.1 %d OK\r\nServer: T\xe9st\r\nContent-Type: text/html; charset=utf-8\r\n\r\n"
    return Reply(
        status=status,
        started_s=1.0,
        ended_s=2.0,
        headers={"content-type": "text/html; charset=utf-8", **fields.pop("headers", {})},
        body=body,
        head=given % status if head is None else head,
        address="127.0.0.1",
        asked=fields.pop("asked", ASKED),
        **fields,
    )


def coded(body: bytes) -> Reply:
    """A reply whose body came in gzip."""
    return reply(
        body,
        coded=gzip.compress(body, mtime=0),
        headers={"content-encoding": "gzip"},
        head=b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: gzip\r\n\r\n",
    )


def unmodified(**fields: Any) -> Reply:
    return reply(b"", status=304, head=b'HTTP/1.1 304 Not Modified\r\nETag: "a"\r\n\r\n', **fields)


def recording(answer: Reply | None = None, *, crawl_id: int, url: str = "http://site.test/", **given: Any) -> Recording:
    answer = reply() if answer is None else answer
    fields: dict[str, Any] = {
        "host_id": 1,
        "crawl_id": crawl_id,
        "key": sha256(url.encode()).digest(),
        "url": url,
        "kind": CaptureKind.PAGE,
        "fetched_at": BEGUN + timedelta(seconds=given.pop("at_s", 0)),
        "reply": answer,
        "body_sha256": sha256(answer.body).digest() if answer.body else None,
        "text_sha256": sha256(b"text").digest(),
        "charset": "utf-8",
        "notes": {"outcome": "page"},
    }
    return Recording(**{**fields, **given})


TRUNCATED: list[tuple[Mapping[str, Any], str | None]] = [
    ({}, None),
    ({"truncated": True}, "length"),
    ({"failure": Failure.TIMEOUT}, "time"),
    ({"failure": Failure.CUT}, "disconnect"),
    ({"body_read": False}, "unspecified"),
]
