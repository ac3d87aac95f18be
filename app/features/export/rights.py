"""Chooses pages by what their owners allow, and furnishes the evidence: the column `rights`."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

from sqlalchemy import Engine

from app.errors import InputError
from app.features.export.rows import ExportBatch
from app.features.rights import rows
from app.features.rights.purpose import Purpose, PurposeAnswer, PurposeVerdict, verdicts
from app.store import db
from app.store.crawls import Crawl

COLUMN: Final = "rights"
MOST_REASONS: Final = 50  # each counted; those beyond are counted together
NOBODY: Final = "unknown: no statement"
OTHERS: Final = "other reasons"


def purpose_of(word: str) -> Purpose:
    """Raises InputError for a word that names none."""
    if word not in set(Purpose):
        raise InputError(f"--for {word}", f"is no purpose; use one of {', '.join(Purpose)}")
    return Purpose(word)


class ExportRights:
    """The verdicts of a crawl's pages, for an export.

    purpose     pages that it is not allowed for are left out; None: none is
    or_unknown  pages stay of which it is not known
    left_out    how many, by reason
    """

    def __init__(self, engine: Engine, crawl: Crawl, purpose: Purpose | None, *, or_unknown: bool) -> None:
        self._engine = engine
        self._crawl_id = crawl.id
        self._purpose = purpose
        self._or_unknown = or_unknown
        self._known: dict[tuple[int, str], dict[Purpose, PurposeVerdict]] = {}
        self.left_out: Counter[str] = Counter()

    def sift(self, batch: ExportBatch) -> ExportBatch:
        """The pages of a batch that the purpose is allowed for."""
        places = [(row[0], row[1].hex()) for row in batch.rows]
        with db.transaction(self._engine) as tx:
            found = rows.of_pages(tx, self._crawl_id, places)
        self._known = {place: verdicts(found.get(place, ())) for place in places}
        if self._purpose is None:
            return batch
        kept = []
        for row, place in zip(batch.rows, places, strict=True):
            verdict = self._known[place][self._purpose]
            if verdict.answer is PurposeAnswer.ALLOWED or (
                self._or_unknown and verdict.answer is PurposeAnswer.UNKNOWN
            ):
                kept.append(row)
            else:
                self._leave_out(verdict)
        return batch._replace(rows=kept)

    def furnish(self, batch: ExportBatch) -> Mapping[str, Sequence[Any]]:
        """The column of the evidence: by purpose the answer, and the statement that decided."""
        return {COLUMN: [_shown(self._known[row[0], row[1].hex()]) for row in batch.rows]}

    def _leave_out(self, verdict: PurposeVerdict) -> None:
        reason = _reason(verdict)
        is_full = len(self.left_out) >= MOST_REASONS and reason not in self.left_out
        self.left_out[OTHERS if is_full else reason] += 1


def _reason(verdict: PurposeVerdict) -> str:
    """A reason without the address of a licence, of which each site has its own."""
    if verdict.by is None:
        return NOBODY
    value = f"={verdict.by.value}" if verdict.by.value and "://" not in verdict.by.value else ""
    return f"{verdict.answer}: {verdict.by.name}{value} ({verdict.by.source.partition(' http')[0]})"


def _shown(found: Mapping[Purpose, PurposeVerdict]) -> dict[str, dict[str, str | None]]:
    return {purpose.value: {"answer": found[purpose].answer.value, "by": found[purpose].words} for purpose in Purpose}
