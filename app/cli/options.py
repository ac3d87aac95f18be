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
Scope = Annotated[
    str | None,
    typer.Option(
        metavar="KIND",
        help="host, domain, prefix or any: a new crawl's reach around its seeds.",
        show_default="host",
    ),
]
Include = Annotated[
    list[str] | None,
    typer.Option(metavar="REGEX", help="A URL must match one of these, unless it is a seed (may be repeated)."),
]
Exclude = Annotated[
    list[str] | None, typer.Option(metavar="REGEX", help="A URL must match none of these (may be repeated).")
]
MaxPages = Annotated[int | None, typer.Option(metavar="N", help="End after this many pages.")]
MaxBytes = Annotated[int | None, typer.Option(metavar="N", help="End after this many body bytes on the wire.")]
MaxDepth = Annotated[int | None, typer.Option(metavar="N", help="Follow at most this many links from a seed.")]
MaxSeconds = Annotated[float | None, typer.Option(metavar="N", help="End after this many seconds of running.")]
KeepFresh = Annotated[
    bool | None,
    typer.Option(
        "--keep-fresh/--no-keep-fresh",
        help="Do not end: fetch pages again when they are due.",
        show_default="no, or as before",
    ),
]


def settings_with(
    *,
    contact: str | None = None,
    delay: float | None = None,
    allow_network: list[str] | None = None,
    home: Path | None = None,
) -> "Settings":
    """The settings with the options applied. Raises SettingError, InputError."""
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


def budgets(
    max_pages: int | None, max_bytes: int | None, max_depth: int | None, max_seconds: float | None
) -> dict[str, float | None]:
    """The budgets that are given."""
    given = {"max_pages": max_pages, "max_bytes": max_bytes, "max_depth": max_depth, "max_seconds": max_seconds}
    return {name: value for name, value in given.items() if value is not None}


def limits(**given: str | None) -> dict[str, float | None]:
    """Budgets as `crawl edit` takes them: a number, or none for no limit. Raises InputError."""
    from app.errors import InputError

    found: dict[str, float | None] = {}
    for name, text in given.items():
        if text is None:
            continue
        try:
            found[name] = None if text == "none" else float(text) if name == "max_seconds" else int(text)
        except ValueError:
            option = "--" + name.replace("_", "-")
            raise InputError(f"{option} {text!r}", "is not a limit; write a number, or none for no limit") from None
    return found


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
