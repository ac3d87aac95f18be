"""Judges what a URL is worth to its crawl: its lane, its score, and whether it is a trap (promises S1 to S5, T1, T2).

Form alone is judged for any link. What a pattern has brought is known on the visited host only, whose lease says that
nobody else writes it: links from elsewhere are judged at the gate of their own host.
"""

from datetime import datetime
from typing import Final

from app.crawl.state.finder import Finder
from app.crawl.state.worth import FoundAt, Impression, Worth
from app.features.focus.crawl_focus import CrawlFocus
from app.features.focus.naming import RAISES, Namings, raised_row
from app.model import Cause, Page, Refusal, RequestKind, Url
from app.model.url import on_host, target_of
from app.policy.candidate import LAST_LANE, Candidate
from app.policy.focus import novelty
from app.policy.focus.patterns import TrapKind
from app.policy.focus.score import SEED, Precedence, Scored, handed_on, named, raised, score, unpacked
from app.policy.focus.score import as_view as scored_as_view
from app.policy.focus.shape import shape_of
from app.policy.focus.vocabulary import per_link
from app.policy.lifecycle import UrlEvent
from app.policy.recrawl import Often
from app.policy.url import file_ending
from app.store.url_rows import Due

REFUSALS: Final = {
    TrapKind.DEPTH: Refusal.TRAP_DEPTH,
    TrapKind.REPEATS: Refusal.TRAP_REPEATS,
    TrapKind.PATTERN: Refusal.TRAP_PATTERN,
}
_PAGE = RequestKind.PAGE


class FirstLook(Impression):
    """A page as its crawl sees it.   said: its text; None: it teaches nothing, and there are no topics"""

    __slots__ = ("_document", "_due", "_focus", "_learns", "_relevance", "_said", "_url")

    def __init__(self, focus: CrawlFocus, due: Due, url: Url, document: Page, *, is_first: bool) -> None:
        self._focus, self._due, self._url, self._document = focus, due, url, document
        topics = focus.profile.topics
        self._said = novelty.said(document.main_text) if is_first or topics else None
        self._relevance = focus.relevance(self._said.all_words if self._said is not None and topics else [])
        self._learns = is_first

    @property
    def relevance(self) -> float:
        return self._relevance

    def learn(self) -> None:
        """Let the crawl learn from a page that is read for the first time."""
        if not self._learns or self._said is None:
            return
        due, url = self._due, self._url
        self._focus.learn(
            url,
            self._said,
            labels=_labels(url, self._document) if self._focus.compares else (),
            found_on=on_host(due.found_on, url),
            is_seed=due.depth == 0,
            was_refused=due.cause == Cause.FORCED,
        )


class Focused(Worth):
    """A crawl on the visited host, by its profile and what its URLs have brought there."""

    __slots__ = ("_namings", "focus")

    def __init__(self, focus: CrawlFocus, namings: Namings) -> None:
        self.focus, self._namings = focus, namings

    @property
    def hears(self) -> bool:
        return bool(self.focus.profile.topics)

    @property
    def weighs(self) -> bool:
        return self.focus.refuses

    def hear(
        self, finder: Finder, crawl_id: int, url: Url, place: FoundAt, anchor: str | datetime | None, *, stands: bool
    ) -> bool:
        """Count a page that names a URL of the visited host; a score that rises goes into the batch."""
        focus, namings = self.focus, self._namings
        relevance, words = place.relevance or 0.0, anchor if isinstance(anchor, str) else ""
        found = namings.hear(crawl_id, url.key, relevance)
        if found is None:
            if stands:  # named by others, or long ago: taken to be worth as much as this page says
                scored = score(focus.profile, url, depth=place.depth, anchor=words, worth=focus.vocabulary.worth)
                namings.note(crawl_id, url.key, relevance, handed_on(scored.parts, relevance).packed())
            return False
        parts = raised(
            unpacked(found.parts),
            anchor=named(focus.profile, url.target, words, focus.vocabulary.worth),
            relevance=found.relevance,
        )
        if parts is not None:
            namings.raised(crawl_id, url.key, parts.packed())
            finder.batch.add(RAISES, raised_row(finder.host_id, crawl_id, url.key, parts))
        return True

    def heard(self, found: Candidate, relevance: float) -> None:
        self._namings.note(found.crawl_id, found.url.key, relevance, found.score_parts or 0)

    def per_link(self, relevance: float, links: int) -> float:
        return per_link(relevance, links)

    def candidate(
        self, crawl_id: int, url: Url, place: FoundAt, *, hint: str | datetime | None, now: datetime, is_here: bool
    ) -> Candidate | Refusal:
        focus = self.focus
        anchor, lastmod = (hint, None) if isinstance(hint, str) else ("", hint)
        scored = score(
            focus.profile, url, depth=place.depth, anchor=anchor, worth=focus.vocabulary.worth, now=now, lastmod=lastmod
        )
        parts = handed_on(scored.parts, place.relevance) if place.relevance else scored.parts
        shape = scored.shape
        event, detail, lane = UrlEvent.ADMITTED, None, scored.lane
        if place.depth > 0:
            kind = (
                focus.trap(url, shape, risk=parts.risk, found_on=on_host(place.found_on, url))
                if is_here
                else focus.trap_by_form(url, shape)
            )
            if kind is TrapKind.PATTERN:
                retried = focus.retries(shape.groups[0])
                focus.meet(shape.name, url.target)
                focus.refuse(shape.name, shape.groups[0])
                if not (retried or focus.keeps(shape.name)):
                    return Refusal.TRAP_PATTERN
                event, detail = (UrlEvent.FORCED, None) if retried else (UrlEvent.TRAPPED, shape.name)
            elif kind is not None:
                return REFUSALS[kind]
            elif is_here:
                lane, parts = focus.lane_of(scored, url.target), focus.learned(parts, shape)
        return Candidate(
            crawl_id,
            url,
            _PAGE,
            lane,
            parts.score,
            place.depth,
            place.hops,
            place.found_on,
            event,
            detail=detail,
            score_parts=parts.packed(),
        )

    def as_view(self, found: Candidate) -> Candidate:
        parts = scored_as_view(unpacked(found.score_parts or 0), found.url.target)
        return found._replace(score=parts.score, score_parts=parts.packed())

    def count_again(self, found: Candidate) -> None:
        target = found.url.target
        self.focus.lane_of(Scored(found.lane, SEED, shape_of(target)), target)

    def first(self, drawn: list[Due]) -> list[Due]:
        """Those of a draw that are fetched before the next one, which may know better links.

        URLs that their form speaks against wait for the others: they may copy what these lead to. In a crawl with a
        budget lists wait for what is proven, and the last lane waits until the others are empty; where there is nothing
        else, a few are tried.
        """
        places = [place for place, due in enumerate(drawn) if due.lane != LAST_LANE]
        has_budget = drawn[0].crawl.has_page_budget
        shared = drawn[: places[-1] + 1] if has_budget and places else drawn
        first = self._best(shared)
        if not has_budget:
            return first or drawn
        if any(due.lane != LAST_LANE for due in first):
            return first
        # URLs that nothing speaks for, in a row: each may name better ones.
        return (shared if places else first or drawn)[:5]

    def _best(self, drawn: list[Due]) -> list[Due]:
        """Without URLs of a risky form; without lists where others are proven."""
        ranks = [
            Precedence.PROVEN
            if due.fetched_at is not None
            else self.focus.precedence(unpacked(due.score_parts or 0), target_of(due.url))
            for due in drawn
        ]
        least = Precedence.OPEN if Precedence.PROVEN in ranks else Precedence.LIST
        return [due for due, rank in zip(drawn, ranks, strict=True) if rank >= least]

    def trap(self, due: Due, url: Url) -> str | None:
        focus = self.focus
        shape, risk = shape_of(url.target), unpacked(due.score_parts or 0).risk
        kind = focus.trap(url, shape, risk=risk, found_on=on_host(due.found_on, url))
        if kind is not None and kind is not TrapKind.PATTERN:
            return str(kind.value)
        copies = focus.copies(url)
        names = [shape.name, shape.groups[0]] if kind is not None else [copies] if copies is not None else []
        if not names:
            return None
        is_retried = focus.retries(names[-1])
        focus.refuse(*dict.fromkeys(names))
        if is_retried:
            return None
        if copies is not None:  # a second look then takes all of its like for one, whatever their shapes
            focus.refuse(copies)
        return names[0] if copies is None else copies

    def refuses_ending(self, ending: str) -> bool:
        return self.focus.refuses_ending(ending)

    def asked_for(self, ending: str, *, is_page: bool) -> None:
        self.focus.asked_for(ending, is_page=is_page)

    def read(self, due: Due, url: Url, document: Page, *, is_first: bool) -> Impression:
        return FirstLook(self.focus, due, url, document, is_first=is_first)

    def redirected(self, url: Url, to: Url, *, redirected_by: str | None) -> None:
        self.focus.redirected(url, to, redirected_by=redirected_by)

    def brought_nothing(self, url: Url) -> None:
        self.focus.brought_nothing(url)

    def often(self, target: str) -> Often:
        return self.focus.profile.branch(target).often

    def written(self) -> None:
        self.focus.changed.clear()
        self.focus.turned.clear()


def _labels(url: Url, document: Page) -> list[str]:
    """The texts of its links to other pages of its host, by their hrefs alone: to join each costs more than it says."""
    own, site = {url.text, url.target}, f"//{url.origin.host}"
    found = []
    for link in document.links[: novelty.MOST_LABELS]:
        href = link.href.partition("#")[0]
        is_here = site in href if "//" in href else ":" not in href.partition("/")[0]
        if link.text and href and is_here and href not in own and not file_ending(href):
            found.append(link.text)
    return found
