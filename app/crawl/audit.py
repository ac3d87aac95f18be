"""The politeness audit (SPEC P10): what the fetch log proves, per host. Zero violations is the product.

Counted are gaps shorter than the delay in force, requests at once, pages asked for before robots.txt, and pages that the
stored robots.txt refuses. The last are judged from the origin's latest robots.txt on: what older copies said is not kept.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal

from sqlalchemy import Connection, Engine

from app.config import Settings
from app.crawl.ruling import rules_of
from app.crawl.seed import find
from app.model import Url
from app.policy.robots import Robots
from app.policy.url import Canon
from app.store import db, fetches, robots
from app.store.fetches import Place

PAGE = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class HostAudit:
    """A host in the log. fenced: requests of visits that had lost their lease (logged, and counted like all others)."""

    host: str
    fetches: int
    smallest_gap_s: float | None
    smallest_delay_s: float
    gap_violations: int
    concurrent: int
    before_robots: int
    disallowed: int
    fenced: int

    @property
    def violations(self) -> int:
        """A request while another runs has no gap either: it counts once."""
        return max(self.gap_violations, self.concurrent) + self.before_robots + self.disallowed


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    """crawl: None for the whole log.   hosts: worst first."""

    crawl: str | None
    fetches: int
    violations: int
    hosts: list[HostAudit]

    @property
    def verdict(self) -> str:
        what = f"{self.fetches:,} requests, {len(self.hosts):,} hosts"
        if not self.violations:
            return f"{what}: no violation"
        gaps, at_once, before, refused = (
            sum(getattr(host, name) for host in self.hosts)
            for name in ("gap_violations", "concurrent", "before_robots", "disallowed")
        )
        return (
            f"{what}: {self.violations:,} VIOLATIONS ({gaps:,} gaps too short, {at_once:,} requests at once, "
            f"{before:,} pages before robots.txt, {refused:,} disallowed pages)"
        )


def audit(engine: Engine, settings: Settings, crawl: str | None) -> Audit:
    """Of the hosts of one crawl, with all that was asked of them; or of all. Reads the whole log. Raises InputError."""
    crawl_id = find(engine, crawl).id if crawl is not None else None
    with db.transaction(engine) as tx:
        rows = fetches.audit(tx, crawl_id=crawl_id)
    disallowed = Counter(_disallowed(engine, settings, crawl_id))
    hosts = [
        HostAudit(
            host=row["host"],
            fetches=row["fetches"],
            smallest_gap_s=_float(row["smallest_gap_s"]),
            smallest_delay_s=row["smallest_delay_s"],
            gap_violations=row["gap_violations"],
            concurrent=row["concurrent"],
            before_robots=row["before_robots"],
            disallowed=disallowed[row["host"]],
            fenced=row["fenced"],
        )
        for row in rows
    ]
    hosts.sort(key=lambda host: (-host.violations, host.host))
    return Audit(
        crawl=crawl,
        fetches=sum(host.fetches for host in hosts),
        violations=sum(host.violations for host in hosts),
        hosts=hosts,
    )


def _disallowed(engine: Engine, settings: Settings, crawl_id: int | None) -> Iterator[str]:
    """The host's name for each page that was asked for and that the copy in force refuses."""
    canon, token = Canon(()), settings.product_token
    copies: dict[int, dict[tuple[str, int], Robots]] = {}
    after = Place(host_id=0, started_at=datetime.min.replace(tzinfo=UTC), id=0)
    while True:
        with db.transaction(engine) as tx:
            rows = fetches.under_copy(tx, crawl_id=crawl_id, after=after, n=PAGE)
            if not rows:
                return
            ids = {row["host_id"] for row in rows}
            copies = {id: copies[id] if id in copies else _copies(tx, id, token) for id in ids}
        for row in rows:
            url = canon.canonicalise(row["url"])
            if isinstance(url, Url):
                rules = copies[row["host_id"]].get((url.origin.scheme, url.origin.port))
                if rules is not None and not rules.allowed(url.target):
                    yield url.host
        after = Place(host_id=rows[-1]["host_id"], started_at=rows[-1]["started_at"], id=rows[-1]["id"])


def _copies(tx: Connection, host_id: int, token: str) -> dict[tuple[str, int], Robots]:
    """{(scheme, port): rules} of a host's origins."""
    return {(row.scheme, row.port): rules_of(row, token) for row in robots.of_host(tx, host_id)}


def _float(value: Decimal | None) -> float | None:
    return None if value is None else float(value)
