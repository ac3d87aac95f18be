"""Judges the subsets of a host's patterns (`policy.focus.subsets`), where a pattern brings something now and then."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from app.policy.focus import patterns, subsets
from app.policy.focus.patterns import Yield
from app.policy.focus.profile import TrapTerms
from app.policy.focus.subsets import Subset

MOST: Final = 300  # of a host: each has a row
_NONE = Yield()


@dataclass(slots=True)
class _Tally:
    """All subsets of one place.   fetched, new: their pages, and those with new text"""

    fetched: int = 0
    new: int = 0


class Subsets:
    """Those of one host, by its yields, where their counts are kept."""

    __slots__ = ("_count", "_places", "_yields")

    def __init__(self, yields: Mapping[str, Yield]) -> None:
        self._yields = yields
        self._places: dict[str, _Tally] = {}
        self._count = 0
        for name, found in yields.items():
            if name.startswith(subsets.IN):
                self._add(subsets.place_of(name), _NONE, found)

    def after(
        self, whole: Yield, parts: Sequence[Subset], is_new: bool, *, is_copy: bool = False, told: bool = False
    ) -> Iterator[tuple[str, Yield]]:
        """Subsets with one more page, which is counted, and what they have brought by then.

        Of a pattern all of whose pages brought something none is kept: there is nothing to tell apart. A copy of a
        fetched page speaks against its copying. But what a word brought is further back then: one new page would speak
        for all its copies.
        """
        if whole.fetched == whole.new:
            return
        for part in parts:
            before = self._yields.get(part.name, _NONE)
            if is_copy:
                if before.new_lately:
                    yield part.name, before.aged()
            elif before.fetched or self._count < MOST:
                after = before.after(is_new, told=told)
                self._add(part.place, before, after)
                yield part.name, after

    def _add(self, place: str, before: Yield, after: Yield) -> None:
        found = self._places.setdefault(place, _Tally())
        found.fetched += after.fetched - before.fetched
        found.new += after.new - before.new
        self._count += not before.fetched

    def worse(self, terms: TrapTerms, parts: Sequence[Subset]) -> str | None:
        """The first of these that brings too little beside others of its place."""
        for part in parts:
            own = self._yields.get(part.name)
            if own is not None and own.fetched >= terms.trial:
                place = self._places.get(part.place, _Tally())  # a name that was cut says no place
                if patterns.is_worse(terms, own, fetched=place.fetched - own.fetched, new=place.new - own.new):
                    return part.name
        return None

    def speak_for(self, terms: TrapTerms, parts: Sequence[Subset]) -> bool:
        """Whether one of these brings something where their pattern does not, and none is worse than others."""
        own = [found for part in parts if (found := self._yields.get(part.name)) is not None]
        return any(patterns.brings(terms, found) for found in own) and self.worse(terms, parts) is None
