"""`tiptoe doctor`: checks everything that a crawl needs.

`tiptoe plugins`: features and plugins, what each does, its state, and why one is left out or off.
"""

from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated

import typer

from app.cli.database import May, open_database
from app.cli.options import retyped
from app.cli.out import AsJson, done, rows_table, say, show_json, table

if TYPE_CHECKING:
    from app.admin.check import Check
    from app.config import Settings

PING_S = 2.0
On = Annotated[
    str | None,
    typer.Option("--on", metavar="NAME", help="Write the rows of this plugin again, which was switched off."),
]


def doctor(as_json: AsJson = False) -> None:
    """Check all that a crawl needs: settings, plugins, database, broker, workers, frontier, archive and more.

    Each problem has a remedy. Exit 1: a check fails.
    """
    from app.admin.check import Grade

    checks = _examine()
    if as_json:
        show_json(checks)
    else:
        table(
            ("check", "grade", "found", "remedy"),
            [(c.name, c.grade, c.finding, retyped(c.remedy)) for c in checks],
            cut=200,
        )
    if any(check.grade is Grade.FAIL for check in checks):
        raise typer.Exit(1)


def _examine() -> "list[Check]":
    """Examine each part if the parts that it needs are in order."""
    from app.admin import archive, doctor, plugin_list, rendering, webhooks
    from app.admin.check import Check, Grade, broken
    from app.config import load, unknown_variables
    from app.errors import TiptoeError
    from app.local.services import has_database

    try:
        settings = load()
    except TiptoeError as error:
        return [broken("settings", error)]
    checks = doctor.configuration(settings, unknown_variables())
    found, names = doctor.sources(settings)
    checks += found
    checks.append(rendering.browser(settings))
    served, found = _broker(settings)
    checks += found
    if settings.database_url is None and not has_database(settings.home):
        finding = "embedded, not made yet; tiptoe crawl and tiptoe up make it"
        checks += plugin_list.checks(settings, [])
        return [*checks, Check(name="database", grade=Grade.OK, finding=finding)]
    try:
        with open_database(May.LOOK) as (settings, engine):
            found = doctor.database(engine)
            checks += found
            if all(check.grade is not Grade.FAIL for check in found):
                checks += doctor.fleet(engine, settings, served)
                checks += rendering.renderers(engine)
                checks += archive.health(engine, settings)
                checks += doctor.asked_for(engine, names)
                checks += plugin_list.checks(settings, plugin_list.states(engine))
                checks += webhooks.checks(engine)
    except TiptoeError as error:
        checks.append(broken("database", error))
    return checks


def _broker(settings: "Settings") -> "tuple[dict[str, list[str]], list[Check]]":
    """The workers that answer with their queues, the check of the broker, and the check of the workers' own reports."""
    from app.admin.check import Check, Grade, broken
    from app.admin.doctor import declared_otherwise, known_keys
    from app.cli.database import check_broker, kind_of
    from app.errors import TiptoeError

    with ExitStack() as shares:
        try:
            url = settings.broker_url or _embedded(settings, shares)
            if url is None:
                finding = "embedded, not running; tiptoe crawl and tiptoe up start it"
                return {}, [Check(name="broker", grade=Grade.OK, finding=finding)]
            check_broker(url)
            from app import celery

            otherwise = celery.queues_otherwise(settings.model_copy(update={"broker_url": url}))
            served = celery.queues_served(url, PING_S)
            loads = celery.known_keys(url, PING_S, len(served)) if served else {}
        except TiptoeError as error:
            return {}, [broken("broker", error)]
    which = kind_of(url) if settings.broker_url else "embedded Valkey"
    answers = Check(name="broker", grade=Grade.OK, finding=f"{which} answers")
    return served, [declared_otherwise(otherwise) if otherwise else answers, *known_keys(loads)]


def _embedded(settings: "Settings", shares: ExitStack) -> str | None:
    """URL of the home's own broker if another command runs it: a check must not start it."""
    from app.local.home import is_held
    from app.local.services import start_valkey

    if not is_held(settings.home.resolve() / "run" / "valkey.keeper"):
        return None
    return shares.enter_context(start_valkey(settings.home, say, stay_s=settings.services_stay_s)).url


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
