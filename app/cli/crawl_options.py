"""The options that say what is asked of a crawl, made of the catalogue, and the `CrawlChange` that they come to.

`asked` is for `crawl run`, `seed add` and `seed import`, `edited` for `crawl edit`. Typer reads their parameters
(`app.cli.gather`).
"""

from collections.abc import Callable, Iterator
from inspect import Parameter, Signature
from typing import Any, Final

import typer

from app.model import CrawlChange
from app.model.crawl import OPTIONS, Kind, Option

_TYPES: Final[dict[Kind, Any]] = {
    "flag": bool | None,
    "list": list[str] | None,
    "whole": int | None,
    "number": float | None,
}
_AS_BEFORE: Final = "as before"
_LIMITS: Final = ("whole", "number")


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
    yield _parameter(option, of_type, said, show_default=_AS_BEFORE)
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
