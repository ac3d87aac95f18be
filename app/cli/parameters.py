"""`tiptoe host parameters`: query parameters of a host that change nothing, and dropping them."""

from typing import TYPE_CHECKING, Annotated

import typer

from app.cli.database import open_database
from app.cli.host import Name, app
from app.cli.ordered import ordered_of_host
from app.cli.out import AsJson, answer, done, facts, rows_table, show_json
from app.words import counted

if TYPE_CHECKING:
    from app.admin.parameters import HostParameters
    from app.policy.focus.parameters import Parameter


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
