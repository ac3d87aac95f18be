"""The fingerprint of a text: 64 bits, of which two texts share the more, the more phrases they share (promise C1).

SimHash: M. Charikar, "Similarity estimation techniques from rounding algorithms" (2002); 64 bits over web pages:
G. Manku, A. Jain, A. Das Sarma, "Detecting near-duplicates for web crawling" (2007). A phrase is three words in a row,
and counts once however often it stands there: a table of zeros is one phrase.

All phrases of a text are hashed, sorted and counted at once.
"""

from hashlib import blake2b
from typing import Final

from app.features.near.arrays import Unsigned, np
from app.features.near.fingerprint import BITS, LEAST_PHRASES

_BYTES: Final = BITS // 8
_MOST_REMEMBERED: Final = 20_000  # words: 3 MB
_PLACES: Final = np.arange(8, dtype=np.uint64)[:, np.newaxis]
_LOWEST: Final = np.uint64(0x0101_0101_0101_0101)  # bit of each byte
_MOST_IN_A_BYTE: Final = 255
_U16, _U24, _U40, _U48 = (np.uint64(bits) for bits in (16, 24, 40, 48))


class _Hashes(dict[str, bytes]):
    """The hash of each word that was met."""

    def __missing__(self, word: str) -> bytes:
        if len(self) >= _MOST_REMEMBERED:
            self.clear()
        found = self[word] = blake2b(word.encode("utf-8", "surrogatepass"), digest_size=_BYTES).digest()
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
