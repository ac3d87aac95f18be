"""`tiptoe webhook`: subscribers that get a crawl's changes by POST, signed."""

from typing import Annotated

import typer

from app.cli.changes import Kinds, Pattern
from app.cli.database import open_database
from app.cli.ordered import ordered
from app.cli.out import AsJson, answer, done, rows_table, say, show_json, shown

app = typer.Typer(no_args_is_help=True, help="Subscribers that get a crawl's changes by POST, signed.")

Id = Annotated[int, typer.Argument(metavar="ID", help="Of the webhook: tiptoe webhook list shows it.", min=1)]
Begin = Annotated[
    str | None, typer.Option("--from", metavar="start|CURSOR", help="Send what came after this cursor; start: all.")
]


@app.command()
def add(
    crawl: Annotated[str, typer.Argument(metavar="CRAWL", help="Name of the crawl.")],
    url: Annotated[str, typer.Argument(metavar="URL", help="Where messages are sent to.")],
    kinds: Kinds = None,
    pattern: Pattern = None,
    begin: Begin = None,
    as_json: AsJson = False,
) -> None:
    """Add a subscriber, and print the secret that its messages are signed with: it is shown once."""
    from app.admin import webhooks

    with open_database() as (settings, engine), ordered(engine, "webhook.add", crawl) as note:
        made = webhooks.add(engine, settings, crawl, url, kinds=kinds or (), pattern=pattern, begin=begin)
        note.outcome = f"webhook {made.id}, to {webhooks.shown_url(made.url)}"
    if as_json:
        show_json(made)
        return
    answer(f"webhook {made.id} of {shown(made.crawl)}: {shown(made.url)}")
    answer(f"secret {made.secret}")
    say("keep the secret: it is not shown again")


@app.command("list")
def list_(
    crawl: Annotated[str | None, typer.Argument(metavar="CRAWL", help="Of this crawl.", show_default="all")] = None,
    as_json: AsJson = False,
) -> None:
    """List subscribers: what they took, and why one fails."""
    from app.admin import webhooks

    with open_database() as (_, engine):
        found = webhooks.listed(engine, crawl)
    rows = [
        {
            "id": each.id,
            "crawl": each.crawl,
            "url": each.url,
            "kinds": each.kinds,
            "pattern": each.pattern,
            "sent": each.sent,
            "state": "failing" if each.failures else "behind" if each.is_behind else "up to date",
            "failures": each.failures,
            "failing_since": each.failing_since,
            "next_try_at": each.next_try_at if each.failures else None,
            "why": each.why,
            "cursor": each.cursor,
        }
        for each in found
    ]
    if as_json:
        show_json(rows)
    else:
        rows_table(("id", "crawl", "url", "sent", "state", "failures", "next_try_at", "why"), rows)


@app.command()
def remove(webhook: Id, as_json: AsJson = False) -> None:
    """Remove a subscriber: nothing more is sent to it."""
    from app.admin import webhooks

    with open_database() as (_, engine), ordered(engine, "webhook.remove", str(webhook)):
        url = webhooks.remove(engine, webhook)
    done(f"webhook {webhook} is removed: {url}", as_json=as_json, webhook=webhook, url=url)


@app.command()
def replay(webhook: Id, begin: Begin = "start", as_json: AsJson = False) -> None:
    """Send a subscriber again what came after a cursor, or all changes that are kept; it is tried at once."""
    from app.admin import webhooks

    with open_database() as (_, engine), ordered(engine, "webhook.replay", str(webhook)):
        url = webhooks.replay(engine, webhook, begin or "start")
    done(f"webhook {webhook} goes on from {begin}: {url}", as_json=as_json, webhook=webhook, url=url)
