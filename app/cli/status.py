"""`tiptoe status` and `tiptoe audit`: show what is happening, and prove that it was polite."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from app.cli.crawls import show_totals
from app.cli.database import open_database
from app.cli.out import AsJson, answer, facts, heading, plain, rows_table, show_json, table
from app.model.reasons import words
from app.words import counted

if TYPE_CHECKING:
    from app.store.segments import ArchiveNode

AUDITED = 50
HOST_COLUMNS = {
    "host": "host",
    "fetches": "requests",
    "of_host": "for robots",
    "smallest_gap_s": "gap s",
    "smallest_delay_s": "delay s",
    "smallest_margin_s": "margin s",
    "gap_violations": "too soon",
    "concurrent": "at once",
    "largest_concurrency": "most at once",
    "before_robots": "before robots",
    "disallowed": "disallowed",
    "during_block": "in a rest",
    "robots_repeated": "robots too often",
    "unjudged": "unjudged",
    "fenced": "fenced",
    "disorder": "disorder",
    "unused_connections": "connected in vain",
}
ADDRESS_COLUMNS = {
    "budget": "address",
    "hosts": "hosts",
    "fetches": "requests",
    "smallest_gap_s": "gap s",
    "smallest_allowed_s": "allowed s",
    "smallest_margin_s": "margin s",
    "gap_violations": "too soon",
    "largest_concurrency": "most at once",
}


def status(as_json: AsJson = False) -> None:
    """Show what is happening: crawls, hosts and what they wait for, queues with offers not taken up yet, the last
    visits."""
    from app.admin import report

    with open_database() as (_, engine):
        found = report.status(engine)
    if as_json:
        show_json(found)
        return
    # what fits 80 columns
    show_totals(found.crawls, ("name", "state", "ended_because", "pages", "fetches", "failed", "bytes", "hosts"))
    if found.estimated:
        answer(f"requests, failed and hosts are estimates of: {', '.join(found.estimated)}")
    exact = found.waiting_percent >= 100
    heading("hosts wait for" if exact else f"hosts wait for (estimated from {found.waiting_percent:.2g} % of them)")
    rows_table(("because", "hosts", "earliest"), found.waiting) if found.waiting else answer("  none")
    heading("offers not taken up yet")
    facts(found.offers.items()) if found.offers else answer("  none")
    _archive(found.archive)
    _shells(found.needs_script)
    if found.webhooks:
        heading("webhooks that fail (`tiptoe webhook list` says more)")
        rows_table(("id", "crawl", "url", "failures", "why"), found.webhooks)
    heading("last visits")
    visits = [{**row, "ending": row["ending"] and words(row["ending"], row["detail"])} for row in found.visits]
    rows_table(("host", "taken_at", "ending", "fetches", "worker"), visits)


def _archive(nodes: "Sequence[ArchiveNode]") -> None:
    """Name the nodes whose archive has stopped, or cannot upload: nothing where all is well."""
    troubled = [(node.node, node.stopped_because or node.trouble) for node in nodes]
    told = [(node, why) for node, why in troubled if why is not None]
    if told:
        heading("archive")
        facts(told)


def _shells(found: "Sequence[Mapping[str, Any]]") -> None:
    """Count the pages that are empty without JavaScript: nothing where there are none."""
    if found:
        heading("empty without JavaScript (`tiptoe crawl report NAME` names their hosts)")
        facts((row["crawl"], counted(row["pages"], "page") + (" or more" if row["is_least"] else "")) for row in found)


def audit(
    crawl: Annotated[
        str | None, typer.Argument(metavar="[CRAWL]", help="Hosts of this crawl.", show_default="all")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check politeness: gaps, concurrency, robots.txt and rests, per host and address, from the fetch log.

    Exit 1: violations.
    """
    from app.admin import audit as audits

    with open_database() as (settings, engine):
        found = audits.audit(engine, settings, crawl)
    if as_json:
        show_json({**plain(found), "verdict": found.verdict})
    else:
        _worst(HOST_COLUMNS, found.hosts, "hosts")
        if found.addresses:
            heading("addresses that hosts share: from the start of a request to the start of the next")
            _worst(ADDRESS_COLUMNS, found.addresses, "addresses")
        heading("in all")
        facts({**found.found(), **{name: found.total(name) for name in ("unjudged", "fenced", "disorder")}}.items())
        answer(found.verdict)
    if not found.holds:
        raise typer.Exit(1)


def _worst(columns: Mapping[str, str], rows: Sequence[object], what: str) -> None:
    """Print the worst, which are first. columns: {attribute: heading}; those that are 0 in every row are left out."""
    cells = {name: [_rounded(getattr(row, name)) for row in rows[:AUDITED]] for name in columns}
    told = [name for name in columns if any(cells[name]) or None in cells[name]]
    table([columns[name] for name in told], list(zip(*(cells[name] for name in told), strict=True)))
    if len(rows) > AUDITED:
        answer(f"… and {len(rows) - AUDITED:,} further {what}")


def _rounded(value: object) -> object:
    """Seconds rounded to 0.1 ms: the audit is exact to 1 ms."""
    return round(value, 4) if isinstance(value, float) else value
