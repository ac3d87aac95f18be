"""Work at a host: fetch until there is a reason to leave or to park, and settle in between."""

from app.crawl.page import fetch
from app.crawl.state.visit import LEASE_MARGIN_S, Stay
from app.crawl.visit import settle
from app.model import Rest, RestReason, VisitEnding
from app.policy.lifecycle_visit import BatchEvent, VisitEvent
from app.runtime.group_commit import GATHER_S, SETTLE_LINKS

BUDGET_REST_S = 1.0


SLOW_REST_S = 2.0


LOOKED_AFTER_S = 5.0  # a visit that waits longer for a promised start is settled as often, and hears of a pause


PARKED_LINKS = PARKED_JOINS = 500  # hundreds of visits stand in a process


def work(stay: Stay) -> VisitEnding:
    """Hosts that keep their visitors waiting have half of the threads at most (SPEC F7); the others come again."""
    if not stay.is_slow():
        return _work(stay)
    if not stay.kit.slow_slots.acquire(blocking=False):
        stay.rest(SLOW_REST_S, Rest(RestReason.SLOW_SHARE))
        return VisitEnding.RESTS
    try:
        return _work(stay)
    finally:
        stay.kit.slow_slots.release()


def _work(stay: Stay) -> VisitEnding:
    """Fetch until there is a reason to leave, or to park. Returns it."""
    while True:
        ending = _step(stay)
        if ending is not None:
            return ending


def _step(stay: Stay) -> VisitEnding | None:
    """Take the next URL, then leave, settle, park, or go on with None."""
    if stay.kit.stopping.is_set():
        return VisitEnding.STOPS
    if not stay.due and (ending := refill(stay)) is not None:
        return ending
    due = stay.due.popleft()
    ending = fetch.fetch(stay, due)
    is_put_off = ending is VisitEnding.DELAY and stay.rest_until is None and (stay.is_early() or stay.is_promised())
    if is_put_off:
        stay.due.appendleft(due)  # robots.txt was asked for, say, and the page's turn comes after it
    elif ending is not None:
        return ending
    return _why_leave(stay) or _wait(stay, is_put_off=is_put_off)


def _why_leave(stay: Stay) -> VisitEnding | None:
    if stay.is_blocked:
        return VisitEnding.ADDRESS_RESTS if stay.resting is None else VisitEnding.RESTS
    if stay.kit.stopping.is_set():
        return VisitEnding.STOPS
    if max(stay.now(), stay.ready_at) - stay.started > stay.longest_s():
        return VisitEnding.LONG_ENOUGH
    return None


def _wait(stay: Stay, *, is_put_off: bool) -> VisitEnding | None:
    """Settle if the batch is full, and park if the host's turn is not near. None: fetch the next URL."""
    is_early = is_put_off or stay.is_early()
    if is_early and not _may_park(stay):
        return VisitEnding.DELAY
    if _is_full(stay, is_early=is_early) or (is_early and not stay.due):
        if gather(stay):
            return VisitEnding.PARKED
        ending = settle.go_on(stay)
        if ending is not None:
            return ending
        is_early = is_put_off or stay.is_early()
    return park(stay) if is_early and stay.due else None


def park(stay: Stay) -> VisitEnding:
    parking = stay.kit.parking
    if len(stay.joined) > PARKED_JOINS:
        stay.joined.clear()
    if parking is None:
        return VisitEnding.DELAY
    until = stay.ready_at - stay.connect_s
    if stay.is_promised():
        until = min(until, stay.now() + LOOKED_AFTER_S)
    stay.move(VisitEvent.PARKED)  # before: once it stands there it is another thread's
    if parking.park(stay, until):
        return VisitEnding.PARKED
    stay.move(VisitEvent.SERVED)
    return VisitEnding.DELAY


def gather(stay: Stay) -> bool:
    """Whether the batch is settled with others', and the visit another thread's now. A rest of the host's is written at once."""
    gatherer, now = stay.kit.gatherer, stay.now()
    if gatherer is None or stay.rest_until is not None or not settle.may_join(stay):
        return False
    if stay.ready_at - now < 2 * GATHER_S or stay.lease_ends - now < 2 * LEASE_MARGIN_S:
        return False
    stay.move(VisitEvent.PARKED)
    stay.batch.move(BatchEvent.GATHERED)
    if gatherer.add(stay, stay.batch.links):
        return True
    stay.batch.move(BatchEvent.NO_ROOM)
    stay.move(VisitEvent.SERVED)
    return False


def _may_park(stay: Stay) -> bool:
    """Whether the visit keeps its lease for so long. What may kill a worker is no company for others' leases.

    No longer than until the next settle, so that a pause is heard of, and what was picked is still wanted. A longer wait, for a
    start that was promised, is settled meanwhile.
    """
    parking = stay.kit.parking
    if parking is None or not parking.has_room or stay.isolate > 0 or stay.rest_until is not None:
        return False
    return stay.ready_at - stay.now() <= stay.longest_wait_s()


def refill(stay: Stay) -> VisitEnding | None:
    """More to fetch, after a settle; or the reason to leave."""
    if stay.budget_spent:
        stay.rest(BUDGET_REST_S, Rest(RestReason.PAGE_BUDGET))
        return VisitEnding.RESTS
    return settle.go_on(stay) or (None if stay.due else refill(stay))


def _is_full(stay: Stay, *, is_early: bool) -> bool:
    """50 URLs, or 2 s until the next request (D), or many links, fewer where they would be parked; in isolation every URL."""
    settings, batch = stay.kit.settings, stay.batch
    links_most = PARKED_LINKS if is_early else SETTLE_LINKS
    if stay.is_promised() and not batch.fetches and not batch.results:
        return stay.now() - batch.started >= LOOKED_AFTER_S
    return (
        len(batch.results) >= settings.settle_urls
        or max(stay.now(), stay.ready_at) - batch.started >= settings.settle_s
        or batch.links >= links_most
        or (stay.isolate > 0 and bool(batch.results))
        or batch.answered is not None  # others wait to hear that their address answers again
    )
