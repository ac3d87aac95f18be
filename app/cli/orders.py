"""The commands of the catalogue's orders: `tiptoe host pause`, `tiptoe crawl finish`, `tiptoe url retry`, …"""

import sys
from collections.abc import Callable, Iterator
from inspect import Parameter, Signature
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import typer

from app.admin.act import DEFAULT, Act, FormField, subject_of
from app.admin.orders import CATALOGUE
from app.cli.database import open_database, ordered
from app.cli.options import retyped
from app.cli.out import JSON, done, say, shown

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from app.config import Settings

SUBJECTS: Final = {  # what an order leads to → its name, its help
    "host": ("NAME", "Hostname, or any URL of it."),
    "crawl": ("NAME", "Name of the crawl; `tiptoe crawl list` has them all."),
    "url": ("URL", "In full, e.g. https://example.org/page; quote it for the shell."),
}


class _Desk(NamedTuple):
    settings: "Settings"
    engine: "Engine"


def add_to(group: typer.Typer, leads: str) -> None:
    """Add the orders to hosts, crawls or URLs to a group of commands."""
    for act in CATALOGUE:
        if act.leads == leads:
            group.command(act.verb, help=act.sentence())(_command_of(act))


def _command_of(act: Act) -> Callable[..., None]:
    """The function that Typer makes a command of."""
    metavar, words = SUBJECTS[act.leads]
    name = metavar.lower()

    def command(**given: Any) -> None:
        _give(act, given.pop(name), given, as_json=given.pop("as_json"), is_sure=given.pop("yes", False))

    subject = typer.Argument(..., metavar=metavar, help=words)
    shown_as = [(name, str, subject), *map(_parameter, act.asks), *_more(act)]
    kind = Parameter.KEYWORD_ONLY
    parameters = [Parameter(each, kind, default=how, annotation=of_type) for each, of_type, how in shown_as]
    command.__signature__ = Signature(parameters)  # type: ignore[attr-defined]  # PEP 362
    return command


def _parameter(ask: FormField) -> tuple[str, Any, Any]:
    """(name, type, how Typer shows it)"""
    if ask.is_argument:
        words = f"{ask.label}; {DEFAULT}: {ask.none}."
        return ask.name, str, typer.Argument(..., metavar=f"{ask.metavar}|{DEFAULT}", help=words)
    if ask.kind == "check":
        return ask.name, bool, typer.Option(False, f"--{ask.name}", help=f"{ask.label}.")
    shows: dict[str, Any] = {"show_default": ask.none} if ask.none else {}
    return ask.name, str | None, typer.Option(None, f"--{ask.name}", help=f"{ask.label}.", **shows)


def _more(act: Act) -> Iterator[tuple[str, Any, Any]]:
    if act.loses is not None:
        yield "yes", bool, typer.Option(False, "--yes", help="Do not ask.")
    yield "as_json", bool, JSON


def _give(act: Act, subject: str, given: dict[str, Any], *, as_json: bool, is_sure: bool) -> None:
    """Carry an order out, note it, and report what it came to."""
    fields = {name: "on" if value is True else value or "" for name, value in given.items()}
    act.check(fields)
    with open_database() as (settings, engine):
        desk = _Desk(settings, engine)
        if act.loses is not None and not is_sure:
            _confirm(f"{act.leads} {subject}", shown(subject), act.loses(desk, subject))
        known = subject_of(desk, act.leads, subject)
        with ordered(engine, act.key, known, "; ".join(act.detail(fields)) or None) as order:
            end = act.do(desk, subject, fields)
            order.outcome = end.outcome
    says = f"{end.says}{end.go_on}"
    if act.leads == "url":
        done(says, as_json=as_json, url=subject, **end.document)
    else:
        about = {} if end.whose else {act.leads: known}
        done(f"{end.whose or known}: {says}", as_json=as_json, **about, says=says, **end.document)
    for line in end.notes:
        say(retyped(line))


def _confirm(what: str, name: str, loss: str) -> None:
    """Ask at a terminal; else raise InputError, which names --yes."""
    from app.errors import InputError

    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise InputError(what, f"{loss}; add --yes")
    typer.confirm(f"{name}: {loss}. Continue?", abort=True)
