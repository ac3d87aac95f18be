"""Options that several commands share, and the settings that some of them set.

Options that belong together reach a command as one value: `@gather(wish=asked)` fills its parameter `wish`.

`asked` is a function whose parameters are the options. Typer reads them in place of `wish`, in the same place of the
help, so that commands which share options declare them nowhere twice. (As FastAPI's `Depends`.) A function that makes a
value may gather parts of it likewise.

The options that say what is asked of a crawl are made of the catalogue, and come to a `CrawlChange`.
`asked` is for `crawl run`, `seed add` and `seed import`, `edited` for `crawl edit`.
"""

import os
import re
import shlex
import shutil
import sys
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from enum import StrEnum
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeVar

import typer

from app.model import CrawlChange
from app.model.crawl import OPTIONS, Kind, Option

if TYPE_CHECKING:
    from app.config import Settings

Made = TypeVar("Made")
_TYPES: Final[dict[Kind, Any]] = {
    "flag": bool | None,
    "list": list[str] | None,
    "whole": int | None,
    "number": float | None,
}
_LIMITS: Final = ("whole", "number")


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
    """The settings, with what the options say (`gather`). Raises SettingError, InputError."""
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


def gather(**gatherers: Callable[..., object]) -> Callable[[Callable[..., Made]], Callable[..., Made]]:
    """{parameter of the command: the function that makes its value of options}."""
    options = {name: signature(make).parameters for name, make in gatherers.items()}

    def decorate(command: Callable[..., Made]) -> Callable[..., Made]:
        @wraps(command)
        def run(**given: Any) -> Made:
            made = {
                name: make(**{option: given.pop(option) for option in options[name]})
                for name, make in gatherers.items()
            }
            return command(**given, **made)

        shown: list[Parameter] = []
        for own in signature(command).parameters.values():
            shown += options[own.name].values() if own.name in options else [own]
        run.__signature__ = Signature([each.replace(kind=Parameter.KEYWORD_ONLY) for each in shown])  # type: ignore[attr-defined]  # PEP 362
        run.__annotations__ = {}  # typer looks there too, for names that only a type checker knows
        return run

    return decorate


def _gathers(parameters: Callable[[Option], Iterator[Parameter]]) -> Callable[..., CrawlChange]:
    """A function of these parameters that makes the change which they say. It raises InputError."""

    def gathered(**given: Any) -> CrawlChange:
        values = {}
        for column, option in OPTIONS.items():
            is_none = given.get(f"no_{column}", False)
            if given[column] is not None and given[column] != []:
                values[column] = _value(option, given[column], is_none)
            elif is_none:
                values[column] = ()
        return CrawlChange(exact=values)

    found = [each for option in OPTIONS.values() for each in parameters(option)]
    gathered.__signature__ = Signature(found)  # type: ignore[attr-defined]  # PEP 362
    return gathered


def _value(option: Option, given: Any, is_none: bool) -> Any:
    """The value of an option. Raises InputError."""
    from app.admin.options import read
    from app.errors import InputError

    if is_none:
        raise InputError(f"--{option.flag} and --no-{option.flag}", "exclude each other; choose one")
    return read(option, given, called=f"--{option.flag}")


def _asked(option: Option) -> Iterator[Parameter]:
    """The parameter of an option with seeds, of a crawl that may be new."""
    usual = option.usual if option.kind not in _LIMITS else ""
    if usual and not option.is_fixed:
        usual = f"{usual}, or as before{f'; of `crawl run`: {usual}' if option.lapses else ''}"
    of_type = _TYPES.get(option.kind, str | None)
    yield _parameter(option, of_type, option.sentence, show_default=usual or None)


def _edited(option: Option) -> Iterator[Parameter]:
    """The parameters of an option for a crawl that exists: `none` takes a limit away, `--no-include` patterns."""
    said, of_type = option.sentence, _TYPES.get(option.kind, str | None)
    if option.kind in _LIMITS:
        said, of_type = f"{said}; {option.none}: no limit", str | None
    elif option.kind == "list":
        said = f"{said}; replaces the earlier ones"
    yield _parameter(option, of_type, said, show_default="as before")
    if option.kind == "list" and not option.none:
        default = typer.Option(False, f"--no-{option.flag}", help=f"Remove all --{option.flag} patterns.")
        yield Parameter(f"no_{option.column}", Parameter.KEYWORD_ONLY, default=default, annotation=bool)


def _parameter(option: Option, of_type: Any, said: str, *, show_default: str | None) -> Parameter:
    flag = f"--{option.flag}"
    more: dict[str, Any] = {} if show_default is None else {"show_default": show_default}
    if option.kind == "flag":
        flag = f"{flag}/--no-{option.flag}"
    else:
        is_limit = of_type == str | None and option.kind in _LIMITS
        more["metavar"] = f"{option.metavar}|{option.none}" if is_limit else option.metavar
    each = " (may be repeated)" if option.kind == "list" else ""
    default = typer.Option(None, flag, help=f"{said}{each}.", **more)
    return Parameter(option.column, Parameter.KEYWORD_ONLY, default=default, annotation=of_type)


asked: Final = _gathers(_asked)
edited: Final = _gathers(_edited)
