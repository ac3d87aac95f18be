"""Options that several commands share, and the settings that some of them set."""

import os
import shlex
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from app.config import Settings

_is_home_given: ContextVar[bool] = ContextVar("tiptoe --home", default=False)

Contact = Annotated[
    str | None,
    typer.Option(help="Mail address or URL of the person responsible for the crawl; needed for public sites."),
]
Delay = Annotated[
    float | None,
    typer.Option(
        metavar="SECONDS",
        help="Seconds between two requests to a host, unless it or you set another delay.",
        show_default="1, or TIPTOE_DEFAULT_DELAY_S",
    ),
]
AllowNetwork = Annotated[
    list[str] | None,
    typer.Option(metavar="CIDR", help="Crawl these addresses too, though they are not public (may be repeated)."),
]
Home = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR", help="Folder for the embedded services' data and logs.", show_default=".tiptoe, or TIPTOE_HOME"
    ),
]


def settings_with(
    contact: Contact = None,
    delay: Delay = None,
    allow_network: AllowNetwork = None,
    home: Home = None,
) -> "Settings":
    """The settings, with what the options say (`app.cli.gather`). Raises SettingError, InputError."""
    import ipaddress

    from app.config import load
    from app.errors import InputError

    if delay is not None and not 0 <= delay <= 86_400:
        raise InputError(f"--delay {delay:g}", "is out of range; use 0 to 86400 seconds")
    given: dict[str, Any] = {}
    if contact:
        given["contact"] = contact
    if delay is not None:
        given["default_delay_s"] = delay
    if home is not None:
        given["home"] = home
    settings = load(**given)
    for value in allow_network or ():
        try:
            ipaddress.ip_network(value, strict=False)
        except ValueError:
            raise InputError(f"--allow-network {value!r}", "is not a network; write CIDR, such as 10.0.0.0/8") from None
    if not allow_network:
        return settings
    return load(**given, allow_networks=(*settings.allow_networks, *allow_network))


def typed(home: Path | None = None) -> str:
    """The beginning of a command on the same data: `tiptoe`, or `tiptoe --home DIR` where an option chose the home.

    home: of this command; None: it has no option of its own for it
    """
    from app.config import load

    settings = load()
    usual = settings.home.resolve()
    found = usual if home is None else home.resolve()
    if settings.database_url is not None or (found == usual and not _is_home_given.get()):
        return "tiptoe"
    return f"tiptoe --home {shlex.quote(near(found))}"


def near(path: Path) -> str:
    """A path, relative to the working folder where it lies in there."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def use_home(ctx: typer.Context, home: Path) -> None:
    """Set TIPTOE_HOME for one command and its children."""
    before = os.environ.get("TIPTOE_HOME")
    os.environ["TIPTOE_HOME"] = str(home)
    token = _is_home_given.set(True)

    def restore() -> None:
        _is_home_given.reset(token)
        if before is None:
            os.environ.pop("TIPTOE_HOME", None)
        else:
            os.environ["TIPTOE_HOME"] = before

    ctx.call_on_close(restore)
