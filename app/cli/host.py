"""`tiptoe host`: the unit of politeness. Look at one, pause it, slow it down."""

from typing import Annotated

import typer

from app.cli import orders
from app.cli.database import open_database
from app.cli.options import retyped
from app.cli.out import AsJson, answer, facts, heading, rows_table, show_json

app = typer.Typer(
    no_args_is_help=True, help="Hosts, the unit of politeness: show, pause, slow down, pin, release from a rest."
)

Name = Annotated[str, typer.Argument(metavar="NAME", help=orders.SUBJECTS["host"][1])]
_SHOWN = (
    "id",
    "state",
    "queue",
    "pinned",
    "queued",
    "unfetched",
    "delay_s",
    "delay_override_s",
    "robots_delay_s",
    "next_fetch_at",
    "polite_at",
    "blocked_until",
    "resting_because",
    "resting_detail",
    "failures",
    "adaptive_level",
    "latency_s",
    "recent_statuses",
    "breaker_trips",
    "quiet_hours",
    "isolate",
    "address",
    "last_contact_at",
    "answered_at",
    "created_at",
)


@app.command()
def patterns(name: Name, as_json: AsJson = False) -> None:
    """Show the patterns of a host's URLs: how many were found, fetched, brought new text, and were refused as traps."""
    from app.admin import focus

    with open_database() as (_, engine):
        rows = focus.patterns_of(engine, name)
    if as_json:
        show_json(rows)
    elif not rows:
        answer("no page of this host was fetched yet")
    else:
        rows_table(("crawl", "pattern", "urls", "fetched", "new", "refused", "verdict"), rows)


@app.command()
def show(name: Name, as_json: AsJson = False) -> None:
    """Show everything about a host: its wait, pace, robots.txt, latest visits, requests and operators' commands."""
    from app.admin import hosts

    with open_database() as (settings, engine):
        page = hosts.show(engine, settings, name)
    if as_json:
        show_json(page)
        return
    answer(f"{page.host['name']} waits for {retyped(page.waits_for)}")
    facts([("pace", f"{page.pace.seconds:g} s between two requests, at least: {page.pace.rule}")])
    facts((key.replace("_", " "), _told(key, page.host[key])) for key in _SHOWN)
    if page.domain:
        heading(f"all of {page.domain['name']}")
        facts((key.replace("_", " "), page.domain[key]) for key in ("delay_override_s", "quiet_hours"))
    if page.address_budget:
        budget = page.address_budget
        heading(f"{budget['kind']} {budget['name']}, shared by the hosts there")
        keys = ("next_at", "queue_at", "failures", "blocked_until", "resting_because")
        facts((key.replace("_", " "), budget[key]) for key in keys)
    heading("robots.txt")
    columns = (
        "origin",
        "availability",
        "status",
        "fetched_at",
        "expires_at",
        "unreachable_since",
        "crawl_delay_s",
        "opt_out",
    )
    rows_table(columns, page.robots)
    heading("latest visits")
    rows_table(("taken_at", "ended_at", "ending", "detail", "fetches", "worker"), page.visits)
    heading("latest requests")
    rows_table(("started_at", "kind", "status", "outcome", "total_ms", "url"), page.fetches)
    if page.events:
        heading("what operators did")
        rows_table(("at", "event", "detail"), page.events)


@app.command("list")
def list_(
    waits_for: Annotated[
        str | None,
        typer.Option(
            help="Only hosts that wait for this: delay, due, resting, paused, 'being visited', 'nothing queued'."
        ),
    ] = None,
    limit: Annotated[int, typer.Option(min=1, help="At most this many.")] = 100,
    as_json: AsJson = False,
) -> None:
    """List hosts, the next due first, and what each waits for."""
    from app.admin import hosts

    with open_database() as (_, engine):
        found = hosts.listed(engine, waits_for=waits_for, most=limit)
    if as_json:
        show_json(found)
    else:
        rows_table(("host", "waits_for", "next_fetch_at", "delay_s", "queue", "failures", "last_contact_at"), found)


def _told(key: str, value: object) -> object:
    from app.store.hosts import MOST_QUEUED

    return f"{value} or more" if key == "queued" and value == MOST_QUEUED else value


orders.add_to(app, "host")
