"""Judges what a URL is worth to its crawl: its lane, its score, and whether it is a trap (promises S1 to S5, T1, T2).

Form alone is judged for any link. What a pattern has brought is known on the visited host only, whose lease says that
nobody else writes it: links from elsewhere are judged at the gate of their own host.
"""

from collections import Counter
from collections.abc import Mapping
from datetime import datetime
from typing import Final, NamedTuple

import structlog
from sqlalchemy import Connection

from app.crawl.state.focus import CrawlFocus
from app.crawl.state.picked import Picked
from app.crawl.state.seen_phrases import SeenPhrases, keep_within
from app.crawl.state.worker import Worker
from app.errors import InputError
from app.model import Refusal, RequestKind, Url
from app.model.url import on_host, target_of
from app.policy.candidate import Candidate
from app.policy.focus import novelty, score, vocabulary
from app.policy.focus.patterns import REFUSED, SMALL_SHARE, SMALL_SITE, TrapKind, Yield, tries
from app.policy.focus.score import SEED, Scored, handed_on, unpacked
from app.policy.focus.shape import shape_of
from app.policy.focus.shipped import GENERAL, profile_of
from app.policy.focus.vocabulary import Vocabulary
from app.policy.lifecycle import UrlEvent
from app.store import crawls, pages
from app.store import patterns as store
from app.store.crawls import Crawl
from app.store.patterns import Kept, SecondLook, Sought, Spared, Turned

_log = structlog.get_logger()
REFUSALS: Final = {
    TrapKind.DEPTH: Refusal.TRAP_DEPTH,
    TrapKind.REPEATS: Refusal.TRAP_REPEATS,
    TrapKind.PATTERN: Refusal.TRAP_PATTERN,
}
_PAGE = RequestKind.PAGE
HOSTS_COUNTED = 1_000  # of a crawl: with more of them only a small site is fetched whole
MOST_ROUNDS = 20  # of refused URLs that are looked at, where all are copies
MOST_CAUGHT_UP = 200  # pages that other processes read: 20 ms


class FoundAt(NamedTuple):
    """Where a link stands.

    depth      links between its URL and a seed;   hops: redirects that led to it
    relevance  that the page hands to each link, 0 to 1; None: a list, a redirect or a handler names it
    """

    found_on: str
    depth: int
    hops: int
    relevance: float | None = None


def read_profile(worker: Worker, crawl: Crawl) -> None:
    """Remember the profile of a crawl's row. One that this release cannot read leaves the last good one in force."""
    try:
        worker.profiles.put(crawl.id, profile_of(crawl.profile))
    except InputError as error:
        _log.warning("profile.unreadable", crawl=crawl.name, error=str(error))


def load(
    worker: Worker,
    picked: Picked,
    tx: Connection,
    host_id: int,
    crawl_id: int,
    *,
    refuses: bool,
    now: datetime | None = None,
) -> None:
    """Load what URLs of the crawl have brought on the host, once a visit; its profile may be new at each pick.

    refuses: as in CrawlFocus.   now: by the database; None: nothing is judged that other processes may have seen
    """
    profile = worker.profiles.get(crawl_id) or profile_of(GENERAL)
    focus = picked.focus.get(crawl_id)
    if focus is None:
        rows = store.of_host(tx, host_id=host_id, crawl_id=crawl_id)
        focus = picked.focus[crawl_id] = CrawlFocus(
            profile=profile,
            vocabulary=_vocabulary(worker, crawl_id),
            seen=_seen(worker, host_id, crawl_id),
            yields={row.pattern: Yield(*row[1:]) for row in rows},
        )
        if refuses:
            share = crawls.share(tx, crawl_id, most=HOSTS_COUNTED)
            focus.whole, focus.share = max(SMALL_SITE, int(share * SMALL_SHARE)), share
        if refuses and rows and now is not None:
            _catch_up(worker, tx, focus.seen, host_id, crawl_id)
    focus.profile, focus.refuses = profile, refuses
    if refuses and now is not None:
        focus.seen.as_of = now


def _catch_up(worker: Worker, tx: Connection, seen: SeenPhrases, host_id: int, crawl_id: int) -> None:
    """Learn what other processes read on the host: what they know already is news to this one, and a copy would count
    as new.
    """
    part = novelty.MOST_CHARS // 2 - 1
    by_others = pages.said(
        tx, host_id=host_id, crawl_id=crawl_id, worker=worker.name, since=seen.as_of, part=part, n=MOST_CAUGHT_UP
    )
    for url, text in by_others:
        seen.catch_up(target_of(url), text)


def _vocabulary(worker: Worker, crawl_id: int) -> Vocabulary:
    found = worker.vocabularies.get(crawl_id)
    if found is None:
        worker.vocabularies.put(crawl_id, found := Vocabulary())
    vocabulary.keep_within(worker.vocabularies.values())
    return found


def _seen(worker: Worker, host_id: int, crawl_id: int) -> SeenPhrases:
    found = worker.seen_phrases.get((host_id, crawl_id))
    if found is None:
        worker.seen_phrases.put((host_id, crawl_id), found := SeenPhrases())
    keep_within(worker.seen_phrases.values())
    return found


def candidate(
    focus: CrawlFocus,
    crawl_id: int,
    url: Url,
    place: FoundAt,
    *,
    hint: str | datetime | None,
    now: datetime,
    is_here: bool,
) -> Candidate | Refusal:
    """A link as it may enter the frontier: in its lane, refused with a row, or by its reason without one.

    hint     its anchor's text, or its lastmod by a sitemap that is believed
    is_here  it is of the visited host
    """
    anchor, lastmod = (hint, None) if isinstance(hint, str) else ("", hint)
    scored = score.score(
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
            retried = focus.retries(shape.groups[0], url)
            if focus.refuse(shape.name, shape.groups[0]) >= focus.most_kept(shape.name) and not retried:
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


def count_again(focus: CrawlFocus, found: Candidate) -> None:
    """Count a link to the visited host that another page of the batch names, too."""
    focus.lane_of(Scored(found.lane, SEED, shape_of(found.url.target)), found.url.target)


def as_view(found: Candidate) -> Candidate:
    """A candidate that has a query, and whose URL is known without: it may show the same in another way."""
    parts = score.as_view(unpacked(found.score_parts or 0), found.url.target)
    return found._replace(score=parts.score, score_parts=parts.packed())


def changed_rows(host_id: int, focus: Mapping[int, CrawlFocus]) -> tuple[list[Kept], list[Turned]]:
    """Rows of patterns that a settle writes, and patterns whose refused URLs it queues again."""
    kept: list[Kept] = []
    turned: list[Turned] = []
    for crawl_id, each in sorted(focus.items()):
        kept += [_row(host_id, crawl_id, name, each.yields[name]) for name in sorted(each.changed)]
        turned += [{"host_id": host_id, "crawl_id": crawl_id, "pattern": name} for name in sorted(each.turned)]
    return kept, turned


def _row(host_id: int, crawl_id: int, name: str, found: Yield) -> Kept:
    return {
        "host_id": host_id,
        "crawl_id": crawl_id,
        "pattern": name,
        "urls": found.urls,
        "fetched": found.fetched,
        "new": found.new,
        "refused": found.refused,
        "lately": found.lately,
        "new_lately": found.new_lately,
        "rendered": found.rendered,
        "gain": found.gain,
        "told": found.told,
        "spared": found.spared,
        "grown": found.grown,
    }


def _tries(focus: CrawlFocus) -> int:
    """How many refused URLs are tried now, if the host's share of the budget has room."""
    return tries(focus.profile.traps, focus.yields.get(REFUSED, Yield())) if focus.room > 0 else 0


def try_refused(picked: Picked, tx: Connection, host_id: int) -> bool:
    """Queue a few refused URLs of a host that has nothing else. Returns whether there were any.

    Without it a site whose pages stand behind lists that bring nothing is lost, with its budget unspent.
    """
    wanted = [(crawl_id, _tries(focus)) for crawl_id, focus in sorted(picked.focus.items()) if focus.judges]
    rows: list[SecondLook] = [{"host_id": host_id, "crawl_id": crawl_id, "n": n} for crawl_id, n in wanted if n]
    queued = store.try_refused(tx, rows)
    for crawl_id in queued:
        picked.focus[crawl_id].tried()
    picked.unfetched += len(queued)
    tried = [(crawl_id, picked.focus[crawl_id].yields[REFUSED]) for crawl_id in sorted(set(queued))]
    store.keep(tx, [_row(host_id, crawl_id, REFUSED, found) for crawl_id, found in tried])
    return bool(queued) or _spare_refused(picked, tx, host_id)


def _spare_refused(picked: Picked, tx: Connection, host_id: int) -> bool:
    """Queue refused URLs that have an end, by worth, of a host that has nothing else. Returns whether there were any.

    Copies among them are left, and are no more looked at: so much of a batch is judged at a time.
    """
    judged = {crawl_id: focus for crawl_id, focus in sorted(picked.focus.items()) if focus.judges and focus.room > 0}
    for _ in range(MOST_ROUNDS):
        rows: list[Sought] = [
            {"host_id": host_id, "crawl_id": crawl_id, "pattern": name, "n": n}
            for crawl_id, focus in judged.items()
            for name, n in focus.spares()
        ]
        found = store.refused_of(tx, rows)
        spared: list[Spared] = []
        taken: Counter[tuple[int, str]] = Counter()
        for each in found:
            focus = judged[each.crawl_id]
            copies = focus.copied(target_of(each.url), is_spared=True)
            if copies is not None:
                focus.hold(copies)
            elif sum(n for (crawl_id, _), n in taken.items() if crawl_id == each.crawl_id) >= focus.room:
                continue
            else:
                taken[each.crawl_id, each.pattern] += 1
            spared.append({"host_id": host_id, "id": each.id, "copies": copies})
        store.spare(tx, spared)
        for (crawl_id, name), n in taken.items():
            judged[crawl_id].spare(name, n)
        picked.unfetched += taken.total()
        if taken or not found:
            return bool(taken)
    return False


def written(focus: Mapping[int, CrawlFocus]) -> None:
    """Leave nothing to write: it is committed, or Postgres refuses it."""
    for each in focus.values():
        each.changed.clear()
        each.turned.clear()
