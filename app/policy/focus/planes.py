"""Compares one fingerprint with many at once, and finds those that differ from it in a few bits.

A plane has one bit of every fingerprint, as a large integer. The planes in which one differs are added up digit by
digit, three at a time (carry-save adders, C. Wallace, 1964): 300 steps in C for all. One by one, in Postgres, thousands
take thirty times as long.
"""

from bisect import bisect_left
from typing import Final

from app.policy.focus.simhash import above

_EACH: Final = 16  # bytes
_DIGITS: Final = tuple(bytes(48 + (byte >> bit & 1) for byte in range(256)) for bit in range(8))  # "0" or "1"


class Planes:
    """Fingerprints, the oldest first.   prints: the id and the value of each, 8 bytes each, the high ones first"""

    def __init__(self, prints: bytes) -> None:
        self._prints = prints
        self._size = len(prints) // _EACH
        last_first = prints[::-1]  # and the low bytes, those of the value, first
        columns = [last_first[at::_EACH] for at in range(8)]
        self._planes = [int(column.translate(digits) or b"0", 2) for column in columns for digits in _DIGITS]

    def closest(self, value: int, *, below: int, bits: int, most: int) -> list[tuple[int, int]]:
        """Those whose ids are below one, and that differ in `bits` at most: (bits, id), sorted, `most` of them."""
        every = (1 << self._size) - 1
        differ = [plane ^ every if value >> bit & 1 else plane for bit, plane in enumerate(self._planes)]
        digits = _sum(differ)
        older = (1 << bisect_left(range(self._size), below, key=self._id)) - 1
        left = older & ~above(bits, digits, every)
        found: list[tuple[int, int]] = []
        for n in range(bits + 1):
            if not left or len(found) == most:
                break
            further = above(n, digits, every)
            found += [(n, self._id(place)) for place in _lowest(left & ~further, most - len(found))]
            left &= further
        return found

    def _id(self, place: int) -> int:
        at = place * _EACH
        return int.from_bytes(self._prints[at : at + 8], "big")


def _sum(planes: list[int]) -> list[int]:
    """The digits of the number of planes that have each bit, the low ones first."""
    digits: list[int] = []
    while planes:
        carries = []
        while len(planes) > 1:
            one, two, three = planes.pop(), planes.pop(), planes.pop() if planes else 0
            differ = one ^ two
            planes.append(differ ^ three)
            carries.append((one & two) | (differ & three))
        digits += planes
        planes = carries
    return digits


def _lowest(places: int, most: int) -> list[int]:
    found: list[int] = []
    while places and len(found) < most:
        lowest = places & -places
        found.append(lowest.bit_length() - 1)
        places ^= lowest
    return found
