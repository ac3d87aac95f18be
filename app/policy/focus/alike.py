"""Compares fingerprints with many that are held side by side: 6 µs for one beside 5,000, 35 beside 50,000.

Two of one crawl are alike that differ in DUPLICATE_BITS at most, and on one host in REVIEW_BITS.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Final, NamedTuple

from app.policy.focus.arrays import Flags, Signed, np
from app.policy.focus.fingerprint import DUPLICATE_BITS, REVIEW_BITS, Alike

_COLUMNS: Final = 7  # of `Print`
OPEN: Final = 2  # in place of whether others look for one: another process compares it
_SIGN: Final = 1 << 63


class Print(NamedTuple):
    """The fingerprint of a page in a crawl.

    value          from 0 to 2**64 - 1
    is_looked_for  by the pages of all hosts; the others are found by pages of their own
    at             when the text was fetched, in microseconds: the older text is the original
    tie            the first 8 bytes of the page's key, which decide between two of one time
    """

    id: int
    value: int
    host_id: int
    crawl_id: int
    is_looked_for: bool = True
    at: int = 0
    tie: int = 0


class Prints:
    """Fingerprints side by side, by their ids: the one that was stored first."""

    def __init__(self, table: Signed) -> None:
        """table: a row of each of the columns of `Print`, values signed"""
        self.table = table
        self.ids, values, self.hosts, self.crawls, self.looked_for, self.at, ties = table
        self.values, self.ties = values.view(np.uint64), ties.view(np.uint64)

    @classmethod
    def of(cls, prints: Iterable[Print]) -> "Prints":
        signed = [(each[0], _signed(each[1]), *each[2:6], _signed(each[6])) for each in sorted(prints)]
        return cls(np.array(signed, np.int64).reshape(-1, _COLUMNS).T.copy())

    @classmethod
    def of_bytes(cls, prints: bytes) -> "Prints":
        """Read the seven numbers of each fingerprint, 8 bytes each, the high ones first."""
        return cls(np.frombuffer(prints, ">i8").reshape(-1, _COLUMNS).T.astype(np.int64, order="C"))

    def __len__(self) -> int:
        return len(self.ids)

    def count(self, up_to: int) -> int:
        """How many have an id up to this one."""
        return int(np.searchsorted(self.ids, up_to, side="right"))

    def first(self, n: int) -> "list[Print]":
        """The first `n`."""
        ids, _, hosts, crawls, looked_for, at, _ = self.table[:, :n].tolist()
        values, ties = self.values[:n].tolist(), self.ties[:n].tolist()
        columns = zip(ids, values, hosts, crawls, map(bool, looked_for), at, ties, strict=True)
        return [Print(*each) for each in columns]

    def behind(self, n: int) -> "Prints":
        """All but the first `n`."""
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

    def open(self) -> None:
        """Note that others compare these."""
        self.looked_for[:] = OPEN

    def look_for_few(self, most: int) -> None:
        """Note that of those of one value in a crawl others look for the oldest alone, so many of them."""
        wanted = np.flatnonzero(self.looked_for == 1)
        crawls, values = self.crawls[wanted], self.values[wanted]
        order = np.lexsort((self.ties[wanted], self.at[wanted], values, crawls))
        is_next = np.zeros(len(order), np.bool_)
        is_next[1:] = (np.diff(crawls[order]) == 0) & (np.diff(values[order]) == 0)
        begins = np.maximum.accumulate(np.where(is_next, 0, np.arange(len(order))))
        self.looked_for[wanted[order[np.arange(len(order)) - begins >= most]]] = 0

    def alike(self, prints: "Prints", *, most: int, most_of_host: int) -> tuple[list[Alike], list[Alike]]:
        """Those of these that are like each of some: the older ones, and the younger ones.

        Of the crawl the older ones that are looked for, the closest `most`; of the host all, the closest
        `most_of_host`. One may be named twice.
        """
        whose, places, bits = self._near(prints)
        if not len(whose):
            return [], []
        of_crawl = self.crawls[places] == prints.crawls[whose]
        of_host = of_crawl & (self.hosts[places] == prints.hosts[whose])
        older = self._is_older(places, prints, whose)
        close = of_crawl & (bits <= DUPLICATE_BITS)
        looked_for = self.looked_for[places]
        wanted = close & older & (looked_for == 1)
        order = np.lexsort((self.ids[places], self.ties[places], self.at[places], bits, whose))
        first = [
            _first(whose, order, wanted, most),
            _first(whose, order, of_host & older & (looked_for != OPEN), most_of_host),
        ]
        late = (close | of_host) & ~older & (self.ids[places] != prints.ids[whose])
        at, behind = np.concatenate(first), np.flatnonzero(late)
        return (
            self._named(prints, whose[at], places[at], bits[at]),
            self._named(prints, whose[behind], places[behind], bits[behind]),
        )

    def closest(self, prints: "Prints", *, most: int) -> list[Alike]:
        """Those of these that each of some differs from in REVIEW_BITS at most, however old: the closest."""
        whose, places, bits = self._near(prints)
        order = np.lexsort((self.ids[places], bits, whose))
        at = _first(whose, order, self.ids[places] != prints.ids[whose], most)
        return self._named(prints, whose[at], places[at], bits[at])

    def _near(self, prints: "Prints") -> tuple[Signed, Signed, Signed]:
        """Pairs of some and of these that are alike: places in both, and in how many bits they differ."""
        found = [self._within(value) for value in prints.values]
        whose = np.repeat(np.arange(len(found)), [len(places) for places, _ in found])
        if not len(whose):
            return whose, whose, whose
        return whose, np.concatenate([each[0] for each in found]), np.concatenate([each[1] for each in found])

    def _within(self, value: np.uint64) -> tuple[Signed, Signed]:
        """Where those stand that differ in REVIEW_BITS at most, and in how many."""
        bits = np.bitwise_count(self.values ^ value)
        places = np.flatnonzero(bits <= REVIEW_BITS)
        return places, bits[places].astype(np.int64)

    def _is_older(self, places: Signed, prints: "Prints", whose: Signed) -> Flags:
        """Whether these are older than those of the others: by time, then by key, then by id."""
        at, of_at = self.at[places], prints.at[whose]
        tie, of_tie = self.ties[places], prints.ties[whose]
        earlier = (tie < of_tie) | ((tie == of_tie) & (self.ids[places] < prints.ids[whose]))
        older: Flags = (at < of_at) | ((at == of_at) & earlier)
        return older

    def _named(self, prints: "Prints", whose: Signed, places: Signed, bits: Signed) -> list[Alike]:
        columns = prints.ids[whose], self.ids[places], bits, self.at[places], self.ties[places]
        return [Alike(*each) for each in zip(*(column.tolist() for column in columns), strict=True)]


def _first(whose: Signed, order: Signed, chosen: Flags, most: int) -> Signed:
    """The first in order that are chosen, `most` of each whose they are."""
    at = order[chosen[order]]
    own = whose[at]
    return at[np.arange(len(at)) - np.searchsorted(own, own) < most]


def _signed(value: int) -> int:
    return value - 2 * (value & _SIGN)
