"""What the cache of scripts and styles stores, and for how long (RFC 9111)."""

import pytest

from app.browser.values import Answer, ResourceKind
from app.features.render.cache import SharedCache, fresh_for_s

SCRIPT = ResourceKind.SCRIPT
DATE = "Tue, 24 Nov 2026 00:00:00 GMT"
LATER = "Tue, 24 Nov 2026 00:01:00 GMT"


@pytest.mark.parametrize(
    # headers, seconds for which it is fresh
    ("headers", "seconds"),
    [
        ({"cache-control": "max-age=60"}, 60),
        ({"cache-control": "private, max-age=60"}, 60),
        ({"cache-control": "max-age=60", "age": "20"}, 40),
        ({"cache-control": "max-age=60", "age": "80"}, 0),
        ({"cache-control": 'max-age="60"'}, 60),
        ({"cache-control": "max-age=999999999"}, 86_400),
        ({"cache-control": f"max-age={'9' * 400}", "age": "9" * 400}, 0),  # of more digits than a float has room for
        ({"cache-control": "no-store, max-age=60"}, 0),
        ({"cache-control": "no-cache, max-age=60"}, 0),
        ({"cache-control": "max-age=60", "set-cookie": "a=b"}, 0),
        ({"cache-control": "max-age=60", "vary": "*"}, 0),
        ({"cache-control": "max-age=60", "vary": "Origin"}, 0),
        ({"cache-control": "max-age=60", "vary": "Accept-Encoding"}, 60),
        ({"cache-control": "max-age=soon"}, 0),
        ({"expires": LATER, "date": DATE}, 60),
        ({"expires": "0", "date": DATE}, 0),
        ({"expires": "Mon, 01 Jan 2024 00:00:00 +99999999999999", "date": DATE}, 0),
        ({"expires": LATER}, 0),
        ({"cache-control": "max-age=0", "expires": LATER, "date": DATE}, 0),
        ({}, 0),
    ],
)
def test_rfc9111_freshness(headers: dict[str, str], seconds: float) -> None:
    assert fresh_for_s(Answer(status=200, headers=headers)) == seconds


def test_only_a_200_is_stored() -> None:
    assert fresh_for_s(Answer(status=404, headers={"cache-control": "max-age=60"})) == 0


def answer(body: bytes = b"x") -> Answer:
    return Answer(status=200, headers={"cache-control": "max-age=60"}, body=body)


def test_what_is_stale_is_not_returned() -> None:
    cache = SharedCache()
    cache.put("u", SCRIPT, answer(), now=100.0)
    assert cache.get("u", SCRIPT, 159.0) == answer()
    assert cache.get("u", SCRIPT, 160.0) is None


def test_data_is_not_stored() -> None:
    cache = SharedCache()
    cache.put("u", ResourceKind.FETCH, answer(), now=0.0)
    assert cache.get("u", ResourceKind.FETCH, 1.0) is None


def test_the_least_recently_used_is_dropped_at_the_bound() -> None:
    cache = SharedCache(most_bytes=10_000)
    for name in "ab":
        cache.put(name, SCRIPT, answer(b"x" * 3_500), now=0.0)
    assert cache.get("a", SCRIPT, 1.0) is not None
    cache.put("c", SCRIPT, answer(b"x" * 3_500), now=1.0)
    assert [cache.get(name, SCRIPT, 1.0) is not None for name in "abc"] == [True, False, True]
    cache.put("d", SCRIPT, answer(b"x" * 10_001), now=1.0)
    assert cache.get("d", SCRIPT, 1.0) is None


def test_answers_without_a_body_are_bounded_too() -> None:
    """A page may ask for as many empty scripts as it likes, each under a URL of its own."""
    cache = SharedCache(most_bytes=100_000)
    for n in range(1_000):
        cache.put(f"/{n}.js", SCRIPT, answer(b""), now=0.0)
    assert sum(cache.get(f"/{n}.js", SCRIPT, 1.0) is not None for n in range(1_000)) in range(50, 100)
