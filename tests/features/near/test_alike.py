"""Fingerprints that are held side by side: the same are found as one by one."""

import random

import pytest

from app.features.near.alike import Print, Prints
from app.features.near.fingerprint import DUPLICATE_BITS, REVIEW_BITS

RNG = random.Random(11)
CENTRE = RNG.getrandbits(64)
MANY = 10**6
Found = set[tuple[int, int, int]]


def turned(value: int, bits: int) -> int:
    """The same with so many bits turned."""
    return value ^ sum(1 << bit for bit in RNG.sample(range(64), bits))


def drawn(n: int, spread: int, first: int = 0) -> list[Print]:
    """Of two crawls and three hosts, with ids 10 apart."""
    return [
        Print(
            first + 10 * at,
            turned(CENTRE, RNG.randint(0, spread)),
            RNG.randint(1, 3),
            RNG.randint(1, 2),
            RNG.random() < 0.8,
        )
        for at in range(n)
    ]


def one_by_one(held: list[Print], mine: Print, most: int, most_of_host: int) -> Found:
    apart = sorted(
        ((mine.value ^ each.value).bit_count(), each)
        for each in held
        if each.id < mine.id and each.crawl_id == mine.crawl_id
    )
    close = [(bits, each.id) for bits, each in apart if bits <= DUPLICATE_BITS and each.is_looked_for]
    of_host = [(bits, each.id) for bits, each in apart if bits <= REVIEW_BITS and each.host_id == mine.host_id]
    return {(mine.id, id, bits) for bits, id in {*close[:most], *of_host[:most_of_host]}}


# fingerprints, how many bits they differ in at most from one
@pytest.mark.parametrize(("n", "spread"), [(1, 3), (7, 12), (64, 6), (500, 20), (500, 64), (500, 0)])
@pytest.mark.parametrize(("most", "most_of_host"), [(1, 1), (8, 4), (MANY, MANY)])
def test_the_same_are_found_as_one_by_one(n: int, spread: int, most: int, most_of_host: int) -> None:
    held, asked = drawn(n, spread), drawn(40, spread, first=5 * n + 1)
    found = Prints.of(held).alike(Prints.of(asked), most=most, most_of_host=most_of_host)
    expected = [one_by_one(held, each, most, most_of_host) for each in asked]
    assert set(found) == set().union(*expected)


def test_among_none_and_for_none_none_is_found() -> None:
    some, none = Prints.of(drawn(9, 0)), Prints.of([])
    assert none.alike(some, most=1, most_of_host=1) == some.alike(none, most=1, most_of_host=1) == []
    assert (len(none), none.first(3)) == (0, [])


@pytest.mark.parametrize("value", [0, 1, 2**63, 2**64 - 1])
def test_each_bit_counts(value: int) -> None:
    held = Prints.of(Print(bit, value ^ 1 << bit, 1, 1) for bit in range(64))
    found = held.alike(Prints.of([Print(1_000, value, 2, 1)]), most=64, most_of_host=1)
    assert found == [(1_000, bit, 1) for bit in range(64)]


def test_numbers_come_as_postgres_sends_them() -> None:
    held = drawn(50, 64)
    sent = b"".join(
        number.to_bytes(8, "big", signed=number < 2**63)
        for each in held
        for number in (each.id, each.value, each.host_id, each.crawl_id, int(each.is_looked_for))
    )
    assert Prints.of_bytes(sent).first(50) == held
