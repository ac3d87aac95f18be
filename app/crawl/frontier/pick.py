"""The URLs a visit fetches next: a weighted draw of lanes, best score first; crawls that share a host take turns.

Where a crawl has a budget of pages, what is picked is reserved first, so that a fleet of visits ends at the budget and
not somewhere behind it: from what the process has drawn (`app.crawl.state.grants`), else from the crawl's row, where
hosts share a small budget. What is not used is returned; what a crash loses, `finish` counts free again.
"""

from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from operator import itemgetter

from sqlalchemy import Connection

from app.config import Settings
from app.crawl.frontier import worth
from app.crawl.state.batch import most_in_hand
from app.crawl.state.focus import CrawlFocus
from app.crawl.state.lease import Lease
from app.crawl.state.origins import HostOrigins
from app.crawl.state.picked import Picked
from app.crawl.state.turn import Turn
from app.crawl.state.visit import Visit
from app.crawl.state.worker import Worker
from app.model import RequestKind
from app.model.url import target_of
from app.policy import lane, scope
from app.policy.focus.precedence import Precedence
from app.policy.focus.score import unpacked
from app.policy.focus.shipped import GENERAL, profile_of
from app.policy.lane import LAST_LANE
from app.store import crawls, parameters, urls
from app.store.crawls import Crawl
from app.store.url_rows import Due, Wanted

FEW = 5  # URLs that nothing speaks for, in a row: each may name better ones


def pick(visits: Sequence[Visit], tx: Connection) -> None:
    """Fill the `due` of each anew. Crawls with a budget are locked in the order of their ids."""
    if not visits:
        return
    sizes = {visit.host_id: _batch_size(visit.worker, visit.turn) for visit in visits}
    found = _due(visits, sizes, tx)
    dry = [each for each in visits if not found[each.host_id] and worth.try_refused(each.picked, tx, each.host_id)]
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
            granted[each.host_id] += _granted(each.worker, each.lease, each.picked, tx, wanted)
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
    if delay_s > settings.linger_s and worker.parking is None:
        return 1
    return most_in_hand(settings, delay_s)


def _wanted(lease: Lease, turn: Turn, origins: HostOrigins, size: int) -> Wanted:
    away = [str(origin) for origin in origins.out_of_reach(lease, turn)]
    return {"host_id": lease.host_id, "n": size, "out_of_reach": away}


def _granted(worker: Worker, lease: Lease, picked: Picked, tx: Connection, wanted: list[Due]) -> list[Due]:
    """Take from these as far as the crawl's budget of pages goes, where it has one."""
    crawl_id = wanted[0].crawl_id
    picked.scopes[crawl_id] = scope_of(worker, tx, crawl_id, wanted[0].revision)
    now, refuses = lease.database_time(lease.now()), wanted[0].has_page_budget
    worth.load(worker, picked, tx, lease.host_id, crawl_id, refuses=refuses, now=now)
    set_floor(worker.settings, picked, crawl_id, wanted[0].admits_above)
    wanted = _worth_now(wanted, picked.focus[crawl_id])
    if not wanted[0].has_page_budget:
        return wanted
    documents = [due for due in wanted if due.kind == RequestKind.PAGE]
    most = _reserve(worker, lease, picked, tx, crawl_id, len(documents))
    return [due for due in wanted if due.kind != RequestKind.PAGE] + documents[:most]


def unreserve(worker: Worker, picked: Picked, now: float, tx: Connection) -> None:
    """Return pages that the visit did not use: to the crawl, or after the commit to the process (`return_grants`)."""
    for crawl_id, left in sorted(picked.granted.items()):
        if left and not worker.grants.is_open(crawl_id, now):
            crawls.reserve(tx, crawl_id=crawl_id, n=-left)
            picked.granted[crawl_id] = 0


def return_grants(worker: Worker, picked: Picked, now: float) -> None:
    """After the commit that returned the host: what the visit had left may be another's of this process."""
    for crawl_id, left in picked.granted.items():
        if left > 0:
            worker.grants.put(crawl_id, left, now)
    picked.granted.clear()


def scope_of(worker: Worker, tx: Connection, crawl_id: int, revision: int) -> scope.Scope:
    """The crawl's scope, read again only when its revision is new: seeds can be many.

    In a new round any URL may be new.
    """
    cached = worker.scopes.get(crawl_id)
    if cached is not None and cached[0] == revision:
        return cached[2]
    crawl = crawls.by_id(tx, crawl_id)
    if cached is not None and cached[1] != crawl.round:
        worker.known.forget_all()
    found = make_scope(crawl)
    worth.read_profile(worker, crawl)
    worker.canon.drop(parameters.of_hosts(tx))
    worker.scopes.put(crawl_id, (revision, crawl.round, found))
    return found


def make_scope(crawl: Crawl) -> scope.Scope:
    """A row of crawls as the policy wants it."""
    patterns = scope.scope_of(
        [],
        kind=scope.ScopeKind(crawl.scope),
        include=crawl.include,
        exclude=crawl.exclude,
        max_depth=crawl.max_depth,
    )
    found = scope.Scope(
        kind=patterns.kind,
        hosts=frozenset(crawl.scope_hosts),
        domains=frozenset(crawl.scope_domains),
        prefixes=tuple(crawl.scope_prefixes),
        include=patterns.include,
        exclude=patterns.exclude,
        max_depth=crawl.max_depth,
        seeds=frozenset([*crawl.scope_hosts, *crawl.scope_domains, *map(scope.host_of_folder, crawl.scope_prefixes)]),
    )
    return scope.widened(found, crawl.scope_redirects) if crawl.scope_redirects else found


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
        profile = worker.profiles.get(crawl_id) or profile_of(GENERAL)
        waiting = {number: len(here) for number, here in lanes.items()}
        drawn = lane.draw(waiting, share, worker.rng, profile.weights)
        if drawn:
            chosen[crawl_id] = [lanes[number].popleft() for number in drawn]
            left -= len(drawn)
    return chosen


def _worth_now(drawn: list[Due], focus: CrawlFocus) -> list[Due]:
    """Those of a draw that are fetched before the next one, which may know better links.

    URLs that their form speaks against wait for the others: they may copy what these lead to. In a crawl with a budget
    lists wait for what is proven, and the last lane waits until the others are empty; where there is nothing else, a
    few are tried.
    """
    places = [place for place, due in enumerate(drawn) if due.lane != LAST_LANE]
    has_budget = drawn[0].has_page_budget
    shared = drawn[: places[-1] + 1] if has_budget and places else drawn
    first = _first(shared, focus)
    if not has_budget:
        return first or drawn
    if any(due.lane != LAST_LANE for due in first):
        return first
    return (shared if places else first or drawn)[:FEW]


def _first(drawn: list[Due], focus: CrawlFocus) -> list[Due]:
    """Without URLs of a risky form; without lists where others are proven."""
    ranks = [
        Precedence.PROVEN
        if due.fetched_at is not None
        else focus.precedence(unpacked(due.score_parts or 0), target_of(due.url))
        for due in drawn
    ]
    least = Precedence.OPEN if Precedence.PROVEN in ranks else Precedence.LIST
    return [due for due, rank in zip(drawn, ranks, strict=True) if rank >= least]


def _reserve(worker: Worker, lease: Lease, picked: Picked, tx: Connection, crawl_id: int, wanted: int) -> int:
    """How many of the wanted pages the crawl's budget still has room for, counting what this visit holds already."""
    held, grants, now = picked.granted.get(crawl_id, 0), worker.grants, lease.now()
    if wanted > held:
        held += grants.take(crawl_id, wanted - held, now)
    if wanted > held or (wanted < held and not grants.is_open(crawl_id, now)):
        held += crawls.reserve(tx, crawl_id=crawl_id, n=wanted - held, host_id=lease.host_id, held=held)
    picked.granted[crawl_id] = held
    return max(held, 0)
