"""The memory of pages that name URLs: their mean relevance, and the parts of a score as they stand; of fixed size."""

import random
import sys
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256

import pytest

from app.features.focus.naming import Named, Namings

KEY = sha256(b"http://h/").digest()


def test_the_mean_of_all_that_name_a_url_counts() -> None:
    namings = Namings()
    namings.note(1, KEY, 1.0, 7)
    heard = [namings.hear(1, KEY, relevance) for relevance in (0.5, 0.0, 0.5)]
    assert [each and each.relevance for each in heard] == pytest.approx([0.75, 0.5, 0.5])
    assert {each and each.parts for each in heard} == {7}


# what happened to it, whether it is known to crawl 1 afterwards
@pytest.mark.parametrize(("crawl_id", "clears", "is_known"), [(1, False, True), (2, False, False), (1, True, False)])
def test_what_was_not_noted_is_not_known(crawl_id: int, clears: bool, is_known: bool) -> None:
    namings = Namings()
    assert namings.hear(1, KEY, 1.0) is None
    namings.note(crawl_id, KEY, 1.0, 7)
    if clears:
        namings.clear()
    assert (namings.hear(1, KEY, 1.0) is not None) is is_known


# parts of 32 bits with a sign, as scores pack them
@pytest.mark.parametrize("parts", [0, 2**31 - 1, -(2**31)])
def test_parts_that_were_raised_are_those_from_then_on(parts: int) -> None:
    namings = Namings()
    namings.note(1, KEY, 0.5, 7)
    namings.raised(1, KEY, parts)
    assert namings.hear(1, KEY, 0.5) == Named(0.5, parts)


def test_a_url_that_is_not_known_is_not_raised() -> None:
    namings, other = Namings(), KEY[:8] + bytes(24)
    namings.raised(1, KEY, 7)
    namings.note(1, other, 0.5, 5)
    namings.raised(1, KEY, 7)
    assert namings.hear(1, KEY, 0.5) is None


def test_its_size_is_fixed_and_the_latest_are_known() -> None:
    namings, rng = Namings(), random.Random(1)
    keys = [rng.randbytes(32) for _ in range(2 * Namings.SLOTS)]
    for key in keys:
        namings.note(1, key, 1.0, 7)
    known = [namings.hear(1, key, 1.0) is not None for key in keys]
    assert sum(known) <= Namings.SLOTS
    assert all(known[-100:])
    assert sum(known[Namings.SLOTS :]) > 0.6 * Namings.SLOTS


def test_a_url_that_all_pages_name_keeps_its_mean() -> None:
    namings = Namings()
    namings.note(1, KEY, 0.5, 7)
    for _ in range(70_000):
        found = namings.hear(1, KEY, 0.5)
    assert found == Named(0.5, 7)


def test_a_thread_that_clears_disturbs_no_other() -> None:
    """As when the database was restored: visits of other threads go on meanwhile."""
    namings, before = Namings(), sys.getswitchinterval()

    def visit() -> None:
        for _ in range(30_000):
            namings.note(1, KEY, 0.5, 7)
            namings.hear(1, KEY, 0.5)
            namings.raised(1, KEY, 8)

    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(3) as threads:
            visits = [threads.submit(visit), threads.submit(visit)]
            while not all(each.done() for each in visits):
                namings.clear()
            for each in visits:
                each.result()
    finally:
        sys.setswitchinterval(before)
