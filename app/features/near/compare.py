"""Reads the texts of pages whose fingerprints are alike, and says which page repeats which: the last word of
`app.features.near.find`. What the beginning of an original rules out is not read.
"""

from collections.abc import Mapping, Sequence

from sqlalchemy import Connection

from app.features.near import rows
from app.features.near.likeness import Likeness, Reading, is_headed_otherwise, is_named_alike, is_titled_alike, likeness
from app.features.near.rows import Fingerprint, Note, OlderPage, Waiting
from app.store.url_rows import Where

TEXTS_OF = 50  # pages whose originals' texts are held at once
READ_AT_ONCE = 8  # originals: one of 200,000 letters takes 6 MB while it is compared


def notes_of(
    tx: Connection,
    waiting: Sequence[Waiting],
    prints: Mapping[Where, Fingerprint],
    closest: Mapping[int, Sequence[tuple[int, int]]],
    originals: Mapping[int, OlderPage],
    readings: Mapping[Where, Reading],
) -> dict[Where, Note]:
    """A note for each page that is like another: the closest original that it repeats, else the closest for review.

    closest: (bits, fingerprint) of originals, by the page's fingerprint
    readings: of the pages' texts; no more than their lower case is kept
    """
    notes: dict[Where, Note] = {}
    repeats: set[int] = set()  # pages of this lot that are no originals, as it turns out
    starts = {id: Reading(each.start) for id, each in originals.items()}
    for first in range(0, len(waiting), TEXTS_OF):
        judged = [
            (page, page.main_text, mine)
            for page in waiting[first : first + TEXTS_OF]
            if page.main_text is not None
            and not page.is_gone
            and (mine := prints.get(page.where)) is not None
            and mine.id in closest
        ]
        alike = {mine.id: _not_ruled_out(readings[page.where], closest[mine.id], starts) for page, _, mine in judged}
        read = _Readings(rows.texts(tx, {other for found in alike.values() for _, other in found}))
        for page, text, mine in judged:
            others = [(bits, other) for bits, other in alike[mine.id] if other in read.texts and other not in repeats]
            found = _note(page, Reading(text), others, originals, read) if others and page.where not in notes else None
            if found is not None:
                notes[page.where] = found
                if repeats_another(found):
                    repeats.add(mine.id)
    return notes


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


def _not_ruled_out(
    text: Reading, closest: Sequence[tuple[int, int]], starts: Mapping[int, Reading]
) -> list[tuple[int, int]]:
    return [(bits, other) for bits, other in closest if not is_headed_otherwise(text, starts[other])]


def _note(
    page: Waiting,
    text: Reading,
    others: Sequence[tuple[int, int]],
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
