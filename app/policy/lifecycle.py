"""THE transition tables: every event of a URL, a host, a visit and its batch, and the state it leads to.

A pair that is not in a table cannot happen: the SQL that moves a row names the state it expects, and does nothing where
it finds another. `python -m app.policy.lifecycle` prints the diagrams of docs/mechanisms.md.

A visit and its batch are two automata: a batch may be settled while its visit is parked. Moving by what is in no table
raises KeyError, which is a bug. A crash leaves both where they were, and the lease runs out.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import TypeVar

_State = TypeVar("_State", bound=StrEnum | None)
_Event = TypeVar("_Event", bound=StrEnum)


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


W, F = VisitState, VisitEvent
VISIT_TRANSITIONS: dict[tuple[VisitState, VisitEvent], VisitState] = {
    (W.TAKEN, F.SERVED): W.WORKING,
    (W.PARKED, F.SERVED): W.WORKING,
    (W.WORKING, F.PARKED): W.PARKED,
    (W.WORKING, F.LEFT): W.LEFT,
    (W.PARKED, F.LEFT): W.LEFT,  # settled with others
    (W.CUT_OFF, F.LEFT): W.LEFT,
    (W.WORKING, F.FENCED): W.FENCED,
    (W.CUT_OFF, F.FENCED): W.FENCED,
    (W.WORKING, F.CUT_OFF): W.CUT_OFF,
    (W.PARKED, F.CUT_OFF): W.CUT_OFF,
    (W.LEFT, F.CUT_OFF): W.LEFT,  # between its commit and what is done after it: nothing of it is to be given back
    (W.CUT_OFF, F.LOST): W.LOST,
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


class UrlState(StrEnum):
    QUEUED = "queued"  # due, may be fetched
    RESTING = "resting"  # settled; waits for its recrawl or (retrying) for a retry
    REFUSED = "refused"  # robots.txt forbids it; reopened when that changes
    GONE = "gone"
    QUARANTINED = "quarantined"  # failed too often; cause kept
    ALIAS = "alias"  # redirect, canonical or duplicate of another


def said_state(state: str, *, retrying: bool, is_fetched: bool) -> str:
    """The state of a URL in the words of a person: a page that was fetched is `done`, where its row says `resting`.

    A row that rests may also wait for a retry, or for room in the frontier. `states` of urls.sql says the same.
    """
    if state != UrlState.RESTING:
        return state
    return "retrying" if retrying else "done" if is_fetched else "deferred"


class UrlEvent(StrEnum):
    ADMITTED = "admitted"  # a seed, a link or a redirect led here first
    DISALLOWED = "disallowed"  # robots.txt refuses it, at admission or before the request
    TRAPPED = "trapped"  # its pattern brings nothing new, or its path gives a trap away
    FORCED = "forced"  # an operator, or now and then we, want it fetched although its pattern brings nothing
    SETTLED = "settled"  # an answer that holds until the next recrawl
    FAILED = "failed"  # its own failure, tries left
    EXHAUSTED = "exhausted"  # its own failure, no tries left
    REQUEUED = "requeued"  # the host's trouble: no attempt spent
    DEFERRED = "deferred"  # the frontier is full: it waits for the next cycle
    EVICTED = "evicted"  # the frontier is full; a link that is found later may admit it again
    MISSING = "missing"  # 404, for the first time
    VANISHED = "vanished"  # 410, or 404 again
    ALIASED = "aliased"  # redirected, or another URL is its canonical
    DUE = "due"  # its recrawl or retry time has come
    REOPENED = "reopened"  # robots.txt changed and allows it; or its pattern brings something again
    PARTED = "parted"  # the page that it repeated is gone
    RETRIED = "retried"  # an operator, or a new round


class HostState(StrEnum):
    IDLE = "idle"
    OFFERED = "offered"  # claimed; its message is on the way
    TAKEN = "taken"  # one visit, exclusive
    PAUSED = "paused"


class HostEvent(StrEnum):
    CLAIMED = "claimed"  # due, or its lease ran out
    TAKEN_UP = "taken up"
    BORROWED = "borrowed"  # for one request: a robots.txt redirect led here
    LEFT = "left"
    PAUSED = "paused"  # by an operator; under a visit, when it leaves
    RESUMED = "resumed"


U, E = UrlState, UrlEvent
# None: not in the frontier.
URL_TRANSITIONS: dict[tuple[UrlState | None, UrlEvent], UrlState | None] = {
    (None, E.ADMITTED): U.QUEUED,
    (None, E.DISALLOWED): U.REFUSED,
    (None, E.TRAPPED): U.REFUSED,
    (None, E.FORCED): U.QUEUED,
    (None, E.DEFERRED): U.RESTING,
    (U.QUEUED, E.DISALLOWED): U.REFUSED,
    (U.QUEUED, E.TRAPPED): U.REFUSED,
    (U.QUEUED, E.SETTLED): U.RESTING,
    (U.QUEUED, E.FAILED): U.RESTING,
    (U.QUEUED, E.EXHAUSTED): U.QUARANTINED,
    (U.QUEUED, E.REQUEUED): U.QUEUED,
    (U.QUEUED, E.DEFERRED): U.RESTING,
    (U.QUEUED, E.EVICTED): None,
    (U.QUEUED, E.MISSING): U.RESTING,
    (U.QUEUED, E.VANISHED): U.GONE,
    (U.QUEUED, E.ALIASED): U.ALIAS,
    (U.RESTING, E.DUE): U.QUEUED,
    (U.GONE, E.DUE): U.QUEUED,
    (U.ALIAS, E.DUE): U.QUEUED,
    (U.REFUSED, E.REOPENED): U.QUEUED,
    (U.RESTING, E.RETRIED): U.QUEUED,
    (U.GONE, E.RETRIED): U.QUEUED,
    (U.REFUSED, E.RETRIED): U.QUEUED,
    (U.QUARANTINED, E.RETRIED): U.QUEUED,
    (U.ALIAS, E.RETRIED): U.QUEUED,
    (U.ALIAS, E.PARTED): U.QUEUED,
}

H, V = HostState, HostEvent
HOST_TRANSITIONS: dict[tuple[HostState, HostEvent], HostState] = {
    (H.IDLE, V.CLAIMED): H.OFFERED,
    (H.OFFERED, V.CLAIMED): H.OFFERED,
    (H.TAKEN, V.CLAIMED): H.OFFERED,
    (H.OFFERED, V.TAKEN_UP): H.TAKEN,
    (H.IDLE, V.BORROWED): H.TAKEN,
    (H.OFFERED, V.BORROWED): H.TAKEN,
    (H.TAKEN, V.BORROWED): H.TAKEN,
    (H.TAKEN, V.LEFT): H.IDLE,
    (H.IDLE, V.PAUSED): H.PAUSED,
    (H.OFFERED, V.PAUSED): H.PAUSED,
    (H.TAKEN, V.PAUSED): H.PAUSED,
    (H.PAUSED, V.RESUMED): H.IDLE,
}


def url_after(state: UrlState | None, event: UrlEvent) -> UrlState:
    """The state that an event leads to.

    Raises KeyError for a pair that cannot happen or leads out of the frontier: a bug.
    """
    after = URL_TRANSITIONS[state, event]
    if after is None:
        raise KeyError(state, event)
    return after


def diagram(transitions: Mapping[tuple[_State, _Event], _State]) -> str:
    """A table as a Mermaid state diagram. An id there has no blank."""
    lines = [f"    {_id(state)} --> {_id(target)}: {event}" for (state, event), target in transitions.items()]
    return "\n".join(["stateDiagram-v2", *lines])


def _id(state: StrEnum | None) -> str:
    return state.replace(" ", "_") if state else "[*]"


if __name__ == "__main__":
    print(diagram(URL_TRANSITIONS), diagram(HOST_TRANSITIONS), sep="\n\n", end="\n\n")
    print(diagram(VISIT_TRANSITIONS), diagram(BATCH_TRANSITIONS), sep="\n\n")
