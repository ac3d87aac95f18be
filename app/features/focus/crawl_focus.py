"""A visit's view of what its crawls value: profile, what patterns of URLs have brought, words and phrases seen.

Patterns are the host's rows, which its visits alone write. Words and phrases are caches of the process: without them a
page counts as new, and anchors count for nothing, until they are learned again.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain, combinations

from app.crawl.state.worth import ENDING_TRIES, name_of_ending
from app.features.focus.seen_phrases import SeenPhrases
from app.model import Url
from app.policy.candidate import LAST_LANE
from app.policy.focus import patterns, score
from app.policy.focus.novelty import Said
from app.policy.focus.patterns import IN, Subset, Subsets, TrapKind, Yield, paths, words
from app.policy.focus.profile import Profile
from app.policy.focus.score import PROVEN, Parts, Precedence, Scored
from app.policy.focus.shape import MARK, Shape, is_of_path, is_shared, shape_of, shorter
from app.policy.focus.vocabulary import Vocabulary, topic_share

MOST_KEPT_REFUSED = 500  # URLs of a pattern that have a row, and are queued again when it turns; others are logged
_SPARED = f"/{MARK}{IN}"  # first characters of patterns: groups and counters have others
_SESSION = "/~"  # in the name of a pattern
_NONE = Yield()


def _fewer(names: list[str]) -> Iterator[tuple[str, ...]]:
    """Any of these names but all."""
    return chain.from_iterable(combinations(names, size) for size in range(1, len(names)))


@dataclass(slots=True, kw_only=True)
class CrawlFocus:
    """One crawl on the visited host.

    yields   of its patterns, by shape
    changed  shapes whose yields the next settle writes;   turned: of these, those whose refused URLs it queues again
    retried  fetch count of a group at its last retry
    found    about how many URLs of the host were met, refused ones too
    has_proof  a browser gained much on the last pages of a shape, by its yield
    refuses  patterns that bring nothing are refused: the crawl has a budget of pages, which they would eat. Without one
             nothing that may be worth reading is left out; they wait in the last lane
    whole    of a host that has no more URLs all are fetched
    share    of the crawl's budget: pages that an equal share would let this host have
    """

    profile: Profile
    vocabulary: Vocabulary
    seen: SeenPhrases
    yields: dict[str, Yield] = field(default_factory=dict)
    changed: set[str] = field(default_factory=set)
    turned: set[str] = field(default_factory=set)
    retried: dict[str, int] = field(default_factory=dict)
    found: int = 0
    has_proof: bool = False
    refuses: bool = False
    whole: int = patterns.SMALL_SITE
    share: int = 0
    subsets: Subsets = field(init=False)

    def __post_init__(self) -> None:
        self.found = sum(each.urls for each in self.yields.values())
        self.has_proof = any(each.is_proven for each in self.yields.values())
        self.subsets = Subsets(self.yields)

    @property
    def judges(self) -> bool:
        """Whether URLs are refused for what their like has brought."""
        return self.refuses and self.found > self.whole

    @property
    def compares(self) -> bool:
        """Whether it matters how much of a text is new: no URL of a small host waits for others without a budget."""
        return self.refuses or self.found > patterns.MOST_WAITING

    @property
    def pages(self) -> int:
        """Pages of the host that were fetched."""
        return sum(each.fetched for name, each in self.yields.items() if name[0] == "/" and name[-3:] != "/**")

    @property
    def room(self) -> int:
        """Pages that the host's share of the budget still has for it."""
        return self.share - self.pages

    def trap(self, url: Url, shape: Shape, *, risk: float, found_on: str | None) -> TrapKind | None:
        """The trap that a URL of the visited host is taken for, if any.

        risk: by its form, the score's components.   found_on: the path and query on its host that named it first
        """
        kind = patterns.by_form(self.profile.traps, shape)
        if kind is None and self.judges and not self._is_worth(shape, risk, found_on):
            kind = None if self._has_good(words(url.target)) else TrapKind.PATTERN
        return None if kind is None or self.profile.allows(url) else kind

    def copies(self, url: Url) -> str | None:
        """How it differs from a page that was fetched, if that brings nothing (`shape`); else a worse subset."""
        return None if not self.judges or self.profile.allows(url) else self.copied(url.target)

    def copied(self, target: str, left: Mapping[str, int] | None = None) -> str | None:
        """How a path and query differ from those of a fetched page, as in `copies`.

        left: how many are refused for each pattern, where nothing better waits: one that is worth the budget is none
        """
        names = self.seen.twins(target)
        path, query, _ = target.partition("?")
        if query:
            names += self.seen.twins(path)  # a view of a copy is one, too
        poor = sorted(name for name in names if self._is_poor(name, left))
        found = next((name for name in poor if not self._has_good(paths(target, name))), None)
        if found is None and (worse := self._worse_word(target)) is not None and self._is_poor(worse, left):
            found = worse
        return found if found is not None or left is not None else self._awaits(target)

    def _is_poor(self, name: str, left: Mapping[str, int] | None = None) -> bool:
        """Whether a pattern brings nothing.   left: as in `copied`"""
        found = self._yield(name)
        is_spared = left is not None and patterns.is_spared(found, left.get(name, 0), self.room)
        return not is_spared and patterns.is_poor(self.profile.traps, found)

    def _has_good(self, parts: list[Subset]) -> bool:
        return self.subsets.speak_for(self.profile.traps, parts)

    def _worse_word(self, target: str) -> str | None:
        found = self._yield(shape_of(target).name)
        return self.subsets.worse(self.profile.traps, words(target)) if 0 < found.new < found.fetched else None

    def _awaits(self, target: str) -> str | None:
        """Name how it differs from a page that is yet to be fetched, if that has brought nothing new.

        The other must be of a shape that is proven: two pages that are taken for copies would wait for each other.
        """
        for sibling, name in shorter(target):
            if self._is_poor(name) and self.seen.was_named(sibling):
                share = self._yield(shape_of(sibling).name).own_share
                if share is not None and share >= PROVEN:
                    return name
        return None

    def trap_by_form(self, url: Url, shape: Shape) -> TrapKind | None:
        """The trap that the path of a URL of any host gives away."""
        kind = patterns.by_form(self.profile.traps, shape)
        return None if kind is None or self.profile.allows(url) else kind

    def _is_worth(self, shape: Shape, risk: float, found_on: str | None) -> bool:
        terms, own = self.profile.traps, self._yield(shape.name)
        parts = [part for part in self._parts_of(shape.name) if part.fetched] if not own.fetched else []
        if parts and not any(patterns.brings(terms, each) for each in parts):
            return False
        named_by = self._yield(shape_of(found_on).name) if found_on is not None else _NONE
        groups = [self._yield(group) for group in shape.groups]
        is_suspect = risk >= patterns.RISKY or patterns.is_poor(terms, named_by)
        return patterns.is_worth(terms, own, groups, is_suspect=is_suspect)

    def _yield(self, name: str) -> Yield:
        return self.yields.get(name, _NONE)

    def lane_of(self, scored: Scored, target: str) -> int:
        """The lane of a link to the visited host, which is counted: the last, where many of its shape wait unproven."""
        before = self._yield(scored.shape.name)
        self.meet(scored.shape.name, target)
        return LAST_LANE if before.waits else scored.lane

    def meet(self, name: str, target: str) -> None:
        """Count a link of a shape to the visited host once: until they are written, every page of a batch names it."""
        if not (self.refuses and self.seen.was_named(target)):
            self._put(name, self._yield(name).found())
            self.found += 1
        if self.refuses:
            self.seen.name(target)

    def learned(self, parts: Parts, shape: Shape) -> Parts:
        """The parts of a link to the visited host, by what its shape has brought."""
        return score.learned(parts, self._own_share(shape.name))

    def precedence(self, parts: Parts, target: str) -> Precedence:
        """Rank a URL that was picked, by what its like has brought by now."""
        return score.precedence(parts, self._own_share(shape_of(target).name))

    def _own_share(self, name: str) -> float | None:
        return self._yield(name).own_share if self.refuses else None

    def retries(self, group: str) -> bool:
        """Whether a URL of a group that is refused is fetched after all: none while an earlier one waits."""
        terms, found = self.profile.traps, self._yield(group)
        if not patterns.is_retried(terms, found) or self.retried.get(group) == found.fetched:
            return False
        self.retried[group] = found.fetched
        return True

    def refuse(self, *names: str) -> None:
        """Count a refusal of a pattern, and of its group, so that they turn."""
        for name in names:
            self._put(name, self._yield(name).refusing())

    def keeps(self, name: str) -> bool:
        """Whether a refused URL of a pattern makes a row: as many as the host's share where it tells.

        Twice as many do while it is spared: rows show whether it grows.
        """
        found = self._yield(name)
        shares = 2 if found.spared > 0 else int(patterns.tells(found))
        return found.urls - found.fetched <= max(MOST_KEPT_REFUSED, shares * self.share)

    def spares(self, left: Mapping[str, int]) -> list[tuple[str, int]]:
        """Patterns whose refused URLs are fetched now, and how many, the best first.   left: those refused for each"""
        shown, alone = [], []
        for name, many in left.items():
            before = self._yield(name)
            found = patterns.after_sparing(before, many)
            if found != before:
                self._put(name, found)
            if name[0] in _SPARED and _SESSION not in name and not self.multiplies(name):
                group = found if found.fetched else self._group(name)
                if n := patterns.spares(found, group, many, self.room):
                    shown.append((name, n))
                elif found.is_tried_alone and patterns.is_spared(found, many, self.room):
                    alone.append((name, 1))
        order = sorted(shown or alone, key=lambda each: (-self._yield(each[0]).share, each[0]))
        return order if shown else order[:1]

    def multiplies(self, name: str) -> bool:
        """Whether a shape has parameters of another of the same path and more: facets that are chosen together."""
        return bool(self._parts_of(name))

    def _parts_of(self, name: str) -> list[Yield]:
        """Those of the same path with some of a shape's parameters, but not all."""
        path, _, query = name.partition("?")
        names = query.split("&")
        return [self.yields[part] for some in _fewer(names) if (part := f"{path}?{'&'.join(some)}") in self.yields]

    def _group(self, name: str) -> Yield:
        """A group of a shape of which no page was fetched."""
        return next((self._yield(group) for group in shape_of(name).groups), _NONE)

    def spare(self, name: str, n: int, left: int) -> None:
        """Note that so many refused URLs of a pattern are queued.   left: those that are not"""
        found = self._yield(name)
        spared = patterns.ENDLESS if found.is_tried_alone else n
        self._put(name, found._replace(spared=spared, grown=left))

    def tried(self) -> None:
        """Count a refused URL that is queued all the same."""
        self._put(patterns.REFUSED, self._yield(patterns.REFUSED).after(False))

    def relevance(self, words: list[str]) -> float:
        """The relevance of a page with these words, 0 to 1, which counts from now on; 0 where there are no topics."""
        if not self.profile.topics or not words:
            return 0.0
        return self.vocabulary.topics.relevance(topic_share(self.profile, words))

    def learn(
        self,
        url: Url,
        text: Said,
        *,
        labels: Iterable[str],
        found_on: str | None,
        is_seed: bool = False,
        was_refused: bool = False,
    ) -> None:
        """Note what a page brought that was fetched for the first time. A seed is no evidence against its like.

        labels       of its links to pages of its host, where they are compared
        found_on     the path and query on its host that named it first
        was_refused  it is fetched all the same

        A page without text proves nothing: its site may leave that to scripts. Nor does one whose view came first.
        """
        labels = list(labels)
        is_new: bool | None = text.lines != [""] or None
        if self.compares:
            is_new = self.seen.judge(text, url.target, labels, compares_names=self.refuses)
        told = self.refuses and self.seen.tells(text, url.target, labels)
        is_said = (self.seen.had_view(url.target) or is_seed) and not is_new
        if is_new is not None and not is_said:
            self.note(url, is_new=is_new, found_on=found_on, told=told)
        if self.refuses:
            self._compare(url, None if is_said else is_new, told=told)
        if is_new:
            self.vocabulary.learn(chain.from_iterable(text.words))
            if was_refused and (tried := self.yields.get(patterns.REFUSED)):
                self._put(patterns.REFUSED, tried.credited())

    def _compare(self, url: Url, is_new: bool | None, *, told: bool = False) -> None:
        """Note what a page brought beside its siblings.

        A word of a path has no row before it brings nothing: a site has many, and most bring something.
        """
        if is_new is not None:
            for name in self.seen.twins(url.target):
                is_word = is_of_path(name)
                is_rule = self.seen.counts(name, url.target) or not is_word
                if is_rule and (not is_new or name in self.yields or not is_word):
                    self._put(name, self._yield(name).after(is_new, told=told))
                    self._note_subsets(name, paths(url.target, name), is_new, told=told)
        self.seen.met(url.target)

    def refuses_ending(self, ending: str) -> bool:
        """Whether as many URLs with the ending were asked for as may be, and none was a page."""
        found = self._yield(name_of_ending(ending))
        return found.fetched >= ENDING_TRIES and not found.new

    def asked_for(self, ending: str, *, is_page: bool) -> None:
        """Count a request for a URL with the ending of a file. One page settles it: its like are asked for."""
        name = name_of_ending(ending)
        if not self._yield(name).new:
            self.yields[name] = self._yield(name).after(is_page)
            self.changed.add(name)

    def rendered(self, url: Url, gained: int) -> None:
        """Note what a browser gained on a page, for others of its shape."""
        name = shape_of(url.target).name
        before = self._yield(name)
        after = before.after_rendering(gained)
        if after != before:
            self._put(name, after)
            self.has_proof = self.has_proof or after.is_proven

    def needing_browser(self, url: Url, chars: int) -> Yield | None:
        """The gains of its shape by which a page with so much main text needs a browser; None: it needs none."""
        if not self.has_proof:  # as on nearly all hosts: no page of theirs costs a look at its shape
            return None
        found = self._yield(shape_of(url.target).name)
        return found if found.needs_browser(chars) else None

    def redirected(self, url: Url, to: Url, *, redirected_by: str | None) -> None:
        """Note a redirect within its origin: it is credited with what its target brings.

        To its own shape it is a matter of spelling.   redirected_by: the path and query on its host that led to it by a
        redirect: what comes of that is known behind this one only
        """
        if redirected_by is not None:
            self._credit(redirected_by, to.target)
        if url.origin == to.origin and shape_of(url.target).name != shape_of(to.target).name:
            self.note(url, is_new=False, found_on=None)

    def note(self, url: Url, *, is_new: bool, found_on: str | None, told: bool = False) -> None:
        """Count a page of its shape and its groups."""
        shape = shape_of(url.target)
        for name in (shape.name, *shape.groups):
            self._put(name, self._yield(name).after(is_new, told=told))
        if self.refuses:
            is_copy = not is_new and any(map(is_of_path, self.seen.twins(url.target)))
            self._note_subsets(shape.name, words(url.target), is_new, is_copy=is_copy, told=told)
        if is_new and found_on is not None:
            self._credit(found_on, url.target)

    def _note_subsets(
        self, name: str, parts: list[Subset], is_new: bool, *, is_copy: bool = False, told: bool = False
    ) -> None:
        """Count a page of a pattern's subsets. One that is good by now queues what the pattern was refused for."""
        whole = self._yield(name)
        for part, after in self.subsets.after(whole, parts, is_new, is_copy=is_copy, told=told):
            if whole.refused and patterns.is_good(after) and not patterns.is_good(self._yield(part)):
                self.turned.add(name)
                self._put(name, self._yield(name).starting_over())
            self._put(part, after)

    def brought_nothing(self, url: Url) -> None:
        """Note a request that brought no page: it speaks against its shape, and against what tells it from siblings."""
        self.note(url, is_new=False, found_on=None)
        if self.refuses:
            self._compare(url, False)

    def _credit(self, target: str, named: str) -> None:
        """Credit the page that named another. A word of the path is not, where both are of one shape and have it: the
        links of a copy lead to copies.
        """
        shape = shape_of(target)
        beside = self.seen.counted(target) if self.refuses else []
        if beside and shape_of(named).name == shape.name:
            beside = [name for name in beside if not is_shared(name, target, named)]
        parts = [*words(target), *(part for name in beside for part in paths(target, name))] if self.refuses else []
        for name in (shape.name, *shape.groups, *beside, *(part.name for part in parts)):
            before = self.yields.get(name)
            if before is not None:
                self._put(name, before.credited())

    def _put(self, name: str, after: Yield) -> None:
        before = self.yields.get(name)
        if before is not None and patterns.has_turned(self.profile.traps, before, after):
            untried = self._untried()
            self.turned |= {name, *untried}
            after = after.starting_over()
            self.yields |= {each: self._yield(each).starting_over() for each in untried}
            self.changed |= untried
        self.yields[name] = after
        self.changed.add(name)

    def _untried(self) -> set[str]:
        """Shapes of which URLs were refused before their trial was over: another's fault, which may have turned."""
        trial = self.profile.traps.trial
        return {name for name, found in self.yields.items() if found.refused and found.fetched < trial}
