"""Values of a crawl's options between a person and the catalogue, the same for commands, forms and `import tiptoe`."""

from typing import Any

from app.admin.profiles import wish_of
from app.errors import InputError
from app.model.crawl import OPTIONS, Option
from app.policy.focus.shipped import NAMES, profile_of
from app.policy.moment import interval_s, interval_text
from app.store.crawls import Crawl


def read(option: Option, given: Any, *, called: str) -> Any:
    """The value of an option that a person gave, as a text or as what it is. Raises InputError.

    called: the option's name on that face, for the message
    """
    match option.kind:
        case "list":
            return () if list(given) == [option.none] else tuple(dict.fromkeys(given))
        case "interval":
            return interval_s(given, option=called)
        case "profile":
            return wish_of(given)
        case "whole" | "number" if isinstance(given, str):
            return _limit(option, given, called)
        case _:
            return given


def facts(crawl: Crawl) -> list[tuple[str, object]]:
    """List the options of a crawl: (its name, its value), without those that say nothing."""
    found: list[tuple[str, object]] = []
    for column, option in OPTIONS.items():
        value = getattr(crawl, column)
        if option.kind == "profile":
            value = value if value in NAMES else f"{profile_of(value).name} (its own)"
        elif option.kind == "interval":
            value = interval_text(value) if value else None
        found.append((option.title, value))
    return [(name, value) for name, value in found if value not in (None, "", ())]


def _limit(option: Option, text: str, called: str) -> float | None:
    try:
        return None if text == option.none else int(text) if option.kind == "whole" else float(text)
    except ValueError:
        raise InputError(f"{called} {text!r}", "is not a limit; write a number, or none for no limit") from None
