"""Holds the newest fingerprints of all crawls in each process that compares: most are never looked up by keys.

Whoever stores fingerprints, or finds that one is looked for no longer, holds the lock `near.lock` for some milliseconds
and first reads what others have stored since: so of two pages that are alike, the one that is stored later meets the
other. Keys are written when fingerprints leave this memory. The table `fingerprints_keyed` says up to which id that
was, and numbers the changes; after a crash, or where a lot failed, what has no keys is read anew.
"""

import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from sqlalchemy import Connection, Engine

from app.policy.focus.fingerprint import Alike
from app.store import db, near, server
from app.store.near import Change, Fingerprint, Keyed

if TYPE_CHECKING:
    from app.policy.focus.alike import Print, Prints

MOST_HELD: Final = 50_000  # 3 MB; beside so many a page is compared in 35 µs, and by keys in 200
AT_ONCE: Final = 2_000  # leave together: so many keys are neighbours in the index
MOST_LIKE: Final = 8  # fingerprints that are looked at for a page, the closest; some may be of pages that are gone
MOST_READ: Final = 4  # texts of these that are read


class NearMemory:
    """Remembers fingerprints from lot to lot, in the one thread of a process that compares.

    A transaction calls `lock`, changes, calls `tell` last, and `keep` when it is committed.   waited_s: for locks
    """

    def __init__(self) -> None:
        self.held: Prints
        self.waited_s = 0.0
        self._keyed: Keyed
        self._as_of: int | None = None  # the last change that is in it; None: it is void
        self._last = 0  # the last id that was ever in it

    def lock(self, tx: Connection) -> None:
        """Lock others out until the end of the transaction, and read what they did. Until `keep` it is void."""
        began_s = time.monotonic()
        near.lock(tx)
        self.waited_s += time.monotonic() - began_s
        self.read(tx)

    def read(self, tx: Connection) -> None:
        """Read what others have stored since, or all that has no keys. Until `keep` it is void."""
        from app.policy.focus.alike import Prints  # numpy comes with it: where no page waits, nobody needs it

        before, self._as_of = self._as_of, None
        self._keyed = near.keyed(tx)
        told = self._keyed.compared_by - before if before is not None else 0
        if before is not None and told == 0:
            return
        changes = near.changes(tx, after=before) if before is not None and told > 0 else []
        if before is None or len(changes) != told:
            self.held = Prints.of_bytes(near.held(tx, beyond=self._keyed.up_to))
            self.held.look_for_few(MOST_READ)
            self._last = self._keyed.up_to
        else:
            self._take_up(Prints.of_bytes(near.held(tx, beyond=max(self._last, self._keyed.up_to))), changes)
        if len(self.held):
            self._last = max(self._last, int(self.held.ids[-1]))

    def _take_up(self, younger: "Prints", changes: Sequence[Change]) -> None:
        """Take up what others have changed: new fingerprints, those that are gone, and what nobody looks for."""
        if gone := [id for each in changes for id in each.gone]:
            self.held = self.held.without(gone)
        younger.open()
        self.held = self.held.and_younger(younger)
        self.held.look_for({id: True for each in changes for id in each.wanted})
        self.held.look_for({id: False for each in changes for id in each.unwanted})
        if (keyed := self.held.count(self._keyed.up_to)) > 0:
            self.held = self.held.behind(keyed)

    def has_keys(self, each: Fingerprint) -> bool:
        """Whether a fingerprint is looked up by keys, and not held."""
        return each.id <= self._keyed.up_to

    def may_be_like_keyed(self, each: Fingerprint) -> bool:
        """Whether a fingerprint's crawl has some that are not held."""
        return each.where[1] in self._keyed.crawl_ids

    def replace(self, old: Collection[int], new: Sequence[Fingerprint]) -> None:
        """Forget fingerprints by their ids, and hold new ones, whose ids are above all."""
        if old:
            self.held = self.held.without(old)
        self.held = self.held.and_younger(prints_of(new))
        self._last = max([self._last, *(each.id for each in new)])

    def unwanted(self) -> set[int]:
        """The ids of those that nobody looks for."""
        return set(self.held.ids[self.held.looked_for == 0].tolist())

    def look_for(self, wanted: Mapping[int, bool]) -> None:
        """Note of fingerprints, by their ids, whether others look for them."""
        self.held.look_for(wanted)

    def alike(self, prints: Sequence[Fingerprint]) -> tuple[list[Alike], list[Alike]]:
        """Those that are held, and like these: older ones, and younger ones."""
        return self.held.alike(prints_of(prints), most=MOST_LIKE, most_of_host=MOST_READ)

    def younger(self, prints: Sequence[Fingerprint], *, beyond: int) -> list[Alike]:
        """Those behind an id that are like these, and younger."""
        return self.held.behind(self.held.count(beyond)).alike(prints_of(prints), most=0, most_of_host=0)[1]

    @property
    def last(self) -> int:
        return self._last

    def tell(
        self,
        tx: Connection,
        *,
        gone: Sequence[int] = (),
        wanted: Sequence[int] = (),
        unwanted: Sequence[int] = (),
    ) -> None:
        """Tell other processes what this transaction changed."""
        self._keyed = near.changed(tx, self._keyed, Change(list(gone), list(wanted), list(unwanted)))

    def keep(self) -> None:
        """Rely on what was read and written: it is committed."""
        self._as_of = self._keyed.compared_by

    def key_oldest(self, engine: Engine) -> None:
        """Write keys of the oldest where too many are held, and hold them no longer. One process at a time.

        The lock is taken when the keys are written: what changed meanwhile loses its own.
        """
        if len(self.held) <= MOST_HELD:
            return
        with db.transaction(engine) as tx:
            if not server.be_alone(tx, "near keys") or near.keyed(tx).up_to != self._keyed.up_to:
                return
            oldest = self.held.first(min(len(self.held), len(self.held) - MOST_HELD + AT_ONCE))
            up_to = oldest[-1].id
            near.put_keys(tx, [_fingerprint(each) for each in oldest if each.is_looked_for])
            self.lock(tx)
            n = self.held.count(up_to)
            wanted = {each.id for each in self.held.first(n) if each.is_looked_for}
            near.drop_keys(tx, [_fingerprint(each) for each in oldest if each.is_looked_for and each.id not in wanted])
            self.held = self.held.behind(n)
            crawl_ids = sorted({*self._keyed.crawl_ids, *(each.crawl_id for each in oldest)})
            self._keyed = self._keyed._replace(up_to=up_to, crawl_ids=crawl_ids)
            self.tell(tx)
        self.keep()


def prints_of(prints: Iterable[Fingerprint]) -> "Prints":
    from app.policy.focus.alike import Print, Prints

    return Prints.of(
        Print(each.id, each.value, *each.where[:2], at=each.at, tie=near.tie(each.where[2])) for each in prints
    )


def _fingerprint(each: "Print") -> Fingerprint:
    return Fingerprint(each.id, (each.host_id, each.crawl_id, b""), each.value)
