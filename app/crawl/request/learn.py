"""Learns from a request: its host's delay adapts, its breaker closes, it rests."""

from app.crawl.state.batch import Batch
from app.crawl.state.lease import Lease
from app.crawl.state.slot import Slot
from app.crawl.state.turn import Turn
from app.crawl.state.visit import Visit
from app.crawl.state.worker import Worker
from app.model import Failure, Header, Outcome, Reply, Rest, RestReason
from app.policy import backoff, header_fields, pace
from app.policy.pace import NO_ANSWER

_REFUSALS = frozenset({Failure.REFUSED, Failure.CONNECT_TIMEOUT})  # of a connection


def learn(visit: Visit, slot: Slot, reply: Reply, outcome: Outcome, *, closes: bool) -> None:
    """Adapt to a reply. A name whose connection is reset rests; an address that refuses connections rests as a whole,
    and so does one that resets those of two names.

    closes: this result may be the one that closes the host.
    """
    if outcome is Outcome.BLOCKED_ADDRESS or _is_stale_connection(reply):
        return
    _adapt(
        visit, reply.status if reply.status and reply.is_told else NO_ANSWER, _latency_ms(reply, slot), closes=closes
    )
    failure = reply.failure
    resets = failure is Failure.RESET and reply.status is None
    if resets and closes:
        settings, times = visit.worker.settings, max(pace.silent_in_a_row(visit.pace.history), 1)
        rest_s = backoff.host_rest_s(times, base_s=settings.backoff_base_s, max_s=settings.backoff_max_s)
        block(visit, rest_s, Rest(RestReason.RESET))
    tell_address(visit.batch, slot, reply, resets=resets)
    if slot.address_budget is not None and failure in _REFUSALS:
        visit.rest.is_blocked = True


def tell_address(batch: Batch, slot: Slot, reply: Reply, *, resets: bool = False) -> None:
    """Tell the budget of the address that was asked that it refuses connections, or answers again.

    resets: the connection was reset before an answer, which may concern the visited host alone
    """
    budget, failure = slot.address_budget, reply.failure
    if budget is None:
        return
    if failure is not None and (resets or failure in _REFUSALS):
        batch.address.refused = (budget, failure)
    elif slot.probes:
        batch.address.answered = budget


def soft_blocked(worker: Worker, turn: Turn, robots_delay_s: float | None) -> None:
    """Cut the rate after a soft block (promise P7)."""
    turn.pace.history = pace.soft_blocked(turn.pace.history, worker.rules.pace)
    turn.adapt(worker, robots_delay_s)


def trouble(visit: Visit, reply: Reply, reason: RestReason) -> float | None:
    """The host rests, longer with each trouble in a row, or as long as it asks for. Returns what it asks for."""
    settings = visit.worker.settings
    visit.pace.fail()
    asked_s = retry_after_s(visit.worker, visit.lease, reply)
    rest_s = backoff.host_rest_s(visit.pace.failures, base_s=settings.backoff_base_s, max_s=settings.backoff_max_s)
    block(visit, max(asked_s or 0.0, rest_s), Rest(reason, reply.detail or None))
    return asked_s


def block(visit: Visit, seconds: float, why: Rest) -> None:
    """Let the host rest because of the last answer: counted from its end, and noted in its row of the log."""
    end = visit.now() if visit.turn.last_end is None else visit.turn.last_end
    visit.rest.prolong(end + seconds, why)
    visit.rest.is_blocked = True
    row = visit.turn.logged
    if row is not None:
        row["rest_s"] = max(row["rest_s"] or 0.0, seconds)


def retry_after_s(worker: Worker, lease: Lease, reply: Reply) -> float | None:
    """Seconds that Retry-After asks for, from the reply's end, by the database's clock, bounded; None without one."""
    value = reply.header(Header.RETRY_AFTER)
    if value is None:
        return None
    return header_fields.retry_after(
        value,
        now=lease.database_time(reply.ended_s),
        cap_s=worker.settings.retry_after_max_s,
        date=reply.header(Header.DATE),
    )


def _adapt(visit: Visit, status: int, ms: int | None, *, closes: bool) -> None:
    """Adapt the host's level and delay to a result; too many failures in a row close it (promises P4 and P6)."""
    worker, host = visit.worker, visit.pace
    host.history = pace.after(host.history, worker.rules.pace, status=status, ms=ms)
    is_probing = visit.turn.is_probing(worker)
    if closes or not is_probing:
        host.trips = backoff.trips_after(host.trips, host.history.statuses, worker.rules.breaker)
    visit.turn.adapt(worker, visit.origins.crawl_delay_s())
    if closes and is_probing:
        block(visit, backoff.rest_s(host.trips, worker.rules.breaker), Rest(RestReason.BREAKER))


def _is_stale_connection(reply: Reply) -> bool:
    """A kept-alive connection that was closed under the request: not the host's failure. The URL's next try goes over a
    fresh one, so that it is not the URL's either, unless it is."""
    return reply.failure is Failure.RESET and reply.connect_ms is None


def _latency_ms(reply: Reply, slot: Slot) -> int | None:
    """From asking to the first byte, without finding the address; None when none came.

    A slot's address was found before that.
    """
    if reply.first_byte_ms is None or reply.status is None:
        return None
    found_ms = 0.0 if slot.drawn else reply.dns_ms or 0.0
    return max(round(reply.first_byte_ms - found_ms), 0)
