"""The fingerprint of a text: 64 bits, of which two texts share the more, the more phrases they share (promise C1).

SimHash: M. Charikar, "Similarity estimation techniques from rounding algorithms" (2002); 64 bits over web pages:
G. Manku, A. Jain, A. Das Sarma, "Detecting near-duplicates for web crawling" (2007). A phrase is three words in a row,
and counts once however often it stands there: a table of zeros is one phrase.

All phrases are hashed and counted at once in large integers, a byte of every hash beside the next: pure Python, 0.3 µs
a word.
"""

import re
from array import array
from hashlib import blake2b
from itertools import combinations
from typing import Final

BITS: Final = 64
DUPLICATE_BITS: Final = 5  # differing at most: a similarity above 0.92
REVIEW_BITS: Final = 9  # a similarity above 0.85
LEAST_PHRASES: Final = 40  # of shorter texts only exact copies are duplicates: a single word turns many bits
MOST_CHARS: Final = 200_000

# Scripts that put no blanks between words (Japanese, Chinese, Thai): each letter is one.
_LETTER: Final = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\u0e00-\u0e7f]")
_BYTES: Final = BITS // 8
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
    lower = text[:MOST_CHARS].lower()
    return (lower if lower.isascii() else _LETTER.sub(r" \g<0> ", lower)).split()


def simhash(words: list[str]) -> int | None:
    """The fingerprint of a text, from 0 to 2**64 - 1. None: it is too short for one."""
    if len(words) - 2 < LEAST_PHRASES:
        return None
    found = set(array("Q", _phrase_hashes(words)))  # struct would keep a format for each length of a text
    return _majority(array("Q", found).tobytes(), len(found)) if len(found) >= LEAST_PHRASES else None


def keys(fingerprint: int) -> list[int]:
    """21 keys. Two fingerprints that differ in 5 bits at most have one in common."""
    blocks = [(fingerprint >> shift) & mask for shift, mask in _BLOCKS]
    return [(n << 20) | (blocks[one] << 10) | blocks[other] for n, (one, other) in enumerate(_PAIRS)]


def _phrase_hashes(words: list[str]) -> bytes:
    """8 bytes for each three words in a row. The second word's bytes are turned by three places, the third's by six."""
    joined = b"".join(map(_hashes.__getitem__, words))
    columns = [int.from_bytes(joined[n::_BYTES], "little") for n in range(_BYTES)]
    count = len(words) - 2
    kept = (1 << 8 * count) - 1
    phrases = bytearray(_BYTES * count)
    for n in range(_BYTES):
        mixed = columns[n] ^ (columns[(n + 3) % _BYTES] >> 8) ^ (columns[(n + 6) % _BYTES] >> 16)
        phrases[n::_BYTES] = (mixed & kept).to_bytes(count, "little")
    return bytes(phrases)


def _majority(hashes: bytes, count: int) -> int:
    """Each bit as most of the hashes have it."""
    ones = int.from_bytes(b"\x01" * count, "little")
    found = 0
    for n in range(_BYTES):
        column = int.from_bytes(hashes[n::_BYTES], "little")
        for bit in range(8):
            if 2 * (column & (ones << bit)).bit_count() > count:
                found |= 1 << (8 * n + bit)
    return found
