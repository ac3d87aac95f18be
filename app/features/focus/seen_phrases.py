"""Remembers what pages of a host have said and which URLs they had, in Bloom filters: a cache of the process."""

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from operator import attrgetter

from rbloom import Bloom

from app.policy.focus import novelty, patterns
from app.policy.focus.novelty import Said
from app.policy.focus.shape import differences, forms, views, whole

_FIRST, _MOST, _FILTERS = 2_500, 160_000, 6  # phrases of the first filter and of any; of filters
_NAMED = 10_000  # URLs of any filter but the first
_ERRORS = 0.02
_BYTES = attrgetter("bytes")


class SeenPhrases:
    """The phrases of a host's pages, in Bloom filters that double: 2.5 kB for the first pages, and at most 1 MB.

    bytes  of all filters
    as_of  the database's time up to which it has the host's pages, other processes' too; None: it has none
    """

    __slots__ = ("_filters", "_left", "_named", "_named_left", "as_of", "bytes")

    def __init__(self) -> None:
        self._filters: list[Bloom] = []
        self.as_of: datetime | None = None
        self._named: list[Bloom] = []
        self._left = self._named_left = self.bytes = 0

    def judge(
        self, text: Said, target: str = "", labels: Iterable[str] = (), *, compares_names: bool = True
    ) -> bool | None:
        """Whether a page says something new on its host; None: it says nothing at all. It is remembered.

        target  its path and query;   labels: of its links to pages of its host
        compares_names  in a short text the names of pages, by any page so far, are nothing new
        """
        if text.lines == [""]:
            return None
        labels = list(labels)
        own, words, names = novelty.own_text(text, [*labels, *novelty.address_in(text, target)])
        whole, was_said = [], False
        if compares_names:
            if len(words) < novelty.FEW_WORDS:
                whole = novelty.phrases(own, words)
                left = novelty.without_names(words, self._has)
                if left != words:  # a filter takes a word for a name now and then: what is left is new, and was said
                    was_said = not self._unknown(whole)
                    own, words = " ".join(left), left
            self._remember(self._unknown(novelty.names_of(labels)))
        found = novelty.phrases(own, words, target)
        if not found:
            return False
        share = 0.0 if was_said else novelty.new_share(found, self._filters, names=names)
        self._remember([*self._unknown(whole), *found])
        return share >= patterns.NEW_SHARE

    def tells(self, text: Said, target: str, labels: Iterable[str]) -> bool:
        """Whether a page has a line that no page of its host had so far, be it a number. Its lines are remembered."""
        found = novelty.statements(text, target, labels)
        tells = any(not self._has(own) and not self._has(whole) for own, whole in found.items())
        self._remember(self._unknown({*found, *found.values()}))
        return tells

    def twins(self, target: str) -> list[str]:
        """How a URL differs from those that were fetched before, for each sibling of it."""
        return list({name for form, name in differences(target) if self._has(form)})

    def counts(self, name: str, target: str) -> bool:
        """Whether this difference was met before: a word that stands in one URL alone is no rule of its site.

        That the URL counts for it is remembered.
        """
        counts = self._has(hash(name))
        self._remember({hash(name), hash((name, target))})
        return counts

    def counted(self, target: str) -> list[str]:
        """The differences that a URL which was fetched has counted for."""
        return [name for name in {name for _, name in differences(target)} if self._has(hash((name, target)))]

    def met(self, target: str) -> None:
        """Remember a URL that was fetched."""
        self._remember(forms(target))

    def name(self, target: str) -> None:
        """Remember a URL that a page named."""
        if self._named_left <= 0:
            self._named_left = _NAMED if self._named else _FIRST
            self._named = [*self._named[-1:], Bloom(self._named_left, _ERRORS)]
            self._weigh()
        self._named[-1].add(whole(target))
        self._named_left -= 1

    def was_named(self, target: str) -> bool:
        place = whole(target)
        return any(place in each for each in self._named)

    def _has(self, item: int) -> bool:
        return any(item in each for each in self._filters)

    def _unknown(self, items: Iterable[int]) -> list[int]:
        """Those that are not remembered."""
        left = list(items)
        for each in self._filters:
            left = [item for item in left if item not in each]
        return left

    def catch_up(self, target: str, text: str) -> None:
        """Remember a page that another process read. Its short lines are the labels of its links, or its title."""
        self.had_view(target)
        self.met(target)
        self._remember(self._unknown(novelty.names_of(text.split("\n"))))
        self._remember(novelty.phrases(text, novelty.words_of(text), target))

    def _remember(self, found: Collection[int]) -> None:
        if self._left < len(found):
            self._grow()
        if found:
            self._filters[-1].update(found)
            self._left -= len(found)

    def had_view(self, target: str) -> bool:
        """Whether a page was fetched with more in its URL: a query, or further words in the path.

        What is asked for is remembered.
        """
        found = self._has(_beheld(whole(target)))
        self._remember(set(map(_beheld, views(target))))
        return found

    def forget(self) -> None:
        """Forget the oldest phrases; the newest stay."""
        self._filters = self._filters[1:] or self._filters  # a copy: another thread may be looking them up
        self._weigh()

    def _grow(self) -> None:
        self._left = min(_FIRST << len(self._filters), _MOST)
        self._filters = [*self._filters, Bloom(self._left, _ERRORS)][-_FILTERS:]
        self._weigh()

    def _weigh(self) -> None:
        self.bytes = sum(each.size_in_bits for each in (*self._filters, *self._named)) // 8


def _beheld(place: int) -> int:
    """The hash that says that a view of a URL was fetched.   place: the URL's"""
    return hash(("view", place))


def keep_within(seen: Sequence[SeenPhrases], most_bytes: int = 3_000_000) -> None:
    """Let hosts forget their oldest phrases, as far as all together are larger than that.

    First the half that was not used for longest forgets all but the newest: most of these hosts are done. Of both
    halves the largest come first.

    seen        the least recently used first
    most_bytes  of a process: two hundred hosts of 200 pages
    """
    excess = sum(each.bytes for each in seen) - most_bytes
    half = len(seen) // 2
    for each in sorted(seen[:half], key=_BYTES, reverse=True) if excess > 0 else ():
        while excess > 0 and (freed := _forgotten(each)):
            excess -= freed
    for each in sorted(seen[half:], key=_BYTES, reverse=True) if excess > 0 else ():
        excess -= _forgotten(each) if excess > 0 else 0


def _forgotten(seen: SeenPhrases) -> int:
    """Let one forget its oldest phrases. Returns the bytes that it gave up."""
    before = seen.bytes
    seen.forget()
    return before - seen.bytes
