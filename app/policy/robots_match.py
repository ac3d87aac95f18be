"""Which rule of a robots.txt group decides a target: RFC 9309 section 2.2.2, within a bounded amount of work.

Compared octet by octet, in one normal form: escapes are undone, except `%2F`, `%3F` and `%25`, which do not
mean what the bare character means. So `%7E` is `~`, `%c3%b6` is `ö`, `%2A` is a star that stands for itself.
`*` is any run of octets, `$` at the end of a pattern is the end of the target. The longest pattern wins
(counted as escaped: `ö` is six octets; a run of stars is one, at the end only where it matches something),
Allow wins between equals, the earlier line between twins.

Plain prefixes cost one look-up per distinct length, of which 500 KiB can hold a thousand. Patterns with stars
are tried from the longest to the shortest, part by part with `bytes.find`: no backtracking. What is left is a
file with forty thousand such patterns, so the work is counted, and past `MAX_STEPS` the target is refused: a
crawler may always stay away.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from typing import Final, Literal
from urllib.parse import quote_from_bytes

# A step is an octet looked at by `bytes.find` at its slowest, 2.6 ns here: 8 million are about 20 ms. That is
# some three thousand patterns with stars against a URL of the greatest length, tens of thousands against an
# ordinary one.
MAX_STEPS: Final = 8_000_000
_STEPS_PER_CALL: Final = 40
# `bytes.find` is not linear below 2,500 octets: at each place it may look at half the needle again.
_NEEDLE_PER_STEP: Final = 8

# RFC 3986 section 2.2; and "%", because what is escaped in the normal form shall not be escaped twice.
_NEVER_ESCAPED: Final = "!*'();:@&=+$,/?#[]%"
_KEPT_ESCAPES: Final = (b"2F", b"3F", b"25")
_HEX: Final = "0123456789abcdefABCDEF"
_UNESCAPED: Final = {
    code: b"%" + code.upper() if code.upper() in _KEPT_ESCAPES else bytes.fromhex(code.decode())
    for code in ((a + b).encode() for a in _HEX for b in _HEX)
}


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
    """The form in which targets and parts of patterns are compared. "%" without two hex digits stays."""
    if b"%" not in octets:
        return octets
    head, *rest = octets.split(b"%")
    return head + b"".join(
        [_UNESCAPED[part[:2]] + part[2:] if part[:2] in _UNESCAPED else b"%" + part for part in rest]
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pattern:
    """A rule made ready: `head`, then any run and the next of `parts`, and so on.

    end    what follows the last part: anything, nothing ("$"), or at least one octet (a "*" that counts)
    rank   twice the length, plus one for Allow: the greatest decides
    steps  the most that looking for `parts` can cost, per octet of the target
    """

    rule: Rule
    rank: int
    head: bytes
    parts: tuple[bytes, ...]
    end: Literal["anything", "nothing", "something"]
    steps: int

    def matches(self, target: bytes) -> bool:
        """For a target that starts with `head`. The leftmost place for a part is as good as any later one."""
        at, parts, end = len(self.head), self.parts, len(target)
        if self.end == "nothing":
            if not target.endswith(parts[-1]):
                return False
            parts, end = parts[:-1], end - len(parts[-1])
        for part in parts:
            at = target.find(part, at, end)
            if at < 0:
                return False
            at += len(part)
        return at < end if self.end == "something" else at <= end


def _compile(rule: Rule) -> Iterator[_Pattern]:
    """One pattern; two for "/a*", which is as long as "/a" on "/a" and longer than it on "/ab"."""
    before_anchor = rule.pattern.removesuffix(b"$")
    pattern = before_anchor.rstrip(b"*")
    ends_in_star = pattern != before_anchor  # "/a*$" too: the anchor says nothing there
    anchored = rule.pattern.endswith(b"$") and not ends_in_star
    head, *parts = (normal(part) for part in re.split(rb"\*+", pattern))
    length = sum(len(quote_from_bytes(part, _NEVER_ESCAPED)) for part in (head, *parts)) + len(parts) + anchored
    ready = _Pattern(
        rule=rule,
        rank=2 * length + rule.allow,
        head=head,
        parts=tuple(parts),
        end="nothing" if anchored else "anything",
        steps=1 + max(map(len, parts), default=0) // _NEEDLE_PER_STEP,
    )
    yield ready
    if ends_in_star:
        yield replace(ready, rank=ready.rank + 2, end="something")


class _Prefixes(dict[bytes, _Pattern]):
    """Patterns without parts by their heads."""

    def __init__(self, patterns: Iterable[_Pattern]) -> None:
        super().__init__((pattern.head, pattern) for pattern in patterns)
        self._lengths = sorted({len(head) for head in self}, reverse=True)

    def longest(self, target: bytes) -> _Pattern | None:
        """At most a thousand look-ups: the sum of the distinct lengths is below the size of the file."""
        for length in self._lengths:
            found = self.get(target[:length])
            if found:
                return found
        return None


class Ruleset:
    """The rules of one group, ready for matching. Not changed after construction."""

    __slots__ = ("_exact", "_prefixes", "_starred", "_wild")

    def __init__(self, rules: Iterable[Rule]) -> None:
        best: dict[tuple[bytes, tuple[bytes, ...], str], _Pattern] = {}
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
        """The rule that decides (None: none matches) and the steps it took. `target` is in `normal` form."""
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
