"""Works at a host: fetches until there is a reason to leave or to park, and settles in between."""

from app.config import Settings
from app.crawl.page import fetch
from app.crawl.request import slots
from app.crawl.state.lease import LEASE_MARGIN_S
from app.crawl.state.shared_start import SharedStart
from app.crawl.state.visit import Visit
from app.crawl.visit import settle
from app.model import Rest, RestReason, VisitEnding
from app.policy import pace
from app.policy.lifecycle_visit import BatchEvent, VisitEvent
from app.runtime.group_commit import SETTLE_LINKS, SOONEST_S
from app.store.host_rows import HostPace

BUDGET_REST_S = 1.0
BUDGET_SPENT = "its share of max_pages is used up, or held by other visits"
SLOW_REST_S = 2.0
SLOW_S = 5.0
# A parked visit is resumed so much before its turn: a busy process takes as long to wake a thread and to get a request
# ready, and the rest is waited for in the thread.
PREPARE_S = 0.04
# A visit waits so long at most from one settle to the next, so that it notices a pause, and fetches what is wanted. The
# delay of a far host is twice its latency: leaving would cost a take-up and a message for each of its pages.
LOOKED_AFTER_S = 5.0
PARKED_LINKS = PARKED_JOINS = 500  # few, because hundreds of visits are parked in a process


def work(visit: Visit) -> VisitEnding:
    """Work at the host until its visit ends or is parked. Slow hosts get at most half of the threads (promise F7); a
    visit that finds none free leaves, and the host rests a moment.
    """
    if not _is_slow(visit.pace):
        return _work(visit)
    if not visit.worker.stays.slow_slots.acquire(blocking=False):
        visit.rest.prolong(visit.now() + SLOW_REST_S, Rest(RestReason.SLOW_SHARE))
        return VisitEnding.RESTS
    try:
        return _work(visit)
    finally:
        visit.worker.stays.slow_slots.release()


def _work(visit: Visit) -> VisitEnding:
    """Fetch until there is a reason to leave, or to park. Returns it."""
    while True:
        ending = _step(visit)
        if ending is not None:
            return ending


def _step(visit: Visit) -> VisitEnding | None:
    """Fetch the next URL, then leave, settle or park. None: fetch the next one."""
    if visit.worker.stopping.is_set():
        return VisitEnding.STOPS
    if not visit.picked.due and (ending := refill(visit)) is not None:
        return ending
    due = visit.picked.due.popleft()
    ending = fetch.fetch(visit, due)
    is_postponed = (
        ending is VisitEnding.DELAY and visit.rest.until is None and (_is_early(visit) or visit.start.is_promised)
    )
    if is_postponed:
        visit.picked.due.appendleft(due)  # such as after a request for robots.txt: the page's turn is the next one
    elif ending is not None:
        return ending
    left = _why_leave(visit) or _wait(visit, is_postponed=is_postponed)
    if left in {VisitEnding.LONG_ENOUGH, VisitEnding.DELAY} and not visit.picked.due and visit.leaving is None:
        return refill(visit) or left  # refused URLs may be queued now: without any the crawl would end
    return left


def _why_leave(visit: Visit) -> VisitEnding | None:
    if visit.rest.is_blocked:
        return VisitEnding.ADDRESS_RESTS if visit.rest.why is None else VisitEnding.RESTS
    if visit.worker.stopping.is_set():
        return VisitEnding.STOPS
    if max(visit.now(), visit.turn.ready_at) - visit.lease.anchor > _longest_s(visit.worker.settings, visit.start):
        return VisitEnding.LONG_ENOUGH
    return None


def _wait(visit: Visit, *, is_postponed: bool) -> VisitEnding | None:
    """Settle if the batch is full, and park if the host's turn is not near. None: fetch the next URL."""
    is_early = is_postponed or _is_early(visit)
    if is_early and not _may_park(visit):
        return VisitEnding.DELAY
    if _is_full(visit, is_early=is_early) or (is_early and not visit.picked.due):
        if gather(visit):
            return VisitEnding.PARKED
        ending = settle.go_on(visit)
        if ending is not None:
            return ending
        is_early = is_postponed or _is_early(visit)
    return park(visit) if is_early and visit.picked.due else None


def park(visit: Visit) -> VisitEnding:
    parking = visit.worker.stays.parking
    if len(visit.picked.joined) > PARKED_JOINS:
        visit.picked.joined.clear()
    if parking is None:
        return VisitEnding.DELAY
    until = visit.turn.ready_at - max(visit.start.connect_s, min(PREPARE_S, visit.worker.settings.linger_s))
    if visit.start.is_promised:
        until = min(until, visit.now() + LOOKED_AFTER_S)
    visit.move(VisitEvent.PARKED)  # first: once parked, it belongs to another thread
    if parking.park(visit, until):
        return VisitEnding.PARKED
    visit.move(VisitEvent.SERVED)
    return VisitEnding.DELAY


def gather(visit: Visit) -> bool:
    """Hand the batch to a group commit, if there is time and it may join. True: the visit belongs to another thread
    now.

    A visit whose host is to rest is not gathered: its rest is written at once.
    """
    gatherer, now = visit.worker.stays.gatherer, visit.now()
    if gatherer is None or visit.rest.until is not None or not settle.may_join(visit):
        return False
    if _soonest_s(visit) < SOONEST_S or visit.lease.ends - now < 2 * LEASE_MARGIN_S:
        return False
    visit.move(VisitEvent.PARKED)
    visit.batch.move(BatchEvent.GATHERED)
    if gatherer.add(visit, visit.batch.links_expected):
        return True
    visit.batch.move(BatchEvent.NO_ROOM)
    visit.move(VisitEvent.SERVED)
    return False


def _soonest_s(visit: Visit) -> float:
    """Seconds until the host's next request is due, or would be if the visit were in time.

    A visit that is late is gathered as well: the process is busy, and a settle of its own would make all others later.
    One that was promised a start is not: the start would be lost.
    """
    left_s = visit.turn.ready_at - visit.now()
    return left_s if visit.start.is_promised else max(left_s, visit.pace.delay_s)


def _may_park(visit: Visit) -> bool:
    """Whether the visit may keep its lease, without a thread, until its turn.

    - Not in isolation: its URL may kill the worker, and the leases of all visits parked there with it.
    - Not when the host rests.
    - Not for long after a settle, so that it notices a pause and its URLs are still wanted. While it waits longer, for
      a promised start, it is settled in between.
    """
    parking = visit.worker.stays.parking
    if parking is None or not parking.has_room or visit.pace.isolate > 0 or visit.rest.until is not None:
        return False
    settings = visit.worker.settings
    longest_s = settings.promise_longest_s if visit.start.is_promised else max(settings.settle_s, LOOKED_AFTER_S)
    return visit.turn.ready_at - visit.now() <= longest_s


def refill(visit: Visit) -> VisitEnding | None:
    """Settle, and pick more URLs. Returns the reason to leave where there are none."""
    if visit.picked.is_budget_spent:
        visit.rest.prolong(visit.now() + BUDGET_REST_S, Rest(RestReason.PAGE_BUDGET, BUDGET_SPENT))
        return VisitEnding.RESTS
    return settle.go_on(visit) or (None if visit.picked.due else refill(visit))


def _is_full(visit: Visit, *, is_early: bool) -> bool:
    """Whether to settle now: at 50 URLs, at 2 s by the next request, or at many links; in isolation after every URL.

    A visit that would be parked is settled at fewer links.
    """
    settings, batch = visit.worker.settings, visit.batch
    links_most = PARKED_LINKS if is_early else SETTLE_LINKS
    if visit.start.is_promised and not batch.fetches and not batch.results:
        return visit.now() - batch.started >= LOOKED_AFTER_S
    return (
        batch.urls >= settings.settle_urls
        or max(visit.now(), visit.turn.ready_at) - batch.started >= settings.settle_s
        or batch.links_expected >= links_most
        or (visit.pace.isolate > 0 and bool(batch.results))
        or batch.address.answered is not None  # other hosts wait for the news that their address answers again
    )


def _is_early(visit: Visit) -> bool:
    """Whether the host's turn is further away than the visit waits for it in its thread."""
    return visit.turn.ready_at - visit.now() > slots.patience_s(visit.worker.settings, visit.turn, visit.start)


def _longest_s(settings: Settings, start: SharedStart) -> float:
    """Seconds that the visit may last: more where it shares a budget, so that it may get several starts."""
    return settings.visit_longest_s if start.is_crowded or start.is_promised else settings.visit_max_s


def _is_slow(host: HostPace) -> bool:
    """Whether the host did not serve its last visit, or takes seconds to answer."""
    is_silent = host.history.statuses[-1:] == (pace.NO_ANSWER,)
    return host.failures > 0 or is_silent or (host.history.latency_s or 0.0) > SLOW_S
