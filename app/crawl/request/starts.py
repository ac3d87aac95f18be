"""Gets a start on the shared budgets of an address: finds the address, asks its budgets, and makes a slot of it."""

from dataclasses import dataclass

from sqlalchemy import Connection

from app.crawl.request.line_gate import LEAD_S, trusted
from app.crawl.state.line import Line
from app.crawl.state.slot import Slot
from app.crawl.state.worker import Worker
from app.model import Url
from app.store import budgets
from app.store.budgets import Budget, BudgetAnswer, StartTerms

LONE_MARGIN_S = 0.1
NAME_S = 5.0  # that a name is waited for


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The addresses of a URL's host to choose from, and what finding them took."""

    choices: tuple[str, ...]
    dns_ms: float | None

    def wanted(self, worker: Worker, domain: str | None) -> list[tuple[str, tuple[Budget, ...]]]:
        """Each address with the budgets that a request to it draws on."""
        return [(address, worker.shared.of(address, domain)) for address in self.choices]


def where(worker: Worker, url: Url, prefer: str | None) -> Found:
    """Find the addresses of a URL's host.   prefer: the one of before, which comes first if it is still among them.

    Nearly always they are remembered: then the thread keeps its seat.
    """
    if worker.where is None:
        return Found(choices=(), dns_ms=None)
    found = worker.where(url.text, prefer, 0.0)
    if not found.addresses:
        with worker.seats.left():
            found = worker.where(url.text, prefer, NAME_S)
    return Found(choices=found.addresses, dns_ms=found.dns_ms)


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedAnswer:
    """An answer, and the monotonic seconds that its `now` lies between. hold_s: as in StartTerms."""

    answer: BudgetAnswer
    earliest: float
    latest: float
    hold_s: float


def ask(worker: Worker, tx: Connection, wanted: tuple[Budget, ...], terms: StartTerms) -> TimedAnswer:
    """The last statement of a transaction, as `budgets.reserve`.

    An answer that took long is timed by the quickest exchanges of the last seconds: else its start would count as not
    late, and the next, whose answer comes at once, would be too close to it.
    """
    ready_in_s, horizon_s = max(terms.ready_in_s, LEAD_S), max(terms.horizon_s, 2 * LEAD_S)
    sent = worker.monotonic()
    answer = budgets.reserve(tx, wanted, terms._replace(ready_in_s=ready_in_s, horizon_s=horizon_s))
    earliest, latest = worker.clock_tie.moments(answer.now, sent=sent + answer.took_s, received=worker.monotonic())
    return TimedAnswer(answer=trusted(worker, answer), earliest=earliest, latest=latest, hold_s=terms.hold_s)


def granted_slot(address: str, wanted: tuple[Budget, ...], asked: TimedAnswer, dns_ms: float | None) -> Slot:
    """A start not before the later bound of the database's moment, and not after the earlier one."""
    answer = asked.answer
    late_s = budgets.LONE_S - LONE_MARGIN_S
    last_s = max(answer.wait_s, asked.hold_s) if answer.held else answer.wait_s
    return Slot(
        address=address,
        drawn=wanted,
        ready_at=asked.latest + answer.wait_s,
        not_after=asked.earliest + last_s + late_s,
        probes=answer.failures > 0,
        dns_ms=dns_ms,
        held_until=asked.earliest + asked.hold_s if answer.held else None,
    )


def line_for(worker: Worker, wanted: tuple[Budget, ...]) -> Line:
    """The line of this process for a start on these budgets."""
    gap_s = max(each.gap_s for each in wanted)
    return worker.lines.of(wanted, gap_s)
