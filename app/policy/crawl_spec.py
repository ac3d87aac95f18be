"""Whether a crawl can work as it is asked for: its scope, its patterns, its budgets, its sitemaps, its profile.

Names are not judged here.
"""

from typing import Any

from app.errors import InputError
from app.model import CrawlSpec
from app.model.crawl import OPTIONS, Option
from app.model.handler import HANDLER_NAME
from app.policy import scope
from app.policy.focus.profile_text import profile_of
from app.policy.moment import interval_text
from app.policy.scope import ScopeKind


def check(spec: CrawlSpec) -> None:
    """Raises InputError for the first thing that is no good."""
    kind = scope_kind(spec.scope)
    scope.scope_of([], kind=kind, include=spec.include, exclude=spec.exclude, max_depth=spec.budgets.max_depth)
    for name in spec.handlers:
        if not HANDLER_NAME.fullmatch(name):
            raise InputError(
                f"handler {name!r}", "is not the name of a handler; write it as its function is called, such as books"
            )
    for option in OPTIONS.values():
        _check_value(option, spec.value(option.column))
    _check_rounds(spec)
    profile_of(spec.profile)


def _check_value(option: Option, value: Any) -> None:
    """Raises InputError for a value that is none of the choices, or out of bounds."""
    if option.kind == "choice" and value not in option.choices:
        raise InputError(f"{option.name} {value!r}", f"use one of: {', '.join(option.choices)}")
    if option.most and value is not None and not option.least <= value <= option.most:  # not a number, too
        raise InputError(
            f"{option.name} {value}",
            f"use a number from {option.least:g} to {option.most:,}, or leave it out for no limit",
        )


def scope_kind(text: str) -> ScopeKind:
    """Raises InputError for what is no scope."""
    try:
        return ScopeKind(text)
    except ValueError:
        raise InputError(f"scope {text!r}", f"use one of: {', '.join(ScopeKind)}") from None


def _check_rounds(spec: CrawlSpec) -> None:
    least, most = 600.0, 520 * 7 * 86_400.0
    if spec.every_s and not least <= spec.every_s <= most:
        raise InputError(f"every {interval_text(spec.every_s)}", "use 10m to 520w, or none")
    if spec.every_s and spec.keep_fresh:
        raise InputError(
            f"every {interval_text(spec.every_s)}",
            "is of a crawl that ends, and one that keeps fresh does not; add --no-keep-fresh, or --every none",
        )
