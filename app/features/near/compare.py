"""Reads the texts of pages whose fingerprints are alike, and says which page repeats which: the last word of
`app.features.near.find`. What the beginning of an original rules out is not read.
"""

from collections.abc import Mapping, Sequence, Set
from typing import NamedTuple

from sqlalchemy import Connection

from app.features.near import rows
from app.features.near.likeness import (
    START_CHARS,
    Likeness,
    Reading,
    is_headed_otherwise,
    is_named_alike,
    is_titled_alike,
    likeness,
)
from app.features.near.rows import DuePrint, Note, OlderPage, repeats_another
from app.features.near.simhash import Within, np
from app.store.url_rows import Where

TEXTS_OF = 50  # pages whose originals' texts are held at once
READ_AT_ONCE = 8  # originals: one of 200,000 letters takes 8 MB while it is compared
MOST_LIKE = 8  # fingerprints that are looked at for a page, the closest; some may be of pages that are gone
MOST_OF_HOST = 4  # of these that are found on its host alone
MOST_READ = 4  # texts that are read


class Close(NamedTuple):
    """A fingerprint that differs in so many bits. The closest comes first, of equally close the earliest page's."""

    bits: int
    place: int
    key: bytes
    id: int


class Earlier(NamedTuple):
    """Fingerprints of pages before that one is like, the closest first.

    outside: of the crawl but of no page of its lot;   of_host: of its host in more bits, of its lot too
    """

    outside: Sequence[Close]
    of_host: Sequence[Close]


class JudgedLot(NamedTuple):
    """notes: of pages that are like another

    crowded: fingerprints with as many older originals of the same value as are ever read: nobody would look for them
    """

    notes: dict[Where, Note]
    crowded: set[int]


class Alike(NamedTuple):
    """A lot, the earliest page first, what its pages are like, and what is known of it.

    lot        and within: the pages, some of which wait, and how they are like each other
    pages      those that are compared
    earlier    by the ids of the pages' fingerprints
    texts      of pages of the lot that are like others; no more than their lower case is kept
    originals  pages that can be originals, by fingerprint
    """

    lot: Sequence[DuePrint]
    within: Within
    pages: Sequence[DuePrint]
    earlier: Mapping[int, Earlier]
    texts: Mapping[int, Reading]
    originals: Mapping[int, OlderPage]


def read(
    tx: Connection,
    lot: Sequence[DuePrint],
    within: Within,
    earlier: Mapping[int, Earlier],
    waiting: Set[int],
    known: Mapping[int, Reading],
) -> Alike:
    """The texts of those of a lot that are like others, and the pages that can be originals.

    waiting: they are not compared;   known: texts of those that are known
    """
    pages = {each.id: each for each in lot if each.id not in waiting}
    likes = {like.id for id in pages for found in earlier[id] for like in found}
    alike = {
        each.id
        for at, each in enumerate(lot)
        if each.id in pages and (within.has_like[at] or within.is_like[at] or each.id in likes or any(earlier[each.id]))
    }
    if not alike:
        return Alike(lot, within, list(pages.values()), earlier, {}, {})
    texts = {id: known[id] for id in alike if pages[id].is_known}
    texts |= {id: Reading(text) for id, text in rows.texts(tx, lot[0].crawl_id, alike - texts.keys()).items()}
    originals = rows.originals(tx, lot[0].crawl_id, likes - pages.keys())
    of_lot = {
        id: OlderPage(id, page.host_id, page.key, page.url, page.title, text.all[:START_CHARS])
        for id, text in texts.items()
        for page in [pages[id]]
        if page.url is not None and not page.is_gone
    }
    return Alike(lot, within, list(pages.values()), earlier, texts, originals | of_lot)


def judge(tx: Connection, alike: Alike) -> JudgedLot:
    """A note for each page that is like another: the closest original that it repeats, else the closest for review.

    One after another, as if each were a lot of its own: what is found does not depend on who compares how many at once.
    """
    judged = JudgedLot({}, set())
    repeats: set[int] = set()  # pages of this lot that are no originals, as it turns out
    own, originals = alike.texts, alike.originals
    closest, heads = _Closest(alike), _Heads(originals)
    asked = [each for each in alike.pages if each.id in own and not each.is_gone and closest.has_any(each.id)]
    for first in range(0, len(asked), TEXTS_OF):
        some = asked[first : first + TEXTS_OF]
        wanted: set[int] = set()
        for page in some:
            can_be = [like for like in alike.earlier[page.id].outside if like.id in originals]
            wanted.update(like.id for like in heads.fitting(page.id, own[page.id], can_be[:MOST_READ]))
        read = _Readings(rows.texts(tx, alike.lot[0].crawl_id, wanted), own)
        for page in some:
            likes = [like for like in closest.of(page.id) if like.id in originals and like.id not in repeats]
            likes = likes[:MOST_READ]
            if sum(like.bits == 0 for like in likes) == MOST_READ:
                judged.crowded.add(page.id)
            fitting = [like for like in heads.fitting(page.id, own[page.id], likes) if read.has(like.id)]
            note = _note(page, own[page.id].anew(), fitting, originals, read) if fitting else None
            if note is not None:
                judged.notes[page.where] = note
                if repeats_another(note):
                    repeats.add(page.id)
            if page.id in repeats or page.id in judged.crowded:
                closest.forget(page.id)
    return judged


class _Closest:
    """Finds the closest pages before each page of a lot that somebody of the crawl looks for."""

    def __init__(self, alike: Alike) -> None:
        self._lot, self._within, self._earlier = alike.lot, alike.within, alike.earlier
        self._at = {each.id: at for at, each in enumerate(alike.lot)}
        self._unwanted = np.zeros(len(alike.lot), np.bool_)

    def has_any(self, id: int) -> bool:
        return self._within.has_like[self._at[id]] or any(self._earlier[id])

    def forget(self, id: int) -> None:
        """Leave a page out: nobody looks for one that repeats another, but on its own host."""
        self._unwanted[self._at[id]] = True

    def of(self, id: int) -> list[Close]:
        found = {*self._earlier[id].outside, *self._earlier[id].of_host}
        for bits, at in self._within.closest(self._at[id], self._unwanted, most=MOST_LIKE):
            page = self._lot[at]
            found.add(Close(bits, page.place, page.key, page.id))
        return sorted(found)[:MOST_LIKE]


class _Heads:
    """Looks at the beginnings of originals, once for each page: they may rule out that it says the same."""

    def __init__(self, originals: Mapping[int, OlderPage]) -> None:
        self._starts = {id: Reading(each.start) for id, each in originals.items()}
        self._fits: dict[tuple[int, int], bool] = {}

    def fitting(self, mine: int, text: Reading, closest: Sequence[Close]) -> list[Close]:
        """Those that are not ruled out.   mine: the fingerprint of the text"""
        return [like for like in closest if self._fit(mine, text, like.id)]

    def _fit(self, mine: int, text: Reading, other: int) -> bool:
        found = self._fits.get((mine, other))
        if found is None:
            found = self._fits[mine, other] = not is_headed_otherwise(text, self._starts[other])
        return found


class _Readings(dict[int, Reading]):
    """The originals that were read last: what a text is compared by takes thirty times its size."""

    def __init__(self, texts: Mapping[int, str], own: Mapping[int, Reading]) -> None:
        super().__init__()
        self._texts, self._own = texts, own

    def has(self, id: int) -> bool:
        return id in self._own or id in self._texts

    def __missing__(self, id: int) -> Reading:
        if len(self) >= READ_AT_ONCE:
            del self[next(iter(self))]
        found = self[id] = self._own[id].anew() if id in self._own else Reading(self._texts[id])
        return found


def _note(
    page: DuePrint,
    text: Reading,
    others: Sequence[Close],
    originals: Mapping[int, OlderPage],
    texts: Mapping[int, Reading],
) -> Note | None:
    """The note of a page: near before review, then the closest."""
    best: Note | None = None
    for like in others:
        kind, of = likeness(like.bits, text, texts[like.id]), originals[like.id]
        if kind is Likeness.NEAR and of.host_id == page.host_id and not _is_called_alike(page, of):
            kind = Likeness.REVIEW
        if kind is None or (best is not None and kind is Likeness.REVIEW):
            continue
        best = {
            "host_id": page.host_id,
            "crawl_id": page.crawl_id,
            "key": page.key,
            "url": page.url or "",
            "kind": kind.value,
            "of_url": of.url,
            "of_host_id": of.host_id,
            "of_key": of.key,
            "bits": like.bits,
        }
        if kind is Likeness.NEAR:
            return best
    return best


def _is_called_alike(page: DuePrint, of: OlderPage) -> bool:
    """Whether two pages of one host may be the same by what they are called."""
    return is_titled_alike(page.title, of.title) and is_named_alike(page.url or "", of.url)
