"""`tiptoe robots`: explains robots.txt as it applies to us."""

from typing import TYPE_CHECKING, Annotated

import typer

from app.cli.database import open_database
from app.cli.out import AsJson, answer, show_json
from app.cli.url import Url, show_ruling

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from app.admin.robots_report import Ruling
    from app.config import Settings

app = typer.Typer(no_args_is_help=True, help="robots.txt: may we fetch this URL, and which line decides?")

UNKNOWN = 3


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
