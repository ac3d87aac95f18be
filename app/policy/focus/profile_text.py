"""Reads a profile from TOML, and refuses one that cannot work: each fault is one line that names the key and the
remedy.

The profiles that come with the program, and the one that a crawl asks for: by name, or as a text of its own.
"""

import re
import tomllib
from collections.abc import Iterable, Mapping
from functools import lru_cache
from importlib.resources import files
from math import inf, prod
from re import _constants as codes  # type: ignore[attr-defined]  # no other way to see a pattern's tree
from re import _parser as parser  # type: ignore[attr-defined]  # the same
from typing import Any, Final

from app.errors import InputError
from app.model.crawl import OPTIONS
from app.policy.focus.profile import REACH, Branch, Profile, TrapTerms
from app.policy.focus.vocabulary import LANGUAGES, tokens
from app.policy.moment import SECONDS

MOST_BYTES: Final = 64 * 1024
MOST_BRANCHES: Final = 200
MOST_POSTS: Final = 20
LONGEST_PATTERN: Final = 500
MOST_WAYS: Final = 4.0 * (REACH + 1) ** 2  # two repetitions without end, and a few choices: a tenth of a second
_EVERY: Final = re.compile(r"(\d{1,6}(?:\.\d{1,6})?)([mhdw])")
_OF_BRANCH: Final = {"lane", "weight", "every", "importance"}
NAMES: Final = tuple(OPTIONS["profile"].choices)
GENERAL: Final = NAMES[0]


def read(text: str, *, what: str = "profile") -> Profile:
    """The profile of a TOML document. what: its name in errors. Raises InputError."""
    if len(text.encode()) > MOST_BYTES:
        raise InputError(what, f"is larger than {MOST_BYTES // 1024} KiB; a profile is a table of some paths")
    try:
        document = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # a number may be too long, a table too deep
        raise InputError(what, f"is not TOML: {error}") from None
    keys = _Keys(what, document)
    keys.only({"name", "lanes", "rest", "paths", "topics", "traps", "recrawl", "render"})
    topics = keys.table("topics")
    topics.only({"words", "language"})
    language = topics.choice("language", LANGUAGES, "any")
    words, patterns = _branches(keys)
    return Profile(
        name=keys.text("name", "unnamed"),
        shares=_shares(keys.table("lanes")),
        rest=_branch(keys.table("rest"), "any other"),
        words=words,
        patterns=patterns,
        topics=frozenset(token for word in topics.texts("words") for token in tokens(word, language)),
        language=language,
        traps=_traps(keys.table("traps")),
        requests_per_day=_requests(keys.table("recrawl")),
        posts=_posts(keys.table("render")),
    )


def safe_pattern(what: str, text: str) -> re.Pattern[str]:
    """A compiled pattern. Raises InputError for what is none, and for one whose search may take forever."""
    if len(text) > LONGEST_PATTERN:
        raise InputError(what, f"is longer than {LONGEST_PATTERN} characters; split it")
    try:
        tree = parser.parse(text)
        compiled = re.compile(text)
    except (re.error, OverflowError, RecursionError) as error:
        raise InputError(f"{what} {text!r}", f"is not a regular expression: {error}") from None
    if _ways(tree) > MOST_WAYS:
        raise InputError(
            f"{what} {text!r}",
            "may take forever: use at most 2 repetitions without end, and no choice or repetition within another",
        )
    return compiled


def _ways(tree: Any) -> float:
    """In how many ways an expression can match at one place, at most: a search tries all of them before it fails.

    A choice within a repetition doubles them with each round, and each repetition in a row multiplies them.
    """
    found = 1.0
    for code, value in tree:
        parts = [_ways(part) for part in _parts(code, value)]
        if code is codes.BRANCH:
            found *= max(parts) if _are_told_apart(value[1]) else sum(parts)
        elif code in {codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT}:
            least, most = min(value[0], REACH), min(value[1], REACH)
            within = prod(parts)
            if within > 1 and most > 1:
                return inf
            found *= most - least + within
        else:
            found *= prod(parts)
    return found


def _are_told_apart(alternatives: Iterable[Any]) -> bool:
    """Whether each begins with a character of its own, so that one at most can match."""
    first = [tuple(tree[0]) if len(tree) else () for tree in alternatives]
    return all(each[:1] == (codes.LITERAL,) for each in first) and len(set(first)) == len(first)


def _parts(code: Any, value: Any) -> Iterable[Any]:
    """The expressions within one node."""
    if isinstance(value, parser.SubPattern):
        return [value]
    if code is codes.BRANCH:
        return list(value[1])
    return [part for part in value if isinstance(part, parser.SubPattern)] if isinstance(value, tuple) else []


def _branches(keys: "_Keys") -> tuple[dict[str, Branch], tuple[tuple[re.Pattern[str], Branch], ...]]:
    rows = keys.tables("paths")
    if len(rows) > MOST_BRANCHES:
        raise InputError(f"{keys.what}: paths", f"{len(rows)} are too many; use at most {MOST_BRANCHES}")
    words: dict[str, Branch] = {}
    patterns = []
    for row in rows:
        row.only({"segments", "pattern", *_OF_BRANCH})
        segments, pattern = row.texts("segments"), row.text("pattern", "")
        if bool(segments) == bool(pattern):
            raise InputError(row.what, "needs either segments = [...] or pattern = '...'")
        branch = _branch(row, pattern or segments[0], extra={"segments", "pattern"})
        for segment in segments:
            word = segment.lower().strip("/")
            if not word or "/" in word:
                raise InputError(f"{row.what}: segments: {segment!r}", "write one segment, or use pattern = '...'")
            words.setdefault(word, branch)
        if pattern:
            patterns.append((safe_pattern(f"{row.what}: pattern", pattern), branch))
    return words, tuple(patterns)


def _branch(keys: "_Keys", name: str, extra: Iterable[str] = ()) -> Branch:
    keys.only({*_OF_BRANCH, *extra})
    return Branch(
        name=name,
        lane=keys.whole("lane", 1, 0, 3),
        weight=keys.number("weight", 0.5, 0, 1),
        every_s=_every_s(keys),
        importance=keys.number("importance", 1, 0.01, 100),
    )


def _every_s(keys: "_Keys") -> float | None:
    text = keys.text("every", "")
    found = _EVERY.fullmatch(text)
    if text and (found is None or not float(found[1])):
        raise InputError(f"{keys.what}: every = {text!r}", "write a number and m, h, d or w, e.g. every = '7d'")
    return float(found[1]) * SECONDS[found[2]] if found else None


def _shares(keys: "_Keys") -> tuple[int, int, int, int]:
    keys.only({"shares"})
    shares = keys.value("shares", list, [8, 4, 2, 1])
    if len(shares) != 4 or not all(type(share) is int and 1 <= share <= 100 for share in shares):
        raise InputError(f"{keys.what}: shares = {shares}", "write four whole numbers from 1 to 100, one a lane")
    return shares[0], shares[1], shares[2], shares[3]


def _traps(keys: "_Keys") -> TrapTerms:
    plain = TrapTerms()
    keys.only({"trial", "new_share", "retry", "depth", "repeats", "allow"})
    return TrapTerms(
        trial=keys.whole("trial", plain.trial, 1, 10_000),
        new_share=keys.number("new_share", plain.new_share, 0, 1),
        retry=keys.whole("retry", plain.retry, 2, 1_000_000),
        depth=keys.whole("depth", plain.depth, 1, 1_000),
        repeats=keys.whole("repeats", plain.repeats, 2, 1_000),
        allow=tuple(safe_pattern(f"{keys.what}: allow", text) for text in keys.texts("allow")),
    )


def _requests(keys: "_Keys") -> float | None:
    keys.only({"requests_per_day"})
    return keys.number("requests_per_day", 0, 0.001, 1e9) if keys.has("requests_per_day") else None


def _posts(keys: "_Keys") -> tuple[re.Pattern[str], ...]:
    keys.only({"post"})
    texts = keys.texts("post")
    if len(texts) > MOST_POSTS:
        raise InputError(f"{keys.what}: post", f"{len(texts)} are too many; use at most {MOST_POSTS}")
    return tuple(safe_pattern(f"{keys.what}: post", text) for text in texts)


class _Keys:
    """A table of the document, and its place in errors."""

    def __init__(self, what: str, values: Mapping[str, Any]) -> None:
        self.what, self._values = what, values

    def only(self, known: Iterable[str]) -> None:
        for key in self._values:
            if key not in known:
                raise InputError(
                    f"{self.what}: {key}", f"is not a key of a profile here; use: {', '.join(sorted(known))}"
                )

    def value(self, key: str, kind: type[Any], default: Any) -> Any:
        found = self._values.get(key, default)
        if not isinstance(found, kind) or isinstance(found, bool):
            raise InputError(f"{self.what}: {key} = {found!r}", f"must be a {_NAMES[kind]}")
        return found

    def text(self, key: str, default: str) -> str:
        found: str = self.value(key, str, default)
        return found

    def texts(self, key: str) -> list[str]:
        found = self.value(key, list, [])
        if not all(isinstance(each, str) and each for each in found):
            raise InputError(f"{self.what}: {key}", "must be a list of texts, e.g. ['docs', 'guide']")
        return list(found)

    def number(self, key: str, default: float, least: float, most: float) -> float:
        found = self._values.get(key, default)
        if isinstance(found, bool) or not isinstance(found, int | float) or not least <= found <= most:
            raise InputError(f"{self.what}: {key} = {found!r}", f"use a number from {least:g} to {most:g}")
        return float(found)

    def whole(self, key: str, default: int, least: int, most: int) -> int:
        found = self.number(key, default, least, most)
        if found != int(found):
            raise InputError(f"{self.what}: {key} = {found:g}", f"use a whole number from {least} to {most}")
        return int(found)

    def has(self, key: str) -> bool:
        return key in self._values

    def choice(self, key: str, known: Iterable[str], default: str) -> str:
        found = self.text(key, default)
        if found not in known:
            raise InputError(f"{self.what}: {key} = {found!r}", f"use one of: {', '.join(sorted(known))}")
        return found

    def table(self, key: str) -> "_Keys":
        return _Keys(f"{self.what}: [{key}]", self.value(key, dict, {}))

    def tables(self, key: str) -> list["_Keys"]:
        rows = self.value(key, list, [])
        if not all(isinstance(row, dict) for row in rows):
            raise InputError(f"{self.what}: {key}", f"must be a list of tables: write [[{key}]] before each")
        return [_Keys(f"{self.what}: [[{key}]] {number}", row) for number, row in enumerate(rows, 1)]


_NAMES: Final[dict[type[Any], str]] = {str: "text in quotes", list: "list", dict: "table"}


def text_of(name: str) -> str:
    """The TOML of a shipped profile: package data, as constant as code."""
    return files(__package__).joinpath("profiles", f"{name}.toml").read_text(encoding="utf-8")


@lru_cache(maxsize=64)
def profile_of(wish: str) -> Profile:
    """The profile that `crawls.profile` asks for: the name of a shipped one, or TOML. Raises InputError."""
    if wish in NAMES:
        return read(text_of(wish), what=f"profile {wish}")
    if "\n" not in wish and "=" not in wish:
        raise InputError(f"profile {wish}", f"use one of: {', '.join(NAMES)}; or the path of a TOML file")
    return read(wish)
