"""Tells what a crawl values and what that brings, and lets a URL through that is taken for a trap."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from sqlalchemy import Engine

from app.admin import hosts as hosts_of
from app.admin.crawls import find
from app.admin.robots_report import canonical
from app.config import Settings
from app.errors import InputError
from app.features.focus import rows as patterns
from app.model import RequestKind, Url
from app.policy.candidate import SEED_LANE, Candidate
from app.policy.focus.patterns import Yield, brings
from app.policy.focus.profile import TrapTerms
from app.policy.focus.profile_text import profile_of
from app.policy.focus.score import SEED, unpacked
from app.policy.lifecycle import UrlEvent
from app.policy.moment import DAY_S
from app.store import crawls, db, hosts, recrawls, suppressions, urls
from app.store.url_rows import admission

Row = Mapping[str, Any]
DAYS = 7


@dataclass(frozen=True, slots=True, kw_only=True)
class Freshness:
    """The pages of a crawl, and its recrawls.

    fresh           share of the pages that are most likely as they were fetched; None: none was fetched twice
    rows            changes (a bucket), pages, interval_s on average, late, age_s, fresh
    price_s         page-seconds of freshness that a recrawl must buy; None: there is no budget
    asked_per_day   requests that the intervals come to;   budget_per_day: of the profile
    recrawls        of the last days;   not_modified: of these, answered 304
    """

    pages: int
    fresh: float | None
    rows: Sequence[Row]
    price_s: float | None
    asked_per_day: float
    budget_per_day: float | None
    days: int
    recrawls: int
    not_modified: int


def top(engine: Engine, name: str, n: int) -> list[dict[str, Any]]:
    """The queued URLs of a crawl that come first, with the components of their scores in `parts`."""
    crawl = find(engine, name)
    with db.transaction(engine) as tx:
        rows = urls.top(tx, crawl_id=crawl.id, n=n)
    return [{**row, "parts": None if row["score_parts"] is None else unpacked(row["score_parts"])} for row in rows]


def freshness(engine: Engine, name: str) -> Freshness:
    """How fresh a crawl's pages are, by what is believed of their changes. Reads every row of the crawl."""
    crawl = find(engine, name)
    with db.transaction(engine) as tx:
        rows = recrawls.freshness(tx, crawl.id)
        brought = recrawls.yields(tx, crawl_id=crawl.id, days=DAYS)
    known = [row for row in rows if row["fresh"] is not None]
    pages = sum(row["pages"] for row in known)
    return Freshness(
        pages=sum(row["pages"] for row in rows),
        fresh=sum(row["fresh"] * row["pages"] for row in known) / pages if pages else None,
        rows=rows,
        price_s=crawl.recrawl_price_s,
        asked_per_day=sum(DAY_S * (row["asked_per_s"] or 0.0) for row in rows),
        budget_per_day=profile_of(crawl.profile).requests_per_day,
        days=DAYS,
        recrawls=brought["recrawls"],
        not_modified=brought["not_modified"],
    )


def patterns_of(engine: Engine, name: str) -> list[dict[str, Any]]:
    """The patterns of a host's URLs in every crawl, the most refused first. Raises InputError for an unknown host."""
    host = hosts_of.known(engine, name)
    with db.transaction(engine) as tx:
        rows = patterns.report(tx, host_id=host["id"], n=1_000)
    return [{**row, "verdict": _verdict(row)} for row in rows]


def _verdict(row: Row) -> str:
    found = Yield(row["urls"], row["fetched"], row["new"], row["refused"], row["lately"], row["new_lately"])
    if found.refused:
        return "brings nothing new" if not brings(TrapTerms(), found) else "brings something again"
    return "brings new text" if brings(TrapTerms(), found) else "on trial"


def force(engine: Engine, settings: Settings, text: str, crawl: str | None) -> list[str]:
    """Queue a URL so that no trap refuses it, in one crawl or all that know or refused it. Returns their names."""
    url = canonical(settings, text, engine=engine)
    host_id, names = db.repeat(partial(_force, engine, url, crawl))
    with db.transaction(engine) as tx:
        hosts.wake(tx, [host_id])
    return names


def _force(engine: Engine, url: Url, crawl: str | None) -> tuple[int, list[str]]:
    only = None if crawl is None else find(engine, crawl).id
    with db.transaction(engine) as tx:
        names = {row.id: row.name for row in crawls.every(tx)}
        refused = {row["crawl_id"]: row["found_on"] for row in suppressions.of_url(tx, url.key)}
        host_id = hosts.ids(tx, [url.host]).get(url.host)
        queued: list[int] = []
        if host_id is not None:
            hosts.lock(tx, [host_id])
            queued = urls.force(tx, host_id=host_id, key=url.key, crawl_id=only)
            missing = sorted(id for id in refused if id not in queued and only in {None, id})
            urls.admit(tx, [admission(_forced(id, url, refused[id]), host_id) for id in missing])
            queued += missing
    if host_id is None or not queued:
        raise InputError(url.text, f"crawl {crawl} never met it" if crawl else "no crawl ever met it")
    return host_id, [names[id] for id in sorted(queued)]


def _forced(crawl_id: int, url: Url, found_on: str | None) -> Candidate:
    return Candidate(
        crawl_id,
        url,
        RequestKind.PAGE,
        lane=SEED_LANE,
        score=SEED.score,
        depth=1,
        hops=0,
        found_on=found_on,
        event=UrlEvent.FORCED,
        score_parts=SEED.packed(),
    )
