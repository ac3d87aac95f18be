"""The URLs a visit fetches next: a weighted draw of lanes, best score first; crawls that share a host take turns.

Where a crawl has a budget of pages, what is picked is reserved first, so that a fleet of visits ends at the budget and
not somewhere behind it: from what the process has drawn (`app.crawl.state.grants`), else from the crawl's row, where hosts
share a small budget. What is not used is given back; what a crash loses, `finish` counts free again.
"""

from collections import defaultdict, deque
from collections.abc import Sequence
from operator import itemgetter

from sqlalchemy import Connection

from app.crawl.state.visit import Stay
from app.crawl.state.worker import Kit
from app.model import RequestKind
from app.policy import lane, scope
from app.store import crawls, urls
from app.store.crawls import Crawl
from app.store.url_rows import Due, Wanted


def pick(stays: Sequence[Stay], tx: Connection) -> None:
    """Fill the `due` of each anew. Crawls with a budget are locked in the order of their ids."""
    if not stays:
        return
    sizes = {stay.host_id: stay.batch_size() for stay in stays}
    found: dict[int, list[Due]] = {stay.host_id: [] for stay in stays}
    for due in urls.pick(tx, [_wanted(stay, sizes[stay.host_id]) for stay in stays]):
        found[due.host_id].append(due)
    chosen = [(stay, _chosen(stay, found[stay.host_id], sizes[stay.host_id])) for stay in stays]
    granted: dict[int, list[Due]] = {stay.host_id: [] for stay in stays}
    asked = [
        (crawl_id, stay, of_crawls.get(crawl_id, []))
        for stay, of_crawls in chosen
        for crawl_id in of_crawls.keys() | stay.granted.keys()
    ]
    for crawl_id, each, wanted in sorted(asked, key=itemgetter(0)):
        if wanted:
            granted[each.host_id] += _granted(each, tx, crawl_id, wanted)
        else:
            _reserve(each, tx, crawl_id, 0)  # given back in the order of crawls: nothing of it is due here
    for stay, of_crawls in chosen:
        own = granted[stay.host_id]
        stay.budget_spent = bool(of_crawls) and not own
        stay.due = deque(sorted(own, key=lambda due: stay.kit.rng.random()) if len(of_crawls) > 1 else own)


def _wanted(stay: Stay, size: int) -> Wanted:
    return {"host_id": stay.host_id, "n": size, "out_of_reach": [str(origin) for origin in stay.out_of_reach()]}


def _granted(stay: Stay, tx: Connection, crawl_id: int, wanted: list[Due]) -> list[Due]:
    """As far as the crawl's budget of pages goes, where it has one."""
    stay.scopes[crawl_id] = scope_of(stay.kit, tx, crawl_id, wanted[0].revision)
    _set_floor(stay, wanted[0])
    if not wanted[0].has_page_budget:
        return wanted
    documents = [due for due in wanted if due.kind == RequestKind.PAGE]
    most = _reserve(stay, tx, crawl_id, len(documents))
    return [due for due in wanted if due.kind != RequestKind.PAGE] + documents[:most]


def give_back(stay: Stay, tx: Connection) -> None:
    """Reservations that the visit did not use: to the crawl, or after the commit to the process (`given_back`)."""
    for crawl_id, left in sorted(stay.granted.items()):
        if left and not stay.kit.grants.is_open(crawl_id, stay.now()):
            crawls.reserve(tx, crawl_id=crawl_id, n=-left)
            stay.granted[crawl_id] = 0


def given_back(stay: Stay) -> None:
    """After the commit that gave the host back: what the visit had left may be another's of this process."""
    for crawl_id, left in stay.granted.items():
        if left > 0:
            stay.kit.grants.put(crawl_id, left, stay.now())
    stay.granted.clear()


def scope_of(kit: Kit, tx: Connection, crawl_id: int, revision: int) -> scope.Scope:
    """The crawl's scope, read again only when its revision is new: seeds can be many. In a new round any URL may be new."""
    cached = kit.scopes.get(crawl_id)
    if cached is not None and cached[0] == revision:
        return cached[2]
    crawl = crawls.by_id(tx, crawl_id)
    if cached is not None and cached[1] != crawl.round:
        kit.known.forget_all()
    found = make_scope(crawl)
    kit.scopes.put(crawl_id, (revision, crawl.round, found))
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
    )
    return scope.widened(found, crawl.scope_redirects) if crawl.scope_redirects else found


def _set_floor(stay: Stay, due: Due) -> None:
    if due.admits_above is not None and stay.kit.settings.caps_crawls:
        stay.floors[due.crawl_id] = due.admits_above
    elif stay.floors:
        stay.floors.pop(due.crawl_id, None)


def _chosen(stay: Stay, found: list[Due], size: int) -> dict[int, list[Due]]:
    """By crawl, in the order to fetch: an equal share of the batch for each crawl, lanes drawn within it."""
    by_crawl: dict[int, dict[int, deque[Due]]] = defaultdict(lambda: defaultdict(deque))
    for due in found:
        by_crawl[due.crawl_id][due.lane].append(due)
    crawl_ids = list(by_crawl)
    stay.kit.rng.shuffle(crawl_ids)
    chosen: dict[int, list[Due]] = {}
    left = size
    for place, crawl_id in enumerate(crawl_ids):
        share = -(-left // (len(crawl_ids) - place))
        lanes = by_crawl[crawl_id]
        drawn = lane.draw({number: len(waiting) for number, waiting in lanes.items()}, share, stay.kit.rng)
        if drawn:
            chosen[crawl_id] = [lanes[number].popleft() for number in drawn]
            left -= len(drawn)
    return chosen


def _reserve(stay: Stay, tx: Connection, crawl_id: int, wanted: int) -> int:
    """How many of the wanted pages the crawl's budget still has room for, counting what this visit holds already."""
    held, grants = stay.granted.get(crawl_id, 0), stay.kit.grants
    if wanted > held:
        held += grants.take(crawl_id, wanted - held, stay.now())
    if wanted > held or (wanted < held and not grants.is_open(crawl_id, stay.now())):
        held += crawls.reserve(tx, crawl_id=crawl_id, n=wanted - held, host_id=stay.host_id, held=held)
    stay.granted[crawl_id] = held
    return max(held, 0)
