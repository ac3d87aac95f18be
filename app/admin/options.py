"""Values of a crawl's options between a person and the catalogue, the same for commands, forms and `import tiptoe`.

A profile is one of them: the wish behind `--profile` is read here, and what URLs would get under it. Contacts nobody.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from os.path import isfile  # Path.is_file raises for a name that is too long
from pathlib import Path
from typing import Any

from app.config import Settings
from app.crawl.state.canon import make_canon
from app.errors import InputError
from app.model import Refusal, Url
from app.model.crawl import OPTIONS, Option
from app.policy import recrawl
from app.policy.focus import patterns, profile_text
from app.policy.focus.profile import Profile
from app.policy.focus.profile_text import NAMES, profile_of
from app.policy.focus.score import Parts, score
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


@dataclass(frozen=True, slots=True, kw_only=True)
class TriedUrl:
    """A URL under a profile, as a link one step from a seed.

    branch    the row of the profile that it falls under
    shape     as traps are told by it
    refused   the trap that its form gives away, None for none
    first_s   until its first recrawl;   importance: of its freshness
    """

    url: str
    lane: int
    score: float
    parts: Parts
    branch: str
    shape: str
    refused: str | None
    first_s: float
    importance: float


def wish_of(text: str) -> str:
    """The value of `crawls.profile` for a name, or for the path of a TOML file. Raises InputError for a bad one."""
    if text in NAMES:
        return text
    path = Path(text)
    if not isfile(path):
        raise InputError(f"profile {text}", f"use one of: {', '.join(NAMES)}; or the path of a TOML file")
    if path.stat().st_size > profile_text.MOST_BYTES:
        raise InputError(
            str(path), f"is larger than {profile_text.MOST_BYTES // 1024} KiB; a profile is a table of some paths"
        )
    try:
        wish = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(str(path), f"cannot be read as UTF-8: {error}") from None
    profile_text.read(wish, what=str(path))
    return wish if "\n" in wish else f"{wish}\n"


def try_urls(
    settings: Settings, profile: Profile, texts: Iterable[str], *, now: datetime, anchor: str = ""
) -> list[TriedUrl]:
    """Try a profile on URLs. Raises InputError for a text that is no URL."""
    canon = make_canon(settings)
    found = []
    for text in texts:
        url = canon.canonicalise(text)
        if isinstance(url, Refusal):
            raise InputError(f"URL {text!r}", "cannot be crawled; write it in full, as https://example.org/page")
        found.append(_tried(settings, profile, url, now, anchor))
    return found


def _tried(settings: Settings, profile: Profile, url: Url, now: datetime, anchor: str) -> TriedUrl:
    scored = score(profile, url, depth=1, anchor=anchor, now=now)
    branch = profile.branch(url.target)
    trap = None if profile.allows(url) else patterns.by_form(profile.traps, scored.shape)
    terms = recrawl.terms_of(
        branch.often,
        base_s=settings.recrawl_base_s,
        min_s=settings.recrawl_min_s,
        max_s=settings.recrawl_max_s,
    )
    return TriedUrl(
        url=url.text,
        lane=scored.lane,
        score=scored.parts.score,
        parts=scored.parts,
        branch=branch.name,
        shape=scored.shape.name,
        refused=trap and trap.value,
        first_s=recrawl.interval_s(recrawl.first_belief(terms.base_s), terms),
        importance=branch.importance,
    )


def named(text: str) -> Profile:
    """The profile of a name or a path. Raises InputError."""
    return profile_of(wish_of(text))
