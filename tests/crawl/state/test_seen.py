"""Beyond the table of known keys a Bloom filter stands in. What it says is confirmed: it never loses a URL."""

import random
import sys
from collections.abc import Callable

import pytest

from app.admin import crawls
from app.crawl.state.seen import Evicted, KnownKeys, Load
from app.crawl.state.worker import Worker
from tests.crawl.loop import run, start
from tests.crawl.web import Site, Web, html
from tests.store.rows import sql

PAST_HALF = KnownKeys.SLOTS * 3


@pytest.fixture(scope="module")
def crowded() -> tuple[KnownKeys, list[bytes]]:
    """Known keys after three times as many as the table has slots, and those keys."""
    rng = random.Random(1)
    keys = [rng.randbytes(32) for _ in range(PAST_HALF)]
    known = KnownKeys(2 * PAST_HALF)
    for key in keys:
        known.add(1, key)
    return known, keys


def test_an_evicted_key_is_kept_in_mind(crowded: tuple[KnownKeys, list[bytes]]) -> None:
    """None is lost that was evicted after the table was half full; those that are still in it need no filter. A fourth
    of them is looked at."""
    known, keys = crowded
    later = keys[KnownKeys.SLOTS :: 4]
    assert all(known.has(1, key) or known.may_have(1, key) for key in later)
    assert 0.6 < sum(not known.has(1, key) for key in keys[::4]) / len(keys[::4]) < 0.75


def test_keys_never_met_and_those_of_other_crawls_are_hardly_ever_taken_for_known(
    crowded: tuple[KnownKeys, list[bytes]],
) -> None:
    known, keys = crowded
    rng = random.Random(2)
    strangers = sum(known.may_have(1, rng.randbytes(32)) for _ in range(50_000)) / 50_000
    elsewhere = sum(known.may_have(2, key) for key in keys[:50_000]) / 50_000
    expected = known.load().expected_errors
    assert 0 < expected < 2 * Evicted.ERRORS
    assert strangers == pytest.approx(expected, rel=0.5, abs=0.001)
    assert elsewhere == pytest.approx(expected, rel=0.5, abs=0.001)


def test_load_counts(crowded: tuple[KnownKeys, list[bytes]]) -> None:
    known, keys = crowded
    load = known.load()
    in_table = sum(known.has(1, key) for key in keys)
    assert (load.slots, load.used) == (KnownKeys.SLOTS, in_table)
    assert load.bloom_used == pytest.approx(PAST_HALF - in_table, rel=0.2), "evicted before the half is forgotten"
    assert load.bloom_used <= PAST_HALF - in_table


def test_a_small_crawl_needs_no_filter() -> None:
    known, rng = KnownKeys(1_000_000), random.Random(3)
    for _ in range(KnownKeys.SLOTS // 4):
        known.add(1, rng.randbytes(32))
    load = known.load()
    assert (load.bloom_used, load.bloom_bytes) == (0, 0)
    assert "Bloom filter not needed yet" in load.text()


def test_a_filter_that_is_full_begins_anew_and_keeps_the_newer_half() -> None:
    evicted = Evicted(2_000)
    for number in range(2_500):
        evicted.add(number % 1_000, number << 40 | 1)
    assert all(evicted.has(number % 1_000, number << 40 | 1) for number in range(1_000, 2_500))
    assert evicted.keys == 1_500
    bytes_then, errors = evicted.bytes, evicted.expected_errors
    for number in range(2_500, 20_000):
        evicted.add(number % 1_000, number << 40 | 1)
        errors = max(errors, evicted.expected_errors)
    assert (evicted.keys <= 2_000, evicted.bytes) == (True, bytes_then)
    assert errors == pytest.approx(1 - (1 - Evicted.ERRORS) ** 2)


def test_another_thread_may_ask_at_every_step_of_an_addition() -> None:
    evicted, heard = Evicted(1_000), [False]
    evicted.add(1, 1)
    sys.setprofile(lambda *_: heard.append(evicted.has(1, 1)))  # a thread is changed where Python calls, or returns
    try:
        evicted.add(2, 2)
        evicted.has(2, 2)
    finally:
        sys.setprofile(None)
    assert len(heard) > 4
    assert all(heard[1:])


def test_forgetting_is_of_the_table() -> None:
    known = KnownKeys(10)
    known.add(1, b"a" * 32)
    known.forget(1, b"a" * 32)
    known.add(1, b"b" * 32)
    assert known.load().used == 1
    known.forget_all()
    assert (known.load().used, known.has(1, b"b" * 32)) == (0, False)


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ((1 << 18, 1 << 17, 0, 0, 0, 0.0, 0, 0), "table 50.0% full of 262,144; no Bloom filter"),
        (
            (1 << 18, 1 << 18, 10_000_000, 1_250_000, 11_981_325, 0.0004, 900, 100),
            "table 100.0% full of 262,144; Bloom filter: 1,250,000 of 10,000,000 keys in 12.0 MB, 0.04% errors "
            "expected, 10.0% of 1,000 hits were false",
        ),
    ],
)
def test_in_words(fields: tuple[float, ...], text: str) -> None:
    names = Load.__dataclass_fields__
    assert Load(**dict(zip(names, fields, strict=True))).text() == text  # type: ignore[arg-type]


# --- in a crawl -----------------------------------------------------------------------------------------------------


class Sure(Evicted):
    """A filter at its worst: it takes every key for known."""

    def has(self, slot: int, tag: int) -> bool:
        return True

    @property
    def keys(self) -> int:
        return 1


@pytest.fixture
def worker(make: Callable[..., Worker]) -> Worker:
    made = make()
    made.caches.known.evicted = Sure(1_000)
    return made


def hundred(site: Site) -> set[str]:
    """Each page links to all others."""
    paths = {f"/{number}" for number in range(100)}
    site.pages |= dict.fromkeys(paths | {"/"}, html(*sorted(paths)))
    return paths | {"/"}


def test_no_url_is_lost_to_false_positives(worker: Worker, web: Web) -> None:
    site = web.site()
    paths = hundred(site)
    start(worker, site.url())
    run(worker)
    assert sorted(site.pages_asked) == sorted(paths)
    evicted = worker.caches.known.evicted
    assert evicted is not None
    assert evicted.refuted >= 100, "none of them was there"


def test_what_is_there_is_looked_up_and_known_from_then_on(worker: Worker, web: Web) -> None:
    site = web.site()
    paths = hundred(site)
    crawl = start(worker, site.url())
    run(worker)
    evicted = worker.caches.known.evicted
    assert evicted is not None
    before = evicted.confirmed, evicted.refuted
    crawls.go_round(worker.engine, crawl.name)
    run(worker)
    assert sorted(site.pages_asked) == sorted([*paths, *paths])
    assert evicted.confirmed - before[0] >= 100
    assert evicted.refuted == before[1], "all were there"
    rows = sql(worker.engine, "SELECT key FROM urls WHERE url <> :url", url=site.url())
    assert len(rows) == 100
    assert sum(worker.caches.known.has(crawl.id, bytes(row["key"])) for row in rows) >= 99, "two may share a slot"


def test_a_refused_row_is_reopened_all_the_same(worker: Worker, web: Web) -> None:
    """A form that robots.txt allows takes the place of one that it refused, though the key is there."""
    site = web.site()
    site.robots = "User-agent: *\nDisallow: /*utm_source=\n"
    site.pages |= {"/": html("/x?utm_source=a", "/y"), "/y": html("/x"), "/x": html()}
    start(worker, site.url())
    run(worker)
    assert sorted(site.pages_asked) == ["/", "/x", "/y"]
