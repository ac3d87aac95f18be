"""Fingerprints side by side: the same are found as one by one."""

import random

import pytest

from app.features.near.fingerprint import DUPLICATE_BITS, REVIEW_BITS
from app.features.near.rows import Like
from app.features.near.simhash import Print, Prints, Within, np

RNG = random.Random(11)
CENTRE = RNG.getrandbits(64)
MANY = 10**6


def turned(value: int, bits: int) -> int:
    """The same with so many bits turned."""
    return value ^ sum(1 << bit for bit in RNG.sample(range(64), bits))


def drawn(n: int, spread: int, first: int = 0) -> list[Print]:
    """Places are drawn, some of them twice."""
    return [Print(first + at, RNG.randrange(2 * n), turned(CENTRE, RNG.randint(0, spread))) for at in range(n)]


def one_by_one(others: list[Print], mine: Print, bits: int, most: int) -> set[Like]:
    found = sorted(
        ((mine.value ^ each.value).bit_count(), each.place, each.id) for each in others if each.id != mine.id
    )
    close = [each for each in found if each[0] <= bits]
    sides = [[each for each in close if (each[1] > mine.place) is is_younger][:most] for is_younger in (False, True)]
    return {Like(mine.id, id, apart, place) for side in sides for apart, place, id in side}


# fingerprints, how many bits they differ in at most from one
@pytest.mark.parametrize(("n", "spread"), [(1, 3), (7, 12), (64, 6), (500, 20), (500, 64), (500, 0)])
@pytest.mark.parametrize(("bits", "most"), [(DUPLICATE_BITS, 1), (REVIEW_BITS, 4), (DUPLICATE_BITS, MANY)])
def test_the_same_are_found_as_one_by_one(n: int, spread: int, bits: int, most: int) -> None:
    others = drawn(n, spread)
    asked = [*drawn(40, spread, first=n), *others[:5]]
    found = Prints.of(others).alike(Prints.of(asked), bits=bits, most=most)
    assert set(found) == set().union(*(one_by_one(others, each, bits, most) for each in asked))
    assert len(found) == len(set(found))


def test_one_that_is_there_twice_counts_once_and_the_younger_have_a_bound_of_their_own() -> None:
    others, mine = drawn(300, 6), Print(1_000, 300, CENTRE)
    found = Prints.of([*others, *others[::2]]).alike(Prints.of([mine]), bits=64, most=7, most_younger=2)
    ones = one_by_one(others, mine, 64, 7)
    assert {each for each in found if each.place <= 300} == {each for each in ones if each.place <= 300}
    assert {each for each in found if each.place > 300} <= {each for each in ones if each.place > 300}
    assert (len(found), len(set(found))) == (9, 9)


def test_among_none_and_for_none_none_is_found() -> None:
    some, none = Prints.of(drawn(9, 0)), Prints.of([])
    assert none.alike(some, bits=5, most=1) == some.alike(none, bits=5, most=1) == []
    assert len(none) == len(Prints.of_bytes(b"")) == 0


@pytest.mark.parametrize(("n", "spread"), [(1, 3), (7, 12), (200, 8), (200, 64), (200, 0)])
def test_of_a_lot_the_closest_before_each_are_found_as_one_by_one(n: int, spread: int) -> None:
    values = [each.value for each in drawn(n, spread)]
    is_out = np.array([at % 3 == 1 for at in range(n)])
    lot = Within(values, bits=5)
    likes = [
        sorted((bits, at) for at in range(mine) if (bits := (values[at] ^ values[mine]).bit_count()) <= 5)
        for mine in range(n)
    ]
    assert lot.has_like == [bool(each) for each in likes]
    assert lot.is_like == [any(at == mine for each in likes for _, at in each) for mine in range(n)]
    for mine, found in enumerate(likes):
        assert lot.closest(mine, is_out, most=8) == [like for like in found if not is_out[like[1]]][:8]
        assert lot.likes_any(mine, is_out) is any(is_out[at] for _, at in found)


@pytest.mark.parametrize("value", [0, 1, 2**63, 2**64 - 1])
def test_each_bit_counts(value: int) -> None:
    held = Prints.of(Print(bit, bit, value ^ 1 << bit) for bit in range(64))
    found = held.alike(Prints.of([Print(1_000, 1_000, value)]), bits=1, most=64)
    assert found == [Like(1_000, bit, 1, bit) for bit in range(64)]
    assert held.alike(Prints.of([Print(1_000, 1_000, value)]), bits=0, most=64) == []


def test_numbers_come_as_postgres_sends_them() -> None:
    some = drawn(50, 64)
    sent = b"".join(
        number.to_bytes(8, "big", signed=number < 2**63)
        for each in some
        for number in (each.id, each.place, each.value)
    )
    here, there = Prints.of(some), Prints.of_bytes(sent)
    assert (here.ids.tolist(), here.places.tolist()) == (there.ids.tolist(), there.places.tolist())
    assert here.values.tolist() == there.values.tolist()
