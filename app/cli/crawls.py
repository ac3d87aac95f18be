"""`tiptoe crawl VERB NAME`: start, pause, resume, finish, report, list. (`tiptoe crawl URL…` is `crawl_command`.)"""

from typing import TYPE_CHECKING, Annotated

import typer

from app.cli.database import open_database
from app.cli.out import AsJson, answer, facts, heading, rows_table, show_json, table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from app.crawl.report import Report
    from app.store.crawls import Crawl, Totals

Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the crawl; `tiptoe crawl list` has them all.")]
_TOTALS = ("name", "state", "ended_because", "round", "pages", "fetches", "failed", "bytes", "suppressed", "hosts")


def start(
    name: Name,
    again: Annotated[
        bool, typer.Option("--again", help="Go round: everything it has settled is due now, with validators.")
    ] = False,
) -> None:
    """Make a paused or finished crawl active; its clock starts anew. Workers (`tiptoe up`) do the rest."""
    from app.crawl import steer

    with open_database() as (settings, engine):
        crawl = steer.start(engine, name, again=again, settings=settings)
    answer(f"{crawl.name}: active, round {crawl.round}")


def pause(name: Name) -> None:
    """Fetch nothing more of this crawl until it is resumed. Others go on."""
    from app.crawl import steer

    with open_database() as (_, engine):
        steer.pause(engine, name)
    answer(f"{name}: paused; `tiptoe crawl resume {name}` goes on")


def resume(name: Name) -> None:
    """Go on with a paused crawl where it stopped."""
    from app.crawl import steer

    with open_database() as (_, engine):
        steer.resume(engine, name)
    answer(f"{name}: active")


def finish(name: Name) -> None:
    """End a crawl now. Nothing is deleted: pages, frontier and log stay, and `start` takes it up again."""
    from app.crawl import steer

    with open_database() as (_, engine):
        steer.finish(engine, name)
    answer(f"{name}: finished")


def list_(as_json: AsJson = False) -> None:
    """All crawls: state, and what they have brought in this round."""
    from app.crawl import report

    with open_database() as (_, engine):
        found = report.totals(engine)
    show_json(found) if as_json else show_totals(found)


def report(name: Name, as_json: AsJson = False) -> None:
    """What a crawl came to: URLs by state, endings of its requests, refused links, hosts. Counts exactly, so it takes a while."""
    from app.crawl import report as reports

    with open_database() as (settings, engine):
        found = reports.report(engine, name, settings)
    show_json(found) if as_json else _show_report(found)


def show_totals(found: "Sequence[Totals]") -> None:
    if not found:
        answer("no crawl yet: tiptoe crawl https://example.org/")
        return
    table(_TOTALS, [[getattr(row, name) for name in _TOTALS] for row in found])


def _show_report(found: "Report") -> None:
    show_totals([found.totals])
    heading("crawl")
    facts(_crawl_facts(found.crawl))
    facts(("at the cap per host", host) for host in found.full_hosts)
    heading("URLs by state")
    facts(found.urls.items())
    heading("requests by ending (all rounds)")
    rows_table(("kind", "outcome", "status", "fetches", "last_at"), found.outcomes)
    if found.causes:
        heading("why URLs ended, or their pages were not kept")
        rows_table(("state", "urls", "cause"), found.causes)
    if found.reasons:
        heading("links not admitted")
        rows_table(("reason", "links", "times", "last_at"), found.reasons)
    if found.duplicates:
        heading("duplicates")
        facts([(f"same {kind}", count) for kind, count in found.duplicates.items()])
    if found.sitemaps:
        heading("sitemaps")
        rows_table(("url", "format", "entries", "claims", "true_claims", "read_at", "problem"), found.sitemaps)
    heading(f"hosts (the first {len(found.hosts)} of {found.totals.hosts})")
    rows_table(("host", "pages", "fetches", "failed", "bytes", "unfetched", "last_fetch_at"), found.hosts)


def _floor(crawl: "Crawl") -> str | None:
    if crawl.admits_above is None or crawl.state != "active":
        return None
    return f"only links that score above {crawl.admits_above:.3g} are admitted"


def _crawl_facts(crawl: "Crawl") -> list[tuple[str, object]]:
    return [
        ("scope", crawl.scope),
        ("include", crawl.include),
        ("exclude", crawl.exclude),
        ("max pages", crawl.max_pages),
        ("max bytes", crawl.max_bytes),
        ("max depth", crawl.max_depth),
        ("max seconds", crawl.max_seconds),
        ("keeps fresh", crawl.keep_fresh),
        ("sitemaps", crawl.sitemaps),
        ("honours opt-outs", crawl.honour_opt_outs),
        ("at its cap", _floor(crawl)),
        ("created", crawl.created_at),
        ("active since", crawl.active_since),
        ("finished", crawl.finished_at),
    ]
