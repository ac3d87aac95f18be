"""The fingerprint of a text: 64 bits, of which two texts share the more, the more phrases they share (promise C1).

SimHash: M. Charikar, "Similarity estimation techniques from rounding algorithms" (2002); 64 bits over web pages:
G. Manku, A. Jain, A. Das Sarma, "Detecting near-duplicates for web crawling" (2007). A phrase is three words in a row,
and counts once however often it stands there: a table of zeros is one phrase.

All phrases are hashed and counted at once in large integers, one hash beside the next: pure Python, 0.2 µs a word.
"""

import re
from hashlib import blake2b
from itertools import chain, combinations
from struct import Struct
from typing import Final

BITS: Final = 64
DUPLICATE_BITS: Final = 5  # differing at most: a similarity above 0.92
REVIEW_BITS: Final = 9  # a similarity above 0.85
LEAST_PHRASES: Final = 40  # of shorter texts only exact copies are duplicates: a single word turns many bits
MOST_CHARS: Final = 200_000

# Scripts that put no blanks between words (Japanese, Chinese, Thai): each letter is one.
_LETTER: Final = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\u0e00-\u0e7f]")
_BYTES: Final = BITS // 8
_MANY: Final = Struct("8s" * 64)  # struct would keep a format for each length of a text
_ONE: Final = Struct("8s")
_MASKED_WORDS: Final = 4_096  # for as many words the masks of `_turned` are kept, 64 kB
_MOST_REMEMBERED: Final = 20_000  # words: 3 MB

# The keys of a fingerprint: it is cut into 7 blocks, and any two of them are a key. Of 64 bits, 5 that differ leave two
# blocks alone at least.
_WIDTHS: Final = (10, 9, 9, 9, 9, 9, 9)
_BLOCKS: Final = tuple((sum(_WIDTHS[:n]), (1 << width) - 1) for n, width in enumerate(_WIDTHS))
_PAIRS: Final = tuple(combinations(range(len(_WIDTHS)), 2))


class _Hashes(dict[str, bytes]):
    """The hash of each word that was met."""

    def __missing__(self, word: str) -> bytes:
        if len(self) >= _MOST_REMEMBERED:
            self.clear()
        found = self[word] = blake2b(word.encode("utf-8", "surrogatepass"), digest_size=_BYTES).digest()
        return found


_hashes: Final = _Hashes()


def words_of(text: str) -> list[str]:
    """The words of a text in lower case, with the marks at their ends: a third of the time that it takes without."""
    return words_in(text[:MOST_CHARS].lower())


def words_in(lower: str) -> list[str]:
    """The words of a text that is in lower case already, and was no longer than MOST_CHARS."""
    return (lower if lower.isascii() else _LETTER.sub(r" \g<0> ", lower)).split()


def simhash(words: list[str]) -> int | None:
    """The fingerprint of a text, from 0 to 2**64 - 1. None: it is too short for one."""
    if len(words) - 2 < LEAST_PHRASES:
        return None
    found = _distinct(_phrase_hashes(words))
    return _majority(found) if len(found) >= LEAST_PHRASES else None


def keys(fingerprint: int) -> list[int]:
    """21 keys. Two fingerprints that differ in 5 bits at most have one in common."""
    blocks = [(fingerprint >> shift) & mask for shift, mask in _BLOCKS]
    return [(n << 20) | (blocks[one] << 10) | blocks[other] for n, (one, other) in enumerate(_PAIRS)]


def above(number: int, planes: list[int], every: int) -> int:
    """The bits whose counts are above a number.   planes: the digits of all counts;   every: all bits"""
    found, equal = 0, every
    for n in reversed(range(len(planes))):
        if number >> n & 1:
            equal &= planes[n]
        else:
            found |= equal & planes[n]
            equal &= ~planes[n]
    return found


def _phrase_hashes(words: list[str]) -> bytes:
    """8 bytes for each three words in a row. The second word's bytes are turned by three places, the third's by six."""
    masks = _masks if len(words) <= _MASKED_WORDS else _masks_of(len(words))
    first = int.from_bytes(b"".join(map(_hashes.__getitem__, words)), "little")
    two = first ^ (_turned(first, masks) >> BITS)
    three = first ^ (_turned(two, masks) >> BITS)
    return three.to_bytes(_BYTES * len(words), "little")[: -2 * _BYTES]


def _distinct(hashes: bytes) -> set[bytes]:
    """Each hash once. They stay bytes: numbers would have to be packed again to be counted."""
    view = memoryview(hashes)
    whole = len(view) // _MANY.size * _MANY.size
    return {*chain.from_iterable(_MANY.iter_unpack(view[:whole])), *chain.from_iterable(_ONE.iter_unpack(view[whole:]))}


def _masks_of(words: int) -> tuple[int, int]:
    """The five high bytes of so many hashes, where they are to be, and the three low ones, where they are."""
    return int.from_bytes((b"\xff" * 5 + bytes(3)) * words, "little"), int.from_bytes(
        (b"\xff" * 3 + bytes(5)) * words, "little"
    )


_masks: Final = _masks_of(_MASKED_WORDS)


def _turned(hashes: int, masks: tuple[int, int]) -> int:
    """Each hash with its bytes turned by three places."""
    return ((hashes >> 24) & masks[0]) | ((hashes & masks[1]) << 40)


def _majority(hashes: set[bytes]) -> int:
    """Each bit as most of the hashes have it.

    A plane has one binary digit of every bit's count. Half of the hashes is added to the other half until one is left.
    """
    lanes = len(hashes)
    planes = [int.from_bytes(b"".join(hashes), "little")]
    while lanes > 1:
        lanes = (lanes + 1) // 2
        planes = _halves_added(planes, BITS * lanes)
    return above(len(hashes) // 2, planes, (1 << BITS) - 1)


def _halves_added(planes: list[int], half: int) -> list[int]:
    """The sum of the planes' low `half` bits and the rest of them, digit by digit."""
    low_bits = (1 << half) - 1
    carry = 0
    found = []
    for plane in planes:
        low, high = plane & low_bits, plane >> half
        differ = low ^ high
        found.append(differ ^ carry)
        carry = (low & high) | (differ & carry)
    return [*found, carry]
