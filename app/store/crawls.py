"""Crawls: scope, budgets, state, counts. One query of crawls.sql each, in the caller's transaction."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy import Connection

from app.errors import InputError
from app.model import Budgets, CrawlEnding, CrawlSpec
from app.model.crawl import OPTIONS, CrawlWishes
from app.model.reasons import words
from app.policy.scope import Scope, ScopeKind, host_of_folder, scope_of, widened
from app.store import db
from app.words import none_of

_sql = db.queries("crawls")


@dataclass(frozen=True, slots=True, kw_only=True)
class Crawl(CrawlWishes, Budgets):
    """A row of crawls: its options, and the rest."""

    id: int
    name: str
    state: str
    scope_hosts: list[str]
    scope_domains: list[str]
    scope_prefixes: list[str]
    scope_redirects: list[str]
    round: int
    revision: int
    pages_reserved: int
    pages_held_until: datetime | None
    recrawl_price_s: float | None
    search_from: int | None
    ended_because: CrawlEnding | None
    ended_detail: str | None
    created_at: datetime
    active_since: datetime
    finished_at: datetime | None
    state_since: datetime
    admits_above: float | None
    round_at: datetime | None = None

    @property
    def spec(self) -> CrawlSpec:
        return CrawlSpec.from_columns(self)

    @property
    def ending(self) -> str | None:
        """Why it is finished, as a person sees it."""
        return words(self.ended_because, self.ended_detail) if self.ended_because else None


def make_scope(crawl: Crawl) -> Scope:
    """A row of crawls as the policy wants it."""
    patterns = scope_of(
        [],
        kind=ScopeKind(crawl.scope),
        include=crawl.include,
        exclude=crawl.exclude,
        max_depth=crawl.max_depth,
    )
    found = Scope(
        kind=patterns.kind,
        hosts=frozenset(crawl.scope_hosts),
        domains=frozenset(crawl.scope_domains),
        prefixes=tuple(crawl.scope_prefixes),
        include=patterns.include,
        exclude=patterns.exclude,
        max_depth=crawl.max_depth,
        seeds=frozenset([*crawl.scope_hosts, *crawl.scope_domains, *map(host_of_folder, crawl.scope_prefixes)]),
    )
    return widened(found, crawl.scope_redirects) if crawl.scope_redirects else found


@dataclass(frozen=True, slots=True, kw_only=True)
class PageLot:
    """Pages granted to a process for visits to come. held_until: it may use them until then."""

    pages: int
    held_until: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """The counts of a crawl in this round. bytes: body bytes on the wire; failed: requests that brought no page."""

    id: int
    name: str
    state: str
    ended_because: CrawlEnding | None
    ended_detail: str | None
    round: int
    sitemaps: str
    honour_opt_outs: bool
    archive: bool
    pages: int
    fetches: int
    failed: int
    bytes: int
    suppressed: int
    hosts: int


class RunCounts(NamedTuple):
    """Counts of pages.   gone: they answered 404 twice, or 410"""

    new: int
    changed: int
    gone: int


def create(tx: Connection, *, name: str, spec: CrawlSpec) -> int | None:
    """Create a crawl. Returns its id, None when the name is taken."""
    row = tx.execute(_sql["create"], {"name": name, **spec.columns()}).one_or_none()
    return row.id if row else None


def by_name(tx: Connection, name: str) -> Crawl | None:
    row = tx.execute(_sql["by_name"], {"name": name}).one_or_none()
    return _crawl(row) if row else None


def named(tx: Connection, name: str) -> Crawl:
    """Find a crawl by name. Raises InputError when there is none."""
    crawl = by_name(tx, name)
    if crawl is None:
        newest_first = [other.name for other in reversed(every(tx))]
        raise InputError(f"crawl {name}", none_of(name, newest_first))
    return crawl


class DueRound(NamedTuple):
    """A round that is due, of a crawl that has one every so often."""

    id: int
    name: str
    due_at: datetime


def lend_round(tx: Connection, *, lease_s: float) -> DueRound | None:
    """Lend a finished crawl whose next round is due; None: none is, or others begin it."""
    found = db.run(tx, _sql["lend_round"], {"lease_s": lease_s}).of(DueRound)
    return found[0] if found else None


def begun(tx: Connection, due: DueRound) -> None:
    """Set the time of the round after one that has begun."""
    db.run(tx, _sql["begun"], {"crawl_id": due.id, "due_at": due.due_at})


def by_id(tx: Connection, crawl_id: int) -> Crawl:
    return _crawl(db.run(tx, _sql["by_id"], {"crawl_id": crawl_id}).one())


def deleted() -> InputError:
    """The error of a command whose crawl another one deleted."""
    return InputError("the crawl", "was deleted meanwhile; run the same command to begin it anew")


def every(tx: Connection) -> list[Crawl]:
    return [_crawl(row) for row in tx.execute(_sql["all"])]


def widen(tx: Connection, *, crawl_id: int, around: Scope) -> None:
    """Take in what a scope around further seeds has of its own kind: hosts, domains or prefixes."""
    kind = around.kind
    where = {
        "hosts": sorted(around.hosts) if kind is ScopeKind.HOST else [],
        "domains": sorted(around.domains) if kind is ScopeKind.DOMAIN else [],
        "prefixes": list(around.prefixes) if kind is ScopeKind.PREFIX else [],
    }
    tx.execute(_sql["widen"], {"crawl_id": crawl_id, **where})


def take_in(tx: Connection, *, crawl_id: int, folder: str, host_id: int, token: UUID) -> None:
    """Add to the scope the folder of a URL that a seed on this host, visited under this token, redirects to."""
    where = {"crawl_id": crawl_id, "folder": folder, "host_id": host_id, "token": token}
    db.run(tx, _sql["take_in"], where)


def change(tx: Connection, *, crawl_id: int, spec: CrawlSpec) -> None:
    """Set what is asked of a crawl. The crawl is locked, so that two changes at once both count."""
    tx.execute(_sql["change"], {"crawl_id": crawl_id, **spec.columns()})


def start(tx: Connection, crawl_id: int, *, restart_clock: bool = False) -> None:
    tx.execute(_sql["start"], {"crawl_id": crawl_id, "restart_clock": restart_clock})


def pause(tx: Connection, crawl_id: int) -> bool:
    return tx.execute(_sql["pause"], {"crawl_id": crawl_id}).one_or_none() is not None


def finish(tx: Connection, crawl_id: int) -> bool:
    return tx.execute(_sql["finish"], {"crawl_id": crawl_id}).one_or_none() is not None


def next_round(tx: Connection, crawl_id: int) -> None:
    pages = tx.execute(_sql["forget_counts"], {"crawl_id": crawl_id}).scalar_one()
    tx.execute(_sql["next_round"], {"crawl_id": crawl_id, "pages": pages})


def lock(tx: Connection, crawl_id: int) -> None:
    """Lock the crawl's row: later reads in the transaction stay true until its end."""
    tx.execute(_sql["lock"], {"crawl_id": crawl_id})


def finish_candidates(tx: Connection) -> list[int]:
    """Active crawls without a URL in an open state."""
    return list(tx.execute(_sql["finish_candidates"]).scalars())


def finish_done(tx: Connection, crawl_id: int) -> str | None:
    """Finish a candidate: its name; None: it has open URLs again. The crawl is locked."""
    row = tx.execute(_sql["finish_done"], {"crawl_id": crawl_id}).one_or_none()
    return row.name if row else None


def spent_candidates(tx: Connection) -> list[int]:
    """Active crawls at a budget, or with all pages of their budget fetched or granted."""
    return list(tx.execute(_sql["spent_candidates"]).scalars())


def finish_spent(tx: Connection, crawl_id: int) -> str | None:
    """Finish a candidate that is at a budget: its name; None: it is at none. The crawl is locked."""
    row = tx.execute(_sql["finish_spent"], {"crawl_id": crawl_id}).one_or_none()
    return row.name if row else None


def fence_lapsed(tx: Connection) -> int:
    """Fence visits with an expired lease that may hold grants of a spent budget. Returns how many."""
    return tx.execute(_sql["fence_lapsed"]).rowcount


def recount_reserved(tx: Connection, crawl_id: int) -> None:
    """Free lost grants of pages, once no visit can hold one. The crawl is locked."""
    tx.execute(_sql["recount_reserved"], {"crawl_id": crawl_id})


def reserve(tx: Connection, *, crawl_id: int, n: int, host_id: int | None = None, held: int = 0) -> int:
    """Reserve up to n pages of a crawl's budget. Returns those granted; a negative n returns pages.

    host_id, held: the host, and its earlier grants that it has not fetched: a small budget is then shared with other
    hosts. None: first come, first served.
    """
    where = {
        "crawl_id": crawl_id,
        "n": n,
        "host_id": host_id or 0,
        "held": held,
        # Pages: from there on processes draw lots of it (app.crawl.state.lots).
        "small": 3_200 if host_id is not None else 0,
        "hosts": 100,  # hosts that are considered
        "soon_s": 10.0,  # pages are kept for other hosts for so long of their delays
    }
    return int(db.run(tx, _sql["reserve"], where).scalar_one())


def draw_lot(tx: Connection, *, crawl_id: int, share: int, least: int, most: int, held_s: float) -> PageLot:
    """Draw a share of the rest of the budget: at most `most` pages, and none where it would be fewer than `least`."""
    where = {"crawl_id": crawl_id, "share": share, "least": least, "most": most, "held_s": held_s}
    row = db.run(tx, _sql["draw_lot"], where).one_or_none()
    return PageLot(pages=row.pages, held_until=row.held_until) if row else PageLot(pages=0, held_until=None)


def return_lot(tx: Connection, *, crawl_id: int, n: int, held_until: datetime) -> None:
    """Return n unused pages of a lot; nothing changes when it has ended."""
    db.run(tx, _sql["return_lot"], {"crawl_id": crawl_id, "n": n, "held_until": held_until})


def count(tx: Connection, rows: Sequence[Mapping[str, int]]) -> None:
    """Add to the counts. rows: crawl_id, host_id, pages, fetches, failed, bytes."""
    if rows:
        db.run(tx, _sql["count"], {"rows": db.rows_param(rows)})


def totals(tx: Connection, crawl_id: int) -> Totals:
    """Count what a crawl has done this round. Raises InputError where it was deleted."""
    row = tx.execute(_sql["totals"], {"crawl_id": crawl_id}).mappings().one_or_none()
    if row is None:
        raise deleted()
    return Totals(**{**row, "ended_because": _ending(row["ended_because"])})


def brought(tx: Connection, crawl_id: int, *, since: datetime) -> RunCounts:
    """Count what a crawl did to its pages since a moment of the database's clock."""
    return RunCounts(*tx.execute(_sql["brought"], {"crawl_id": crawl_id, "since": since}).one())


def failed_by_host(tx: Connection, crawl_id: int, *, n: int) -> list[tuple[str, int]]:
    """The n hosts with the most requests of this round that brought no page: (host, how many)."""
    return [(row.host, row.failed) for row in tx.execute(_sql["failed_by_host"], {"crawl_id": crawl_id, "n": n})]


def share(tx: Connection, crawl_id: int, *, most: int) -> int:
    """Pages of the budget for each host, in equal parts; 0: it has none, or `most` hosts and more."""
    return int(tx.execute(_sql["share"], {"crawl_id": crawl_id, "most": most}).scalar_one_or_none() or 0)


def hosts_some(tx: Connection, crawl_id: int, *, most: int) -> int:
    return int(tx.execute(_sql["hosts_some"], {"crawl_id": crawl_id, "most": most}).scalar_one())


def hosts_of(tx: Connection, crawl_id: int, n: int) -> list[dict[str, Any]]:
    return [dict(row) for row in tx.execute(_sql["hosts_of"], {"crawl_id": crawl_id, "n": n}).mappings()]


def _crawl(row: Any) -> Crawl:
    lists = {column: tuple(getattr(row, column)) for column, option in OPTIONS.items() if option.kind == "list"}
    return Crawl(**{**row._asdict(), **lists, "ended_because": _ending(row.ended_because)})


def _ending(value: str | None) -> CrawlEnding | None:
    return None if value is None else CrawlEnding(value)
