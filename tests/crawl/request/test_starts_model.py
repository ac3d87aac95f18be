"""Starts of a fleet in any order of asking, drawing, using late, crashing, resting and leaving, against a model: no two
of one budget are nearer than its gap.

The rows are Postgres' own, and so are the answers. Time passes when the model says so: all rows move into the past.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import pairwise

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from sqlalchemy import Engine

from app.clock import monotonic
from app.crawl.request import slots
from app.crawl.request.line_gate import GATE_S, HELD_UP_SHARE, LineGate
from app.crawl.request.slots import HOLD_S, others_from, spaced_at
from app.crawl.state.line import StartLot
from app.crawl.state.slot import Slot
from app.crawl.state.worker import Worker
from app.runtime.clock_tie import ClockTie
from app.store import budgets, db
from app.store.budgets import Budget, BudgetKind, StartTerms
from tests.examples import examples
from tests.store.rows import sql

ADDRESS = Budget(BudgetKind.ADDRESS, "192.0.2.1", 0.5)
OTHER = Budget(BudgetKind.ADDRESS, "192.0.2.2", 2.0)
FRONT = Budget(BudgetKind.NETWORK, "198.51.100.0/24", 0.02)
DOMAIN = Budget(BudgetKind.DOMAIN, "example.org", 1.0)
WANTED = ((ADDRESS,), (ADDRESS,), (ADDRESS, DOMAIN), (OTHER, DOMAIN), (OTHER,), (FRONT,), (FRONT,))
PROCESSES = 3
ROUNDING_S = 0.001
NEVER = float("-inf")

ACTS = st.one_of(
    st.tuples(st.just("ask"), st.integers(0, len(WANTED) - 1), st.floats(0, 1), st.integers(0, PROCESSES - 1)),
    st.tuples(st.just("pass"), st.just(0), st.floats(0, 1), st.integers(0, 3)),
    st.tuples(st.just("leave"), st.integers(0, len(WANTED) - 1), st.floats(0, 1), st.just(0)),
    st.tuples(st.just("crash"), st.integers(0, len(WANTED) - 1), st.floats(0, 1), st.just(0)),
    st.tuples(st.just("refused"), st.integers(0, len(WANTED) - 1), st.floats(0, 1), st.just(0)),
)
PASSES_S = (0.1, 1.0, 5.0, 30.0)  # at most so long, by the act's last number

# what a violation would need most, in the fewest acts
SHARED = [("ask", 0, 0.9, 0), ("ask", 1, 0.9, 1)]
HELD = [
    ("ask", 0, 0.2, 0),
    ("ask", 0, 0.2, 0),
    ("pass", 0, 0.6, 2),
    *SHARED[1:],
    ("pass", 0, 0.2, 2),
    ("leave", 0, 0, 0),
]
RETURNED = [("ask", 4, 0.2, 0), ("ask", 4, 0.2, 0), ("pass", 0, 0.12, 2), ("leave", 4, 0, 0), ("ask", 3, 0.2, 1)]
RETURNED += [("pass", 0, 0.12, 2), ("ask", 3, 0.2, 1), ("pass", 0, 0.04, 2), ("ask", 3, 0.2, 1)]
FRONTS = [("ask", 5, 0.9, 0), ("ask", 6, 0.8, 1), ("ask", 5, 0.2, 2)]
PROBED = [*SHARED * 2, ("pass", 0, 0.5, 2), ("ask", 0, 0.5, 0), ("refused", 0, 0, 0), ("pass", 0, 0.5, 2)]
PROBED += [("ask", 0, 0.5, 0), ("ask", 1, 0.5, 1)]


@dataclass
class Host:
    """What its visit knows.   held: since when it holds its budgets, and how;   probed: its start was a probe's"""

    number: int
    ready_at: float = NEVER
    has_ticket: bool = False
    held: Slot | None = None
    probed: bool = False

    @property
    def wanted(self) -> tuple[Budget, ...]:
        return WANTED[self.number]

    @property
    def id(self) -> int:
        return self.number + 1


@dataclass
class Fleet:
    """The model: hosts, what each process's lines sent last, and every start by its budget."""

    worker: Worker
    engine: Engine
    passed_s: float = 0.0
    hosts: list[Host] = field(default_factory=lambda: [Host(number) for number in range(len(WANTED))])
    lines: dict[tuple[int, tuple[Budget, ...]], float] = field(default_factory=dict)
    starts: dict[Budget, list[float]] = field(default_factory=dict)

    def now(self) -> float:
        return monotonic() + self.passed_s

    def act(self, what: str, number: int, share: float, other: int) -> None:
        host = self.hosts[number]
        if what == "pass":
            self.pass_by(share * PASSES_S[other])
        elif what == "ask" and host.held is None:
            self.pass_by(max(host.ready_at - self.now() - 0.4, 0.0))
            self.ask(host, share, other)
        elif what == "refused" and host.ready_at > NEVER:
            self.leave(host, share)
            with db.transaction(self.engine) as tx:
                budgets.refused(tx, host.wanted[0], because="refused", base_s=2.0, max_s=8.0)
        elif what in {"leave", "crash"} and host.held is not None:
            self.leave(host, share, crashes=what == "crash")

    def pass_by(self, seconds: float) -> None:
        moved = ", ".join(
            f"{column} = {column} - make_interval(secs => :s)"
            for column in ("next_at", "queue_at", "blocked_until", "shared_until")
        )
        sql(self.engine, f"UPDATE budgets SET {moved}", s=seconds)
        self.passed_s += seconds

    def ask(self, host: Host, share: float, process: int) -> None:
        """Ask as a visit does, and use what is granted: late by a share of what it allows."""
        worker = self.process()
        terms = StartTerms(
            host.id, host.ready_at - self.now(), horizon_s=0.5, has_ticket=host.has_ticket, hold_s=HOLD_S, alone=True
        )
        with db.transaction(self.engine, by_statement=True) as tx:
            asked = slots.ask(worker, tx, host.wanted[0].name, host.wanted, terms)
        host.has_ticket = not asked.answer.granted
        if asked.answer.is_near:
            self.pass_by(max(host.ready_at - self.now(), 0.0))  # the gate opens no sooner
            self.draw(host, worker, share, process)
        elif asked.answer.granted:
            slot = asked.slot(host.wanted, None)
            if slot.held_until is not None:
                host.held = slot
            elif share > 0.1:  # else it crashes, and its start is lost
                assert slot.not_after is not None
                at = slot.ready_at + share * (slot.not_after - slot.ready_at)
                self.start(host, at, probes=slot.probes)
                host.ready_at = spaced_at(slot, at)

    def draw(self, host: Host, worker: Worker, share: float, process: int) -> None:
        """Draw for those who stand in line: some of the starts are used, each late and held up by a share."""
        line = worker.starts.lines.of(host.wanted, max(each.gap_s for each in host.wanted))
        gate = LineGate(
            worker=worker,
            line=line,
            wanted=host.wanted,
            host_id=host.id,
            ready_at=self.now(),
            until=self.now() + GATE_S,
        )
        lot = gate.draw(1 + int(share * 20), GATE_S, int(share < 0.3))
        if not isinstance(lot, StartLot):
            return
        gap_s = max(each.gap_s for each in host.wanted)
        slack_s = min(each.slack_s for each in host.wanted)
        at = max(lot.begins, self.lines.get((process, host.wanted), NEVER) + gap_s)
        while lot.take(1, at):
            sent = at + share * (slack_s if lot.left else lot.ends - at + slack_s * HELD_UP_SHARE)
            if sent > lot.ends + slack_s * HELD_UP_SHARE:
                break
            self.start(host, sent, probes=lot.probes)
            self.lines[process, host.wanted] = host.ready_at = sent
            at = sent + gap_s
        host.has_ticket = False

    def leave(self, host: Host, share: float, *, crashes: bool = False) -> None:
        """Use the starts of a hold up to now. Who leaves returns it; who crashed does not."""
        held, host.held = host.held, None
        if held is None:
            return
        assert held.not_after is not None
        at, last_end = max(held.ready_at, host.ready_at) + share, self.now()
        while at <= min(self.now(), held.not_after):
            self.start(host, at, probes=held.probes)
            host.ready_at, last_end = spaced_at(held, at), at
            at = host.ready_at + share
        if not crashes:
            with db.transaction(self.engine) as tx:
                budgets.return_held(tx, [(host.id, held.drawn, others_from(held, last_end) - self.now())])

    def start(self, host: Host, at: float, *, probes: bool) -> None:
        for each in host.wanted:
            self.starts.setdefault(each, []).append(at)
        if probes:  # and it is answered
            self.pass_by(max(at - self.now(), 0.0))
            with db.transaction(self.engine) as tx:
                budgets.answered(tx, host.wanted[0])

    def process(self) -> Worker:
        """Its clock is tied to the database's by this exchange alone: time passes by leaps."""
        return replace(
            self.worker, monotonic=self.now, starts=replace(self.worker.starts, clock_tie=ClockTie(self.now, self.now))
        )

    def shortest(self) -> dict[Budget, float]:
        """By budget, the least time between two starts."""
        found = {each: sorted(starts) for each, starts in self.starts.items()}
        return {
            each: min((later - sooner for sooner, later in pairwise(at)), default=each.gap_s)
            for each, at in found.items()
        }


def test_no_two_starts_of_a_budget_are_nearer_than_its_gap(make: Callable[..., Worker], engine: Engine) -> None:
    worker, most = make(address_gap_s=ADDRESS.gap_s), 0

    @settings(
        max_examples=examples(60),
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        print_blob=True,
    )
    @given(acts=st.lists(ACTS, min_size=10, max_size=40))
    @example(acts=SHARED * 4)
    @example(acts=HELD)
    @example(acts=RETURNED)
    @example(acts=FRONTS * 4)
    @example(acts=PROBED)
    def hold(acts: list[tuple[str, int, float, int]]) -> None:
        nonlocal most
        sql(engine, "DELETE FROM budgets")
        fleet = Fleet(worker, engine)
        for act in acts:
            fleet.act(*act)
        for host in fleet.hosts:
            fleet.pass_by(1.0)
            fleet.leave(host, 0.5)
        short = {each.name: least for each, least in fleet.shortest().items() if least < each.gap_s - ROUNDING_S}
        assert short == {}
        most = max(most, *(len(each) for each in fleet.starts.values()), 0)

    hold()
    assert most >= 10, "starts were used"
