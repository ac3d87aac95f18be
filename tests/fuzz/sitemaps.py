"""What must hold of sitemaps: whatever the bytes and however they arrive, the same entries, within limits."""

import gzip
import io

from app.parse.sitemap.elements import FLOOR, Walk
from app.parse.sitemap.markup import Feeder, plain
from app.parse.sitemap.sitemap import Child, Entry, Limits, SitemapReading, unpacked
from app.policy.recrawl import FUTURE, plausible
from tests.fuzz.parts import NOW, assert_storable, dice, pieces

_NARROW = Limits(max_entries=3, max_bytes=300, max_loc_chars=20)
_GZIP = b"\x1f\x8b"


def sitemap(data: bytes) -> None:
    """The file."""
    said = _read(io.BytesIO(data), Limits())
    assert _read(_Pieces(data), Limits()) == said
    if not data.startswith(_GZIP):
        assert _read(io.BytesIO(gzip.compress(data, mtime=0)), Limits()) == said
    _read(io.BytesIO(data), _NARROW)
    _markup(data.decode("utf-8", "replace"))


def unpacking(data: bytes) -> None:
    """What may be gzip: the same content and the same notes however it arrives, within the limit."""
    for max_bytes in (1 << 20, 100):
        said = _unpack([data] if data else [], max_bytes)
        assert _unpack(pieces(data, dice(data)), max_bytes) == said
        assert len(said[0]) <= max_bytes
    if not data.startswith(_GZIP):
        assert _unpack([data], 1 << 20) == (data, [])
        for packed in (gzip.compress(data, mtime=0), gzip.compress(gzip.compress(data, mtime=0), mtime=0)):
            assert _unpack([packed], 1 << 20) == (data, [])
            assert set(_unpack([packed[: len(packed) // 2]], 1 << 20)[1]) == {"gzip stream is cut"}


def _read(stream: io.BytesIO, limits: Limits) -> tuple[object, ...]:
    reading = SitemapReading(stream, limits=limits)
    values = list(reading)
    assert reading.entries == len(values) <= limits.max_entries
    assert reading.problem is None or (reading.problem.isprintable() and len(reading.problem) < 300)
    for value in values:
        _is_sound(value, limits)
    return values, reading.kind, reading.problem, reading.skipped


def _is_sound(value: Entry | Child, limits: Limits) -> None:
    assert_storable(value)
    assert 0 < len(value.loc) <= limits.max_loc_chars
    assert value.loc == value.loc.strip()
    assert value.lastmod is None or (value.lastmod_raw and 1990 <= value.lastmod.year <= 2100)
    said = plausible(value.lastmod, NOW)
    assert said is None or said <= NOW + FUTURE
    assert isinstance(value, Child) or value.priority is None or 0 <= value.priority <= 1


def _markup(written: str) -> None:
    """Markup is made safe alike, and walked alike, wherever it is cut in two."""
    rng = dice(written.encode())
    whole, notes = _plain([written])
    assert _plain(pieces(written, rng)) == (whole, notes)
    assert _walked(pieces(whole, rng)) == _walked([whole])


def _plain(parts: list[str]) -> tuple[str, list[str]]:
    notes: list[str] = []
    return "".join(plain(iter(parts), notes.append)), notes


def _walked(parts: list[str]) -> tuple[object, ...]:
    walk = Walk(2083, 1_000_000)
    feeder = Feeder(walk)
    for part in [FLOOR, *parts]:
        feeder.push(part)
    feeder.close()
    return walk.found, walk.kind, walk.skipped, walk.refusal, walk.depth


def _unpack(chunks: list[bytes], max_bytes: int) -> tuple[bytes, list[str]]:
    notes: list[str] = []
    return b"".join(unpacked(iter(chunks), max_bytes, notes.append)), notes


class _Pieces(io.BytesIO):
    """A stream that gives less than it is asked for."""

    def __init__(self, data: bytes) -> None:
        super().__init__(data)
        self._rng = dice(data)

    def read(self, size: int | None = -1, /) -> bytes:
        return super().read(min(self._rng.choice((1, 1, 2, 7, 100, 1000)), size or 1))
