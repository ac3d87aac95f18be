"""Keeps what URLs of the visited host have brought to a crawl: loaded once a visit, written by its settles.

Its lease says that nobody else writes it.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

import structlog
from sqlalchemy import Connection

from app.crawl.state.finder import Finder
from app.crawl.state.picked import Picked
from app.crawl.state.settling import Settling
from app.crawl.state.worker import Worker
from app.errors import InputError
from app.features.focus import rows as store
from app.features.focus.crawl_focus import CrawlFocus
from app.features.focus.focused import Focused
from app.features.focus.naming import Namings
from app.features.focus.rows import Kept, SecondLook, Sought, Spared, Turned
from app.features.focus.seen_phrases import SeenPhrases, keep_within
from app.model.url import target_of
from app.policy.focus import novelty, vocabulary
from app.policy.focus.patterns import REFUSED, SMALL_SHARE, SMALL_SITE, Yield, tries
from app.policy.focus.profile import Profile
from app.policy.focus.profile_text import GENERAL, profile_of
from app.policy.focus.shape import shape_of
from app.policy.focus.vocabulary import Vocabulary
from app.runtime.lru import Lru
from app.store import crawls, pages
from app.store.crawls import Crawl

_log = structlog.get_logger()
FOCUS: Final = "focus"  # the worker's resource


@dataclass(frozen=True, slots=True)
class Learned:
    """All that a process has learned, by crawl; of phrases by host and crawl. Dropping it costs time."""

    profiles: Lru[int, Profile] = field(default_factory=lambda: Lru(1_000))
    vocabularies: Lru[int, Vocabulary] = field(default_factory=lambda: Lru(100))
    seen: Lru[tuple[int, int], SeenPhrases] = field(default_factory=lambda: Lru(500))
    namings: Namings = field(default_factory=Namings)


def learned_by(worker: Worker) -> Learned:
    """All that the process has learned: nothing yet, where it is asked for the first time."""
    found: Learned | None = worker.resources.get(FOCUS)
    return worker.resources.setdefault(FOCUS, Learned()) if found is None else found


def profile_for(worker: Worker, crawl_id: int) -> Profile:
    return learned_by(worker).profiles.get(crawl_id) or profile_of(GENERAL)


def focus_of(picked: Picked, crawl_id: int) -> CrawlFocus | None:
    """The focus of a crawl on the visited host; None: it has none."""
    found = picked.worth.get(crawl_id)
    return found.focus if isinstance(found, Focused) else None


def _every(picked: Picked) -> dict[int, CrawlFocus]:
    return {crawl_id: each.focus for crawl_id, each in sorted(picked.worth.items()) if isinstance(each, Focused)}


def read_profile(worker: Worker, crawl: Crawl) -> None:
    """Remember the profile of a crawl's row. One that this release cannot read leaves the last good one in force."""
    try:
        learned_by(worker).profiles.put(crawl.id, profile_of(crawl.profile))
    except InputError as error:
        _log.warning("profile.unreadable", crawl=crawl.name, error=str(error))


def load(finder: Finder, tx: Connection, crawl_id: int, *, refuses: bool, now: datetime | None) -> Focused:
    """Load what URLs of the crawl have brought on the host, once a visit; its profile may be new at each pick.

    refuses: as in CrawlFocus.   now: by the database; None: nothing is judged that other processes may have seen
    """
    worker, host_id = finder.worker, finder.host_id
    profile, found = profile_for(worker, crawl_id), finder.picked.worth.get(crawl_id)
    if not isinstance(found, Focused):
        focus = _loaded(worker, tx, host_id, crawl_id, profile)
        if refuses:
            # Of a crawl: with more of them only a small site is fetched whole.
            share = crawls.share(tx, crawl_id, most=1_000)
            focus.whole, focus.share = max(SMALL_SITE, int(share * SMALL_SHARE)), share
        if refuses and focus.yields and now is not None:
            _catch_up(worker, tx, focus.seen, host_id, crawl_id)
        found = Focused(focus, learned_by(worker).namings)
    found.focus.profile, found.focus.refuses = profile, refuses
    if refuses and now is not None:
        found.focus.seen.as_of = now
    return found


def _loaded(worker: Worker, tx: Connection, host_id: int, crawl_id: int, profile: Profile) -> CrawlFocus:
    rows = store.of_host(tx, host_id=host_id, crawl_id=crawl_id)
    return CrawlFocus(
        profile=profile,
        vocabulary=_vocabulary(worker, crawl_id),
        seen=_seen(worker, host_id, crawl_id),
        yields={row.pattern: Yield(*row[1:]) for row in rows},
    )


def _catch_up(worker: Worker, tx: Connection, seen: SeenPhrases, host_id: int, crawl_id: int) -> None:
    """Learn what other processes read on the host: what they know already is news to this one, and a copy would count
    as new.
    """
    part = novelty.MOST_CHARS // 2 - 1
    by_others = pages.said(  # 200 of them: 20 ms
        tx, host_id=host_id, crawl_id=crawl_id, worker=worker.name, since=seen.as_of, part=part, n=200
    )
    for url, text in by_others:
        seen.catch_up(target_of(url), text)


def _vocabulary(worker: Worker, crawl_id: int) -> Vocabulary:
    held = learned_by(worker).vocabularies
    found = held.get(crawl_id)
    if found is None:
        held.put(crawl_id, found := Vocabulary())
    vocabulary.keep_within(held.values())
    return found


def _seen(worker: Worker, host_id: int, crawl_id: int) -> SeenPhrases:
    held = learned_by(worker).seen
    found = held.get((host_id, crawl_id))
    if found is None:
        held.put((host_id, crawl_id), found := SeenPhrases())
    keep_within(held.values())
    return found


def write(settling: Settling) -> None:
    """Write what patterns of URLs have brought; those that bring something again get their refused URLs back."""
    rows = [_changed_rows(visit.host_id, _every(visit.picked)) for visit in settling.visits]
    store.keep(settling.tx, [row for kept, _ in rows for row in kept])
    queued = store.reopen(settling.tx, [row for _, turned in rows for row in turned])
    for visit in settling.visits:
        visit.picked.unfetched += queued[visit.host_id]


def _changed_rows(host_id: int, focus: Mapping[int, CrawlFocus]) -> tuple[list[Kept], list[Turned]]:
    """Rows of patterns that a settle writes, and patterns whose refused URLs it queues again."""
    kept: list[Kept] = []
    turned: list[Turned] = []
    for crawl_id, each in focus.items():
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
    tried = focus.yields.get(REFUSED, Yield())
    return tries(focus.profile.traps, tried, focus.pages) if focus.judges and focus.room > 0 else 0


def try_refused(picked: Picked, tx: Connection, host_id: int) -> bool:
    """Queue a few refused URLs of a host that has nothing else. Returns whether there were any.

    Without it a site whose pages stand behind lists that bring nothing is lost, with its budget unspent.
    """
    every = _every(picked)
    wanted = [(crawl_id, _tries(focus)) for crawl_id, focus in every.items() if focus.refuses]
    rows: list[SecondLook] = [{"host_id": host_id, "crawl_id": crawl_id, "n": n} for crawl_id, n in wanted if n]
    queued = store.try_refused(tx, rows)
    for crawl_id in queued:
        every[crawl_id].tried()
    picked.unfetched += len(queued)
    tried = [(crawl_id, every[crawl_id].yields[REFUSED]) for crawl_id in sorted(set(queued))]
    store.keep(tx, [_row(host_id, crawl_id, REFUSED, found) for crawl_id, found in tried])
    return bool(queued) or _spare_refused(picked, tx, host_id)


def _spare_refused(picked: Picked, tx: Connection, host_id: int) -> bool:
    """Queue refused URLs that have an end, by worth, of a host that has nothing else. Returns whether there were any.

    Copies among them are left, and so are facets that are chosen together, whatever they were refused for. They are no
    more looked at: so much of a batch is judged at a time.
    """
    judged = {crawl_id: focus for crawl_id, focus in _every(picked).items() if focus.refuses and focus.room > 0}
    for _ in range(20):  # lots of refused URLs, where all are copies
        left = store.refused_for(tx, host_id=host_id, crawl_ids=list(judged))
        rows: list[Sought] = [
            {"host_id": host_id, "crawl_id": crawl_id, "pattern": name, "n": n}
            for crawl_id, focus in judged.items()
            for name, n in focus.spares(left[crawl_id])
        ]
        found = store.refused_of(tx, rows)
        spared: list[Spared] = []
        taken: Counter[int] = Counter()
        for each in found:
            focus = judged[each.crawl_id]
            target = target_of(each.url)
            shape = shape_of(target).name
            copies = shape if focus.multiplies(shape) else focus.copied(target, left[each.crawl_id])
            if copies is not None:
                focus.refuse(copies)
            elif taken[each.crawl_id] >= focus.room:
                continue
            else:
                taken[each.crawl_id] += 1
            spared.append({"host_id": host_id, "id": each.id, "copies": copies})
        store.spare(tx, spared)
        looked_at = Counter((each.crawl_id, each.pattern) for each in found)
        for row in rows:
            crawl_id, name = row["crawl_id"], row["pattern"]
            judged[crawl_id].spare(name, row["n"], left[crawl_id][name] - looked_at[crawl_id, name])
        picked.unfetched += taken.total()
        if taken or not found:
            return bool(taken)
    return False
