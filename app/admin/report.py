"""Reports the state of the fleet (`status`) and the results of a crawl (`report`). Reads only."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import Connection, Engine

from app.admin import rendering
from app.admin.crawls import find
from app.admin.failing import failures, findings, subscribers
from app.admin.rendering import CrawlRenderings
from app.admin.waiting import last_ending, resting_words, when
from app.config import Settings
from app.errors import InputError
from app.features.focus import rows as patterns
from app.features.near import rows as near
from app.model import CrawlSpec
from app.model.reasons import Cause, words
from app.policy.focus.verdict import MOST_LEFT, Measured, left_out, verdict
from app.policy.scope import host_of_folder, leads_away
from app.store import (
    caps,
    crawl_metrics,
    crawls,
    db,
    fetches,
    fleet,
    pages,
    sitemaps,
    suppressions,
    urls,
    visits,
)
from app.store.crawls import Crawl, Totals, make_scope
from app.store.fleet import CrawlCounts
from app.store.segments import ArchiveNode
from app.words import counted

Row = Mapping[str, Any]
MOST_HOSTS = 20
MOST_CAUSES = 10
MOST_SITEMAPS = 20
MOST_SEEDS = 3
MOST_LEADS = 1_000  # redirects among which circles are looked for
LATEST_VISITS = 5
DAYS = 7
_OF_CRAWL = (  # of Totals
    *("id", "name", "state", "ended_because", "ended_detail", "round", "sitemaps", "honour_opt_outs", "archive"),
)
KINDS: Final = ("body", "text", "near", "review")
MOST_WAITING = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Duplicates:
    """rows: kind, bits, url, of_url, found_at, the latest first.   waiting: pages that are yet to be compared, at most
    MOST_WAITING
    """

    rows: Sequence[dict[str, Any]]
    waiting: int


def duplicates(engine: Engine, name: str, *, kind: str | None, n: int) -> Duplicates:
    """The duplicates of a crawl, of one kind or all. Raises InputError."""
    if kind is not None and kind not in KINDS:
        raise InputError(f"--kind {kind}", f"is not a kind of duplicate; choose one of {', '.join(KINDS)}")
    crawl = find(engine, name)
    with db.transaction(engine) as tx:
        return Duplicates(
            rows=near.listed(tx, crawl_id=crawl.id, kind=kind, n=n),
            waiting=near.waiting(tx, crawl_id=crawl.id, most=MOST_WAITING),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """The state of the fleet.

    crawls           totals of each; estimated: names of those with too many hosts for exact ones
    waiting          because, hosts, earliest
    waiting_percent  the share of the hosts that were counted for it; below 100 it is an estimate
    offers           outstanding, by queue
    archive          nodes that write it
    needs_script     crawls with pages that are empty without JavaScript: crawl, pages, is_least (there may be more)
    webhooks         those that fail: id, crawl, url, failures, failing_since, why
    """

    crawls: list[Totals]
    estimated: list[str]
    waiting: Sequence[Row]
    waiting_percent: float
    offers: dict[str, int]
    visits: Sequence[Row]
    archive: Sequence[ArchiveNode]
    needs_script: Sequence[Row]
    webhooks: Sequence[Row]


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """One crawl. urls: by state.   outcomes, reasons, causes, hosts: most frequent first.   duplicates: by kind.

    sitemaps: the largest, their errors, and how often their lastmod was tested and was true
    full_hosts: its hosts at the cap per host, the fullest first
    needs_script: hosts with pages that are empty without JavaScript
    rendering: how a browser fared with pages; None: it was to open none
    why_nothing: the reason, for a crawl without a page
    days: its metrics, the last DAYS days;   verdict: what was wasted, where it starved, what to change
    """

    crawl: Crawl
    totals: Totals
    urls: dict[str, int]
    outcomes: Sequence[Row]
    reasons: Sequence[Row]
    causes: Sequence[Row]
    duplicates: dict[str, int]
    needs_script: Sequence[Row]
    rendering: CrawlRenderings | None
    sitemaps: Sequence[Row]
    hosts: Sequence[Row]
    full_hosts: list[str]
    why_nothing: str | None
    days: Sequence[Measured]
    verdict: Sequence[str]


def status(engine: Engine, *, most: int = 10_000) -> Status:
    """The state of the fleet, at once: it counts neither every URL nor, beyond `most`, every host that waits."""
    with fleet.snapshot(engine) as tx:
        now = fleet.now(tx, (), fleet.sample(tx, hosts=most), fleet.RecentReads(), most=0)
        every = crawls.every(tx)
        brought = [fleet.brought(tx, crawl.id) for crawl in every]
        return Status(
            crawls=[_totals(tx, crawl, each) for crawl, each in zip(every, brought, strict=True)],
            estimated=[crawl.name for crawl, each in zip(every, brought, strict=True) if not each.is_exact],
            waiting=now.waits,
            waiting_percent=now.sampled.percent,
            offers=dict(now.offers),
            visits=visits.latest(tx, LATEST_VISITS),
            archive=now.nodes,
            needs_script=pages.shells(tx, most=most),
            webhooks=subscribers(tx),
        )


def _totals(tx: Connection, crawl: Crawl, brought: CrawlCounts) -> Totals:
    return Totals(
        **{name: getattr(crawl, name) for name in _OF_CRAWL},
        **{name: getattr(brought, name) for name in ("pages", "fetches", "failed", "bytes", "hosts")},
        suppressed=suppressions.counted(tx, crawl.id),
    )


def of(engine: Engine, name: str) -> Totals:
    """The totals of one crawl. Raises InputError."""
    crawl = find(engine, name)
    with db.transaction(engine) as tx:
        return crawls.totals(tx, crawl.id)


def listed(engine: Engine) -> list[tuple[Totals, CrawlSpec]]:
    """The totals of every crawl, and what it is asked to be; the oldest first."""
    with db.transaction(engine) as tx:
        return [(crawls.totals(tx, crawl.id), CrawlSpec.from_columns(crawl)) for crawl in crawls.every(tx)]


def report(engine: Engine, name: str, settings: Settings | None = None) -> Report:
    """Report on a crawl exactly: counts every URL and reads the fetch log, which takes seconds for millions.

    settings: for the cap per host; None: no host is reported at it. Raises InputError for an unknown crawl.
    """
    crawl = find(engine, name)
    cap = settings.frontier_max_per_host if settings else None
    with db.transaction(engine) as tx:
        brought = crawls.totals(tx, crawl.id)
        days = crawl_metrics.days(tx, crawl_id=crawl.id, days=DAYS)
        return Report(
            crawl=crawl,
            totals=brought,
            urls=urls.states(tx, crawl.id),
            outcomes=fetches.outcomes(tx, crawl.id),
            reasons=suppressions.reasons(tx, crawl.id),
            causes=urls.causes(tx, crawl_id=crawl.id, n=MOST_CAUSES),
            duplicates=pages.duplicate_kinds(tx, crawl.id),
            needs_script=pages.needing_script(tx, crawl.id),
            rendering=rendering.of_crawl(tx, crawl.id, crawl.render),
            sitemaps=sitemaps.of_crawl(tx, crawl_id=crawl.id, n=MOST_SITEMAPS),
            hosts=crawls.hosts_of(tx, crawl.id, MOST_HOSTS),
            full_hosts=[] if cap is None else caps.full_hosts_of(tx, crawl.id, cap=cap, n=MOST_HOSTS),
            why_nothing=None if brought.pages else "; ".join(why_nothing(tx, crawl.id)),
            days=days,
            verdict=verdict(
                days,
                crawl.name,
                [
                    *findings(failures(tx, crawl.id)),
                    *traps_left(tx, crawl.id),
                ],
            ),
        )


def traps_left(tx: Connection, crawl_id: int) -> list[str]:
    """Lines about patterns of which the most URLs are refused as traps, with what lets them through."""
    return [left_out(*each) for each in patterns.left(tx, crawl_id, n=MOST_LEFT)]


def led_away(tx: Connection, crawl: Crawl) -> list[str]:
    """Pages of other sites that seeds of the crawl redirect to: each is fetched alone."""
    scope = make_scope(crawl)
    # Of the URLs that seeds redirect to.
    return [url for url in urls.led_to(tx, crawl_id=crawl.id, n=1_000) if leads_away(scope, host_of_folder(url))]


def why_nothing(tx: Connection, crawl_id: int) -> list[str]:
    """The reasons why a crawl has no page: how the first MOST_SEEDS of its seeds ended, and how many more there are."""
    found = urls.ends_of_seeds(tx, crawl_id=crawl_id, n=MOST_SEEDS)
    leads = urls.redirects_of_seeds(tx, crawl_id=crawl_id, n=MOST_LEADS)
    circles = _circles(leads)
    more = len(circles[MOST_SEEDS:]) + (found[0]["total"] - len(found) if found else 0)
    ends = [*circles[:MOST_SEEDS], *map(_end_of_seed, found), *([f"and {counted(more, 'seed')} more"] if more else [])]
    if not ends and leads:  # of so many seeds that a circle is not seen whole
        return ["{} redirects to {}".format(*next(iter(leads.items())))]
    return ends or ["it has no seed"]


def _circles(leads: Mapping[str, str]) -> list[str]:
    """A line about each circle of redirects."""
    lines, met = [], set[str]()
    for begin in leads:
        way, url = dict[str, None](), begin
        while url in leads and url not in met:
            met.add(url)
            way[url] = None
            url = leads[url]
        if url in way:
            by = f" by way of {leads[url]}" if leads[url] != url else ""
            lines.append(f"{url} redirects to itself{by}: some sites end that for a cookie, and none is kept")
    return lines


def _end_of_seed(row: Row) -> str:
    url, ending = row["url"], last_ending(row)
    if row["reason"] is not None:
        return f"{url} redirects to {row['alias_of']}, which is not followed ({row['reason']})"
    if row["cause"] is not None:
        is_away = row["cause"] == Cause.ROBOTS_OUT_OF_REACH and row["resting_detail"]
        last = f"; the last failure: {row['resting_detail']}" if is_away else ""
        return f"{url} is {row['state']}: {words(row['cause'], row['detail'])}{last}"
    if row["state"] == "queued":
        again = "again " if ending else ""
        because = _paused(row) or resting_words(row) or (f"it ended as {ending} last" if ending else _delayed(row))
        return f"{url} was not fetched {again}yet" + (f": {because}" if because else "")
    if row["format"] is not None:
        listed = counted(row["entries"], "entry", "entries")
        return f"{url} was read as a sitemap ({row['format']}, {listed}), and no page came of it"
    return f"{url} ended as {ending}"


def _paused(row: Row) -> str | None:
    return f"its host is paused: tiptoe host resume {row['host']}" if row["is_paused"] else None


def _delayed(row: Row) -> str | None:
    at, now = row["polite_at"], row["now"]
    return f"the delay of its host ends {when(at, now)}" if at > now else None
