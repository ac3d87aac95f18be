"""`tiptoe web`: the dashboard, in the foreground until Ctrl-C; a URL for one that runs; and users for it."""

import os
import secrets
import stat
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from app.cli.database import May, open_database
from app.cli.out import AsJson, answer, done, say, show_json

if TYPE_CHECKING:
    from app.config import Settings

Web = Annotated[bool, typer.Option("--web", help="Serve the dashboard too, at TIPTOE_WEB_LISTEN (127.0.0.1:8800).")]
ROLES = ("read", "steer")


def web(
    new_user: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Ask for a password, and print this user's entry for TIPTOE_WEB_USERS."),
    ] = None,
    role: Annotated[str, typer.Option(metavar="read|steer", help="What a new user may do.")] = "steer",
    as_json: AsJson = False,
) -> None:
    """Serve the dashboard until Ctrl-C: look at crawls, steer them in a browser. Where it runs, print a new URL."""
    if new_user is not None:
        _new_user(new_user, role, as_json)
        return
    from app.config import load
    from app.local import dashboard
    from app.local.children import interruptible

    if dashboard.is_served(settings := load()):
        done(dashboard.invite(settings), as_json=as_json, url=dashboard.address(settings))
        return
    with interruptible(), open_database(May.CREATE) as (settings, _):
        check(settings)
        try:
            code = dashboard.run(settings, started=lambda: tell(settings, as_json=as_json))
        except KeyboardInterrupt:
            raise typer.Exit(130) from None
    raise typer.Exit(code)


def check(settings: "Settings") -> None:
    """Whether the dashboard can be served there now. Raises InputError."""
    from app.local import dashboard

    dashboard.check(settings)
    dashboard.bound(settings).close()


def tell(settings: "Settings", *, as_json: bool = False) -> None:
    """Name the place where it is served, to a person with the token that opens it once."""
    from app.local import dashboard

    if as_json:
        show_json({"url": dashboard.address(settings)})
    if not as_json and _is_private():
        say(f"dashboard: {dashboard.invite(settings)}")
        return
    say(f"dashboard: {dashboard.address(settings)}")
    if dashboard.is_by_token(settings):
        say("`tiptoe web` prints the URL that opens it")


def _is_private() -> bool:
    """Whether a person or a program reads standard error now: neither a file nor the journal's socket keeps a token."""
    try:
        mode = os.fstat(sys.stderr.fileno()).st_mode
    except OSError:  # a stream of this process alone
        return True
    return stat.S_ISCHR(mode) or stat.S_ISFIFO(mode)


def _new_user(name: str, role: str, as_json: bool) -> None:
    """Print a user for TIPTOE_WEB_USERS. Raises InputError."""
    from app.config import values
    from app.errors import InputError
    from app.policy import passwords

    if role not in ROLES:
        raise InputError(f"--role {role}", f"is unknown; write {' or '.join(ROLES)}")
    asked = typer.prompt("password", hide_input=True, confirmation_prompt=True) if sys.stdin.isatty() else None
    password = asked if asked is not None else sys.stdin.readline().rstrip("\n")
    user = f"{name}:{role}:{passwords.hashed(password, secrets.token_bytes(passwords.SALT_BYTES))}"
    try:
        values.users((user,))
    except ValueError:
        raise InputError(f"--new-user {name!r}", "write 1 to 64 letters, digits, dots, -, _ or @") from None
    if as_json:
        done("", as_json=True, user=user)
    else:
        answer(user)
        say("add it to TIPTOE_WEB_USERS, where users are separated by commas")
