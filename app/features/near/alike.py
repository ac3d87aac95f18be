"""Compares fingerprints with many others side by side: 6 µs for one beside 5,000, 35 beside 50,000."""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from app.features.near.arrays import Bools, Signed, np
from app.features.near.rows import Like

_SIGN: Final = 1 << 63


class Print(NamedTuple):
    """A fingerprint.   place: in the order of pages;   value: from 0 to 2**64 - 1"""

    id: int
    place: int
    value: int


class Prints:
    """Fingerprints side by side, the oldest first."""

    def __init__(self, table: Signed) -> None:
        """table: a row of each of the columns of `Print`, values signed"""
        ids, places, values = table[:, np.lexsort((table[0], table[1]))]
        self.ids, self.places, self.values = ids, places, values.view(np.uint64)

    @classmethod
    def of(cls, prints: Iterable[Print]) -> "Prints":
        signed = [(id, place, value - 2 * (value & _SIGN)) for id, place, value in prints]
        return cls(np.array(signed, np.int64).reshape(-1, len(Print._fields)).T)

    @classmethod
    def of_bytes(cls, prints: bytes) -> "Prints":
        """Read the three numbers of each fingerprint, 8 bytes each, the high ones first."""
        return cls(np.frombuffer(prints, ">i8").reshape(-1, len(Print._fields)).T.astype(np.int64))

    def __len__(self) -> int:
        return len(self.ids)

    def alike(self, prints: "Prints", *, bits: int, most: int) -> list[Like]:
        """Those of these that differ from each of some in so many bits at most, itself aside.

        The closest `most` that are no younger, and as many that are: of the equally close the oldest.
        """
        found = [self._within(value, bits) for value in prints.values]
        whose = np.repeat(np.arange(len(found)), [len(at) for at, _ in found])
        if not len(whose):
            return []
        at, apart = np.concatenate([each[0] for each in found]), np.concatenate([each[1] for each in found])
        is_other = self.ids[at] != prints.ids[whose]
        is_younger = self.places[at] > prints.places[whose]
        sides = [_first(whose, apart, is_other & side, most) for side in (~is_younger, is_younger)]
        chosen = np.concatenate(sides)
        whose, at, apart = prints.ids[whose[chosen]], at[chosen], apart[chosen]
        columns = whose.tolist(), self.ids[at].tolist(), apart.tolist(), self.places[at].tolist()
        return [Like(*each) for each in zip(*columns, strict=True)]

    def _within(self, value: np.uint64, most: int) -> tuple[Signed, Signed]:
        """Where those stand that differ in so many bits at most, and in how many."""
        bits = np.bitwise_count(self.values ^ value)
        at = np.flatnonzero(bits <= most)
        return at, bits[at].astype(np.int64)


class Within:
    """How far fingerprints of a lot are from each other: each is named by its place in their order."""

    def __init__(self, values: Sequence[int], bits: int) -> None:
        """bits: those that differ in more are not alike"""
        found = np.array(values, np.uint64)
        self._apart = np.bitwise_count(found[:, np.newaxis] ^ found)
        self._is_like = np.tril(self._apart <= bits, -1)  # of each those before
        self.has_like = self._is_like.any(axis=1).tolist()
        self.is_like = self._is_like.any(axis=0).tolist()

    def likes_any(self, at: int, some: Bools) -> bool:
        """Whether some of those before are like one."""
        return bool((self._is_like[at] & some).any())

    def closest(self, at: int, unwanted: Bools, *, most: int) -> list[tuple[int, int]]:
        """The closest of those before that are like one, of equally close the first.   (bits, place in the order)"""
        found = np.flatnonzero(self._is_like[at] & ~unwanted)
        apart = self._apart[at, found]
        first = np.argsort(apart, kind="stable")[:most]
        return list(zip(apart[first].tolist(), found[first].tolist(), strict=True))


def _first(whose: Signed, bits: Signed, chosen: Signed, most: int) -> Signed:
    """Where the chosen stand with the fewest bits, the oldest before others, `most` of each whose they are."""
    at = np.flatnonzero(chosen)
    at = at[np.lexsort((bits[at], whose[at]))]
    own = whose[at]
    return at[np.arange(len(at)) - np.searchsorted(own, own) < most]
