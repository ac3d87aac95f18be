"""`tiptoe shell`: a Python prompt over one page, in which a handler is tried out."""

import code
import sys
from typing import Annotated

import typer

from app.cli.database import open_database
from app.cli.out import say


def shell(
    url: Annotated[str, typer.Argument(metavar="URL", help="The page, from the archive, or fetched politely.")],
    crawl: Annotated[str | None, typer.Option("--crawl", help="Of this crawl only.", show_default="all")] = None,
) -> None:
    """Open a Python prompt over a page: page, css, xpath, and items("books.py") for what a handler yields."""
    from app.admin import extract_try

    with open_database() as (settings, engine):
        names, source = extract_try.names_for_prompt(engine, settings, url, crawl)
    say(source)
    say('page, css("…"), xpath("…"), items("books.py") or items(function); Ctrl-D ends it')
    if sys.stdin.isatty():
        import readline  # noqa: F401  # lines can be edited, and found again
    code.interact(banner="", local=names, exitmsg="")
