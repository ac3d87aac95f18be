"""A process's memory of keys whose rows are committed: a link that was seen before needs no admission (promise F12).

A table of fixed size knows keys for certain. In a crawl that is too large for it, the keys that it evicts enter a
Bloom filter. The filter's answers are confirmed in Postgres, for all links of a settle at once (`app.crawl.frontier`):
a false positive costs a lookup, and never a URL. Both belong to one process, and are bounded.

The filter is rbloom's: a hit in Python took more than twice as long.
"""

import math
from array import array
from dataclasses import asdict, dataclass
from struct import Struct

import structlog
from rbloom import Bloom

_log = structlog.get_logger()
TAG_AND_SLOT = Struct("<QI").unpack_from
_HALF, _MASK = 1 << 127, (1 << 128) - 1
_GOLDEN = 0x9E3779B97F4A7C15F39CC0605CEDC835  # 2**128 / the golden ratio: Knuth, TAOCP 6.4, multiplicative hashing


class KnownKeys:
    """A direct-mapped table: a new key evicts the key in its slot, so memory is constant from the start.

    A key is recognised by 64 bits besides the 18 of its slot, all of SHA-256: a false "known" by chance is out of
    reach.

    bloom_keys  how many evicted keys are remembered; 0: none
    """

    SLOTS = 1 << 18  # 2 MiB
    KEPT_S = 3_600.0

    def __init__(self, bloom_keys: int = 0) -> None:
        self._tags = array("Q", bytes(8 * self.SLOTS))
        self._used = 0
        self._until = -math.inf
        self.evicted = Evicted(bloom_keys) if bloom_keys else None

    def has(self, crawl_id: int, key: bytes) -> bool:
        tag, slot = TAG_AND_SLOT(key)  # as `_place`, without its call: each link of each page is asked for
        kept: int = self._tags[(slot ^ crawl_id) % self.SLOTS]
        return kept == (tag ^ crawl_id or 1)

    def may_have(self, crawl_id: int, key: bytes) -> bool:
        """Whether the key was probably known and then evicted: confirm it."""
        evicted = self.evicted
        return evicted is not None and evicted.keys > 0 and evicted.has(*self._place(crawl_id, key))

    def add(self, crawl_id: int, key: bytes) -> None:
        slot, tag = self._place(crawl_id, key)
        before = self._tags[slot]
        self._tags[slot] = tag
        if before == 0:
            self._used += 1
        elif before != tag and self.evicted is not None and 2 * self._used > self.SLOTS:
            self.evicted.add(slot, before)

    def forget(self, crawl_id: int, key: bytes) -> None:
        """Forget a key whose row is gone: a link to it is new again."""
        slot, tag = self._place(crawl_id, key)
        if self._tags[slot] == tag:
            self._tags[slot] = 0
            self._used -= 1

    def forget_all(self) -> None:
        """Forget every key of the table. The filter stays: its answers are confirmed anyway."""
        self._tags = array("Q", bytes(8 * self.SLOTS))
        self._used = 0

    def renew(self, now: float) -> None:
        """Forget all keys once an hour: other processes may have removed their rows."""
        if now >= self._until:
            if self._until > -math.inf:
                _log.info("known_keys.renewed", **asdict(self.load()))
            self._until = now + self.KEPT_S
            self.forget_all()

    def load(self) -> "Load":
        """The figures now. Threads count without a lock: a figure may be a few too low."""
        evicted = self.evicted
        return Load(
            slots=self.SLOTS,
            used=self._used,
            bloom_keys=evicted.capacity if evicted else 0,
            bloom_used=evicted.keys if evicted else 0,
            bloom_bytes=evicted.bytes if evicted else 0,
            expected_errors=evicted.expected_errors if evicted else 0.0,
            confirmed=evicted.confirmed if evicted else 0,
            refuted=evicted.refuted if evicted else 0,
        )

    def _place(self, crawl_id: int, key: bytes) -> tuple[int, int]:
        tag, slot = TAG_AND_SLOT(key)
        return (slot ^ crawl_id) % self.SLOTS, tag ^ crawl_id or 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """The fill of a process's known keys, and the errors of its filter.

    slots, used      of the table
    bloom_keys       keys that the filter has room for;   bloom_used: keys in it;   bloom_bytes: its size now
    expected_errors  share of new keys that it takes for known, estimated from its fill
    confirmed        links that it took for known, and Postgres had;   refuted: that Postgres had not, or no longer
    """

    slots: int
    used: int
    bloom_keys: int
    bloom_used: int
    bloom_bytes: int
    expected_errors: float
    confirmed: int
    refuted: int

    def text(self) -> str:
        """One line for a person."""
        table = f"table {_share(self.used, self.slots)} full of {self.slots:,}"
        if not self.bloom_used:
            return f"{table}; Bloom filter not needed yet" if self.bloom_keys else f"{table}; no Bloom filter"
        size = f"{self.bloom_used:,} of {self.bloom_keys:,} keys in {self.bloom_bytes / 1e6:.1f} MB"
        asked = self.confirmed + self.refuted
        seen = f", {_share(self.refuted, asked)} of {asked:,} hits were false" if asked else ""
        return f"{table}; Bloom filter: {size}, {self.expected_errors:.2%} errors expected{seen}"


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.1%}"


class Evicted:
    """Bloom filter of the table's evicted keys, in two halves: when one is full, the older is emptied and filled next.

    Made when first needed.   confirmed, refuted: how many of its positives were

    Threads share it without a lock. Its hash function must stay one in C: a filter is borrowed while it hashes, and a
    function in Python lets another thread in there, whose look-up then raises.
    """

    ERRORS = 0.01

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.confirmed = self.refuted = 0
        self._half = max(capacity // 2, 1)
        self._old: Bloom | None = None
        self._new: Bloom | None = None
        self._old_keys = self._new_keys = 0

    def has(self, slot: int, tag: int) -> bool:
        place = _spread(slot << 64 | tag)
        new, old = self._new, self._old
        return (new is not None and place in new) or (old is not None and place in old)

    def add(self, slot: int, tag: int) -> None:
        new = self._new
        if new is None or self._new_keys >= self._half:
            self._old, self._old_keys = new, self._new_keys
            self._new = new = Bloom(self._half, self.ERRORS, int)
            self._new_keys = 0
        new.add(_spread(slot << 64 | tag))
        self._new_keys += 1

    @property
    def keys(self) -> int:
        return self._old_keys + self._new_keys

    @property
    def bytes(self) -> int:
        return sum(half.size_in_bits for half in (self._old, self._new) if half is not None) // 8

    @property
    def expected_errors(self) -> float:
        """The probability of a false positive. A full filter is half ones, and tests log2(1 / ERRORS) of its bits."""
        missed = 1.0
        for keys in (self._old_keys, self._new_keys):
            missed *= 1 - (1 - 2 ** (-keys / self._half)) ** -math.log2(self.ERRORS)
        return 1 - missed


def _spread(place: int) -> int:
    """The signed 128-bit hash that rbloom needs, from which it derives its bits by a linear generator.

    Keys of two crawls differ only in their lowest bits: without this, one in eight was taken for the other crawl's.
    """
    return ((place * _GOLDEN) & _MASK) - _HALF
