"""THE transition tables of a visit and of its batch, which are two automata: a batch may be settled while its visit is
parked.

What is in no table cannot happen: moving by it raises KeyError, which is a bug. A crash leaves both where they were,
and the lease runs out. `python -m app.policy.lifecycle_visit` prints the diagrams of docs/mechanisms.md.
"""

from enum import StrEnum

from app.policy.lifecycle import diagram


class VisitState(StrEnum):
    TAKEN = "taken"  # its offer was taken up
    WORKING = "working"  # a thread serves it
    PARKED = "parked"  # it waits, without a thread, for its turn or for a settle with others
    CUT_OFF = "cut off"  # Postgres went away under it
    LEFT = "left"  # the host was given back
    FENCED = "fenced"  # its lease was lost
    LOST = "lost"  # nobody knows what became of its last settle: its lease runs out


class VisitEvent(StrEnum):
    SERVED = "served"  # a thread has it
    PARKED = "parked"
    CUT_OFF = "cut off"
    LEFT = "left"  # a settle that gave the host back was committed
    FENCED = "fenced"
    LOST = "lost"


class BatchState(StrEnum):
    OPEN = "open"  # results are put into it
    GATHERED = "gathered"  # it waits to be settled with others
    SENT = "sent"  # its commit was sent
    IN_DOUBT = "in doubt"  # and not answered
    REFUSED = "refused"  # Postgres undid its transaction: it is mended, or tried again
    SETTLED = "settled"
    LOST = "lost"  # its requests alone are logged, if at all


class BatchEvent(StrEnum):
    GATHERED = "gathered"
    NO_ROOM = "no room"  # in a group
    SENT = "sent"
    COMMITTED = "committed"
    REFUSED = "refused"
    UNANSWERED = "unanswered"
    ROLLED_BACK = "rolled back"
    FENCED = "fenced"
    FORGOTTEN = "forgotten"  # Postgres does not know what became of its commit, after a failover say


V, E = VisitState, VisitEvent
VISIT_TRANSITIONS: dict[tuple[VisitState, VisitEvent], VisitState] = {
    (V.TAKEN, E.SERVED): V.WORKING,
    (V.PARKED, E.SERVED): V.WORKING,
    (V.WORKING, E.PARKED): V.PARKED,
    (V.WORKING, E.LEFT): V.LEFT,
    (V.PARKED, E.LEFT): V.LEFT,  # settled with others
    (V.CUT_OFF, E.LEFT): V.LEFT,
    (V.WORKING, E.FENCED): V.FENCED,
    (V.CUT_OFF, E.FENCED): V.FENCED,
    (V.WORKING, E.CUT_OFF): V.CUT_OFF,
    (V.PARKED, E.CUT_OFF): V.CUT_OFF,
    (V.LEFT, E.CUT_OFF): V.LEFT,  # between its commit and what is done after it: nothing of it is to be given back
    (V.CUT_OFF, E.LOST): V.LOST,
}

B, C = BatchState, BatchEvent
BATCH_TRANSITIONS: dict[tuple[BatchState, BatchEvent], BatchState] = {
    (B.OPEN, C.GATHERED): B.GATHERED,
    (B.GATHERED, C.NO_ROOM): B.OPEN,
    (B.OPEN, C.SENT): B.SENT,
    (B.GATHERED, C.SENT): B.SENT,
    (B.REFUSED, C.SENT): B.SENT,
    (B.SENT, C.COMMITTED): B.SETTLED,
    (B.OPEN, C.REFUSED): B.REFUSED,
    (B.GATHERED, C.REFUSED): B.REFUSED,
    (B.REFUSED, C.REFUSED): B.REFUSED,
    (B.SENT, C.REFUSED): B.REFUSED,
    (B.SENT, C.UNANSWERED): B.IN_DOUBT,
    (B.IN_DOUBT, C.COMMITTED): B.SETTLED,
    (B.IN_DOUBT, C.ROLLED_BACK): B.OPEN,
    (B.IN_DOUBT, C.FORGOTTEN): B.LOST,
    (B.OPEN, C.FENCED): B.LOST,
    (B.GATHERED, C.FENCED): B.LOST,
    (B.REFUSED, C.FENCED): B.LOST,
}


def visit_after(state: VisitState, event: VisitEvent) -> VisitState:
    """The state an event leads to. Raises KeyError for a pair that cannot happen: a bug."""
    return VISIT_TRANSITIONS[state, event]


def batch_after(state: BatchState, event: BatchEvent) -> BatchState:
    """The next state of a batch."""
    return BATCH_TRANSITIONS[state, event]


if __name__ == "__main__":
    print(diagram(VISIT_TRANSITIONS), diagram(BATCH_TRANSITIONS), sep="\n\n")
