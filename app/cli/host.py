"""`tiptoe host`: the unit of politeness. Look at one, pause it, slow it down."""

from typing import Annotated

import typer

from app.cli.database import open_database
from app.cli.options import retyped
from app.cli.ordered import ordered_of_host
from app.cli.out import AsJson, answer, done, facts, heading, rows_table, show_json
from app.words import counted

app = typer.Typer(
    no_args_is_help=True, help="Hosts, the unit of politeness: show, pause, slow down, pin, release from a rest."
)

Name = Annotated[str, typer.Argument(metavar="NAME", help="Hostname, or any URL of it.")]
ForDomain = Annotated[
    bool,
    typer.Option("--domain", help="Apply it to every host of the registrable domain, including hosts found later."),
]
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


@app.command()
def pause(name: Name, as_json: AsJson = False) -> None:
    """Stop contacting this host, in any crawl, until it is resumed."""
    from app.admin import hosts

    with open_database() as (_, engine), ordered_of_host(engine, "host.pause", name) as order:
        order.outcome = hosts.pause(engine, name)
    _done(name, order.outcome, as_json)


@app.command()
def resume(name: Name, as_json: AsJson = False) -> None:
    """Allow visits to a paused host again, no sooner than its pace allows."""
    from app.admin import hosts

    with open_database() as (_, engine), ordered_of_host(engine, "host.resume", name) as order:
        hosts.resume(engine, name)
        order.outcome = "may be visited again"
    _done(name, order.outcome, as_json)


@app.command()
def slow(
    name: Name,
    seconds: Annotated[
        str,
        typer.Argument(metavar="SECONDS|default", help="Seconds from the end of a request to the start of the next."),
    ],
    domain: ForDomain = False,
    as_json: AsJson = False,
) -> None:
    """Set a host's delay, which overrides robots.txt and the default; `default` removes it."""
    from app.admin import hosts
    from app.errors import InputError
    from app.policy.url import hostname

    try:
        delay_s = None if seconds == "default" else float(seconds)
    except ValueError:
        raise InputError(
            f"delay {seconds!r}", "is not a number of seconds; write one, such as 5 or 0.5, or default"
        ) from None
    says = (
        "robots.txt and the default decide from the next visit on"
        if delay_s is None
        else f"{delay_s:g} s between requests"
    )
    detail = _asked_of_domain(f"delay={seconds}", domain)
    with open_database() as (_, engine), ordered_of_host(engine, "host.slow", name, detail) as order:
        whose = _of_domain(*hosts.slow_domain(engine, name, delay_s)) if domain else hostname(name)
        if not domain:
            says += hosts.slow(engine, name, delay_s)
        order.outcome = f"{whose}: {says}"
    done(f"{whose}: {says}", as_json=as_json, name=name, domain=domain, delay_s=delay_s, says=says)


@app.command()
def quiet(
    name: Name,
    hours: Annotated[
        str, typer.Argument(metavar="HH:MM-HH:MM|default", help="UTC; may wrap over midnight, e.g. 22:00-06:00.")
    ],
    domain: ForDomain = False,
    as_json: AsJson = False,
) -> None:
    """Set hours of the day in which a host is not contacted at all; `default` removes them."""
    from app.admin import hosts
    from app.policy.hours import Hours
    from app.policy.url import hostname

    wanted = None if hours == "default" else str(Hours.parse(hours))
    none = "no quiet hours" if domain else "no quiet hours of its own"
    says = none if wanted is None else f"no contact from {wanted} UTC"
    detail = _asked_of_domain(f"hours={hours}", domain)
    with open_database() as (_, engine), ordered_of_host(engine, "host.quiet", name, detail) as order:
        if domain:
            whose = _of_domain(*hosts.quiet_domain(engine, name, wanted))
        else:
            hosts.quiet(engine, name, wanted)
            whose = hostname(name)
        order.outcome = f"{whose}: {says}"
    done(f"{whose}: {says}", as_json=as_json, name=name, domain=domain, quiet_hours=wanted, says=says)


def _asked_of_domain(asked: str, domain: bool) -> str:
    return f"{asked}; domain=on" if domain else asked


def _of_domain(domain: str, known: int) -> str:
    return f"{domain} and its hosts ({known} known)"


@app.command()
def pin(
    name: Name,
    queue: Annotated[str, typer.Argument(metavar="QUEUE|default", help="One of TIPTOE_PINNED_QUEUES, or host-NN.")],
    as_json: AsJson = False,
) -> None:
    """Send a host's visits to a separate queue; `default` returns them to the queue of its hash."""
    from app.admin import hosts

    with (
        open_database() as (settings, engine),
        ordered_of_host(engine, "host.pin", name, f"queue={queue}") as order,
    ):
        chosen = hosts.pin(engine, settings, name, None if queue == "default" else queue)
        order.outcome = f"its visits use queue {chosen} from the next offer on"
    _done(name, order.outcome, as_json, queue=chosen)


@app.command()
def release(name: Name, as_json: AsJson = False) -> None:
    """End a host's rest after errors or a Retry-After. Its delay still holds."""
    from app.admin import hosts

    with open_database() as (_, engine), ordered_of_host(engine, "host.release", name) as order:
        hosts.release(engine, name)
        order.outcome = "its rest is over"
    _done(name, order.outcome, as_json)


@app.command()
def forget(name: Name, as_json: AsJson = False) -> None:
    """Fetch a host's robots.txt again before the next request to it."""
    from app.admin import hosts

    with open_database() as (_, engine), ordered_of_host(engine, "host.forget", name) as order:
        origins = hosts.forget(engine, name)
        order.outcome = f"robots.txt of {counted(origins, 'origin')} will be fetched again at the next visit"
    _done(name, order.outcome, as_json, origins=origins)


def _done(name: str, says: str, as_json: bool, **document: object) -> None:
    from app.policy.url import hostname

    host = hostname(name)
    done(f"{host}: {says}", as_json=as_json, host=host, says=says, **document)


def _told(key: str, value: object) -> object:
    from app.store.hosts import MOST_QUEUED

    return f"{value} or more" if key == "queued" and value == MOST_QUEUED else value
