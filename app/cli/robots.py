"""`tiptoe robots`: explains robots.txt as it applies to us.

`tiptoe rights`: what an owner states about the uses of a URL or a host's pages, and the verdict for each purpose.
"""

from typing import TYPE_CHECKING, Annotated

import typer

from app.cli.database import open_database
from app.cli.out import AsJson, answer, facts, heading, show_json
from app.cli.url import Url, show_ruling
from app.words import counted

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from app.admin.rights import RightsReport, RightsStated
    from app.admin.robots_report import Ruling
    from app.config import Settings

app = typer.Typer(no_args_is_help=True, help="robots.txt: may we fetch this URL, and which line decides?")

UNKNOWN = 3
Asked = Annotated[
    str, typer.Argument(metavar="URL|HOST", help="A URL in full, or the name of a host; quote a URL for the shell.")
]


@app.callback()
def _group() -> None:
    """Explain robots.txt as it applies to us."""


@app.command()
def check(
    url: Url,
    fetch: Annotated[
        bool, typer.Option("--fetch", help="Ask the site for its robots.txt now, once, if its pace allows it.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """May we fetch this URL, by the stored robots.txt? Names group and line.

    Exit 0: allowed, 1: refused, 3: not known.
    """
    from app.admin import robots_check

    with open_database() as (settings, engine):
        found = _ask(engine, settings, url) if fetch else robots_check.check(engine, settings, url)
    if as_json:
        show_json(found)
    else:
        answer(found.url)
        show_ruling(found)
    if found.allowed is not True:
        raise typer.Exit(UNKNOWN if found.allowed is None else 1)


def _ask(engine: "Engine", settings: "Settings", url: str) -> "Ruling":
    from app.admin import robots_check
    from app.crawl.state.setup import make_sender, make_worker
    from app.runtime.process_name import process_name

    sender = make_sender(settings)
    try:
        return robots_check.ask(
            make_worker(settings, engine=engine, send=sender.send, where=sender.where, name=process_name()), url
        )
    finally:
        sender.close()


def rights(asked: Asked, as_json: AsJson = False) -> None:
    """Show what the owner of a URL or host allows: the verdict for each purpose, and the words that decided."""
    from app.admin import rights as report

    with open_database() as (settings, engine):
        found = report.of(engine, settings, asked)
    show_json(found) if as_json else _show(found)


def _show(found: "RightsReport") -> None:
    answer(found.url or found.host)
    if not found.stated and not found.silent:
        answer("  nothing is stated: every purpose is unknown")
    for crawl in found.silent:
        answer(f"  in crawl {crawl} its owner never stated anything: every purpose is unknown")
    for each in found.withdrawn:
        answer(f"  withdrawn by its owner in crawl {each.crawl}: {each.words}, {each.withdrawn_at:%Y-%m-%d %H:%M} UTC")
    for stated in found.stated:
        heading(_title(stated))
        facts(
            [
                (each.purpose.value, f"{each.answer}, by {each.by}" if each.by else each.answer.value)
                for each in stated.verdicts
            ]
        )
        facts([("states", each) for each in stated.statements] or [("states", "nothing any more")])


def _title(stated: "RightsStated") -> str:
    if stated.crawl is None:
        return "by the files of the site, as they are known now"
    if stated.pages is not None:
        return f"in crawl {stated.crawl}, {counted(stated.pages, 'page')} such as {stated.example}"
    since = f", since {stated.since:%Y-%m-%d %H:%M:%S} UTC" if stated.since else ""
    return f"in crawl {stated.crawl}{since}"
