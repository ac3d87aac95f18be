"""The politeness audit (promise P10): counts violations in the fetch log, per host and per address. There must be none.

Counted per host are gaps shorter than the delay in force, requests while another ran, requests before robots.txt of
their origin, requests that the copy in force at the time refused, requests during a rest that an earlier answer had
set, and requests for one robots.txt more often in an hour than its back-off allows. Counted per address, or network of
a shared front, are starts closer to one another than its budget allows.

It also reports what the log cannot prove: visits that ended without a record, impossible lines (`disorder`: the
proof does not hold), and requests that robots.txt of their time cannot judge (`unjudged`). All of it is read in one
snapshot.
"""

import re
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Engine

from app.admin import robots_history
from app.admin.crawls import find
from app.admin.hosts import known
from app.config import Settings
from app.store import db, fetches, visits
from app.words import counted

KINDS = {
    "gap_violations": "gaps too short",
    "concurrent": "requests at once",
    "before_robots": "requests before robots.txt",
    "disallowed": "disallowed requests",
    "during_block": "contacts during a rest",
    "robots_repeated": "requests for robots.txt too often",
}
_PLURAL = re.compile(r"\b(gap|request|contact|start)s\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class HostAudit:
    """A host in the log.

    fetches              requests to it, of every kind;   of_host: of these, for robots.txt and tdmrep.json
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
    return counted(count, _PLURAL.sub(r"\1", words), words)


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
    judged = robots_history.judge(tx, settings, host_ids)
    hosts = [_host(row, judged[row["host_id"]], overlapping.get(row["host_id"], 0)) for row in rows]
    return sorted(
        hosts, key=lambda host: (-host.violations, -host.disorder, _or_last(host.smallest_margin_s), host.host)
    )


def _host(row: Mapping[str, Any], judged: robots_history.Judged, overlapping: int) -> HostAudit:
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
