"""Fingerprints that are compared at once: the same are found as one by one."""

import random

import pytest

from app.policy.focus.planes import Planes

RNG = random.Random(11)
CENTRE = RNG.getrandbits(64)


def planes(values: list[int]) -> Planes:
    """Of fingerprints whose ids are 0, 10, 20 …"""
    return Planes(b"".join((10 * n).to_bytes(8, "big") + value.to_bytes(8, "big") for n, value in enumerate(values)))


def turned(value: int, bits: int) -> int:
    """The same with so many bits turned."""
    return value ^ sum(1 << bit for bit in RNG.sample(range(64), bits))


# fingerprints, how many bits they differ in at most from one, bits that are asked for
@pytest.mark.parametrize(
    ("n", "spread", "bits"), [(1, 3, 9), (7, 12, 9), (64, 14, 9), (500, 20, 9), (500, 64, 30), (40, 0, 0)]
)
def test_the_same_are_found_as_one_by_one(n: int, spread: int, bits: int) -> None:
    values = [turned(CENTRE, RNG.randint(0, spread)) for _ in range(n)]
    side_by_side = planes(values)
    for below in (0, 5 * n, 10 * n - 1, 10 * n + 50):
        for most in (1, 4, n):
            one_by_one = sorted(
                (apart, 10 * place)
                for place, value in enumerate(values)
                if 10 * place < below and (apart := (value ^ CENTRE).bit_count()) <= bits
            )
            assert side_by_side.closest(CENTRE, below=below, bits=bits, most=most) == one_by_one[:most]


def test_of_none_none_is_found() -> None:
    assert planes([]).closest(CENTRE, below=1, bits=64, most=1) == []


@pytest.mark.parametrize("value", [0, 1, 2**63, 2**64 - 1])
def test_each_bit_counts(value: int) -> None:
    every = planes([value ^ 1 << bit for bit in range(64)])
    assert every.closest(value, below=1_000, bits=1, most=64) == [(1, 10 * place) for place in range(64)]
    assert every.closest(value, below=1_000, bits=0, most=64) == []
