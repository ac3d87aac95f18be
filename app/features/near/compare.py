"""Reads the texts of pages whose fingerprints are alike, and says which page repeats which: the last word of
`app.features.near.find`. What the beginning of an original rules out is not read.
"""

from collections.abc import Mapping, Sequence, Set
from typing import NamedTuple, TypeAlias

from sqlalchemy import Connection

from app.features.near import rows
from app.features.near.likeness import Likeness, Reading, is_headed_otherwise, is_named_alike, is_titled_alike, likeness
from app.features.near.memory import MOST_LIKE, MOST_READ
from app.features.near.rows import Fingerprint, Note, OlderPage, Waiting
from app.store.url_rows import Where

TEXTS_OF = 50  # pages whose originals' texts are held at once
READ_AT_ONCE = 8  # originals: one of 200,000 letters takes 6 MB while it is compared

Closest: TypeAlias = Sequence[tuple[int, int]]  # (bits, fingerprint)


class Likes(NamedTuple):
    """Older fingerprints that those of a lot are like, by the id of each of these.

    before     of pages that were compared before, the closest;   within: of the lot itself
    originals  pages of all of them that can be originals, by fingerprint
    """

    before: Mapping[int, Closest]
    within: Mapping[int, Closest]
    originals: Mapping[int, OlderPage]


class JudgedLot(NamedTuple):
    """notes: of pages that are like another

    crowded: fingerprints with as many older originals of the same value as are ever read: nobody would look for them
    """

    notes: dict[Where, Note]
    crowded: set[int]


def judge(
    tx: Connection,
    waiting: Sequence[Waiting],
    prints: Mapping[Where, Fingerprint],
    likes: Likes,
    readings: Mapping[Where, Reading],
) -> JudgedLot:
    """A note for each page that is like another: the closest original that it repeats, else the closest for review.

    One after another, as if each were a lot of its own: what is found does not depend on who compares how many at once.

    readings: of the pages' texts; no more than their lower case is kept
    """
    judged = JudgedLot({}, set())
    repeats: set[int] = set()  # pages of this lot that are no originals, as it turns out
    unwanted: set[int] = set()  # these, and crowded ones
    own = {prints[each.where].id: each.main_text for each in waiting if each.where in prints and each.main_text}
    once = {each.where: each for each in waiting if each.main_text is not None and not each.is_gone}
    pages = sorted((prints[where].id, page) for where, page in once.items() if where in prints)
    heads = _Heads(likes.originals)
    for first in range(0, len(pages), TEXTS_OF):
        some = [(mine, page, readings[page.where]) for mine, page in pages[first : first + TEXTS_OF]]
        wanted: set[int] = set()
        for mine, _, text in some:
            of_others = [like for like in likes.before.get(mine, ()) if like[1] not in own]
            wanted.update(other for _, other in heads.fitting(mine, text, _originals(of_others, likes)))
        read = _Readings(rows.texts(tx, waiting[0].crawl_id, wanted) | own)
        for mine, page, text in some:
            found = [like for like in likes.within.get(mine, ()) if like[1] not in unwanted]
            closest = _originals(sorted({*likes.before.get(mine, ()), *found})[:MOST_LIKE], likes, repeats)
            if sum(bits == 0 for bits, _ in closest) == MOST_READ:
                judged.crowded.add(mine)
            fitting = [like for like in heads.fitting(mine, text, closest) if like[1] in read.texts]
            note = _note(page, Reading(page.main_text or ""), fitting, likes.originals, read) if fitting else None
            if note is not None:
                judged.notes[page.where] = note
                if repeats_another(note):
                    repeats.add(mine)
            if mine in repeats or mine in judged.crowded:
                unwanted.add(mine)
    return judged


class _Heads:
    """Looks at the beginnings of originals, once for each page: they may rule out that it says the same."""

    def __init__(self, originals: Mapping[int, OlderPage]) -> None:
        self._starts = {id: Reading(each.start) for id, each in originals.items()}
        self._fits: dict[tuple[int, int], bool] = {}

    def fitting(self, mine: int, text: Reading, closest: Closest) -> list[tuple[int, int]]:
        """Those that are not ruled out.   mine: the fingerprint of the text"""
        return [like for like in closest if self._fit(mine, text, like[1])]

    def _fit(self, mine: int, text: Reading, other: int) -> bool:
        found = self._fits.get((mine, other))
        if found is None:
            found = self._fits[mine, other] = not is_headed_otherwise(text, self._starts[other])
        return found


def _originals(found: Closest, likes: Likes, repeats: Set[int] = frozenset()) -> Closest:
    """Those of the closest that can be originals, as many as are read."""
    return [like for like in found if like[1] in likes.originals and like[1] not in repeats][:MOST_READ]


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
    page: Waiting,
    text: Reading,
    others: Closest,
    originals: Mapping[int, OlderPage],
    texts: Mapping[int, Reading],
) -> Note | None:
    """The note of a page: near before review, then the closest. others: (bits, fingerprint)"""
    best: Note | None = None
    for bits, other in others:
        kind, of = likeness(bits, text, texts[other]), originals[other]
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
            "bits": bits,
        }
        if kind is Likeness.NEAR:
            return best
    return best


def _is_called_alike(page: Waiting, of: OlderPage) -> bool:
    """Whether two pages of one host may be the same by what they are called."""
    return is_titled_alike(page.title, of.title) and is_named_alike(page.url or "", of.url)
