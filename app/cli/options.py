"""Options that several commands share, and the settings that some of them stand for."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from app.config import Settings

Contact = Annotated[
    str | None, typer.Option(help="Mail address or URL of who answers for the crawl; needed for public sites.")
]
Delay = Annotated[
    float | None,
    typer.Option(
        metavar="SECONDS",
        help="Between two requests to a host, where neither it nor you said otherwise.",
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
        metavar="DIR", help="Folder of the embedded services' data and logs.", show_default=".tiptoe, or TIPTOE_HOME"
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
        raise InputError(f"--delay {delay:g}", "use 0 to 86400 seconds")
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
            raise InputError(f"--allow-network {value!r}", "write a network as CIDR, such as 10.0.0.0/8") from None
    if not allow_network:
        return settings
    return load(**given, allow_networks=(*settings.allow_networks, *allow_network))


def use_home(ctx: typer.Context, home: Path) -> None:
    """TIPTOE_HOME for one command, and for its children."""
    before = os.environ.get("TIPTOE_HOME")
    os.environ["TIPTOE_HOME"] = str(home)

    def restore() -> None:
        if before is None:
            os.environ.pop("TIPTOE_HOME", None)
        else:
            os.environ["TIPTOE_HOME"] = before

    ctx.call_on_close(restore)
