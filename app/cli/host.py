"""`tiptoe host`: the unit of politeness. Look at one, pause it, slow it down.

`parameters` are those of queries that change nothing.
"""

from typing import TYPE_CHECKING, Annotated

import typer

from app.cli import orders
from app.cli.database import open_database, ordered_of_host
from app.cli.options import retyped
from app.cli.out import AsJson, answer, done, facts, heading, rows_table, show_json
from app.words import counted

if TYPE_CHECKING:
    from app.admin.parameters import HostParameters
    from app.policy.focus.parameters import Parameter


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
def parameters(
    name: Name,
    drop: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Drop a parameter, and fold the URLs (may be repeated).")
    ] = None,
    keep: Annotated[list[str] | None, typer.Option(metavar="NAME", help="Send a dropped parameter again.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Drop it even if it is not known to change nothing.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show query parameters that change nothing, judged by pages fetched with and without them; drop some."""
    from app.admin import parameters as admin
    from app.errors import InputError

    if drop and keep:
        raise InputError("--drop and --keep", "exclude each other; choose one")
    with open_database() as (settings, engine):
        if drop:
            asked = f"names={' '.join(drop)}{'; force=on' if force else ''}"
            with ordered_of_host(engine, "host.drop_parameters", name, asked) as order:
                folding = admin.drop(engine, settings, name, drop, force=force)
                says = order.outcome = (
                    f"{', '.join(folding.dropped)} dropped: {counted(folding.folded, 'URL')} folded into others, "
                    f"{counted(folding.moved, 'URL')} shortened; nothing is fetched again"
                )
            document = {"dropped": folding.dropped, "moved": folding.moved, "folded": folding.folded}
            done(f"{folding.host}: {says}", as_json=as_json, host=folding.host, says=says, **document)
        elif keep:
            with ordered_of_host(engine, "host.keep_parameters", name, f"names={' '.join(keep)}") as order:
                host, left = admin.keep(engine, name, keep)
                says = order.outcome = f"{', '.join(keep)} sent again, from the next pick on"
            done(f"{host}: {says}", as_json=as_json, host=host, says=says, dropped=left)
        else:
            found = admin.found(engine, name)
            show_json(found) if as_json else _show(found)


def _show(found: "HostParameters") -> None:
    facts([("dropped", found.dropped or None)])
    if not found.tested:
        answer("no two pages of this host differ in one parameter alone")
        return
    rows = [
        {"parameter": each.name, "same": each.passed, "changed": each.failed, "verdict": _verdict(each)}
        for each in found.tested
    ]
    rows_table(("parameter", "same", "changed", "verdict"), rows)


def _verdict(each: "Parameter") -> str:
    if each.is_idle:
        return f"changes nothing: --drop {each.name}"
    return "is needed" if each.failed else "too few tests"


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
