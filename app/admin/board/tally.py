"""Counts a crawl's URLs, requests and refused links for its page, which many look at.

Small tables are read in full. Of a large one so many blocks are read, wherever they lie, and its numbers are scaled up:
what that costs hardly grows with the table.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from sqlalchemy import Connection, Engine

from app.admin import rendering
from app.admin.crawls import find
from app.admin.failing import failures, findings
from app.admin.rendering import CrawlRenderings
from app.admin.report import DAYS, MOST_CAUSES, MOST_SITEMAPS, traps_left, why_nothing
from app.policy.focus.verdict import Measured, verdict
from app.store import board, crawl_metrics, crawls, db, pages, recrawls, sitemaps
from app.store.board import Row
from app.store.crawls import Crawl

BLOCKS = 4_000  # of a table: some 150,000 URLs
WHOLE = 100.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CrawlTally:
    """A crawl in numbers.

    percents     by table: the share that was read, in percent; 100: its numbers are exact
    seen         URLs of the crawl that were read
    states       URLs by state;   shape: by depth and lane;   causes: why they ended, the most frequent first
    outcomes     requests by ending, of all rounds;   recrawls, not_modified: of the last DAYS days
    reasons      refused links by reason, the most frequent first
    freshness    pages by how often they are believed to change
    days         its metrics of the last DAYS days;   verdict: what they say
                 of refused patterns nothing where the frontier is large
    duplicates, rendering, sitemaps   nothing where their tables are large
    why_nothing  the reason, for a crawl without a page; None, too, where the frontier is large
    """

    crawl: Crawl
    percents: Mapping[str, float]
    seen: int
    states: Mapping[str, int]
    shape: Sequence[Row]
    causes: Sequence[Row]
    outcomes: Sequence[Row]
    recrawls: int
    not_modified: int
    reasons: Sequence[Row]
    freshness: Sequence[Row]
    days: Sequence[Measured]
    verdict: Sequence[str]
    duplicates: Mapping[str, int]
    rendering: CrawlRenderings | None
    sitemaps: Sequence[Row]
    why_nothing: str | None

    @property
    def is_exact(self) -> bool:
        return min(self.percents.values()) == WHOLE


def tally(engine: Engine, name: str, *, exactly: bool = False, blocks: int = BLOCKS) -> CrawlTally:
    """Count a crawl. Raises InputError for an unknown one.

    exactly: read every row, which takes seconds for millions.   blocks: of a table, to be read otherwise
    """
    crawl = find(engine, name)
    with db.transaction(engine) as tx:
        percents = board.percents(tx, blocks=blocks)
        if exactly:
            percents = dict.fromkeys(percents, WHOLE)
        is_whole = {table: percent == WHOLE for table, percent in percents.items()}
        urls = board.urls_read(tx, crawl_id=crawl.id, percent=percents["urls"])
        days = crawl_metrics.days(tx, crawl_id=crawl.id, days=DAYS)
        left = traps_left(tx, crawl.id) if is_whole["urls"] else []
        return CrawlTally(
            crawl=crawl,
            percents=percents,
            seen=sum(row["urls"] for row in urls),
            states=_states(urls, WHOLE / percents["urls"]),
            shape=_shape(urls, WHOLE / percents["urls"]),
            causes=_causes(urls, WHOLE / percents["urls"]),
            **_of_requests(tx, crawl.id, percents["fetches"]),
            reasons=_reasons(tx, crawl.id, percents["suppressions"]),
            freshness=_freshness(tx, crawl.id, percents["urls"]),
            days=days,
            verdict=verdict(days, crawl.name, [*findings(failures(tx, crawl.id)), *left]),
            duplicates=pages.duplicate_kinds(tx, crawl.id) if is_whole["duplicates"] else {},
            rendering=rendering.of_crawl(tx, crawl.id, crawl.render) if is_whole["renders"] else None,
            sitemaps=sitemaps.of_crawl(tx, crawl_id=crawl.id, n=MOST_SITEMAPS) if is_whole["sitemaps"] else (),
            why_nothing=_why_nothing(tx, crawl.id) if is_whole["urls"] else None,
        )


def _states(urls: Sequence[Row], scale: float) -> dict[str, int]:
    found: Counter[str] = Counter()
    for row in urls:
        found[row["said"]] += row["urls"]
    return {state: round(n * scale) for state, n in sorted(found.items())}


def _shape(urls: Sequence[Row], scale: float) -> list[Row]:
    """By depth: urls, fetched, and those queued by lane: p0 to p3."""
    found: dict[int, Counter[str]] = defaultdict(Counter)
    for row in urls:
        of = found[row["depth"]]
        of["urls"] += row["urls"]
        of["fetched"] += row["fetched"]
        if row["state"] == "queued":
            of[f"p{row['lane']}"] += row["urls"]
    columns = ("urls", "fetched", "p0", "p1", "p2", "p3")
    return [
        {"depth": depth, **{name: round(of[name] * scale) for name in columns}} for depth, of in sorted(found.items())
    ]


def _causes(urls: Sequence[Row], scale: float) -> list[Row]:
    found: Counter[tuple[str, str, str | None]] = Counter()
    for row in urls:
        if row["cause"] is not None:
            found[row["state"], row["cause"], row["detail"]] += row["urls"]
    return [
        {"state": state, "cause": cause, "detail": detail, "urls": round(n * scale)}
        for (state, cause, detail), n in found.most_common(MOST_CAUSES)
    ]


def _of_requests(tx: Connection, crawl_id: int, percent: float) -> dict[str, Any]:
    """Arguments for a CrawlTally: outcomes, recrawls, not_modified."""
    scale = WHOLE / percent
    rows = board.requests_read(tx, crawl_id=crawl_id, percent=percent, days=DAYS)
    rows.sort(key=lambda row: (-row["fetches"], row["kind"], row["outcome"], row["status"] or 0))
    return {
        "outcomes": [{**row, "fetches": round(row["fetches"] * scale)} for row in rows],
        "recrawls": round(sum(row["recrawls"] for row in rows) * scale),
        "not_modified": round(sum(row["recrawls"] for row in rows if row["status"] == HTTPStatus.NOT_MODIFIED) * scale),
    }


def _reasons(tx: Connection, crawl_id: int, percent: float) -> list[Row]:
    scale = WHOLE / percent
    rows = board.refused_read(tx, crawl_id=crawl_id, percent=percent)
    scaled = [{**row, "links": round(row["links"] * scale), "times": round(row["times"] * scale)} for row in rows]
    return sorted(scaled, key=lambda row: (-row["links"], row["reason"]))


def _freshness(tx: Connection, crawl_id: int, percent: float) -> list[Row]:
    scale = WHOLE / percent
    rows = recrawls.freshness(tx, crawl_id, percent=percent)
    return [{**row, "pages": round(row["pages"] * scale), "late": round(row["late"] * scale)} for row in rows]


def _why_nothing(tx: Connection, crawl_id: int) -> str | None:
    return None if crawls.totals(tx, crawl_id).pages else "; ".join(why_nothing(tx, crawl_id))
