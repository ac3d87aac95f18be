"""Fingerprints by numpy: one is made of a text, and many are compared side by side (promise C1).

A fingerprint is 64 bits, of which two texts share the more, the more phrases they share. SimHash: M. Charikar,
"Similarity estimation techniques from rounding algorithms" (2002); 64 bits over web pages: G. Manku, A. Jain, A. Das
Sarma, "Detecting near-duplicates for web crawling" (2007). A phrase is three words in a row, and counts once however
often it stands there: a table of zeros is one phrase. All phrases of a text are hashed, sorted and counted at once.

Comparing takes 6 µs for one beside 5,000, 35 beside 50,000. numpy takes 10 MB and 0.05 s: only a process that compares
imports this module. Its linear algebra would start a thread for each core then; nothing here uses it.
"""

import os
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import Final, NamedTuple, TypeAlias

from app.features.near.fingerprint import BITS, LEAST_PHRASES
from app.features.near.rows import SIGN, Like

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np  # it reads the environment once
import numpy.typing as npt  # the same

Bools: TypeAlias = npt.NDArray[np.bool_]
Signed: TypeAlias = npt.NDArray[np.int64]
Unsigned: TypeAlias = npt.NDArray[np.uint64]
__all__ = ["PRINT_BYTES", "Print", "Prints", "Within", "np", "simhash"]

_BYTES: Final = BITS // 8
_MOST_REMEMBERED, _LONGEST_REMEMBERED = 20_000, 64  # words, and characters of one: 3 MB
PRINT_BYTES: Final = 24  # of a `Print` as Postgres sends it
_PLACES: Final = np.arange(8, dtype=np.uint64)[:, np.newaxis]
_LOWEST: Final = np.uint64(0x0101_0101_0101_0101)  # bit of each byte
_MOST_IN_A_BYTE: Final = 255
_PAIRS_AT_ONCE: Final = 1 << 18  # fingerprints that are compared: 2 MB
_U16, _U24, _U40, _U48 = (np.uint64(bits) for bits in (16, 24, 40, 48))


class _Hashes(dict[str, bytes]):
    """The hash of each word that was met."""

    def __missing__(self, word: str) -> bytes:
        found = blake2b(word.encode("utf-8", "surrogatepass"), digest_size=_BYTES).digest()
        if len(word) <= _LONGEST_REMEMBERED:
            if len(self) >= _MOST_REMEMBERED:
                self.clear()
            self[word] = found
        return found


_hashes: Final = _Hashes()


def simhash(words: list[str]) -> int | None:
    """The fingerprint of a text, from 0 to 2**64 - 1. None: it is too short for one."""
    if len(words) - 2 < LEAST_PHRASES:
        return None
    found = _distinct(_phrase_hashes(words))
    return _majority(found) if len(found) >= LEAST_PHRASES else None


def _phrase_hashes(words: list[str]) -> Unsigned:
    """A hash for each three words in a row: the second word's is turned by 24 bits, the third's by 48."""
    of_words = np.frombuffer(b"".join(map(_hashes.__getitem__, words)), np.uint64)
    second, third = of_words[1:-1], of_words[2:]
    found = (second >> _U24) | (second << _U40)
    found ^= of_words[:-2]
    found ^= (third >> _U48) | (third << _U16)
    return found


def _distinct(hashes: Unsigned) -> Unsigned:
    """Each hash once."""
    hashes.sort()
    is_new = np.empty(len(hashes), np.bool_)
    is_new[0] = True
    np.not_equal(hashes[1:], hashes[:-1], out=is_new[1:])
    return hashes[is_new]


def _majority(hashes: Unsigned) -> int:
    """Each bit as most of the hashes have it.

    Of each byte of the hashes one bit is left at a time, so that 255 hashes can be added before a byte overflows.
    """
    lots = range(0, len(hashes), _MOST_IN_A_BYTE)
    sums = np.add.reduceat((hashes >> _PLACES) & _LOWEST, lots, axis=1)
    counts = sums.view(np.uint8).reshape(8, len(lots), _BYTES).sum(axis=1, dtype=np.uint32)  # by place and byte
    is_one = counts.T.reshape(BITS) > len(hashes) // 2
    return int.from_bytes(np.packbits(is_one, bitorder="little").tobytes(), "little")


class Print(NamedTuple):
    """A fingerprint.   place: in the order of pages;   value: from 0 to 2**64 - 1"""

    id: int
    place: int
    value: int


class Prints:
    """Fingerprints side by side, the oldest first."""

    def __init__(self, table: Signed) -> None:
        """table: a row of each of the columns of `Print`, values signed; in order, each once"""
        self._table, (self.ids, self.places, values) = table, table
        self.values = values.view(np.uint64)

    @classmethod
    def of(cls, prints: Iterable[Print]) -> "Prints":
        signed = [(id, place, value - 2 * (value & SIGN)) for id, place, value in prints]
        return cls(_in_order(np.array(signed, np.int64).reshape(-1, len(Print._fields)).T))

    @classmethod
    def of_bytes(cls, prints: bytes) -> "Prints":
        """Read the three numbers of each fingerprint, 8 bytes each, the high ones first. One may be there twice."""
        return cls(_in_order(np.frombuffer(prints, ">i8").reshape(-1, len(Print._fields)).T.astype(np.int64)))

    def some(self, at: Sequence[int] | slice) -> "Prints":
        """Those at some places of their order, which rise."""
        return Prints(self._table[:, at])

    def __len__(self) -> int:
        return len(self.ids)

    def alike(self, prints: "Prints", *, bits: int, most: int, most_younger: int | None = None) -> list[Like]:
        """Those of these that differ from each of some in so many bits at most, itself aside.

        The closest `most` that are no younger, and `most_younger` that are (None: as many): of the equally close the
        oldest.
        """
        if not len(self):
            return []
        step = max(1, _PAIRS_AT_ONCE // len(self))
        lots = (prints.some(slice(first, first + step)) for first in range(0, len(prints), step))
        return [like for lot in lots for like in self._alike(lot, bits, most, most_younger)]

    def _alike(self, prints: "Prints", bits: int, most: int, most_younger: int | None) -> list[Like]:
        whose, at, apart = self._within(prints.values, bits)
        if not len(whose):
            return []
        is_other = self.ids[at] != prints.ids[whose]
        is_younger = self.places[at] > prints.places[whose]
        chosen = _first(whose, apart, is_other & ~is_younger, most)
        if most_younger != 0:
            younger = _first(whose, apart, is_other & is_younger, most if most_younger is None else most_younger)
            chosen = np.concatenate([chosen, younger])
        whose, at, apart = prints.ids[whose[chosen]], at[chosen], apart[chosen]
        columns = whose.tolist(), self.ids[at].tolist(), apart.tolist(), self.places[at].tolist()
        return [Like(*each) for each in zip(*columns, strict=True)]

    def _within(self, values: Unsigned, most: int) -> tuple[Signed, Signed, Signed]:
        """Pairs of a value and one of these that differ in so many bits at most, with how many."""
        bits = np.bitwise_count(values[:, np.newaxis] ^ self.values).ravel()
        found = np.flatnonzero(bits <= most)
        whose, at = np.divmod(found, len(self))
        return whose, at, bits[found].astype(np.int64)


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
        found = (self._is_like[at] > unwanted).nonzero()[0]
        apart = self._apart[at][found]
        first = apart.argsort(kind="stable")[:most]
        return list(zip(apart[first].tolist(), found[first].tolist(), strict=True))


def _in_order(table: Signed) -> Signed:
    """The oldest first, each once."""
    table = table[:, np.lexsort((table[0], table[1]))]
    is_again = table[0, 1:] == table[0, :-1]
    return table[:, np.append(~is_again, True)] if is_again.any() else table


def _first(whose: Signed, bits: Signed, chosen: Signed, most: int) -> Signed:
    """Where the chosen stand with the fewest bits, the oldest before others, `most` of each whose they are."""
    at = np.flatnonzero(chosen)
    at = at[np.lexsort((bits[at], whose[at]))]
    own = whose[at]
    return at[np.arange(len(at)) - np.searchsorted(own, own) < most]
