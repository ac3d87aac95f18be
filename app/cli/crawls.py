"""`tiptoe crawl VERB NAME`: edit, report, list.

`tiptoe crawl URL…` is in `crawl_command`; orders such as pause are in `orders`.
"""

from typing import TYPE_CHECKING, Annotated

import typer

from app.cli import orders
from app.cli.database import open_database, ordered
from app.cli.options import edited, gather, retyped
from app.cli.out import AsJson, answer, facts, heading, plain, rows_table, show_json, table
from app.model import CrawlChange
from app.words import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from app.admin.report import Report
    from app.store.crawls import Crawl, Totals

Name = Annotated[str, typer.Argument(metavar="NAME", help=orders.SUBJECTS["crawl"][1])]
LIKENESS = {
    "body": "same body",
    "text": "same text",
    "near": "nearly the same",
    "review": "alike, for review",
}
_TOTALS = ("name", "state", "ended_because", "round", "pages", "fetches", "failed", "bytes", "suppressed", "hosts")


@gather(change=edited)
def edit(name: Name, change: CrawlChange, as_json: AsJson = False) -> None:
    """Change a crawl: scope, patterns, budgets, freshness. Queued URLs are judged again before they are fetched."""
    from app.admin import edit as edits

    with open_database() as (settings, engine), ordered(engine, "crawl.edit", name, change.words) as order:
        crawl = edits.edit(engine, settings, name, change)
        order.outcome = f"changed; it is {crawl.state}"
    if as_json:
        show_json(crawl)
        return
    answer(f"{crawl.name}: changed; it is {crawl.state}")
    facts(_crawl_facts(crawl))


def list_(as_json: AsJson = False) -> None:
    """List all crawls: state, and counts of this round; with --json also what each is asked to be."""
    from app.admin import report

    with open_database() as (_, engine):
        found = report.listed(engine)
    if as_json:
        show_json([plain(totals) | spec.columns() for totals, spec in found])
    else:
        show_totals([totals for totals, _ in found])


def report(name: Name, as_json: AsJson = False) -> None:
    """Report on a crawl: URLs by state, endings of its requests, refused links, hosts.

    It counts exactly, which takes a while.
    """
    from app.admin import report as reports

    with open_database() as (settings, engine):
        found = reports.report(engine, name, settings)
    show_json(found) if as_json else _show_report(found)


def show_totals(found: "Sequence[Totals]", names: "Sequence[str]" = _TOTALS) -> None:
    if not found:
        answer("no crawl yet: tiptoe crawl https://example.org/")
        return
    table(names, [[getattr(row, name) for name in names] for row in found])


def _show_report(found: "Report") -> None:
    show_totals([found.totals])
    heading("crawl")
    facts(_crawl_facts(found.crawl))
    facts(("at the cap per host", host) for host in found.full_hosts)
    if found.why_nothing is not None:
        facts([("no page, because", retyped(found.why_nothing))])
    _show_days(found)
    heading("URLs by state")
    facts(found.urls.items())
    heading("requests by ending (all rounds)")
    rows_table(("kind", "outcome", "status", "fetches", "last_at"), found.outcomes)
    if found.causes:
        heading("why URLs ended, or their pages were not kept")
        rows_table(("state", "urls", "cause", "detail"), found.causes)
    if found.reasons:
        heading("links not admitted")
        rows_table(("reason", "links", "times", "last_at"), found.reasons)
    if found.duplicates:
        heading("duplicates")
        facts([(LIKENESS[kind], count) for kind, count in found.duplicates.items()])
    _show_needs_script(found)
    if found.sitemaps:
        heading("sitemaps")
        rows_table(("url", "format", "entries", "claims", "true_claims", "read_at", "problem"), found.sitemaps)
    heading(f"hosts (the first {len(found.hosts)} of {found.totals.hosts})")
    rows_table(("host", "pages", "fetches", "failed", "bytes", "unfetched", "last_fetch_at"), found.hosts)


def _show_needs_script(found: "Report") -> None:
    said = found.rendering.lines() if found.rendering else []
    if not found.needs_script:
        if said:
            heading("rendering")
        for line in said:
            answer(f"{line}.")
        return
    heading("empty without JavaScript")
    counts = ("pages", "with_data", "with_routes")
    pages, with_data, with_routes = (sum(row[name] for row in found.needs_script) for name in counts)
    where = f"{counted(pages, 'page')} of {counted(len(found.needs_script), 'host')}"
    answer(f"{where}: an empty shell each.")
    for line in said:
        answer(f"{line}.")
    if not said:
        answer("What scripts load is missing, as no browser opened them: see `--render`.")
    if with_data:
        holds = "holds" if with_data == 1 else "hold"
        answer(f"{counted(with_data, 'page')} {holds} prose as JSON, for a handler to read.")
    if with_routes:
        links = "links" if with_routes == 1 else "link"
        answer(f"{counted(with_routes, 'page')} {links} to pages behind a #, which are not followed.")
    rows_table(("host", "pages", "with_data", "example"), found.needs_script[:20])


def _show_days(found: "Report") -> None:
    heading("the last seven days")
    if found.days:
        rows = [
            {
                "day": day.day.strftime("%Y-%m-%d"),
                "requests": day.requests,
                "good": _percent(day.fetch_success_rate),
                "new text": _percent(day.density_ratio),
                "repeats": _percent(day.duplicate_discard_rate),
                "changed": _percent(day.change_yield),
                "waiting": day.frontier_depth,
                "p0+p1 done": _percent(day.p1_coverage_rate),
            }
            for day in found.days
        ]
        rows_table(tuple(rows[0]), rows)
    for line in found.verdict:
        answer(retyped(f"- {line}"))


def _percent(share: float | None) -> str | None:
    return None if share is None else f"{share:.0%}"


def _floor(crawl: "Crawl") -> str | None:
    if crawl.admits_above is None or crawl.state != "active":
        return None
    return f"only links that score above {crawl.admits_above:.3g} are admitted"


def _crawl_facts(crawl: "Crawl") -> list[tuple[str, object]]:
    from app.admin import options

    return [
        *options.facts(crawl),
        ("taken in by redirects of seeds", crawl.scope_redirects),
        ("next round", crawl.round_at),
        ("at its cap", _floor(crawl)),
        ("created", crawl.created_at),
        ("active since", crawl.active_since),
        ("finished", crawl.finished_at),
    ]
