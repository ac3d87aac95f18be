"""Works at a host: fetches until there is a reason to leave or to park, and settles in between."""

from app.crawl.page import fetch
from app.crawl.state.visit import LEASE_MARGIN_S, Stay
from app.crawl.visit import settle
from app.model import Rest, RestReason, VisitEnding
from app.policy.lifecycle_visit import BatchEvent, VisitEvent
from app.runtime.group_commit import GATHER_S, SETTLE_LINKS

BUDGET_REST_S = 1.0
SLOW_REST_S = 2.0
LOOKED_AFTER_S = 5.0  # a visit that waits longer for a promised start is settled this often, so that it notices a pause
PARKED_LINKS = PARKED_JOINS = 500  # few, because hundreds of visits are parked in a process


def work(stay: Stay) -> VisitEnding:
    """Work at the host until its visit ends or is parked. Slow hosts get at most half of the threads (promise F7); a visit
    that finds none free leaves, and the host rests a moment."""
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
    """Fetch the next URL, then leave, settle or park. None: fetch the next one."""
    if stay.kit.stopping.is_set():
        return VisitEnding.STOPS
    if not stay.due and (ending := refill(stay)) is not None:
        return ending
    due = stay.due.popleft()
    ending = fetch.fetch(stay, due)
    is_put_off = ending is VisitEnding.DELAY and stay.rest_until is None and (stay.is_early() or stay.is_promised())
    if is_put_off:
        stay.due.appendleft(due)  # such as after a request for robots.txt: the page's turn is the next one
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
    stay.move(VisitEvent.PARKED)  # first: once parked, it belongs to another thread
    if parking.park(stay, until):
        return VisitEnding.PARKED
    stay.move(VisitEvent.SERVED)
    return VisitEnding.DELAY


def gather(stay: Stay) -> bool:
    """Hand the batch to a group commit, if there is time and it may join. True: the visit belongs to another thread now.

    A visit whose host is to rest is not gathered: its rest is written at once.
    """
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
    """Whether the visit may keep its lease, without a thread, until its turn.

    - Not in isolation: its URL may kill the worker, and the leases of all visits parked there with it.
    - Not when the host rests.
    - Not beyond the next settle, so that it notices a pause and its URLs are still wanted. While it waits longer, for a
      promised start, it is settled in between.
    """
    parking = stay.kit.parking
    if parking is None or not parking.has_room or stay.isolate > 0 or stay.rest_until is not None:
        return False
    return stay.ready_at - stay.now() <= stay.longest_wait_s()


def refill(stay: Stay) -> VisitEnding | None:
    """Settle, and pick more URLs. Returns the reason to leave where there are none."""
    if stay.budget_spent:
        stay.rest(BUDGET_REST_S, Rest(RestReason.PAGE_BUDGET))
        return VisitEnding.RESTS
    return settle.go_on(stay) or (None if stay.due else refill(stay))


def _is_full(stay: Stay, *, is_early: bool) -> bool:
    """Whether to settle now: at 50 URLs, at 2 s by the next request, or at many links; in isolation after every URL.

    A visit that would be parked is settled at fewer links.
    """
    settings, batch = stay.kit.settings, stay.batch
    links_most = PARKED_LINKS if is_early else SETTLE_LINKS
    if stay.is_promised() and not batch.fetches and not batch.results:
        return stay.now() - batch.started >= LOOKED_AFTER_S
    return (
        len(batch.results) >= settings.settle_urls
        or max(stay.now(), stay.ready_at) - batch.started >= settings.settle_s
        or batch.links >= links_most
        or (stay.isolate > 0 and bool(batch.results))
        or batch.answered is not None  # other hosts wait for the news that their address answers again
    )
