"""`tiptoe status` and `tiptoe audit`: what is going on, and was it polite?"""

from typing import Annotated

import typer

from app.cli.crawls import show_totals
from app.cli.database import open_database
from app.cli.out import AsJson, facts, heading, plain, rows_table, show_json, table

AUDITED = 50
_AUDIT = (
    "host",
    "fetches",
    "smallest_gap_s",
    "smallest_delay_s",
    "gap_violations",
    "concurrent",
    "before_robots",
    "disallowed",
    "fenced",
)


def status(as_json: AsJson = False) -> None:
    """What is going on: crawls, hosts and what they wait for, queues with offers nobody took up yet, the last visits."""
    from app.crawl import report

    with open_database() as (_, engine):
        found = report.status(engine)
    if as_json:
        show_json(found)
        return
    show_totals(found.crawls)
    heading("hosts wait for")
    rows_table(("because", "hosts", "earliest"), found.waiting)
    heading("offers not taken up yet")
    facts(found.offers.items()) if found.offers else print("  none")
    heading("last visits")
    rows_table(("host", "taken_at", "ended_at", "ending", "fetches", "worker"), found.visits)


def audit(
    crawl: Annotated[str | None, typer.Argument(metavar="[CRAWL]", help="Hosts of this crawl. [default: all]")] = None,
    as_json: AsJson = False,
) -> None:
    """Was it polite? Gaps, concurrency, robots.txt, proved from the fetch log. Exit 0: no violation, 1: violations."""
    from app.crawl import audit as audits

    with open_database() as (settings, engine):
        found = audits.audit(engine, settings, crawl)
    if as_json:
        show_json({**plain(found), "verdict": found.verdict})
    else:
        table(_AUDIT, [[getattr(host, name) for name in _AUDIT] for host in found.hosts[:AUDITED]])
        if len(found.hosts) > AUDITED:
            print(f"… and {len(found.hosts) - AUDITED:,} further hosts")
        print(found.verdict)
    if found.violations:
        raise typer.Exit(1)
