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
from app.features.near.rows import DuePrint, Note, OlderPage
from app.store.url_rows import Where

TEXTS_OF = 50  # pages whose originals' texts are held at once
READ_AT_ONCE = 8  # originals: one of 200,000 letters takes 6 MB while it is compared
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
    """Fingerprints of pages before that one is like: of the whole crawl, and of its host in more bits."""

    of_crawl: set[Close]
    of_host: set[Close]

    def closest(self, unwanted: Set[int] = frozenset()) -> list[Close]:
        """The closest that may be looked at.   unwanted: nobody of the crawl looks for them"""
        of_crawl = (like for like in self.of_crawl if like.id not in unwanted)
        return sorted({*of_crawl, *sorted(self.of_host)[:MOST_OF_HOST]})


class JudgedLot(NamedTuple):
    """notes: of pages that are like another

    crowded: fingerprints with as many older originals of the same value as are ever read: nobody would look for them
    """

    notes: dict[Where, Note]
    crowded: set[int]


class Alike(NamedTuple):
    """Pages of a lot, the earliest first, what they are like, and what is known of it.

    earlier    by the ids of the pages' fingerprints
    outside    those of it that are of no page of the lot, the closest
    texts      of pages of the lot that are like others
    originals  pages that can be originals, by fingerprint
    """

    pages: Sequence[DuePrint]
    earlier: Mapping[int, Earlier]
    outside: Mapping[int, Sequence[Close]]
    texts: Mapping[int, str]
    originals: Mapping[int, OlderPage]


def read(tx: Connection, pages: Sequence[DuePrint], earlier: Mapping[int, Earlier]) -> Alike:
    """The texts of those of a lot that are like others, and the pages that can be originals."""
    lot = {each.id: each for each in pages}
    outside = {id: [like for like in earlier[id].closest() if like.id not in lot][:MOST_LIKE] for id in lot}
    alike = {id for id in lot if any(earlier[id])}
    if not alike:
        return Alike(pages, earlier, outside, {}, {})
    likes = {like.id for id in alike for found in earlier[id] for like in found}
    texts = rows.texts(tx, pages[0].crawl_id, alike | (likes & lot.keys()))
    originals = rows.originals(tx, pages[0].crawl_id, {like.id for found in outside.values() for like in found})
    of_lot = {
        id: OlderPage(id, page.host_id, page.key, page.url, page.title, text[:START_CHARS])
        for id, text in texts.items()
        for page in [lot[id]]
        if page.url is not None and not page.is_gone
    }
    return Alike(pages, earlier, outside, texts, originals | of_lot)


def judge(tx: Connection, lot: Alike) -> JudgedLot:
    """A note for each page that is like another: the closest original that it repeats, else the closest for review.

    One after another, as if each were a lot of its own: what is found does not depend on who compares how many at once.
    """
    judged = JudgedLot({}, set())
    repeats: set[int] = set()  # pages of this lot that are no originals, as it turns out
    unwanted: set[int] = set()  # these, and crowded ones
    _, earlier, outside, own, originals = lot
    heads = _Heads(originals)
    asked = [each for each in lot.pages if each.id in own and not each.is_gone and any(earlier[each.id])]
    for first in range(0, len(asked), TEXTS_OF):
        some = asked[first : first + TEXTS_OF]
        mine = {page.id: Reading(own[page.id]) for page in some}
        wanted: set[int] = set()
        for page in some:
            can_be = [like for like in outside[page.id] if like.id in originals]
            wanted.update(like.id for like in heads.fitting(page.id, mine[page.id], can_be))
        read = _Readings({**rows.texts(tx, page.crawl_id, wanted), **own})
        for page in some:
            text = mine.pop(page.id)  # the forms that are made of it from here on are not kept
            closest = earlier[page.id].closest(unwanted)[:MOST_LIKE]
            closest = [like for like in closest if like.id in originals and like.id not in repeats][:MOST_READ]
            if sum(like.bits == 0 for like in closest) == MOST_READ:
                judged.crowded.add(page.id)
            fitting = [like for like in heads.fitting(page.id, text, closest) if like.id in read.texts]
            note = _note(page, text, fitting, originals, read) if fitting else None
            if note is not None:
                judged.notes[page.where] = note
                if repeats_another(note):
                    repeats.add(page.id)
            if page.id in repeats or page.id in judged.crowded:
                unwanted.add(page.id)
    return judged


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


def repeats_another(note: Note | None) -> bool:
    """Whether a page is a near duplicate. It is no original, so nothing looks for it, until it is compared anew."""
    return note is not None and note["kind"] == Likeness.NEAR


class _Readings(dict[int, Reading]):
    """The originals that were read last: what a text is compared by takes thirty times its size."""

    def __init__(self, texts: Mapping[int, str]) -> None:
        super().__init__()
        self.texts = texts

    def __missing__(self, id: int) -> Reading:
        if len(self) >= READ_AT_ONCE:
            del self[next(iter(self))]
        found = self[id] = Reading(self.texts[id])
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
