"""The caps of the frontier (promise F7): how many URLs may wait for their first fetch, of a host, of a crawl, in all.

Soft, and next to free below the cap. A host's visits keep an estimate on its row, by what they admit and fetch; what
links from elsewhere bring is added in lots (`full_hosts`). Where the estimate says that the host is full it is made
exact first, unless that was done lately, and then decides: the best newcomers take the places of the worst that wait,
one for one. Crawls are looked at by a janitor (`trim`); what a visit picks says how good a link must be.

Seeds and sitemaps are never evicted, nor is what was fetched before; seeds are not even asked (`app.admin.seeds`).
"""

import math
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from sqlalchemy import Connection

from app.config import Settings
from app.crawl.frontier import admit
from app.crawl.state.batch import Batch
from app.crawl.state.cap_estimates import Verdict
from app.crawl.state.finder import Finder
from app.crawl.state.lease import Lease
from app.crawl.state.picked import Picked
from app.crawl.state.worker import Worker
from app.model import Refusal
from app.policy.candidate import Candidate, Standing, as_real, places, standing
from app.policy.lifecycle import UrlEvent, UrlState
from app.store import caps as store
from app.store import db, hosts
from app.store.caps import Weak, Where
from app.store.suppressions import Suppression, suppression

MOST_EVICTED = 5_000  # at a settle
COUNT_HOLDS_S = 300.0
VERDICT_S = 60.0
OF_HOST, OF_CRAWL = "cap per host", "cap per crawl, or in all"
Evictions = dict[Where, tuple[Weak, str]]  # and at which cap


def recount_sometimes(worker: Worker, lease: Lease, picked: Picked, tx: Connection) -> None:
    """Make the estimate exact at one visit in COUNTED_VISITS, whatever it says."""
    if lease.visit_id % 64 == 0:  # one visit of 64 counts, so that an estimate that is too low is found
        _recount(worker, lease.host_id, picked, 0, tx)


def of_crawls(
    worker: Worker, picked: Picked, batch: Batch, tx: Connection, candidates: list[Candidate]
) -> list[Candidate]:
    """Those that come in, or are deferred, as far as their crawls are concerned: before hosts are made for them."""
    low = [each for each in _queued(candidates) if _is_low(each, picked.floors.get(each.crawl_id))]
    if not low:
        return candidates
    ids = hosts.ids(tx, sorted({each.url.host for each in low}))
    return _without(worker, batch, candidates, _strangers(tx, low, ids), OF_CRAWL)


def is_tight(worker: Worker, picked: Picked, candidates: Sequence[Candidate]) -> bool:
    """Whether anything may have to be evicted at the hosts."""
    cap, full, n = worker.settings.frontier_max_per_host, worker.caches.full_hosts, len(candidates)
    if cap is not None and (picked.unfetched + n > cap or n > full.quantum or not full.is_empty):
        return True
    return bool(picked.floors)


def of_hosts(
    finder: Finder, tx: Connection, candidates: list[Candidate], ids: Mapping[str, int]
) -> tuple[list[Candidate], Evictions]:
    """Candidates that their hosts' caps let in or defer, and URLs of the visited host to evict once they are in.

    ids: {name: id} of all their hosts
    """
    asked = _queued(candidates)
    evictions = _below_floors(finder.host_id, finder.picked, finder.batch, tx) if finder.picked.floors else {}
    losers = _of_other_hosts(finder, tx, asked, ids)
    losers += _of_own_host(finder, tx, [each for each in asked if each.url.host == finder.host], evictions)
    candidates = _without(finder.worker, finder.batch, candidates, losers, OF_HOST)
    if not evictions:
        return candidates, evictions
    come = [each for each in candidates if (ids[each.url.host], each.crawl_id, each.url.key) not in evictions]
    return come, evictions


def evict(worker: Worker, picked: Picked, batch: Batch, tx: Connection, evictions: Evictions) -> None:
    """Evict URLs of the visited host, after the newcomers are in: others wait for us then, and we for nobody."""
    picked.unfetched -= len(make_room(worker.settings, tx, [weak for weak, _ in evictions.values()]))
    for weak, cap in evictions.values():
        _note(worker, batch, weak, cap)
        worker.caches.known.forget(weak.crawl_id, weak.key)


def add_queued(worker: Worker, queued: Mapping[int, int]) -> None:
    """After the commit: what hosts got that were not visited, {host: URLs}.

    Where that is much, their rows are updated, and they are checked.
    """
    full = worker.caches.full_hosts
    for host_id, n in full.due(queued.items()).items():
        with db.transaction(worker.engine) as tx:
            full.judge(host_id, _verdict(worker, tx, host_id, store.swell(tx, host_id=host_id, n=n)))


def make_room(settings: Settings, tx: Connection, rows: Sequence[Weak]) -> set[Where]:
    """Evict or defer them, as the setting says. Returns those that were."""
    if settings.frontier_full == "defer":
        return store.defer(tx, rows, due_s=settings.recrawl_base_s)
    return store.evict(tx, rows)


def refusal(settings: Settings, weak: Candidate | Weak, cap: str) -> Suppression:
    """The row of the log. cap: which."""
    key, url, then = (
        (weak.key, weak.url, "evicted") if isinstance(weak, Weak) else (weak.url.key, weak.url.text, "not admitted")
    )
    if settings.frontier_full == "defer":
        then = "waits for the next cycle"
    return suppression(weak.crawl_id, key, url, Refusal.FRONTIER_FULL, found_on=weak.found_on, detail=f"{cap}: {then}")


def _of_own_host(finder: Finder, tx: Connection, asked: list[Candidate], evictions: Evictions) -> list[Candidate]:
    """Links within the visited host that do not come in. Adds those that the others replace."""
    worker, picked, host_id = finder.worker, finder.picked, finder.host_id
    if _room(worker, picked) + len(evictions) >= len(asked):
        return []
    _recount(worker, host_id, picked, finder.batch.tallies.left, tx)
    room = _room(worker, picked) + len(evictions)
    newcomers = _best_first(_strangers(tx, asked, {finder.host: host_id})) if room < len(asked) else []
    if room >= len(newcomers):
        return []
    weakest = store.weakest(
        tx,
        host_id=host_id,
        n=min(len(newcomers) - room, MOST_EVICTED),
        below=_standing(newcomers[0])[0] if room >= 0 else math.inf,
        spared=_in_hand(picked, finder.batch, evictions),
    )
    come, give = places([*map(_standing, newcomers)], [standing(w.score, w.lane) for w in weakest], room)
    evictions |= {weak.where: (weak, OF_HOST) for weak in weakest[:give]}
    return newcomers[come:]


def _below_floors(host_id: int, picked: Picked, batch: Batch, tx: Connection) -> Evictions:
    """Waiting URLs of the visited host that score lower than a link must, in crawls that are full."""
    floors = picked.floors
    weakest = store.weakest(
        tx, host_id=host_id, n=MOST_EVICTED, below=max(floors.values()), spared=_in_hand(picked, batch, {})
    )
    return {weak.where: (weak, OF_CRAWL) for weak in weakest if weak.score < floors.get(weak.crawl_id, -math.inf)}


def _in_hand(picked: Picked, batch: Batch, evictions: Evictions) -> list[bytes]:
    """Keys of what the visit has fetched or is about to, and of what is evicted already."""
    fetched = [result["key"] for result in batch.results]
    return [*fetched, *(due.key for due in picked.due), *(key for _, _, key in evictions)]


def _of_other_hosts(
    finder: Finder, tx: Connection, asked: Iterable[Candidate], ids: Mapping[str, int]
) -> list[Candidate]:
    """Links to other hosts that are refused: full hosts where they score too low, and more than a settle may add.

    Nothing is evicted for the others here: the host's own next visit sees to that.
    """
    worker, now = finder.worker, finder.now()
    full = worker.caches.full_hosts
    by_host: dict[str, list[Candidate]] = defaultdict(list)
    for each in asked:
        if each.url.host != finder.host:
            by_host[each.url.host].append(each)
    late: list[Candidate] = []
    for name, links in by_host.items():
        floor = full.floor(ids[name], now)
        if floor is not None:
            high = [each for each in links if not _is_low(each, floor)]
            late += [each for each in links if _is_low(each, floor)] + _best_first(high)[full.quantum :]
        elif len(links) > full.quantum:
            late += _best_first(links)[_room_of(worker, tx, ids[name]) :]
    return _strangers(tx, late, ids)


def _room_of(worker: Worker, tx: Connection, host_id: int) -> int:
    """Free places at another host."""
    cap = worker.settings.frontier_max_per_host
    if cap is None:
        return sys.maxsize
    found = store.recount(tx, host_id=host_id, good_s=COUNT_HOLDS_S, most=2 * cap + 1)
    return max(cap - (found[0] if found else store.estimate(tx, host_id)), 0)


def _verdict(worker: Worker, tx: Connection, host_id: int, unfetched: int) -> Verdict | None:
    """On another host than the visited one, whose row is locked here. At twice the cap nothing more comes in."""
    cap = worker.settings.frontier_max_per_host
    if cap is None:
        return None
    found = store.recount(tx, host_id=host_id, good_s=COUNT_HOLDS_S, most=2 * cap + 1)
    if found is not None:
        unfetched = found[0] if found[1] else max(unfetched, found[0])
        store.counted(tx, host_id=host_id, unfetched=unfetched)
    if unfetched < cap:
        return None
    weakest = store.weakest(tx, host_id=host_id, n=1) if unfetched < 2 * cap else []
    return Verdict(floor=weakest[0].score if weakest else math.inf, until=worker.monotonic() + VERDICT_S)


def _recount(worker: Worker, host_id: int, picked: Picked, left: int, tx: Connection) -> None:
    """Make the estimate exact, unless it was lately.   left: what the batch has fetched, and is still there"""
    cap = worker.settings.frontier_max_per_host
    if cap is None or picked.is_counted:
        return
    found = store.recount(tx, host_id=host_id, good_s=COUNT_HOLDS_S, most=2 * cap + 1)
    if found is not None:
        waiting = max(found[0] - left, 0)
        picked.unfetched = waiting if found[1] else max(picked.unfetched, waiting)
        picked.is_counted = True


def _room(worker: Worker, picked: Picked) -> int:
    """Free places at the visited host; below 0: so many too many."""
    cap = worker.settings.frontier_max_per_host
    return sys.maxsize if cap is None else cap - picked.unfetched


def _queued(candidates: Iterable[Candidate]) -> list[Candidate]:
    return [each for each in candidates if each.state is UrlState.QUEUED]


def _strangers(tx: Connection, candidates: list[Candidate], ids: Mapping[str, int]) -> list[Candidate]:
    """Those that are not in the frontier."""
    if not candidates:
        return []
    keys = [(ids.get(each.url.host), each.crawl_id, each.url.key) for each in candidates]
    return [candidates[place] for place in store.strangers(tx, keys)]


def _without(
    worker: Worker, batch: Batch, candidates: list[Candidate], losers: list[Candidate], cap: str
) -> list[Candidate]:
    """Without the losers; or with them, deferred."""
    if not losers:
        return candidates
    for each in losers:
        _note(worker, batch, each, cap)
    settings = worker.settings
    lost = {(each.crawl_id, each.url.key) for each in losers}
    if settings.frontier_full == "defer":
        return [
            each._replace(event=UrlEvent.DEFERRED, due_s=settings.recrawl_base_s)
            if (each.crawl_id, each.url.key) in lost
            else each
            for each in candidates
        ]
    return [each for each in candidates if (each.crawl_id, each.url.key) not in lost]


def _note(worker: Worker, batch: Batch, weak: Candidate | Weak, cap: str) -> None:
    """In the log of refusals; once a process, as long as the key is remembered."""
    row = refusal(worker.settings, weak, cap)
    if not worker.caches.known.has(row["crawl_id"], admit.refusal_key(row["key"])):
        admit.note(batch, row)


def _is_low(candidate: Candidate, floor: float | None) -> bool:
    return floor is not None and as_real(candidate.score) <= floor


def _best_first(candidates: Iterable[Candidate]) -> list[Candidate]:
    return sorted(candidates, key=_standing, reverse=True)


def _standing(candidate: Candidate) -> Standing:
    return standing(candidate.score, candidate.lane)
