"""What the known keys of a process hold, what a lookup costs, and how often the Bloom filter errs: by default at 10 M
keys.

Keys are random, as SHA-256 is. A filter in Python stands beside, to show what rbloom is for. Times are of the thread's
CPU clock, less the loop's own.
"""

import argparse
import random
import time
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path
from struct import Struct

from app.crawl.state.seen import KnownKeys
from bench.report import BenchError, Cell, save, table

KEYS = 10_000_000
BLOCK = 100_000
ASKED = 5  # blocks
STRANGERS = 1_000_000  # numbers of blocks that were never met
ERRORS_MAX = 0.02  # of two halves that are both full
_WORDS = Struct("<7I").unpack_from


class InPython:
    """A filter of 2**27 bits, seven a key, in a bytearray."""

    MASK = (1 << 27) - 1

    def __init__(self) -> None:
        self._bits = bytearray(1 << 24)

    def add(self, key: bytes) -> None:
        for word in _WORDS(key):
            self._bits[(word & self.MASK) >> 3] |= 1 << (word & 7)

    def has(self, key: bytes) -> bool:
        for word in _WORDS(key):  # noqa: SIM110  # a generator costs more
            if not self._bits[(word & self.MASK) >> 3] >> (word & 7) & 1:
                return False
        return True


def main(arguments: argparse.Namespace) -> None:
    """Fill, look up, print and save. Raises BenchError where the error rate is over its bar, or a key is lost."""
    blocks = max((arguments.keys or KEYS) // BLOCK, 2 * ASKED)  # the latest come when the table is half full
    row, lost = _ours(blocks)
    rows = [row, _in_python()]
    table(f"known keys: {blocks * BLOCK:,} keys met (bar: errors at most {ERRORS_MAX:.0%}, none lost)", rows)
    save("known_keys", {"keys": blocks * BLOCK, "rows": rows})
    if lost or float(str(row["errors"])) > ERRORS_MAX:
        raise BenchError(f"{lost} keys lost, {row['errors']} of keys never met taken for known")


def _ours(blocks: int) -> tuple[dict[str, Cell], int]:
    known = KnownKeys(2 * blocks * BLOCK)  # so that none gives way
    before_mb = _resident_mb()
    add_ns = _ns(lambda key: known.add(1, key), range(blocks))
    latest, strangers = range(blocks - ASKED, blocks), range(STRANGERS, STRANGERS + ASKED)
    load = known.load()
    row: dict[str, Cell] = {
        "filter": "rbloom, behind the table",
        "keys in it": load.bloom_used,
        "MB": round(load.bloom_bytes / 1e6, 1),
        "process grew by MB": round(_resident_mb() - before_mb, 1),
        "add ns": add_ns,
        "table's lookup ns": _ns(lambda key: known.has(1, key), strangers),
        "hit ns": _ns(lambda key: known.may_have(1, key), latest),
        "miss ns": _ns(lambda key: known.may_have(1, key), strangers),
        "errors expected": round(load.expected_errors, 5),
        "errors": sum(known.may_have(1, key) for key in _keys(strangers)) / (ASKED * BLOCK),
    }
    return row, sum(not (known.has(1, key) or known.may_have(1, key)) for key in _keys(latest))


def _in_python() -> dict[str, Cell]:
    """At a tenth of the keys of the other: filling takes long."""
    known, blocks = InPython(), range(10)
    return {
        "filter": "a bytearray, in Python",
        "keys in it": len(blocks) * BLOCK,
        "MB": 16.8,
        "process grew by MB": "",
        "add ns": _ns(known.add, blocks),
        "table's lookup ns": "",
        "hit ns": _ns(known.has, blocks[-ASKED:]),
        "miss ns": _ns(known.has, range(STRANGERS, STRANGERS + ASKED)),
        "errors expected": "",
        "errors": sum(map(known.has, _keys(range(STRANGERS, STRANGERS + ASKED)))) / (ASKED * BLOCK),
    }


def _keys(blocks: Iterable[int]) -> Iterator[bytes]:
    return chain.from_iterable(map(_block, blocks))


def _block(number: int) -> list[bytes]:
    octets = random.Random(number).randbytes(32 * BLOCK)
    return [octets[start : start + 32] for start in range(0, len(octets), 32)]


def _ns(act: Callable[[bytes], object], blocks: range) -> float:
    """Nanoseconds of CPU a call, less those of the same loop without it; keys are made outside of the clock."""
    spent_s = 0.0
    for number in blocks:
        keys = _block(number)
        for sign, each in ((1, act), (-1, _nothing)):
            begun_s = time.thread_time()
            for key in keys:
                each(key)
            spent_s += sign * (time.thread_time() - begun_s)
    return round(spent_s / (len(blocks) * BLOCK) * 1e9)


def _nothing(_: bytes) -> None:
    """What a call costs by itself."""


def _resident_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 1e6
