"""Compares fingerprints with many that are held side by side: 6 µs for one beside 5,000, 35 beside 50,000.

Two of one crawl are alike that differ in DUPLICATE_BITS at most, and on one host in REVIEW_BITS.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Final, NamedTuple

from app.features.near.arrays import Signed, np
from app.features.near.fingerprint import DUPLICATE_BITS, REVIEW_BITS

_COLUMNS: Final = 5  # of `Print`
_SIGN: Final = 1 << 63


class Print(NamedTuple):
    """The fingerprint of a page in a crawl.

    value          from 0 to 2**64 - 1
    is_looked_for  by the pages of all hosts; the others are found by pages of their own
    """

    id: int
    value: int
    host_id: int
    crawl_id: int
    is_looked_for: bool = True


class Prints:
    """Fingerprints side by side, the oldest first: the one of the least id."""

    def __init__(self, table: Signed) -> None:
        """table: a row of each of the columns of `Print`, values signed"""
        self.table = table
        self.ids, values, self.hosts, self.crawls, self.looked_for = table
        self.values = values.view(np.uint64)

    @classmethod
    def of(cls, prints: Iterable[Print]) -> "Prints":
        signed = [(each[0], each[1] - 2 * (each[1] & _SIGN), *each[2:]) for each in sorted(prints)]
        return cls(np.array(signed, np.int64).reshape(-1, _COLUMNS).T.copy())

    @classmethod
    def of_bytes(cls, prints: bytes) -> "Prints":
        """Read the five numbers of each fingerprint, 8 bytes each, the high ones first."""
        return cls(np.frombuffer(prints, ">i8").reshape(-1, _COLUMNS).T.astype(np.int64, order="C"))

    def __len__(self) -> int:
        return len(self.ids)

    def first(self, n: int) -> "list[Print]":
        """The oldest `n`."""
        values = map(int, self.values[:n])
        ids, _, hosts, crawls, looked_for = self.table[:, :n].tolist()
        return [Print(*each[:4], bool(each[4])) for each in zip(ids, values, hosts, crawls, looked_for, strict=True)]

    def behind(self, n: int) -> "Prints":
        """All but the oldest `n`."""
        return Prints(self.table[:, n:].copy())

    def and_younger(self, others: "Prints") -> "Prints":
        return Prints(np.concatenate([self.table, others.table], axis=1))

    def without(self, ids: Collection[int]) -> "Prints":
        return Prints(self.table[:, ~np.isin(self.ids, list(ids))])

    def look_for(self, wanted: Mapping[int, bool]) -> None:
        """Note of fingerprints, by their ids, whether others look for them. Those that are not held are left out."""
        ids = np.array(list(wanted), np.int64)
        places = np.searchsorted(self.ids, ids)
        are_held = places < len(self)
        are_held[are_held] = self.ids[places[are_held]] == ids[are_held]
        self.looked_for[places[are_held]] = np.array(list(wanted.values()), np.int64)[are_held]

    def look_for_few(self, most: int) -> None:
        """Note that of those of one value in a crawl others look for the oldest alone, so many of them."""
        wanted = np.flatnonzero(self.looked_for)
        crawls, values = self.crawls[wanted], self.values[wanted]
        order = np.lexsort((values, crawls))
        is_next = np.zeros(len(order), np.bool_)
        is_next[1:] = (np.diff(crawls[order]) == 0) & (np.diff(values[order]) == 0)
        begins = np.maximum.accumulate(np.where(is_next, 0, np.arange(len(order))))
        self.looked_for[wanted[order[np.arange(len(order)) - begins >= most]]] = 0

    def alike(self, prints: "Prints", *, most: int, most_of_host: int) -> list[tuple[int, int, int]]:
        """Those of these that are older than each of some, and like it: (id, id of the older one, bits).

        Of the crawl those that are looked for, the closest `most`; of the host all, the closest `most_of_host`. One may
        be named twice.
        """
        older = np.searchsorted(self.ids, prints.ids).tolist()
        found = [self._within(value, n) for value, n in zip(prints.values, older, strict=True)]
        whose = np.repeat(np.arange(len(found)), [len(places) for places, _ in found])
        if not len(whose):
            return []
        places, bits = np.concatenate([each[0] for each in found]), np.concatenate([each[1] for each in found])
        of_crawl = self.crawls[places] == prints.crawls[whose]
        of_host = of_crawl & (self.hosts[places] == prints.hosts[whose])
        close = of_crawl & (bits <= DUPLICATE_BITS) & (self.looked_for[places] != 0)
        first = [_first(whose, bits, close, most), _first(whose, bits, of_host, most_of_host)]
        at = np.concatenate(first)
        rows = prints.ids[whose[at]].tolist(), self.ids[places[at]].tolist(), bits[at].tolist()
        return list(zip(*rows, strict=True))

    def _within(self, value: np.uint64, n: int) -> tuple[Signed, Signed]:
        """Where those of the oldest `n` stand that differ in REVIEW_BITS at most, and in how many."""
        bits = np.bitwise_count(self.values[:n] ^ value)
        places = np.flatnonzero(bits <= REVIEW_BITS)
        return places, bits[places].astype(np.int64)


def _first(whose: Signed, bits: Signed, chosen: Signed, most: int) -> Signed:
    """Where the chosen stand with the fewest bits, the oldest before others, `most` of each whose they are."""
    at = np.flatnonzero(chosen)
    at = at[np.lexsort((bits[at], whose[at]))]
    own = whose[at]
    return at[np.arange(len(at)) - np.searchsorted(own, own) < most]
