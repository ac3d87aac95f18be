"""The URLs a visit fetches next: a weighted draw of lanes, best score first; crawls that share a host take turns.

Where a crawl has a budget of pages, what is picked is reserved first, so that a fleet of visits ends at the budget and
not somewhere behind it: from what the process has drawn (`app.crawl.state.lots`), else from the crawl's row, where
hosts share a small budget. What is not used is returned; what a crash loses, `finish` counts free again.
"""

from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from datetime import datetime
from operator import itemgetter

from sqlalchemy import Connection

from app.config import Settings
from app.crawl.state.batch import most_in_hand
from app.crawl.state.finder import Finder
from app.crawl.state.lease import Lease
from app.crawl.state.origins import HostOrigins
from app.crawl.state.picked import Picked
from app.crawl.state.turn import Turn
from app.crawl.state.visit import Visit
from app.crawl.state.worker import ServedCrawl, Worker
from app.crawl.state.worth import PLAIN
from app.model import RequestKind
from app.policy import candidate
from app.store import crawls, parameters, urls
from app.store.crawls import make_scope
from app.store.url_rows import Due, Wanted


def pick(visits: Sequence[Visit], tx: Connection) -> None:
    """Fill the `due` of each anew. Crawls with a budget are locked in the order of their ids."""
    if not visits:
        return
    sizes = {visit.host_id: _batch_size(visit.worker, visit.turn) for visit in visits}
    found = _due(visits, sizes, tx)
    dry = [each for each in visits if not found[each.host_id] and each.worker.hooks.none_due(visit=each, tx=tx)]
    found |= _due(dry, sizes, tx) if dry else {}
    chosen = [(visit, _chosen(visit.worker, found[visit.host_id], sizes[visit.host_id])) for visit in visits]
    granted: dict[int, list[Due]] = {visit.host_id: [] for visit in visits}
    asked = [
        (crawl_id, visit, of_crawls.get(crawl_id, []))
        for visit, of_crawls in chosen
        for crawl_id in of_crawls.keys() | visit.picked.granted.keys()
    ]
    for crawl_id, each, wanted in sorted(asked, key=itemgetter(0)):
        if wanted:
            granted[each.host_id] += _granted(each, tx, wanted)
        else:
            _reserve(
                each.worker, each.lease, each.picked, tx, crawl_id, 0
            )  # returned in the order of crawls: nothing of it is due here
    for visit, of_crawls in chosen:
        own = granted[visit.host_id]
        visit.picked.is_budget_spent = bool(of_crawls) and not own
        visit.picked.due = deque(sorted(own, key=lambda due: visit.worker.rng.random()) if len(of_crawls) > 1 else own)
    visits[0].worker.hooks.picked(visits=visits, tx=tx)


def _due(visits: Sequence[Visit], sizes: Mapping[int, int], tx: Connection) -> dict[int, list[Due]]:
    """By host, the best of what is due."""
    found: dict[int, list[Due]] = {visit.host_id: [] for visit in visits}
    for due in urls.pick(
        tx, [_wanted(visit.lease, visit.turn, visit.origins, sizes[visit.host_id]) for visit in visits]
    ):
        found[due.host_id].append(due)
    return found


def _batch_size(worker: Worker, turn: Turn) -> int:
    """The number of URLs to pick: as many as can be fetched until the next settle; one on a host that is probed."""
    settings, delay_s = worker.settings, turn.pace.delay_s
    if turn.pace.isolate > 0 or turn.is_probing(worker):
        return 1
    if delay_s > settings.linger_s and worker.stays.parking is None:
        return 1
    return most_in_hand(settings, delay_s)


def _wanted(lease: Lease, turn: Turn, origins: HostOrigins, size: int) -> Wanted:
    away = [str(origin) for origin in origins.out_of_reach(lease, turn)]
    return {"host_id": lease.host_id, "n": size, "out_of_reach": away}


def _granted(visit: Visit, tx: Connection, wanted: list[Due]) -> list[Due]:
    """Take from these as far as the crawl's budget of pages goes, where it has one."""
    worker, lease, picked, crawl_id = visit.worker, visit.lease, visit.picked, wanted[0].crawl_id
    serve(visit, tx, crawl_id, wanted[0].crawl.revision)
    now, refuses = lease.database_time(lease.now()), wanted[0].crawl.has_page_budget
    load_worth(visit, tx, crawl_id, refuses=refuses, now=now)
    set_floor(worker.settings, picked, crawl_id, wanted[0].crawl.admits_above)
    wanted = picked.worth[crawl_id].first(wanted)
    if not wanted[0].crawl.has_page_budget:
        return wanted
    documents = [due for due in wanted if due.kind == RequestKind.PAGE]
    most = _reserve(worker, lease, picked, tx, crawl_id, len(documents))
    return [due for due in wanted if due.kind != RequestKind.PAGE] + documents[:most]


def load_worth(finder: Finder, tx: Connection, crawl_id: int, *, refuses: bool, now: datetime | None = None) -> None:
    """Load the worth of the crawl's URLs on the host.

    refuses: URLs may be refused for what their like has brought: the crawl has a budget of pages, which they would eat.
    now: by the database; None: nothing is judged that other processes may have seen
    """
    found = finder.worker.hooks.worth(finder=finder, tx=tx, crawl_id=crawl_id, refuses=refuses, now=now)
    finder.picked.worth[crawl_id] = found or PLAIN


def unreserve(worker: Worker, picked: Picked, now: float, tx: Connection) -> None:
    """Return pages that the visit did not use: to the crawl, or after the commit to the process (`return_grants`)."""
    for crawl_id, left in sorted(picked.granted.items()):
        if left and not worker.caches.grants.is_open(crawl_id, now):
            crawls.reserve(tx, crawl_id=crawl_id, n=-left)
            picked.granted[crawl_id] = 0


def return_grants(worker: Worker, picked: Picked, now: float) -> None:
    """After the commit that returned the host: what the visit had left may be another's of this process."""
    for crawl_id, left in picked.granted.items():
        if left > 0:
            worker.caches.grants.put(crawl_id, left, now)
    picked.granted.clear()


def serve(finder: Finder, tx: Connection, crawl_id: int, revision: int) -> None:
    """Have the crawl's row and its scope at hand, read again only when its revision is new: seeds can be many.

    In a new round any URL may be new.
    """
    worker, picked = finder.worker, finder.picked
    cached = worker.caches.crawls.get(crawl_id)
    if cached is None or cached.revision != revision:
        crawl = crawls.by_id(tx, crawl_id)
        if cached is not None and cached.crawl.round != crawl.round:
            worker.caches.known.forget_all()
        cached = ServedCrawl(revision, crawl, make_scope(crawl))
        worker.hooks.crawl_read(worker=worker, crawl=crawl)
        worker.canon.drop(parameters.of_hosts(tx))
        worker.caches.crawls.put(crawl_id, cached)
    picked.crawls[crawl_id], picked.scopes[crawl_id] = cached.crawl, cached.scope


def set_floor(settings: Settings, picked: Picked, crawl_id: int, admits_above: float | None) -> None:
    """Note the score that a link must exceed, where the crawl is full and crawls have caps."""
    if admits_above is not None and settings.caps_crawls:
        picked.floors[crawl_id] = admits_above
    elif picked.floors:
        picked.floors.pop(crawl_id, None)


def _chosen(worker: Worker, found: list[Due], size: int) -> dict[int, list[Due]]:
    """By crawl, in the order to fetch: an equal share of the batch for each crawl, lanes drawn within it."""
    by_crawl: dict[int, dict[int, deque[Due]]] = defaultdict(lambda: defaultdict(deque))
    for due in found:
        by_crawl[due.crawl_id][due.lane].append(due)
    crawl_ids = list(by_crawl)
    worker.rng.shuffle(crawl_ids)
    chosen: dict[int, list[Due]] = {}
    left = size
    for place, crawl_id in enumerate(crawl_ids):
        share = -(-left // (len(crawl_ids) - place))
        lanes = by_crawl[crawl_id]
        weights = worker.hooks.lane_weights(worker=worker, crawl_id=crawl_id) or candidate.WEIGHTS
        waiting = {number: len(here) for number, here in lanes.items()}
        drawn = candidate.draw(waiting, share, worker.rng, weights)
        if drawn:
            chosen[crawl_id] = [lanes[number].popleft() for number in drawn]
            left -= len(drawn)
    return chosen


def _reserve(worker: Worker, lease: Lease, picked: Picked, tx: Connection, crawl_id: int, wanted: int) -> int:
    """How many of the wanted pages the crawl's budget still has room for, counting what this visit holds already."""
    held, grants, now = picked.granted.get(crawl_id, 0), worker.caches.grants, lease.now()
    if wanted > held:
        held += grants.take(crawl_id, wanted - held, now)
    if wanted > held or (wanted < held and not grants.is_open(crawl_id, now)):
        held += crawls.reserve(tx, crawl_id=crawl_id, n=wanted - held, host_id=lease.host_id, held=held)
    picked.granted[crawl_id] = held
    return max(held, 0)
