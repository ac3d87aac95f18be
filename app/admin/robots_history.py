"""Judges each request of the log by the robots.txt of its moment, from the history of copies (promises P10, R2 and R3).

Today's settings apply: the product token, and the phases of a file out of reach. Requests before the first
robots.txt of their origin are a separate violation (`v_politeness_audit` counts them). Those after it that are older
than the history are not judged: the rules of that time are unknown. Where the log was cut (`app.beat.rotate_logs`), the
history also shows for which origins robots.txt had been asked for before.
"""

from bisect import bisect_right
from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import groupby
from math import ceil
from typing import NamedTuple

from sqlalchemy import Connection

from app.config import Settings
from app.crawl.state.robots_book import RobotsBook
from app.model import RequestKind
from app.policy import backoff
from app.policy.robots import FRESH_AT_LEAST_S, Robots, Verdict, Work, in_force_rules
from app.policy.robots_match import SETTLE_STEPS
from app.store import fetches, robots
from app.store.fetches import Asked
from app.store.robots import Copy

AT_ONCE = 10_000  # rows read from the server
_EXACT = timedelta(milliseconds=1)  # docs/politeness.md, "Proof"
_LONGEST = timedelta(minutes=10)  # that a request can last
_HOUR_S = 3_600.0
_LEAST_STEP_S = 0.01
_STEPS = 100 * SETTLE_STEPS  # of judging the requests to one host: a minute, which ordinary files never take
_PORTS = {"http": 80, "https": 443}
_OF_HOST = frozenset({RequestKind.ROBOTS, RequestKind.TDMREP})


@dataclass(slots=True, kw_only=True)
class Judged:
    """Counts of requests to a host.

    of_host   those for robots.txt and tdmrep.json, which serve every crawl and count as no crawl's
    repeated  too many for robots.txt in an hour
    unjudged  no copy of their time is kept, or it is too costly to judge them by
    """

    of_host: int = 0
    disallowed: int = 0
    repeated: int = 0
    unjudged: int = 0


class _Place(NamedTuple):
    """An origin within its host."""

    scheme: str
    port: int


@dataclass(slots=True)
class _Timeline:
    """The rules of an origin's robots.txt over time, in order of the moment since which each held."""

    since: list[datetime] = field(default_factory=list)
    rules: list[Robots] = field(default_factory=list)

    def at(self, moment: datetime) -> Robots | None:
        index = bisect_right(self.since, moment + _EXACT)
        return self.rules[index - 1] if index else None


def judge(tx: Connection, settings: Settings, host_ids: Sequence[int] | None) -> dict[int, Judged]:
    """Judge the requests to these hosts, or to all: {host id: counts}.

    Reads the log host by host: memory is constant.
    """
    book = RobotsBook(settings.product_token)
    begins = fetches.begins(tx)
    rows = fetches.asked(tx, host_ids, at_once=AT_ONCE)
    most = hourly(settings)
    return {
        host_id: _judge(asked, _timelines(settings, book, robots.copies(tx, host_id)), begins, most=most)
        for host_id, asked in groupby(rows, lambda row: row.host_id)
    }


def hourly(settings: Settings) -> int:
    """The most requests for one robots.txt in an hour that its back-off, or its shortest freshness, allows."""
    at_s, rest_s, failures = 0.0, 0.0, 0
    while at_s < _HOUR_S and rest_s < settings.backoff_max_s:
        failures += 1
        rest_s = backoff.host_rest_s(failures, base_s=settings.backoff_base_s, max_s=settings.backoff_max_s)
        at_s += rest_s + _LEAST_STEP_S
    if at_s < _HOUR_S:  # each rest to come is the longest
        failures += ceil((_HOUR_S - at_s) / (rest_s + _LEAST_STEP_S))
    return max(failures, round(_HOUR_S / FRESH_AT_LEAST_S)) + 1


def _judge(
    asked: Iterable[Asked], timelines: Mapping[_Place, _Timeline], begins: datetime | None, *, most: int
) -> Judged:
    """Judge the requests to one host.

    asked: those for robots.txt first.   begins: of the log.   most: requests for one robots.txt in an hour
    """
    found, work = Judged(), Work(_STEPS)
    latest: dict[_Place, deque[datetime]] = defaultdict(lambda: deque(maxlen=most))
    asked_first: dict[_Place, datetime] = {}
    for place, timeline in timelines.items():
        if begins is not None and timeline.since[0] < begins + _LONGEST:
            asked_first[place] = timeline.since[0]
    for row in asked:
        place, target = _split(row.url)
        found.of_host += row.kind in _OF_HOST
        if row.kind == RequestKind.ROBOTS:
            if target == "/robots.txt":
                asked_first[place] = min(row.ended_at, asked_first.get(place, row.ended_at))
                before = latest[place]
                found.repeated += len(before) == most and row.started_at - before[0] < timedelta(seconds=_HOUR_S)
                before.append(row.started_at)
        elif place in asked_first and row.started_at >= asked_first[place]:
            rules = timelines[place].at(row.started_at) if place in timelines else None
            verdict = Verdict.TOO_COSTLY if rules is None else rules.verdict_of(target, work)
            found.unjudged += verdict is Verdict.TOO_COSTLY
            found.disallowed += verdict is Verdict.DISALLOWED
    return found


def _timelines(settings: Settings, book: RobotsBook, copies: Iterable[Copy]) -> Mapping[_Place, _Timeline]:
    """Build the timeline of each origin.   copies: in the order of the history"""
    places: dict[_Place, _Timeline] = defaultdict(_Timeline)
    for copy in copies:
        timeline = places[_Place(copy.scheme, copy.port)]
        while timeline.since and timeline.since[-1] >= copy.since:  # phases that this copy precedes
            timeline.since.pop()
            timeline.rules.pop()
        for moment in _phases(settings, copy):
            timeline.since.append(moment)
            timeline.rules.append(_rules(settings, book, copy, moment))
    return places


def _phases(settings: Settings, copy: Copy) -> list[datetime]:
    """The moments from `since` on at which the rules in force may change by themselves."""
    if copy.unreachable_since is None:
        return [copy.since]
    ends = (copy.unreachable_since + timedelta(seconds=s) for s in (settings.robots_disallow_s, settings.robots_copy_s))
    return [copy.since, *sorted(end for end in ends if end > copy.since)]


def _rules(settings: Settings, book: RobotsBook, copy: Copy, moment: datetime) -> Robots:
    """The rules in force at that moment."""
    return in_force_rules(copy.standing(moment), settings, lambda: book.parsed(copy.body or b""))[1]


def _split(url: str) -> tuple[_Place, str]:
    """Origin and target of a canonical URL."""
    scheme, _, authority, path = url.split("/", 3)
    _, colon, port = authority.rpartition(":")
    number = int(port) if colon and port.isdigit() else _PORTS[scheme[:-1]]
    return _Place(scheme[:-1], number), f"/{path}"
