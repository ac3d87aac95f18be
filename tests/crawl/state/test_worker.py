"""What a process keeps in memory: bounded, shared by threads, and never wrong."""

import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from hashlib import sha256
from threading import Barrier

import pytest
from structlog.testing import capture_logs

from app.config import load
from app.crawl.state.robots_book import RobotsBook
from app.crawl.state.seen import KnownKeys
from app.crawl.state.setup import make_engine, make_sender, note_mixed
from app.crawl.state.worker import Worker
from app.errors import InputError, ServiceError
from app.metrics.counts import Counts
from app.model import Origin, Request
from app.runtime.lru import Lru
from tests.store.rows import Aside


def key(number: int) -> bytes:
    return sha256(str(number).encode()).digest()


def test_known_keys_are_what_was_added_and_nothing_else() -> None:
    known = KnownKeys()
    assert not any(known.has(1, key(number)) for number in range(2_000))
    for number in range(0, 2_000, 2):
        known.add(1, key(number))
    assert not any(known.has(1, key(number)) for number in range(1, 2_000, 2))
    found = sum(known.has(1, key(number)) for number in range(0, 2_000, 2))
    assert found >= 990, "hardly any two share one of 262,144 slots"


def test_a_key_known_in_one_crawl_is_not_known_in_another() -> None:
    known = KnownKeys()
    for number in range(1_000):
        known.add(1, key(number))
    assert not any(
        known.has(crawl_id, key(number)) for crawl_id in (0, 2, 3, 1 + KnownKeys.SLOTS) for number in range(1_000)
    )


def test_a_newcomer_evicts_who_has_its_slot() -> None:
    known = KnownKeys()
    first, second = b"A" * 8 + b"same" + b"x" * 20, b"B" * 8 + b"same" + b"x" * 20
    known.add(1, first)
    known.add(1, second)
    assert (known.has(1, first), known.has(1, second)) == (False, True)


def test_an_empty_table_does_not_know_the_key_of_zeros() -> None:
    known = KnownKeys()
    assert not known.has(0, bytes(32))
    known.add(0, bytes(32))
    assert known.has(0, bytes(32))


def test_known_keys_are_flat() -> None:
    """As large empty as after more keys than it has slots."""
    known = KnownKeys()
    size = known._tags.buffer_info()[1] * known._tags.itemsize
    assert size == 8 * KnownKeys.SLOTS == 2 * 1024 * 1024
    rng = random.Random(1)
    for _ in range(300_000):
        known.add(1, rng.randbytes(32))
    assert known._tags.buffer_info()[1] * known._tags.itemsize == size


def test_lru_forgets_who_was_not_asked_for_the_longest() -> None:
    lru: Lru[str, int] = Lru(3)
    for name, value in (("a", 1), ("b", 2), ("c", 3)):
        lru.put(name, value)
    assert lru.get("a") == 1
    lru.put("d", 4)
    assert {name: lru.get(name) for name in "abcd"} == {"a": 1, "b": None, "c": 3, "d": 4}
    lru.put("c", 30)
    assert (lru.get("c"), lru.get("a")) == (30, 1)


def test_lru_evicts_by_weight_and_never_the_last_one_put() -> None:
    lru: Lru[str, int] = Lru(10)
    for name, weight in (("a", 4), ("b", 4), ("c", 4), ("c", 2)):
        lru.put(name, ord(name), weight)
    assert [name for name in "abc" if lru.get(name)] == ["b", "c"]
    lru.put("a", 97, 4)
    assert [name for name in "abc" if lru.get(name)] == ["a", "b", "c"]
    lru.put("d", 100, 11)
    assert lru.values() == [100]
    lru.clear()
    lru.put("a", 97, 10)
    assert lru.values() == [97]


def test_lru_stays_bounded_under_threads() -> None:
    lru: Lru[int, int] = Lru(50)
    barrier = Barrier(4)

    def hammer(seed: int) -> None:
        rng = random.Random(seed)
        barrier.wait(60)
        for _ in range(5_000):
            number = rng.randrange(200)
            assert lru.get(number) in {None, number}
            lru.put(number, number)

    for each in [Aside(partial(hammer, seed)) for seed in range(4)]:
        each.outcome()
    assert len(lru._map) == 50


def test_a_robots_txt_is_parsed_once_and_foreign_ones_are_believed_for_a_while() -> None:
    book = RobotsBook("Tiptoe")
    body = b"User-agent: tiptoe\nDisallow: /x"
    assert book.parsed(body) is book.parsed(bytes(body))
    assert not book.parsed(body).allowed("/x")
    origin = Origin("http", "a.test", 80)
    assert book.foreign(origin, 0.0) is None
    book.remember(origin, book.parsed(body), 100.0)
    assert book.foreign(origin, 100.0 + RobotsBook.FOREIGN_S - 1) is book.parsed(body)
    assert book.foreign(origin, 100.0 + RobotsBook.FOREIGN_S + 1) is None
    assert book.foreign(origin._replace(port=8080), 100.0) is None


def test_large_robots_files_are_few_and_small_ones_many() -> None:
    """One of 500 KiB takes up to 10 MB once it is parsed."""
    book = RobotsBook("Tiptoe")
    large = [b"User-agent: *\nDisallow: /%d\n# " % n + bytes(400_000) for n in range(6)]
    origins = [Origin("http", f"h{n}.test", 80) for n in range(6)]
    for origin, body in zip(origins, large, strict=True):
        book.remember(origin, book.parsed(body), 0.0)
        book.signals(sha256(body).digest(), lambda body=body: b"User-agent: *\nContent-Usage: train-ai=n\n" + body)  # type: ignore[misc]
    assert [book.known(sha256(body).digest()) is not None for body in large] == [False] + 5 * [True]
    assert [book.foreign(origin, 1.0) is not None for origin in origins] == [False] + 5 * [True]
    small = [b"User-agent: *\nDisallow: /%d\n" % n for n in range(1_000)]
    for body in small:
        book.parsed(body)
    assert all(book.known(sha256(body).digest()) for body in small)
    assert len(book._signals.values()) == 5


def test_what_a_robots_txt_says_about_mining_is_read_once() -> None:
    book = RobotsBook("Tiptoe")
    body = b"User-agent: tiptoe\nContent-Usage: train-ai=n"
    reads: list[bytes] = []

    def read() -> bytes:
        reads.append(body)
        return body

    first = book.signals(sha256(body).digest(), read)
    assert book.signals(sha256(body).digest(), read) is first
    assert (len(reads), [signal.name for signal in first.of("/")]) == (1, ["train-ai"])
    assert book.signals(b"", bytes).of("/") == ()


def test_an_engine_needs_a_database() -> None:
    with pytest.raises(ServiceError, match="TIPTOE_DATABASE_URL"):
        make_engine(load(_env_file=None))
    with pytest.raises(InputError, match="not mysql"):
        make_engine(load(_env_file=None, database_url="mysql://x@h/db"))


@pytest.mark.parametrize("overrides", [{"product_token": "Mozilla"}, {"contact": "nobody"}])
def test_a_sender_needs_an_honest_identity(overrides: dict[str, str]) -> None:
    with pytest.raises(InputError):
        make_sender(load(_env_file=None, **overrides))


def test_settings_reach_the_kit(make: Callable[..., Worker]) -> None:
    worker = make(tracking_parameters="mine,our_*")
    url = worker.canon.canonicalise("http://a.test/?a=1&mine=2&our_x=3&utm_source=4")
    assert getattr(url, "text", url) == "http://a.test/?a=1"


def test_what_is_remembered_of_another_lineage_is_forgotten(make: Callable[..., Worker]) -> None:
    """After a failover or a restore the rows may be gone that it tells of, and their numbers be others'."""
    worker, key, one = make(), sha256(b"a URL").digest(), datetime(2026, 1, 1, tzinfo=UTC)
    worker.forget_if_restored(one)
    worker.caches.known.add(1, key)
    worker.caches.host_ids.put("a.test", 7)
    worker.forget_if_restored(one)
    worker.forget_if_restored(None)  # nobody has looked yet
    assert (worker.caches.known.has(1, key), worker.caches.host_ids.get("a.test")) == (True, 7)
    worker.forget_if_restored(one + timedelta(days=1))
    assert (worker.caches.known.has(1, key), worker.caches.host_ids.get("a.test")) == (False, None)


@pytest.mark.parametrize("languages", [None, "*", "de", "de-AT, en;q=0.8,*;q=0.1"])
def test_languages_are_asked_for_only_where_they_are_set(languages: str | None) -> None:
    settings = load(_env_file=None, accept_language=languages)
    sent = make_sender(settings).fields(Request(url="https://example.org/"))
    assert sent.get("Accept-Language") == languages


@pytest.mark.parametrize("languages", ["de;q=2", "de\r\nCookie: a", "de,,en", "a b"])
def test_languages_that_are_no_header_are_refused(languages: str) -> None:
    with pytest.raises(InputError, match=r"accept_language|ACCEPT_LANGUAGE"):
        load(_env_file=None, accept_language=languages)


def test_a_name_with_addresses_that_are_dropped_is_counted_and_logged() -> None:
    counts = Counts()
    with capture_logs() as lines:
        note_mixed(counts, "mixed.test", ["10.0.0.1"])
    assert counts.mixed_names == 1
    assert lines == [{"event": "address.mixed", "host": "mixed.test", "blocked": ["10.0.0.1"], "log_level": "info"}]
