"""Holds the newest fingerprints of crawls in the process that compares them: most are never looked up by keys.

Keys are written when fingerprints leave this memory. The table `fingerprints_keyed` says up to which id that was; what
is younger is read again after a crash, a lot that failed, or when another process has compared meanwhile.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from sqlalchemy import Connection

from app.features.near import rows
from app.features.near.rows import Fingerprint, Keyed, Like

if TYPE_CHECKING:
    from app.features.near.alike import Print, Prints

MOST_CRAWLS: Final = 8  # whose fingerprints a process holds; those of others are read again
MOST_LIKE: Final = 8  # fingerprints that are looked at for a page, the closest; some may be of pages that are gone
MOST_READ: Final = 4  # texts of these that are read


class NearMemory:
    """Remembers the fingerprints of the crawls that were compared last, in the one thread that compares.

    most_held  fingerprints of a crawl, 2 MB: beside so many a page is compared in 35 µs, and by keys in 200
    leave      so many at once: their keys are neighbours in the index
    """

    def __init__(self, *, most_held: int = 50_000, leave: int = 2_000) -> None:
        self._most_held, self._leave = most_held, leave
        self._crawls: dict[int, CrawlMemory] = {}

    def of(self, crawl_id: int) -> "CrawlMemory":
        found = self._crawls.pop(crawl_id, None) or CrawlMemory(crawl_id, self._most_held, self._leave)
        if len(self._crawls) >= MOST_CRAWLS:
            del self._crawls[next(iter(self._crawls))]  # it was used longest ago
        self._crawls[crawl_id] = found
        return found


class CrawlMemory:
    """Remembers fingerprints of a crawl from lot to lot.

    Each lot calls `read` first, `write` last, and `keep` when it is committed.
    """

    def __init__(self, crawl_id: int, most_held: int, leave: int) -> None:
        self.crawl_id = crawl_id
        self._most_held, self._leave = most_held, leave
        self.held: Prints
        self._keyed: Keyed
        self._as_of: int | None = None  # the last transaction that is in it; None: it is void

    def read(self, tx: Connection) -> None:
        """Read what is to be held, if it is not. Until `keep` it is void."""
        from app.features.near.alike import Prints  # numpy comes with it: where no page waits, nobody needs it

        before, self._as_of = self._as_of, None
        self._keyed = rows.keyed(tx, self.crawl_id)
        if before is None or before != self._keyed.compared_by:
            self.held = Prints.of_bytes(rows.held(tx, self.crawl_id, beyond=self._keyed.up_to))
            self.held.look_for_few(MOST_READ)

    def has_keys(self, each: Fingerprint) -> bool:
        """Whether a fingerprint is looked up by keys, and not held."""
        return each.id <= self._keyed.up_to

    @property
    def has_older(self) -> bool:
        """Whether the crawl has fingerprints that are not held."""
        return self._keyed.up_to > 0

    def replace(self, old: Collection[int], new: Sequence[Fingerprint]) -> None:
        """Forget fingerprints by their ids, and hold new ones, which are younger than all."""
        if old:
            self.held = self.held.without(old)
        self.held = self.held.and_younger(prints_of(new))

    def look_for(self, wanted: Mapping[int, bool]) -> None:
        """Note of fingerprints, by their ids, whether others look for them."""
        self.held.look_for(wanted)

    def alike(self, prints: Sequence[Fingerprint]) -> list[Like]:
        """Older ones that are held, and like these."""
        return among(self.held, prints)

    def write(self, tx: Connection) -> None:
        """Write the keys of those that are too many, and that this lot was compared."""
        keyed, more = self._keyed, len(self.held) - self._most_held
        if more > 0:
            oldest = self.held.first(min(len(self.held), more + self._leave))
            self.held = self.held.behind(len(oldest))
            rows.put_keys(tx, [_fingerprint(each) for each in oldest if each.is_looked_for])
            keyed = keyed._replace(up_to=oldest[-1].id)
        self._keyed = rows.compared(tx, keyed)

    def keep(self) -> None:
        """Rely on what was read and written: it is committed."""
        self._as_of = self._keyed.compared_by


def among(others: "Prints", prints: Sequence[Fingerprint], *, most: int = MOST_LIKE) -> list[Like]:
    """Those of these others that are older and alike."""
    found = others.alike(prints_of(prints), most=most, most_of_host=MOST_READ)
    return [Like(*each) for each in found]


def prints_of(prints: Iterable[Fingerprint]) -> "Prints":
    from app.features.near.alike import Print, Prints

    return Prints.of(Print(each.id, each.value, *each.where[:2]) for each in prints)


def _fingerprint(each: "Print") -> Fingerprint:
    return Fingerprint(each.id, (each.host_id, each.crawl_id, b""), each.value)
