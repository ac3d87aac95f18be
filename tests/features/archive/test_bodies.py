"""What a process remembers of the bodies in its archive: exact, of one crawl, and never larger than at its start."""

import tracemalloc
from datetime import UTC, datetime, timedelta, timezone
from hashlib import sha256

import pytest

from app.features.archive import recording
from app.features.archive.recording import HeldBody, KnownBodies

MOMENT = datetime(2026, 11, 26, 20, 15, 30, 123457, tzinfo=UTC)


def body(n: int, url: str = "http://site.test/a/page-{}.html") -> HeldBody:
    return HeldBody(n, url.format(n), MOMENT + timedelta(microseconds=n), sha256(b"%d" % n).digest())


def test_a_body_comes_back_as_it_was() -> None:
    known = KnownBodies()
    for n in range(100):
        known.put(1, body(n))
    assert [known.get(1, body(n).payload_sha256) for n in range(100)] == [body(n) for n in range(100)]


@pytest.mark.parametrize(
    "url", ["http://bücher.test/ä?q={}", "http://site.test/\ud800{}", "http://site.test/" + 9_000 * "x"]
)
def test_any_url_comes_back(url: str) -> None:
    known = KnownBodies()
    known.put(1, body(7, url))
    assert known.get(1, body(7).payload_sha256) == body(7, url)


def test_a_moment_is_the_same_in_any_zone_and_before_1970() -> None:
    known, east = KnownBodies(), timezone(timedelta(hours=5, minutes=45))
    for n, moment in enumerate((MOMENT.astimezone(east), datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC))):
        known.put(1, body(n)._replace(fetched_at=moment))
        found = known.get(1, body(n).payload_sha256)
        assert found is not None
        assert found.fetched_at == moment


def test_a_body_is_known_in_its_crawl_alone() -> None:
    known = KnownBodies()
    known.put(1, body(1))
    assert [known.get(crawl_id, body(1).payload_sha256) for crawl_id in (0, 2, 3, 1 << 40)] == [None] * 4
    assert known.get(1, body(2).payload_sha256) is None


def test_the_last_capture_of_a_body_counts() -> None:
    known = KnownBodies()
    known.put(1, body(1))
    again = body(1)._replace(id=9, url="http://site.test/again")
    known.put(1, again)
    assert known.get(1, body(1).payload_sha256) == again


@pytest.mark.parametrize("size", [1_000, 1_001, 4_096])
def test_the_oldest_give_way_and_nothing_comes_back_wrong(size: int) -> None:
    known = KnownBodies(size)
    for n in range(500):
        known.put(1, body(n, "http://site.test/" + (n % 97) * "y" + "{}"))
        left = [each for each in range(n + 1) if known.get(1, body(each).payload_sha256) is not None]
        assert left == list(range(left[0], n + 1))
        assert left[0] <= max(0, n + 2 - size // 180)
    for n in left:
        assert known.get(1, body(n).payload_sha256) == body(n, "http://site.test/" + (n % 97) * "y" + "{}")


def test_what_has_no_room_is_not_remembered_and_harms_nobody() -> None:
    known = KnownBodies(400)
    known.put(1, body(1))
    known.put(1, body(2, "http://site.test/" + 400 * "z"))
    assert known.get(1, body(2).payload_sha256) is None
    assert known.get(1, body(1).payload_sha256) == body(1)


def test_ten_thousand_are_known_and_none_of_them_takes_memory() -> None:
    known = KnownBodies()
    tracemalloc.start()
    try:
        for n in range(30_000):
            known.put(1, body(n))
        ours = [tracemalloc.Filter(True, file) for file in (recording.__file__, __file__)]
        left = tracemalloc.take_snapshot().filter_traces(ours)
    finally:
        tracemalloc.stop()
    kept = sum(each.size for each in left.traces)  # other threads of the process keep what they like
    assert kept < 10_000, f"30,000 bodies were put, and {kept:,} octets are kept of them beside the ring"
    found = sum(known.get(1, body(n).payload_sha256) is not None for n in range(20_000, 30_000))
    assert found > 8_000
