"""The caps of the frontier (SPEC F7): how many URLs may wait for their first fetch, of a host, of a crawl, in all.

Soft, and next to free below the cap. A host's visits keep an estimate on its row, by what they admit and fetch; what links from
elsewhere bring is told to it in lots (`full_hosts`). Where the estimate says that the host is full it is made exact first, unless
that was done lately, and then decides: the best newcomers take the places of the worst that wait, one for one. Crawls are looked
at by a janitor (`trim`); what a visit picks says how good a link must be.

Seeds and sitemaps never give way, nor does what was fetched before; seeds are not even asked (`seed`).
"""

import math
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from sqlalchemy import Connection

from app.config import Settings
from app.crawl.frontier import admit
from app.crawl.state.cap_estimates import Verdict
from app.crawl.state.visit import Stay
from app.crawl.state.worker import Kit
from app.model import Refusal
from app.policy import caps
from app.policy.candidate import Candidate
from app.policy.caps import Standing
from app.policy.lifecycle import UrlEvent, UrlState
from app.store import caps as store
from app.store import db, hosts
from app.store.caps import Weak, Where
from app.store.suppressions import Suppression, suppression

MOST_GIVE_WAY = 5_000  # at a settle
COUNT_HOLDS_S = 300.0
COUNTED_VISITS = 64  # of so many one counts, so that a wrong estimate is found where it is low
VERDICT_S = 60.0
OF_HOST, OF_CRAWL = "cap per host", "cap per crawl, or in all"
GivingWay = dict[Where, tuple[Weak, str]]  # and at which cap


def take_up(stay: Stay, tx: Connection) -> None:
    """Now and then the estimate is made exact, whatever it says."""
    if stay.taken.visit_id % COUNTED_VISITS == 0:
        _recount(stay, tx)


def of_crawls(stay: Stay, tx: Connection, candidates: list[Candidate]) -> list[Candidate]:
    """Those that come in, or are put off, as far as their crawls are concerned: before hosts are made for them."""
    low = [each for each in _queued(candidates) if _is_low(each, stay.floors.get(each.crawl_id))]
    if not low:
        return candidates
    ids = hosts.ids(tx, sorted({each.url.host for each in low}))
    return _without(stay, candidates, _strangers(tx, low, ids), OF_CRAWL)


def is_tight(stay: Stay, candidates: Sequence[Candidate]) -> bool:
    """Whether anything may have to give way at the hosts."""
    cap, full, n = stay.kit.settings.frontier_max_per_host, stay.kit.full_hosts, len(candidates)
    if cap is not None and (stay.unfetched + n > cap or n > full.quantum or not full.is_empty):
        return True
    return bool(stay.floors)


def of_hosts(
    stay: Stay, tx: Connection, candidates: list[Candidate], ids: Mapping[str, int]
) -> tuple[list[Candidate], GivingWay]:
    """Those that come in, or are put off, as far as their hosts are concerned; and what waits at the visited host and is to give
    way once they are in. ids: {name: id} of all their hosts."""
    asked = _queued(candidates)
    giving_way = _below_floors(stay, tx) if stay.floors else {}
    losers = _of_other_hosts(stay, tx, asked, ids)
    losers += _of_own_host(stay, tx, [each for each in asked if each.url.host == stay.taken.name], giving_way)
    candidates = _without(stay, candidates, losers, OF_HOST)
    if not giving_way:
        return candidates, giving_way
    come = [each for each in candidates if (ids[each.url.host], each.crawl_id, each.url.key) not in giving_way]
    return come, giving_way


def give_way(stay: Stay, tx: Connection, giving_way: GivingWay) -> None:
    """Of the visited host. After the newcomers are in: who is in their way waits for us then, and we for nobody."""
    settings, known = stay.kit.settings, stay.kit.known
    stay.unfetched -= len(let_go(settings, tx, [weak for weak, _ in giving_way.values()]))
    for weak, cap in giving_way.values():
        _note(stay, weak, cap)
        known.forget(weak.crawl_id, weak.key)


def tell(kit: Kit, queued: Mapping[int, int]) -> None:
    """After the commit: what hosts got that were not visited, {host: URLs}. Where that is much, they are told, and looked at."""
    for host_id, n in kit.full_hosts.due(queued.items()).items():
        with db.transaction(kit.engine) as tx:
            kit.full_hosts.judge(host_id, _verdict(kit, tx, host_id, store.swell(tx, host_id=host_id, n=n)))


def let_go(settings: Settings, tx: Connection, rows: Sequence[Weak]) -> set[Where]:
    """Let them give way, as the setting says. Returns those that did."""
    if settings.frontier_full == "defer":
        return store.put_off(tx, rows, due_s=settings.recrawl_base_s)
    return store.give_way(tx, rows)


def refusal(settings: Settings, weak: Candidate | Weak, cap: str) -> Suppression:
    """The row of the log. cap: which."""
    key, url, then = (
        (weak.key, weak.url, "gave way") if isinstance(weak, Weak) else (weak.url.key, weak.url.text, "not admitted")
    )
    if settings.frontier_full == "defer":
        then = "waits for the next cycle"
    return suppression(weak.crawl_id, key, url, Refusal.FRONTIER_FULL, found_on=weak.found_on, detail=f"{cap}: {then}")


def _of_own_host(stay: Stay, tx: Connection, asked: list[Candidate], giving_way: GivingWay) -> list[Candidate]:
    """Links within the visited host that do not come in. Adds those that give way to the others."""
    if _room(stay) + len(giving_way) >= len(asked):
        return []
    _recount(stay, tx)
    room = _room(stay) + len(giving_way)
    newcomers = _best_first(_strangers(tx, asked, {stay.taken.name: stay.host_id})) if room < len(asked) else []
    if room >= len(newcomers):
        return []
    weakest = store.weakest(
        tx,
        host_id=stay.host_id,
        n=min(len(newcomers) - room, MOST_GIVE_WAY),
        below=_standing(newcomers[0])[0] if room >= 0 else math.inf,
        spared=_in_hand(stay, giving_way),
    )
    come, give = caps.places([*map(_standing, newcomers)], [caps.standing(w.score, w.lane) for w in weakest], room)
    giving_way |= {weak.where: (weak, OF_HOST) for weak in weakest[:give]}
    return newcomers[come:]


def _below_floors(stay: Stay, tx: Connection) -> GivingWay:
    """What waits at the visited host and scores lower than a link must, in crawls that are full."""
    floors = stay.floors
    weakest = store.weakest(
        tx, host_id=stay.host_id, n=MOST_GIVE_WAY, below=max(floors.values()), spared=_in_hand(stay, {})
    )
    return {weak.where: (weak, OF_CRAWL) for weak in weakest if weak.score < floors.get(weak.crawl_id, -math.inf)}


def _in_hand(stay: Stay, giving_way: GivingWay) -> list[bytes]:
    """Keys of what the visit has fetched or is about to, and of what gives way already."""
    fetched = [result["key"] for result in stay.batch.results]
    return [*fetched, *(due.key for due in stay.due), *(key for _, _, key in giving_way)]


def _of_other_hosts(stay: Stay, tx: Connection, asked: Iterable[Candidate], ids: Mapping[str, int]) -> list[Candidate]:
    """Links to other hosts that do not come in: to full ones, that do not score high enough there; and what is too much at once.

    Nothing gives way to the others here: the host's own next visit sees to that.
    """
    full, now = stay.kit.full_hosts, stay.now()
    by_host: dict[str, list[Candidate]] = defaultdict(list)
    for each in asked:
        if each.url.host != stay.taken.name:
            by_host[each.url.host].append(each)
    late: list[Candidate] = []
    for name, links in by_host.items():
        floor = full.floor(ids[name], now)
        if floor is not None:
            high = [each for each in links if not _is_low(each, floor)]
            late += [each for each in links if _is_low(each, floor)] + _best_first(high)[full.quantum :]
        elif len(links) > full.quantum:
            late += _best_first(links)[_room_of(stay, tx, ids[name]) :]
    return _strangers(tx, late, ids)


def _room_of(stay: Stay, tx: Connection, host_id: int) -> int:
    """Free places at another host."""
    cap = stay.kit.settings.frontier_max_per_host
    if cap is None:
        return sys.maxsize
    found = store.recount(tx, host_id=host_id, good_s=COUNT_HOLDS_S, most=2 * cap + 1)
    return max(cap - (found[0] if found else store.estimate(tx, host_id)), 0)


def _verdict(kit: Kit, tx: Connection, host_id: int, unfetched: int) -> Verdict | None:
    """On another host than the visited one, whose row is locked here. At twice the cap nothing more comes in."""
    cap = kit.settings.frontier_max_per_host
    if cap is None:
        return None
    found = store.recount(tx, host_id=host_id, good_s=COUNT_HOLDS_S, most=2 * cap + 1)
    if found is not None:
        unfetched = found[0] if found[1] else max(unfetched, found[0])
        store.counted(tx, host_id=host_id, unfetched=unfetched)
    if unfetched < cap:
        return None
    weakest = store.weakest(tx, host_id=host_id, n=1) if unfetched < 2 * cap else []
    return Verdict(floor=weakest[0].score if weakest else math.inf, until=kit.monotonic() + VERDICT_S)


def _recount(stay: Stay, tx: Connection) -> None:
    """Make the estimate exact, unless it was lately. What the batch has fetched is still there."""
    cap = stay.kit.settings.frontier_max_per_host
    if cap is None or stay.counted:
        return
    found = store.recount(tx, host_id=stay.host_id, good_s=COUNT_HOLDS_S, most=2 * cap + 1)
    if found is not None:
        waiting = max(found[0] - stay.batch.left, 0)
        stay.unfetched = waiting if found[1] else max(stay.unfetched, waiting)
        stay.counted = True


def _room(stay: Stay) -> int:
    """Free places at the visited host; below 0: so many too many."""
    cap = stay.kit.settings.frontier_max_per_host
    return sys.maxsize if cap is None else cap - stay.unfetched


def _queued(candidates: Iterable[Candidate]) -> list[Candidate]:
    return [each for each in candidates if each.state is UrlState.QUEUED]


def _strangers(tx: Connection, candidates: list[Candidate], ids: Mapping[str, int]) -> list[Candidate]:
    """Those that are not in the frontier."""
    if not candidates:
        return []
    keys = [(ids.get(each.url.host), each.crawl_id, each.url.key) for each in candidates]
    return [candidates[place] for place in store.strangers(tx, keys)]


def _without(stay: Stay, candidates: list[Candidate], losers: list[Candidate], cap: str) -> list[Candidate]:
    """Without the losers; or with them, put off."""
    if not losers:
        return candidates
    for each in losers:
        _note(stay, each, cap)
    settings = stay.kit.settings
    lost = {(each.crawl_id, each.url.key) for each in losers}
    if settings.frontier_full == "defer":
        return [
            each._replace(event=UrlEvent.PUT_OFF, due_s=settings.recrawl_base_s)
            if (each.crawl_id, each.url.key) in lost
            else each
            for each in candidates
        ]
    return [each for each in candidates if (each.crawl_id, each.url.key) not in lost]


def _note(stay: Stay, weak: Candidate | Weak, cap: str) -> None:
    """In the log of refusals; once a process, as long as the key is remembered."""
    row = refusal(stay.kit.settings, weak, cap)
    if not stay.kit.known.has(row["crawl_id"], admit.refusal_key(row["key"])):
        admit.note(stay, row)


def _is_low(candidate: Candidate, floor: float | None) -> bool:
    return floor is not None and caps.as_real(candidate.score) <= floor


def _best_first(candidates: Iterable[Candidate]) -> list[Candidate]:
    return sorted(candidates, key=_standing, reverse=True)


def _standing(candidate: Candidate) -> Standing:
    return caps.standing(candidate.score, candidate.lane)
