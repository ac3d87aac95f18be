"""Declares handlers: a decorator that registers a function of the user's, and what the function may yield.

A handler takes one page and yields items (dicts, dataclass instances, pydantic models) and links to follow. The
decorator checks what can be checked before the first page; `app.features.extract.child` finds the modules. Nothing here
touches a page or a database.
"""

import inspect
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from app.errors import InputError
from app.model.handler import HANDLER_NAME

if TYPE_CHECKING:
    from app.features.extract.page import CrawledPage

LANES = 4
DEADLINE_MOST_S = 600.0
VERSION_MOST = 2_000_000_000  # a day written as 20261123 fits
_F = TypeVar("_F", bound="Callable[[CrawledPage], Iterable[object] | None]")


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredHandler:
    """A declared handler.

    match     regular expressions, searched in the page's URL; () takes every page
    version   raised when the function changes: items of other versions are stale
    items     the model that each item must fit; None: any that JSON can hold
    place     file and line of the function
    deadline_s  seconds that it may take for a page; None: the usual ones
    """

    name: str
    function: "Callable[[CrawledPage], Iterable[object] | None]"
    match: tuple[str, ...]
    version: int
    items: type | None
    place: str
    deadline_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Follow:
    """A link that a handler wants fetched. It enters the frontier as others do: scope, robots.txt and budgets hold.

    url    absolute, or relative to the page's URL
    lane   front queue, 0 to 3, the first served most often; None: the lane of a link
    score  its order within the lane, the highest first; None: the score of a link
    """

    url: str
    lane: int | None = None
    score: float | None = None


_registered: list[DeclaredHandler] = []


def handler(
    *,
    match: str | Sequence[str] = (),
    version: int = 1,
    name: str | None = None,
    items: type | None = None,
    deadline_s: float | None = None,
) -> Callable[[_F], _F]:
    """Declare a function as a handler; it stays an ordinary function.

    match    a regular expression, or several, searched in a page's URL; the handler gets pages that one of them fits
    version  raise it when you change the function: its old items become stale
    name     of the handler, its items and its view; by default the function's
    items    a dataclass or a pydantic model that each item must fit
    deadline_s  seconds that it may take for one page, by the clock, at most 600; None: 30. Then its process ends

    Raises InputError for a handler that cannot work: its name, its arguments, its match, its version, its deadline.
    """
    patterns = (match,) if isinstance(match, str) else tuple(match)

    def declare(function: _F) -> _F:
        declared = DeclaredHandler(
            name=name if name is not None else getattr(function, "__name__", "?"),
            function=function,
            match=patterns,
            version=version,
            items=items,
            place=_place(function),
            deadline_s=deadline_s,
        )
        _check(declared)
        _registered[:] = [each for each in _registered if each.place != declared.place]  # its module was run again
        _registered.append(declared)
        return function

    return declare


def follow(url: str, *, lane: int | None = None, score: float | None = None) -> Follow:
    """A link to be fetched, for a handler to yield. Raises ValueError for a lane that there is not."""
    if lane is not None and lane not in range(LANES):
        raise ValueError(f"lane {lane!r}: use 0 to {LANES - 1}, or leave it out")
    return Follow(url=str(url), lane=lane, score=None if score is None else float(score))


def registered() -> list[DeclaredHandler]:
    """The handlers that were declared in this process, in their order. Raises InputError for two of one name."""
    places: dict[str, str] = {}
    for each in _registered:
        if each.name in places:
            remedy = f"declared twice, at {places[each.name]} and {each.place}; rename one, or give it a name=…"
            raise InputError(f"handler {each.name}", remedy)
        places[each.name] = each.place
    return list(_registered)


def forget() -> None:
    """Forget the handlers of this process: a test, or a notebook, begins anew."""
    _registered.clear()


def _check(declared: DeclaredHandler) -> None:
    what = f"handler {declared.name} ({declared.place})"
    if not HANDLER_NAME.fullmatch(declared.name):
        raise InputError(what, "a name has 1 to 40 of a-z, 0-9 and _, and begins with a letter; give it a name=…")
    if type(declared.version) is not int or not 1 <= declared.version <= VERSION_MOST:
        raise InputError(what, f"version {declared.version!r} is not a whole number from 1 to {VERSION_MOST:,}")
    deadline_s = declared.deadline_s
    if deadline_s is not None and not (isinstance(deadline_s, int | float) and 0 < deadline_s <= DEADLINE_MOST_S):
        remedy = f"write seconds above 0, up to {DEADLINE_MOST_S:g}, or leave it out"
        raise InputError(what, f"deadline_s {deadline_s!r} is no deadline; {remedy}")
    for pattern in declared.match:
        _check_pattern(what, pattern)
    _check_signature(what, declared)


def _check_pattern(what: str, pattern: object) -> None:
    if not isinstance(pattern, str):
        raise InputError(what, f"match {pattern!r} is not a text; write a regular expression, such as r'/books/'")
    try:
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise InputError(what, f"match {pattern!r} is not a regular expression ({error})") from None


def _check_signature(what: str, declared: DeclaredHandler) -> None:
    function, shown = declared.function, f"write def {declared.name}(page): and yield items"
    if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
        raise InputError(what, f"is async, and handlers are not; {shown}")
    try:
        inspect.signature(function).bind(object())
    except TypeError as error:
        raise InputError(what, f"cannot be called with one page ({error}); {shown}") from None


def _place(function: Callable[..., object]) -> str:
    code = getattr(inspect.unwrap(function), "__code__", None)
    return "?" if code is None else f"{code.co_filename}:{code.co_firstlineno}"
