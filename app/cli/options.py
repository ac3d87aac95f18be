"""Options that several commands share, and the settings that some of them set."""

import os
import re
import shlex
import shutil
import sys
from contextvars import ContextVar
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer


class PageContent(StrEnum):
    """How much of a page its text and Markdown are."""

    MAIN = "main"
    FULL = "full"


Content = Annotated[
    PageContent,
    typer.Option(
        "--content", metavar="main|full", help="How much of a page: main, or full, which is all that a reader sees."
    ),
]

if TYPE_CHECKING:
    from app.config import Settings

COMMANDS = (
    *(
        "crawl",
        "up",
        "demo",
        "web",
        "seed",
        "status",
        "search",
        "page",
        "archive",
        "url",
        "rights",
        "extract",
        "shell",
        "plugins",
        "host",
        "robots",
    ),
    *("profile", "identity", "botauth", "audit", "sql", "export", "changes", "webhook", "doctor", "db"),
)  # in the order in which a newcomer needs them
_TO_TYPE = re.compile(rf"(?<![\w/.-])tiptoe (?=(?:{'|'.join(COMMANDS)})\b)")
_is_home_given: ContextVar[bool] = ContextVar("tiptoe --home", default=False)
_own_home: ContextVar[Path | None] = ContextVar("--home of the command", default=None)

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
        _own_home.set(home)
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
    """The beginning of a command on the same data: `tiptoe`, with `--home DIR` where an option chose the home.

    The program is named by its path where no PATH leads to it: `.venv/bin/tiptoe`.

    home: of this command; None: that of its option `--home`, if it has one
    """
    from app.config import load

    settings = load()
    usual = settings.home.resolve()
    found = (home or _own_home.get() or settings.home).resolve()
    if settings.database_url is not None or (found == usual and not _is_home_given.get()):
        return _program()
    return f"{_program()} --home {shlex.quote(near(found))}"


def retyped(text: str) -> str:
    """A text for a person, whose commands (`tiptoe crawl …`) begin as `typed` says."""
    from app.errors import TiptoeError

    if not _is_home_given.get() and _own_home.get() is None and _program() == "tiptoe":
        return text
    try:
        begins = typed()
    except TiptoeError:  # no home can be used: that is what the text says
        return text
    return _TO_TYPE.sub(lambda _: f"{begins} ", text)


def _program() -> str:
    """This program, as a person types it: its name where the shell finds it by that, else its path."""
    path = Path(sys.argv[0])
    if path.name != "tiptoe" or not path.is_file():  # called from Python
        return "tiptoe"
    found = shutil.which("tiptoe")
    return "tiptoe" if found is not None and Path(found).samefile(path) else shlex.quote(near(path.absolute()))


def forget_home() -> None:
    """Forget what an earlier command of this process was told: call it where a command begins."""
    _own_home.set(None)


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
