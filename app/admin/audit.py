"""The politeness audit (promise P10): counts violations in the fetch log, per host and per address. There must be none.

Counted per host are gaps shorter than the delay in force, requests while another ran, requests before robots.txt of
their origin, requests that the copy in force at the time refused, requests during a rest that an earlier answer had
set, and requests for one robots.txt more often in an hour than its back-off allows. Counted per address, or network of
a shared front, are starts closer to one another than its budget allows.

It also reports what the log cannot prove: visits that ended without a record, impossible lines (`disorder`: the
proof does not hold), and requests that robots.txt of their time cannot judge (`unjudged`). All of it is read in one
snapshot.

Each request is judged by the robots.txt of its moment, from the history of copies (promises R2 and R3). Today's
settings apply: the product token, and the phases of a file out of reach. Requests before the first robots.txt of their
origin are a separate violation (`v_politeness_audit` counts them). Those after it that are older than the history are
not judged: the rules of that time are unknown. Where the log was cut (`app.beat.rotate_logs`), the history also shows
for which origins robots.txt had been asked for before.
"""

import re
from bisect import bisect_right
from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import groupby
from math import ceil
from typing import Any, NamedTuple

import structlog
from sqlalchemy import Connection, Engine

from app.admin.crawls import find
from app.admin.hosts import known
from app.config import Settings
from app.crawl.state.robots_book import RobotsBook
from app.errors import is_ours, one_line
from app.model import RequestKind
from app.policy import backoff
from app.policy.robots import FRESH_AT_LEAST_S, Robots, RobotsVerdict, Work, in_force_rules
from app.policy.robots_match import SETTLE_STEPS
from app.store import db, fetches, robots, visits
from app.store.fetches import Asked
from app.store.robots import Copy
from app.words import counted

_log = structlog.get_logger()
AT_ONCE = 10_000  # rows read from the server
_EXACT = timedelta(milliseconds=1)  # docs/politeness.md, "Proof"
_LONGEST = timedelta(minutes=10)  # that a request can last
_HOUR_S = 3_600.0
_LEAST_STEP_S = 0.01
_STEPS = 100 * SETTLE_STEPS  # of judging the requests to one host: a minute, which ordinary files never take
_OF_HOST = frozenset({RequestKind.ROBOTS, RequestKind.TDMREP, RequestKind.LICENCE})


@dataclass(slots=True, kw_only=True)
class Judged:
    """Counts of requests to a host.

    of_host   those for robots.txt, tdmrep.json and licences, which serve every crawl and count as no crawl's
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
    """The rules of an origin's robots.txt over time, in order of the moment since which each held.

    rules: None: of a file that we cannot read, by a bug; requests under it stay unjudged
    """

    since: list[datetime] = field(default_factory=list)
    rules: list[Robots | None] = field(default_factory=list)

    def at(self, moment: datetime) -> Robots | None:
        index = bisect_right(self.since, moment + _EXACT)
        return self.rules[index - 1] if index else None


def judge(
    tx: Connection, settings: Settings, host_ids: Sequence[int] | None, *, book: RobotsBook | None = None
) -> dict[int, Judged]:
    """Judge the requests to these hosts, or to all: {host id: counts}.

    Reads the log host by host: memory is constant.
    """
    book = book or RobotsBook(settings.product_token)
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
            verdict = RobotsVerdict.TOO_COSTLY if rules is None else _verdict(rules, target, work)
            found.unjudged += verdict is RobotsVerdict.TOO_COSTLY
            found.disallowed += verdict is RobotsVerdict.DISALLOWED
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


def _rules(settings: Settings, book: RobotsBook, copy: Copy, moment: datetime) -> Robots | None:
    """The rules in force at that moment; None: reading them fails by a bug."""
    try:
        return in_force_rules(copy.standing(moment), settings, lambda: book.parsed(copy.body or b""))[1]
    except Exception as error:
        if is_ours(error):
            raise
        _log.warning("robots.crashed", origin=f"{copy.scheme}, port {copy.port}", error=one_line(repr(error)))
        return None


def _verdict(rules: Robots, target: str, work: Work) -> RobotsVerdict:
    """Judge a target; TOO_COSTLY also where that fails by a bug: nobody knows."""
    try:
        return rules.verdict_of(target, work)
    except Exception as error:
        if is_ours(error):
            raise
        _log.warning("robots.crashed", target=target, error=one_line(repr(error)))
        return RobotsVerdict.TOO_COSTLY


def _split(url: str) -> tuple[_Place, str]:
    """Origin and target of a canonical URL."""
    scheme, _, authority, path = url.split("/", 3)
    _, colon, port = authority.rpartition(":")
    number = int(port) if colon and port.isdigit() else (443 if scheme == "https:" else 80)
    return _Place(scheme[:-1], number), f"/{path}"


KINDS = {
    "gap_violations": "gaps too short",
    "concurrent": "requests at once",
    "before_robots": "requests before robots.txt",
    "disallowed": "disallowed requests",
    "during_block": "contacts during a rest",
    "robots_repeated": "requests for robots.txt too often",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class HostAudit:
    """A host in the log.

    fetches              requests to it, of every kind;   of_host: of these, for robots.txt, tdmrep.json and licences
    smallest_gap_s       from the end of a request to the start of the next; below 0: they overlapped; None: only one
    smallest_margin_s    the smallest gap less the delay in force then: how close it was to a violation
    gap_violations       requests too soon after the one before, which had ended
    concurrent           requests that started while another ran;   largest_concurrency: the most that ran at once
    before_robots        requests before robots.txt of their origin had been asked for
    disallowed           requests that the copy in force then refused;   unjudged: requests of a time without a copy
    during_block         requests during a rest that an earlier answer set, and that no operator ended
    unused_connections   connections made ahead of a start that was not used
    robots_repeated      requests for robots.txt of an origin beyond those allowed in an hour
    fenced               requests of visits that had lost their lease: logged, and counted like all others
    disorder             impossible lines, and visits that overlap
    """

    host: str
    fetches: int
    of_host: int
    smallest_gap_s: float | None
    smallest_delay_s: float
    smallest_margin_s: float | None
    gap_violations: int
    concurrent: int
    largest_concurrency: int
    before_robots: int
    disallowed: int
    during_block: int
    robots_repeated: int
    unjudged: int
    fenced: int
    disorder: int
    unused_connections: int

    @property
    def violations(self) -> int:
        return sum(getattr(self, kind) for kind in KINDS)


@dataclass(frozen=True, slots=True, kw_only=True)
class AddressAudit:
    """An address, or a network of a shared front, whose budget requests drew on. Gaps are between two starts.

    hosts                how many shared it
    smallest_allowed_s   the smallest gap that the budget allowed
    largest_concurrency  how many requests ran at once: not limited, for information
    """

    budget: str
    fetches: int
    hosts: int
    smallest_gap_s: float | None
    smallest_allowed_s: float
    smallest_margin_s: float | None
    gap_violations: int
    largest_concurrency: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Unaccounted:
    """Visits of a host that ended without a record: each may have made one batch of requests that no row shows.

    seconds   at most, in sum: from the last logged request of each to the host's next take-up
    """

    host: str
    visits: int
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """The result of an audit. crawl: None: the whole log, or a host.   hosts, addresses, unaccounted: worst first."""

    crawl: str | None
    fetches: int
    violations: int
    disorder: int
    hosts: list[HostAudit]
    addresses: list[AddressAudit]
    unaccounted: list[Unaccounted]

    @property
    def holds(self) -> bool:
        """Whether there is no violation, and the log is in order."""
        return self.violations == 0 and self.disorder == 0

    @property
    def verdict(self) -> str:
        """One sentence: what was found, what the log does not show, and where it is out of order."""
        of_host = self.total("of_host")
        what = (
            f"{counted(self.fetches - of_host, 'request')} for URLs, {of_host:,} for robots.txt or tdmrep.json, "
            f"{counted(len(self.hosts), 'host')}: "
        )
        counts = ", ".join(_agreeing(count, words) for words, count in self.found().items() if count)
        found = what + (
            f"{counted(self.violations, 'VIOLATION', 'VIOLATIONS')} ({counts})" if self.violations else "no violation"
        )
        return "; but ".join([found, "; ".join(self._open())]) if self._open() else found

    def found(self) -> dict[str, int]:
        """The number of violations of each kind, by its name for a person."""
        counts = {words: self.total(kind) for kind, words in KINDS.items()}
        return counts | {"starts too soon at an address": sum(each.gap_violations for each in self.addresses)}

    def total(self, column: str) -> int:
        """The sum of a column over all hosts."""
        return sum(getattr(host, column) for host in self.hosts)

    def _open(self) -> list[str]:
        """The points that the log does not prove."""
        questions = []
        if self.unaccounted:
            lost, seconds = (sum(getattr(each, name) for each in self.unaccounted) for name in ("visits", "seconds"))
            questions.append(
                f"{counted(lost, 'visit')} of {counted(len(self.unaccounted), 'host')} may have made up to one batch "
                f"of requests each that no row shows (in {seconds:,.0f} s at most)"
            )
        if unjudged := self.total("unjudged"):
            questions.append(
                f"{counted(unjudged, 'request is', 'requests are')} not judged: older than the history of"
                " robots.txt, or too costly to judge by it"
            )
        if self.disorder:
            questions.append(f"the log is out of order at {counted(self.disorder, 'line')} and PROVES NOTHING there")
        return questions


def _agreeing(count: int, words: str) -> str:
    """`1 gap too short`, `2 gaps too short`."""
    return counted(count, re.sub(r"\b(gap|request|contact|start)s\b", r"\1", words), words)


def audit(engine: Engine, settings: Settings, crawl: str | None) -> Audit:
    """Audit the hosts of one crawl, with all requests to them and to their addresses; or all hosts.

    Raises InputError.
    """
    crawl_id = find(engine, crawl).id if crawl is not None else None
    with _snapshot(engine) as tx:
        host_ids = fetches.hosts_of_crawl(tx, crawl_id) if crawl_id is not None else None
        return _audit(tx, settings, crawl, host_ids)


def audit_host(engine: Engine, settings: Settings, name: str) -> Audit:
    """Audit one host, by every request to it and to its addresses. Raises InputError for one that no crawl has met."""
    host = known(engine, name)
    with _snapshot(engine) as tx:
        return _audit(tx, settings, None, [host["id"]])


def _snapshot(engine: Engine) -> AbstractContextManager[Connection]:
    return db.transaction(engine.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True))


def _audit(tx: Connection, settings: Settings, crawl: str | None, host_ids: Sequence[int] | None) -> Audit:
    told = visits.audit(tx, host_ids, longest_s=settings.visit_longest_s + settings.lease_s)
    hosts = _hosts(tx, settings, host_ids, {row["host_id"]: row["overlapping"] for row in told})
    addresses = [AddressAudit(**row) for row in fetches.audit_addresses(tx, host_ids)]
    addresses.sort(key=lambda each: (-each.gap_violations, _or_last(each.smallest_margin_s), each.budget))
    return Audit(
        crawl=crawl,
        fetches=sum(host.fetches for host in hosts),
        violations=sum(host.violations for host in hosts) + sum(address.gap_violations for address in addresses),
        disorder=sum(host.disorder for host in hosts),
        hosts=hosts,
        addresses=addresses,
        unaccounted=[
            Unaccounted(host=row["host"], visits=row["visits"], seconds=row["seconds"]) for row in told if row["visits"]
        ],
    )


def _hosts(
    tx: Connection, settings: Settings, host_ids: Sequence[int] | None, overlapping: Mapping[int, int]
) -> list[HostAudit]:
    rows = fetches.audit(tx, host_ids)
    judged = judge(tx, settings, host_ids)
    hosts = [_host(row, judged[row["host_id"]], overlapping.get(row["host_id"], 0)) for row in rows]
    return sorted(
        hosts, key=lambda host: (-host.violations, -host.disorder, _or_last(host.smallest_margin_s), host.host)
    )


def _host(row: Mapping[str, Any], judged: Judged, overlapping: int) -> HostAudit:
    columns = {name: value for name, value in row.items() if name != "host_id"}
    columns["disorder"] += overlapping
    return HostAudit(
        **columns,
        of_host=judged.of_host,
        disallowed=judged.disallowed,
        robots_repeated=judged.repeated,
        unjudged=judged.unjudged,
    )


def _or_last(margin_s: float | None) -> float:
    return float("inf") if margin_s is None else margin_s
