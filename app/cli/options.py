"""Options that several commands share, and the settings that some of them set."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from app.config import Settings

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


def use_home(ctx: typer.Context, home: Path) -> None:
    """Set TIPTOE_HOME for one command and its children."""
    before = os.environ.get("TIPTOE_HOME")
    os.environ["TIPTOE_HOME"] = str(home)

    def restore() -> None:
        if before is None:
            os.environ.pop("TIPTOE_HOME", None)
        else:
            os.environ["TIPTOE_HOME"] = before

    ctx.call_on_close(restore)
