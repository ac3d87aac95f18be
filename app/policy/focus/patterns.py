"""Decides whether URLs of one shape are worth further requests, by what its pages have brought (promises T1, T2).

A page brings something if its main text is new on its host, or if a page that it was the first to name does: a list
repeats what is said elsewhere and is worth it all the same. New URLs count for nothing: a trap makes them without end.
What counts is lately: a calendar has pages at first, and a list of results has an end.

False positives are worse than traps: a small site is fetched whole, a shape has a trial, some of its refused URLs are
fetched after all, and its refused URLs are queued again once it brings something.

Subsets of a pattern's URLs, which tell the good ones from the others where a pattern mixes them (promise T1).

A shape folds the words of a path, and a difference in the query is the same on every path. So each word behind the
first is a pattern, too, and so is each path beside such a difference:

    /mod/quiz/view?id=2    of /mod/w/w?id    ∋/mod/{quiz}/w?id  ∋/mod/w/{view}?id
                           of ≈?id           ∋/mod/quiz/view?id
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final, NamedTuple

from app.policy.focus.profile import TrapTerms
from app.policy.focus.shape import LONGEST, MARK, MOST_NAMES, MOST_SEGMENTS, Shape, fold, parted

MEMORY: Final = 0.9  # of a page's weight is left after the next one: the last ten decide
FORGOTTEN: Final = 1e-6  # a weight of less is none: in the end Postgres' `real` would refuse it
SMALL_SITE: Final = 100  # URLs of a host: up to there all are fetched, whatever they bring
SMALL_SHARE: Final = 0.1  # of what a crawl's budget has for a host: a site that takes no more is fetched whole, too
MOST_WAITING: Final = 1_000  # URLs of a shape that brings nothing lately; the others wait in the last lane
EARNED: Final = 3  # requests that each page with new text earns its shape: half of a site's diagrams look alike
RISKY: Final = 0.2  # of duplicate and trap, the components of a score
MUCH: Final = 500  # gained by a rendering: as much as a main text that is no sign of a shell
PROOF: Final = 3  # renderings in a row: as many show that a pattern gains nothing
RENDERED_MOST: Final = 1_000  # that are counted
GAIN_MOST: Final = 1_000_000
CHANCE: Final = 0.02  # that a subset brings nothing by chance: less, and its URLs are refused
SUREST: Final = 0.7  # share of others with new text that is believed: four pages without are needed at least
REFUSED: Final = "refused"  # the pattern of refused URLs that are tried where nothing else is left
TRIES: Final = 5  # of them at a time, at most: one for so many pages of the host, three at least
PAGES_A_TRY: Final = 250
SHRINKS: Final = 4  # times fewer are queued where they have grown; fewer than one: they have no end
FIRST_SPARED: Final = 4  # refused URLs of a shape that are queued at first
FEW_LEFT: Final = 2  # times as many as were fetched: they are fetched where there is room, whatever they say
ENDLESS: Final = -1  # in place of how many were queued last: it has no end
ALONE: Final = -2  # in place of how many were left then: one is tried again where no pattern is left beside it
MOST_SPARED: Final = 50  # refused URLs of a shape that are queued at a time
NEW_SHARE: Final = 0.3  # of a page's phrases must be new on its host for new text
MOST_SUBSETS: Final = 300  # of a host: each has a row
IN: Final = "∋"


class Yield(NamedTuple):
    """The URLs of a shape: about how many were found, and how many were fetched, brought new text, and were refused.

    Each page makes some: what changes often is made outright, since `_replace` takes three times as long.

    lately      the latest pages, weighted;   new_lately: of these, those that brought something
    rendered    renderings in a row that gained much;   gain: the least of these, in characters of text and links
    told        pages with a line of their own, be it a number
    spared      how many refused URLs were to be queued last, since the budget had room, or ENDLESS;   grown: how many
                were left refused then; ALONE before it is tried again; ENDLESS once that showed no end
    """

    urls: int = 0
    fetched: int = 0
    new: int = 0
    refused: int = 0
    lately: float = 0.0
    new_lately: float = 0.0
    rendered: int = 0
    gain: int = 0
    told: int = 0
    spared: int = 0
    grown: int = 0

    @property
    def share(self) -> float:
        """The share of the latest pages that brought something."""
        return self.new_lately / self.lately if self.lately else 1.0

    def after(self, is_new: bool, *, told: bool = False) -> "Yield":
        """With one more page.   told: it has a line of its own"""
        lately, new_lately = self.lately * MEMORY + 1, _faded(self.new_lately) + is_new
        counts = (self.urls, self.fetched + 1, self.new + is_new, self.refused, lately, new_lately)
        return Yield(*counts, self.rendered, self.gain, self.told + (told or is_new), self.spared, self.grown)

    def credited(self) -> "Yield":
        """With a page that one of these was the first to name, and that brought new text."""
        new_lately = min(self.new_lately + 1, self.lately)
        counts = (self.urls, self.fetched, self.new, self.refused, self.lately, new_lately)
        return Yield(*counts, *self[6:])

    def aged(self) -> "Yield":
        """With one more page that counts neither for nor against these: what they have brought is further back."""
        counts = (self.urls, self.fetched, self.new, self.refused, self.lately * MEMORY + 1, _faded(self.new_lately))
        return Yield(*counts, *self[6:])

    @property
    def waits(self) -> bool:
        """Whether so many wait that others come first: none of its latest pages brought something."""
        return self.urls - self.fetched > MOST_WAITING and self.new_lately < 1

    @property
    def own_share(self) -> float | None:
        """The share of its pages with new text of their own; None until it has had a few."""
        return self.new / self.fetched if self.fetched >= PROOF else None

    def found(self) -> "Yield":
        """With one more link."""
        counts = (self.urls + 1, self.fetched, self.new, self.refused, self.lately, self.new_lately)
        return Yield(*counts, *self[6:])

    @property
    def is_tried_alone(self) -> bool:
        """Whether one more of a pattern that seems to have no end is fetched, where no other pattern is left."""
        return self.spared == ENDLESS and self.grown == ALONE

    def refusing(self) -> "Yield":
        return self._replace(refused=self.refused + 1)

    def starting_over(self) -> "Yield":
        """Once its refused URLs are queued again: those that are refused anew are no growth (`spares`)."""
        return self._replace(spared=0)

    def after_rendering(self, gained: int) -> "Yield":
        """With one more page that a browser opened.   gained: characters of text and links, more than without it"""
        if gained < MUCH:
            return self._replace(rendered=0, gain=0)
        least = min(gained, self.gain) if self.rendered else gained
        return self._replace(rendered=min(self.rendered + 1, RENDERED_MOST), gain=min(least, GAIN_MOST))

    @property
    def is_proven(self) -> bool:
        """Whether each of the last renderings gained much."""
        return self.rendered >= PROOF

    def needs_browser(self, chars: int) -> bool:
        """Whether a page with so much main text is likely to hold far less than a browser would show of it.

        Proof is needed, and lasts as long as each rendering confirms it: one that gains little ends it.
        """
        return self.is_proven and chars < self.gain


def _faded(weight: float) -> float:
    """Take a tenth off what pages weigh, as one more page does."""
    return weight * MEMORY if weight > FORGOTTEN else 0.0


class TrapKind(Enum):
    """Why a URL is taken for a trap."""

    DEPTH = "depth"
    REPEATS = "repeats"
    PATTERN = "pattern"


def by_form(terms: TrapTerms, shape: Shape) -> TrapKind | None:
    """The trap that a URL's path alone gives away, if any."""
    if shape.repeats > terms.repeats:
        return TrapKind.REPEATS
    if shape.depth > terms.depth:
        return TrapKind.DEPTH
    return None


def brings(terms: TrapTerms, found: Yield) -> bool:
    """Whether its latest pages are worth their requests, or its earlier ones have earned some more.

    The first page of a trap is new, too: alone it proves nothing.
    """
    lately = found.new_lately >= 1 and found.share >= terms.new_share
    return lately or found.fetched < EARNED * (found.new - 1)


def is_poor(terms: TrapTerms, found: Yield) -> bool:
    """Whether it has had its trial, and brings too little."""
    return found.fetched >= terms.trial and not brings(terms, found)


def is_worth(terms: TrapTerms, own: Yield, groups: Sequence[Yield], *, is_suspect: bool = False) -> bool:
    """Whether a URL is fetched, by what its shape has brought, and the groups of its shape.

    A shape that brings something is worth it. Another has a trial: of one page where it is suspect or one of its
    groups is poor, of none where both hold, or where all of its groups bring next to nothing.

    is_suspect: its form is a risk, or it was named by a page of a poor shape
    """
    if own.fetched and brings(terms, own):
        return True
    poor = [group for group in groups if is_poor(terms, group)]
    if len(poor) == len(groups) and all(group.fetched > terms.trial and group.new_lately < 1 for group in poor):
        return False
    if is_suspect and any(is_poor(terms, group) for group in groups):
        return False
    return own.fetched < (1 if poor or is_suspect else terms.trial)


def is_good(found: Yield) -> bool:
    """Whether a subset is worth more than its first page, which may be new in a trap, too."""
    return found.new > 1


def is_worse(terms: TrapTerms, own: Yield, *, fetched: int, new: int) -> bool:
    """Whether a subset brings so little that it is hardly chance, by what the others of its place have brought.

    fetched, new: of the others
    """
    if fetched < 1 or own.new_lately >= 1 or not is_poor(terms, own) or own.new >= terms.new_share * own.fetched:
        return False
    return bool((1 - min(new / fetched, SUREST)) ** own.fetched < CHANCE)


def is_retried(terms: TrapTerms, group: Yield) -> bool:
    """Whether the next URL of a group is fetched after all: the 1,000th that is refused, the 8,000th …"""
    times, left = divmod(group.refused + 1, terms.retry)
    doublings = times.bit_length() - 1
    return left == 0 and times == 1 << doublings and doublings % 3 == 0


def tries(terms: TrapTerms, refused: Yield, pages: int) -> int:
    """How many refused URLs of a host are tried where nothing else is left: a few, and more while they bring something.

    refused: what those that were tried have brought;   pages: of the host that were fetched
    """
    return min(max(pages // PAGES_A_TRY, 3), TRIES) if not refused.fetched or brings(terms, refused) else 0


def tells(found: Yield) -> bool:
    """Whether half of its pages say something of their own, be it a number. The first page of a trap does, too."""
    return found.told > 0 and 2 * (found.told - 1) >= found.fetched - 1


def _says(found: Yield, left: int, room: int) -> bool:
    return tells(found) or (found.told > 1 and 2 * left <= room)


def is_spared(found: Yield, left: int, room: int) -> bool:
    """Whether refused URLs are worth the rest of a budget: their pages tell something, or all take half of the room.

    In the second case some tell something, or few are left: twice as many as were fetched, or, where one told
    something, a twentieth of the room. The first page of a trap tells something, too.

    left: how many of them are refused;   room: pages that the host's share of the budget still has for it
    """
    few = max(FEW_LEFT * found.fetched, room // 20 if found.told else 0)
    return _says(found, left, room) or (0 < left <= few and 2 * left <= room)


def grows(found: Yield, left: int) -> bool:
    """Whether those that were fetched all the same named half as many again that are refused, or any where all were.

    left: how many are refused
    """
    grown = left - found.grown
    return found.spared > 0 and (2 * grown >= found.spared or (grown > 0 and not found.grown))


def after_sparing(found: Yield, left: int) -> Yield:
    """Judge whether a pattern has an end, once the refused URLs that were queued last are fetched.

    It has none if it grew as fast as it was fetched, down to the last few; and if it does so once more where no other
    pattern may have named its like.   left: how many are refused
    """
    if found.spared == ENDLESS and found.grown >= 0:
        return found._replace(grown=ENDLESS) if left > found.grown else found._replace(spared=1, grown=left)
    if found.spared < SHRINKS and grows(found, left):
        return found._replace(spared=ENDLESS, grown=ALONE)
    return found


def spares(found: Yield, group: Yield, left: int, room: int) -> int:
    """How many refused URLs of a shape are fetched where nothing better waits and the budget has room.

    Each time it is twice as many, or a quarter where these have grown. One page alone tells nothing. Of a shape that
    has had no page its group decides.

    group: a group of the shape, or the shape;   left, room: as in `is_spared`
    """
    if not found.fetched:
        return FIRST_SPARED // 2 if _says(group, left, room) and not found.spared else 0
    if found.fetched <= 1 or found.spared == ENDLESS or not is_spared(found, left, room):
        return 0
    if grows(found, left):
        return found.spared // SHRINKS
    return min(2 * found.spared, MOST_SPARED) or FIRST_SPARED


def has_turned(terms: TrapTerms, before: Yield, after: Yield) -> bool:
    """Whether a shape, or a group, of which URLs were refused has become worth it: they are queued again."""
    return after.refused > 0 and not brings(terms, before) and brings(terms, after)


class Subset(NamedTuple):
    """The name of a subset, and what it has in common with those that it is compared with."""

    name: str
    place: str


def words(target: str) -> list[Subset]:
    """Those of its shape that have one of its words, behind the first and before the name of a page."""
    path, query = parted(target)
    segments = [segment for segment in path.split("/") if segment]
    if not 1 < len(segments) <= MOST_SEGMENTS:
        return []
    folded = [fold(segment) for segment in segments]
    shown = [segments[0].lower() if folded[0] == "w" else folded[0], *folded[1:]]
    names = sorted({part.partition("=")[0].lower() for part in query.split("&") if part})[:MOST_NAMES]
    asked = f"?{'&'.join(names)}" if names else ""
    found = []
    for at in range(1, len(segments) - (not names)):
        if folded[at][-1] == "w":
            start, end = f"/{'/'.join(shown[:at])}", "".join(f"/{each}" for each in shown[at + 1 :]) + asked
            name = f"{IN}{start}/{{{segments[at].lower()}}}{end}"
            found.append(Subset(name[:LONGEST], f"{start}/{{}}{end}"))
    return found


def paths(target: str, difference: str) -> list[Subset]:
    """Those that differ from a sibling in parameters and have its path."""
    if not difference.startswith(f"{MARK}?"):
        return []
    return [Subset(f"{IN}{parted(target)[0].lower()}{difference[1:]}"[:LONGEST], difference)]


def place_of(name: str) -> str:
    """The place of a subset with this name."""
    start, brace, rest = name[1:].partition("{")
    return f"{start}{{}}{rest.partition('}')[2]}" if brace else f"{MARK}?{name.rpartition('?')[2]}"


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
            if name.startswith(IN):
                self._add(place_of(name), Yield(), found)

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
            before = self._yields.get(part.name, Yield())
            if is_copy:
                if before.new_lately:
                    yield part.name, before.aged()
            elif before.fetched or self._count < MOST_SUBSETS:
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
                if is_worse(terms, own, fetched=place.fetched - own.fetched, new=place.new - own.new):
                    return part.name
        return None

    def speak_for(self, terms: TrapTerms, parts: Sequence[Subset]) -> bool:
        """Whether one of these brings something where their pattern does not, and none is worse than others."""
        own = [found for part in parts if (found := self._yields.get(part.name)) is not None]
        return any(brings(terms, found) for found in own) and self.worse(terms, parts) is None
