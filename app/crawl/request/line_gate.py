"""The gate of a request that shares its budgets: opened when its start has come, right before it is sent.

    connected ▶ the host is ready ▶ a start of the fleet's ▶ first in line ▶ a lot is drawn ▶ the start ▶ send

The line itself is in `app.crawl.state.line`; here it meets the budgets: how many starts are drawn for those who stand
there, and until when each may be used.
"""

from dataclasses import dataclass, replace

from app.crawl.state.line import Line, Start, StartLot
from app.crawl.state.slot import Slot
from app.crawl.state.worker import Worker
from app.model import Rest, RestReason
from app.runtime.clock_tie import UNSURE_S
from app.store import budgets, db
from app.store.budgets import Budget, BudgetAnswer, StartTerms

LEAD_S = 0.02  # from asking to sending, when nothing else is waited for
LATE_SHARE = 0.4  # of the slack, for a start; the rest is for the road, and for a thread that is held up
HELD_UP_SHARE = 0.2  # and of that, for a thread between its start and sending
NEWCOMERS = 10  # for so many in line one more start is drawn: each is a little late, and others arrive meanwhile
GATE_S = 2.0  # the longest wait in line, with a connection
# A start is drawn no sooner: one that is missed is lost, and the next, where nobody has drawn it yet, comes the sooner.
DRAW_AHEAD_S = 0.3
CONNECT_AHEAD_S = 0.5  # a connection is begun no sooner before its host is ready
# The longest wait between connecting and sending: no part of the request's deadline.
AT_GATE_S = GATE_S + CONNECT_AHEAD_S
LATE = Rest(RestReason.LATE)
AT_CEILING = Rest(RestReason.ALL_BUDGET)
CLOSED = Rest(RestReason.LATE, "the server closed the connection while its start was waited for")


@dataclass(slots=True, kw_only=True)
class LineGate:
    """Opens when its host is ready and its start has come, in line with the others of this process.

    One for each request.

    until    monotonic second after which it does not wait any more
    start    that it opened for;   answer: why it did not, where a budget said so
    """

    worker: Worker
    line: Line
    wanted: tuple[Budget, ...]
    host_id: int
    ready_at: float
    until: float
    start: Start | None = None
    answer: BudgetAnswer | None = None
    opened: int = 0
    is_at_ceiling: bool = False

    @property
    def why(self) -> Rest:
        """Why the request was not sent."""
        if self.is_at_ceiling:
            return AT_CEILING
        if self.answer is not None:
            return self.answer.why
        return CLOSED if self.opened else LATE

    def open(self) -> bool:
        self.start = None
        wait_s = self.ready_at - self.worker.monotonic()
        if wait_s > 0 and self.worker.stopping.wait(wait_s):
            return False
        if not self._is_below_ceiling():
            return False
        found = self.line.wait(self.draw, self.until)
        if self.worker.stopping.is_set():
            return False
        if isinstance(found, Start):
            self.start, self.opened = found, self.opened + 1
            return True
        self.answer = found
        return False

    def _is_below_ceiling(self) -> bool:
        """Waits for a start of the fleet's, if it comes in time."""
        worker = self.worker
        if worker.starts.ceiling is None:
            return True
        left_s = max(self.until - worker.monotonic(), 0.0)
        start_s = worker.starts.ceiling.take(worker.engine, horizon_s=left_s)
        self.is_at_ceiling = start_s > left_s
        return not self.is_at_ceiling and not worker.stopping.wait(start_s)

    def is_late(self) -> bool:
        """Later than its start allows, by a share of what is left for the road."""
        return self.start is None or self.start.is_late(self.worker.monotonic(), self._slack_s * HELD_UP_SHARE)

    @property
    def _slack_s(self) -> float:
        return min(each.slack_s for each in self.wanted)

    def sent(self, at_s: float) -> None:
        self.line.sent(at_s)

    def draw(self, standing: int, left_s: float, lost: int) -> StartLot | BudgetAnswer:
        """Draw a lot for so many who stand in line."""
        worker = self.worker
        starts = starts_for(standing, self.wanted)
        sent = worker.monotonic()
        with db.transaction(worker.starts.draws or worker.engine, by_statement=True) as tx:
            terms = StartTerms(
                self.host_id,
                ready_in_s=LEAD_S,
                horizon_s=min(left_s, DRAW_AHEAD_S),
                near_s=left_s,
                starts=starts,
                lost=lost,
            )
            answer = budgets.reserve(tx, self.wanted, terms)
        received = worker.monotonic()
        earliest, latest = worker.starts.clock_tie.moments(answer.now, sent=sent + answer.took_s, received=received)
        answer = trusted(worker, answer)
        if not answer.granted:
            return answer
        size = 1 if answer.failures else starts
        lot_s = (size - 1) * max(each.gap_s for each in self.wanted)
        return StartLot(
            size=size,
            left=size,
            begins=latest + answer.wait_s,
            ends=earliest + answer.wait_s + lot_s + self._slack_s * LATE_SHARE,
            probes=answer.failures > 0,
        )


def trusted(worker: Worker, answer: BudgetAnswer) -> BudgetAnswer:
    """The answer, unless the database's clock was set a moment ago: then the start is lost, and is asked for later."""
    if not worker.starts.clock_tie.is_unsure():
        return answer
    return replace(answer, granted=False, is_near=False, wait_s=max(answer.wait_s, UNSURE_S))


def starts_for(standing: int, wanted: tuple[Budget, ...]) -> int:
    """How many starts are drawn at once for so many who stand in line."""
    return min(standing + standing // NEWCOMERS, *(each.lot_most for each in wanted))


def gate(worker: Worker, slot: Slot, *, host_id: int, ready_at: float) -> LineGate | None:
    """The gate at which the request waits, no sooner than its host is ready; None: it has its start."""
    if slot.line is None:
        return None
    return LineGate(
        worker=worker,
        line=slot.line,
        wanted=slot.drawn,
        host_id=host_id,
        ready_at=ready_at,
        until=max(worker.monotonic(), ready_at) + GATE_S,
    )


def passed(slot: Slot, gate: LineGate) -> Slot:
    """The slot with the start that the gate opened for."""
    return slot if gate.start is None else slot._replace(probes=gate.start.lot.probes)
