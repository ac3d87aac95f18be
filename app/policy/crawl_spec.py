"""Whether a crawl can work as it is asked for: its scope, its patterns, its budgets, its sitemaps, its profile.

Names are not judged here.
"""

from typing import Final

from app.errors import InputError
from app.model import Budgets, CrawlSpec
from app.model.handler import HANDLER_NAME
from app.policy import scope
from app.policy.focus.shipped import profile_of
from app.policy.moment import interval_text
from app.policy.scope import ScopeKind

SITEMAPS: Final = ("none", "declared", "all")
RENDER: Final = ("auto", "never", "always")
EVERY_S: Final = (600.0, 520 * 7 * 86_400.0)
_BOUNDS: Final = {
    "max_pages": (1, 10**15),
    "max_bytes": (1, 10**18),
    "max_depth": (0, 10**9),
    "max_seconds": (0.001, 10**9),
}


def check(spec: CrawlSpec) -> None:
    """Raises InputError for the first thing that is no good."""
    kind = scope_kind(spec.scope)
    scope.scope_of([], kind=kind, include=spec.include, exclude=spec.exclude, max_depth=spec.budgets.max_depth)
    _check_budgets(spec.budgets)
    for name in spec.handlers:
        if not HANDLER_NAME.fullmatch(name):
            raise InputError(
                f"handler {name!r}", "is not the name of a handler; write it as its function is called, such as books"
            )
    if spec.sitemaps not in SITEMAPS:
        raise InputError(f"sitemaps {spec.sitemaps!r}", f"use one of: {', '.join(SITEMAPS)}")
    if spec.render not in RENDER:
        raise InputError(f"render {spec.render!r}", f"use one of: {', '.join(RENDER)}")
    _check_rounds(spec)
    profile_of(spec.profile)


def scope_kind(text: str) -> ScopeKind:
    """Raises InputError for what is no scope."""
    try:
        return ScopeKind(text)
    except ValueError:
        raise InputError(f"scope {text!r}", f"use one of: {', '.join(ScopeKind)}") from None


def _check_rounds(spec: CrawlSpec) -> None:
    least, most = EVERY_S
    if spec.every_s and not least <= spec.every_s <= most:
        raise InputError(f"every {interval_text(spec.every_s)}", "use 10m to 520w, or none")
    if spec.every_s and spec.keep_fresh:
        raise InputError(
            f"every {interval_text(spec.every_s)}",
            "is of a crawl that ends, and one that keeps fresh does not; add --no-keep-fresh, or --every none",
        )


def _check_budgets(budgets: Budgets) -> None:
    for what, (least, most) in _BOUNDS.items():
        value = getattr(budgets, what)
        if value is not None and not least <= value <= most:  # not a number, too
            raise InputError(
                f"{what} {value}", f"use a number from {least:g} to {most:,}, or leave it out for no limit"
            )
