"""`tiptoe plugins`: features and plugins, what each does, its state, and why one is left out or off."""

from typing import Annotated

import typer

from app.cli.database import open_database
from app.cli.out import AsJson, done, rows_table, say, show_json

On = Annotated[
    str | None,
    typer.Option("--on", metavar="NAME", help="Write the rows of this plugin again, which was switched off."),
]


def plugins(on: On = None, as_json: AsJson = False) -> None:
    """List Tiptoe's features and the plugins that TIPTOE_PLUGINS names, with their hooks, types, columns and tables."""
    from app.admin import plugin_list
    from app.config import load
    from app.errors import TiptoeError
    from app.local.services import has_database

    settings, known = load(), []
    if on is not None:
        with open_database() as (settings, engine):
            plugin_list.put_on(engine, settings.plugins, on)
        done(f"{on}: its rows are written again", as_json=as_json, plugin=on)
        return
    if settings.database_url is not None or has_database(settings.home):
        try:
            with open_database() as (settings, engine):
                known = plugin_list.states(engine)
        except TiptoeError as error:
            say(f"whether one is off is not known: {error}")
    rows = plugin_list.listed(settings.plugins, known)
    if as_json:
        show_json(rows)
        return
    words = ("hooks", "reads", "columns", "tables")
    rows_table(
        ("name", "of", "version", "state", *words, "problem"),
        [{**row, **{name: ", ".join(map(str, row[name] or ())) for name in words}} for row in rows],
    )
