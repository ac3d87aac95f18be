"""Finds the rule of a robots.txt group that decides a target (RFC 9309 section 2.2.2), within a bounded amount of work.

Octets are compared in one normal form: escapes are undone, except `%25`, and except `%2F` and `%3F` in the path, where
they do not mean what the bare character means; in the query they do. So `%7E` is `~`, `%c3%b6` is `ö`, `%2A` is a star
that stands for itself, and `?u=https://x` is `?u=https%3A%2F%2Fx`. A "%" that escapes nothing is `%25`. Where a star
may have passed the "?", what follows is tried as part of the path and as part of the query.
`*` is any run of octets, `$` at the end of a pattern is the end of the target. The longest pattern wins
(counted as escaped: `ö` is six octets; a run of stars is one, at the end only where it matches something),
Allow wins between equals, the earlier line between twins.

Plain prefixes cost one look-up per distinct length, of which 500 KiB can hold a thousand. Patterns with stars
are tried from the longest to the shortest, part by part with `bytes.find`: no backtracking. What is left is a
file with forty thousand such patterns, so the work is counted, and past `MAX_STEPS` the target is refused: to stay
away is always allowed.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain
from typing import Final, Literal, NamedTuple
from urllib.parse import quote_from_bytes

# A step is an octet looked at by `bytes.find` at its slowest, 2.6 ns here: 8 million are about 20 ms. That is
# some three thousand patterns with stars against a URL of the greatest length, tens of thousands against an
# ordinary one.
MAX_STEPS: Final = 8_000_000
_STEPS_PER_CALL: Final = 40
# `bytes.find` is not linear below 2,500 octets: at each place it may look at half the needle again.
_NEEDLE_PER_STEP: Final = 8

# RFC 3986 section 2.2; and "%", because the normal form must not escape twice.
_NEVER_ESCAPED: Final = "!*'();:@&=+$,/?#[]%"
_HEX: Final = "0123456789abcdefABCDEF"


def _unescaped(*kept: bytes) -> dict[bytes, bytes]:
    """The two digits of each escape → its normal form."""
    return {
        code: b"%" + code.upper() if code.upper() in kept else bytes.fromhex(code.decode())
        for code in ((a + b).encode() for a in _HEX for b in _HEX)
    }


_IN_PATH: Final = _unescaped(b"2F", b"3F", b"25")
_IN_QUERY: Final = _unescaped(b"25")
_ALONE: Final = b"%25"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One Allow or Disallow line.

    allow    True for Allow
    pattern  octets as they stand in the file, not empty
    line     1-based line number in the file, None for a rule that stands in no file
    """

    allow: bool
    pattern: bytes
    line: int | None

    def __str__(self) -> str:
        return f"{'Allow' if self.allow else 'Disallow'}: {self.pattern.decode('utf-8', 'replace')}"


TOO_COSTLY: Final = Rule(allow=False, pattern=b"* (given up: too many patterns with stars)", line=None)


def normal(octets: bytes) -> bytes:
    """The normal form of a target or of a pattern's head: octets from the start of the path on."""
    if b"%" not in octets:
        return octets
    path, mark, query = octets.partition(b"?")
    return _with(_IN_PATH, path) + mark + _with(_IN_QUERY, query)


def _with(undone: dict[bytes, bytes], octets: bytes) -> bytes:
    if b"%" not in octets:
        return octets
    head, *rest = octets.split(b"%")
    return head + b"".join([undone[part[:2]] + part[2:] if part[:2] in undone else _ALONE + part for part in rest])


class _Part(NamedTuple):
    """The octets between two stars of a pattern.

    octets    its normal form
    in_query  the form that counts within the query, None where it is equal: they differ for `%2F` behind a star
    """

    octets: bytes
    in_query: bytes | None

    def find(self, target: bytes, at: int, end: int) -> tuple[int, int]:
        """Start and end of its first occurrence; -1 where there is none. A query comes after a path."""
        found = target.find(self.octets, at, end)
        if found >= 0 or self.in_query is None:
            return found, found + len(self.octets)
        query = target.find(b"?") + 1
        found = target.find(self.in_query, max(at, query), end) if query else -1
        return found, found + len(self.in_query)

    def ends(self, target: bytes) -> int:
        """Length of its match at the end of the target in octets; -1 where there is none."""
        if target.endswith(self.octets):
            return len(self.octets)
        if self.in_query is None or not target.endswith(self.in_query):
            return -1
        query = target.find(b"?") + 1
        return len(self.in_query) if query and len(target) - len(self.in_query) >= query else -1


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pattern:
    """A compiled rule: `head`, then any run and the next of `parts`, and so on.

    end    what follows the last part: anything, nothing ("$"), or at least one octet (a "*" that counts)
    rank   twice the length, plus one for Allow: the greatest decides
    steps  the most that looking for `parts` can cost, per octet of the target
    """

    rule: Rule
    rank: int
    head: bytes
    parts: tuple[_Part, ...]
    end: Literal["anything", "nothing", "something"]
    steps: int

    def matches(self, target: bytes) -> bool:
        """Whether it matches a target that starts with `head`.

        The leftmost place for a part is as good as any later one.
        """
        at, parts, end = len(self.head), self.parts, len(target)
        if self.end == "nothing":
            last = parts[-1].ends(target)
            if last < 0:
                return False
            parts, end = parts[:-1], end - last
        for part in parts:
            found, at = part.find(target, at, end)
            if found < 0:
                return False
        return at < end if self.end == "something" else at <= end


def _compile(rule: Rule) -> Iterator[_Pattern]:
    """Compile a rule into one pattern; two for "/a*", which is as long as "/a" on "/a" and longer on "/ab"."""
    before_anchor = rule.pattern.removesuffix(b"$")
    pattern = before_anchor.rstrip(b"*")
    ends_in_star = pattern != before_anchor  # "/a*$" too: the anchor says nothing there
    anchored = rule.pattern.endswith(b"$") and not ends_in_star
    written, *rest = re.split(rb"\*+", pattern)
    head, parts = normal(written), tuple(_parts(rest, in_query=b"?" in written))
    length = sum(map(_length, (head, *(part.octets for part in parts)))) + len(parts) + anchored
    ready = _Pattern(
        rule=rule,
        rank=2 * length + rule.allow,
        head=head,
        parts=parts,
        end="nothing" if anchored else "anything",
        steps=(1 + max((len(part.octets) for part in parts), default=0) // _NEEDLE_PER_STEP)
        * (3 if any(part.in_query is not None for part in parts) else 1),
    )
    yield ready
    if ends_in_star:
        yield replace(ready, rank=ready.rank + 2, end="something")


def _parts(written: Iterable[bytes], *, in_query: bool) -> Iterator[_Part]:
    """Split a pattern at its stars. in_query: a "?" precedes them in the pattern, so they belong to the query."""
    for octets in written:
        yield (_short_part if len(octets) <= _SHORT else _part)(octets, in_query)
        in_query = in_query or b"?" in octets


def _part(octets: bytes, in_query: bool) -> _Part:
    query = _with(_IN_QUERY, octets)
    own = query if in_query else normal(octets)
    return _Part(own, None if own == query else query)


def _length(octets: bytes) -> int:
    """The length of the pattern as escaped."""
    return len(octets) if octets.isalnum() else len(quote_from_bytes(octets, _NEVER_ESCAPED))


# A file of ten thousand stars repeats the same few octets between them.
_SHORT: Final = 16
_short_part = lru_cache(maxsize=4_096)(_part)


class _Prefixes(dict[bytes, _Pattern]):
    """Patterns without parts by their heads."""

    def __init__(self, patterns: Iterable[_Pattern]) -> None:
        super().__init__((pattern.head, pattern) for pattern in patterns)
        self._lengths = sorted({len(head) for head in self}, reverse=True)

    def longest(self, target: bytes) -> _Pattern | None:
        """The best rule by plain prefix.

        At most a thousand look-ups: the distinct lengths sum to less than the file's size.
        """
        for length in self._lengths:
            found = self.get(target[:length])
            if found:
                return found
        return None


class Ruleset:
    """The compiled rules of one group. Not changed after construction."""

    __slots__ = ("_exact", "_prefixes", "_starred", "_wild")

    def __init__(self, rules: Iterable[Rule]) -> None:
        best: dict[tuple[bytes, tuple[_Part, ...], str], _Pattern] = {}
        for pattern in chain.from_iterable(map(_compile, rules)):
            key = (pattern.head, pattern.parts, pattern.end)
            if key not in best or pattern.rank > best[key].rank:
                best[key] = pattern
        plain = [p for p in best.values() if not p.parts]
        self._exact = {p.head: p for p in plain if p.end == "nothing"}
        self._prefixes = _Prefixes(p for p in plain if p.end == "anything")
        self._starred = _Prefixes(p for p in plain if p.end == "something")
        self._wild = sorted((p for p in best.values() if p.parts), key=lambda p: (-p.rank, p.rule.line or 0))

    def find(self, target: bytes) -> tuple[Rule | None, int]:
        """The rule that decides (None: none matches) and the steps taken. `target` is in `normal` form."""
        found, size, steps = self._plain(target), len(target), 0
        for wild in self._wild:
            if found and wild.rank <= found.rank:
                break
            steps += _STEPS_PER_CALL
            if not target.startswith(wild.head):
                continue
            steps += size * wild.steps + _STEPS_PER_CALL * min(size, len(wild.parts))
            if steps > MAX_STEPS:
                return TOO_COSTLY, steps
            if wild.matches(target):
                found = wild
                break
        return found.rule if found else None, steps

    def _plain(self, target: bytes) -> _Pattern | None:
        found = self._exact.get(target) or self._prefixes.longest(target)
        starred = self._starred and self._starred.longest(target[:-1])
        return starred if starred and (not found or starred.rank > found.rank) else found
