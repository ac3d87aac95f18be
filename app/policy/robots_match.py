"""Finds the rule of a robots.txt group that decides a target (RFC 9309 section 2.2.2), within a bounded amount of work.

Octets are compared in one normal form: escapes are undone, except `%25`, and except `%2F` and `%3F` in the path, where
they do not mean what the bare character means; in the query they do. So `%7E` is `~`, `%c3%b6` is `ö`, `%2A` is a star
that stands for itself, and `?u=https://x` is `?u=https%3A%2F%2Fx`. A "%" that escapes nothing is `%25`. Where a star
may have passed the "?", what follows is tried as part of the path and as part of the query.
`*` is any run of octets, `$` at the end of a pattern is the end of the target. The longest pattern wins
(counted as escaped: `ö` is six octets; a run of stars is one, at the end only where it matches something),
Allow wins between equals, the earlier line between twins.

A plain prefix costs a binary search. Of many patterns with stars only those are tried of which four octets (the rarest
that each has) stand in the target, from the longest to the shortest, part by part with `bytes.find`: no backtracking.
A file may still be made so that most of its patterns are tried. The work is counted in steps, and past a bound the
answer is `TOO_COSTLY`: nobody knows. To stay away is always allowed, so the gate refuses such a URL (`too_costly`);
admission, which has a budget for all links of a page, leaves it to the gate.
"""

import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain
from typing import Final, Literal, NamedTuple
from urllib.parse import quote_from_bytes

# A step is an octet looked at by `bytes.find` at its slowest, 2.6 ns here: 8 million are about 20 ms, the most that one
# decision takes. All links of a settle may take 25 times as much; it holds locks for 5 s at most.
MAX_STEPS: Final = 8_000_000
SETTLE_STEPS: Final = 200_000_000
_STEPS_PER_CALL: Final = 100  # of one part's search
_STEPS_PER_PATTERN: Final = 60  # that is passed by
_STEPS_PER_GRAM: Final = 50
# `bytes.find` is not linear below 2,500 octets: at each place it may look at half the needle again.
_NEEDLE_PER_STEP: Final = 8
# So many patterns with stars are tried one after another. More are looked up by octets that they demand.
_FEW: Final = 64
_GRAM: Final = 4
_SHOWN_CHARS: Final = 300  # of a pattern, which may be as long as the file: each refused URL names its rule

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
_KEPT: Final = re.compile(rb"%[23]F")  # in the path


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
        pattern = self.pattern.decode("utf-8", "replace")
        shown = pattern if len(pattern) <= _SHOWN_CHARS else f"{pattern[:_SHOWN_CHARS]}…"
        return f"{'Allow' if self.allow else 'Disallow'}: {shown}"


TOO_COSTLY: Final = Rule(allow=False, pattern=b"* (given up: too many patterns with stars)", line=None)


class Work:
    """The steps that are left for the links of a page, the entries of a file or a settle as a whole."""

    __slots__ = ("left",)

    def __init__(self, left: int = SETTLE_STEPS) -> None:
        self.left = left


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

    def matches(self, target: bytes) -> tuple[bool, int]:
        """Whether it matches a target that starts with `head`, and the steps taken.

        The leftmost place for a part is as good as any later one.
        """
        at, parts, end, calls = len(self.head), self.parts, len(target), 1
        if self.end == "nothing":
            last = parts[-1].ends(target)
            if last < 0:
                return False, _STEPS_PER_CALL
            parts, end = parts[:-1], end - last
        for part in parts:
            found, at = part.find(target, at, end)
            calls += 1
            if found < 0:
                return False, len(target) * self.steps + calls * _STEPS_PER_CALL
        is_match = at < end if self.end == "something" else at <= end
        return is_match, len(target) * self.steps + calls * _STEPS_PER_CALL


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


class _Prefixes:
    """Patterns without parts by their heads, in order; with each head the place of the longest that it begins with."""

    __slots__ = ("_heads", "_outer", "_patterns")

    def __init__(self, patterns: Iterable[_Pattern]) -> None:
        self._patterns = sorted(patterns, key=lambda pattern: pattern.head)
        self._heads = [pattern.head for pattern in self._patterns]
        self._outer: list[int] = []
        around: list[int] = []
        for place, head in enumerate(self._heads):
            while around and not head.startswith(self._heads[around[-1]]):
                around.pop()
            self._outer.append(around[-1] if around else -1)
            around.append(place)

    def __bool__(self) -> bool:
        return bool(self._heads)

    def longest(self, target: bytes) -> tuple[_Pattern | None, int]:
        """The best rule by plain prefix, and the steps taken.

        The heads between it and the target's place in the order begin with it, and so do those that they begin with:
        at most a thousand, as they sum to less than the file's size.
        """
        heads, outer = self._heads, self._outer
        place, steps = bisect_right(heads, target) - 1, _STEPS_PER_CALL
        while place >= 0 and not target.startswith(heads[place]):
            place = outer[place]
            steps += _STEPS_PER_PATTERN
        return (self._patterns[place] if place >= 0 else None), steps


class _Wild:
    """Patterns with stars, the greatest rank first."""

    __slots__ = ("_always", "_by_gram", "_sizes", "patterns")

    def __init__(self, patterns: Iterable[_Pattern]) -> None:
        self.patterns = sorted(patterns, key=lambda p: (-p.rank, p.rule.line or 0))
        self._always: Sequence[int] = range(len(self.patterns))
        self._by_gram: dict[bytes, list[int]] = {}
        if len(self.patterns) > _FEW:
            self._index()
        self._sizes = sorted({len(gram) for gram in self._by_gram})

    def _index(self) -> None:
        """Put each pattern under one run of octets without which it matches nothing: the rarest in the file."""
        counts = Counter(chain.from_iterable(map(_grams, self.patterns)))
        by_gram: dict[bytes, list[int]] = defaultdict(list)
        always: list[int] = []
        for place, pattern in enumerate(self.patterns):
            rarest = min(_grams(pattern), key=lambda gram: (counts[gram], -len(gram)), default=b"")
            (by_gram[rarest] if rarest else always).append(place)
        self._by_gram, self._always = dict(by_gram), always

    def near(self, target: bytes) -> tuple[Sequence[int], int]:
        """The places of the patterns that may match, in order, and the steps taken."""
        if not self._sizes:
            return self._always, 0
        found, by_gram = list(self._always), self._by_gram
        for size in self._sizes:
            for gram in {target[at : at + size] for at in range(len(target) - size + 1)}:
                if gram in by_gram:
                    found += by_gram[gram]
        found.sort()
        return found, _STEPS_PER_GRAM * (len(self._sizes) * len(target) + len(found))


def _grams(pattern: _Pattern) -> Iterator[bytes]:
    """Runs of octets that a target must have: every fourth of each part, and its last; a short part is one."""
    for octets in (pattern.head, *chain.from_iterable(map(_in_both_forms, pattern.parts))):
        for at in range(0, len(octets) - _GRAM, _GRAM):
            yield octets[at : at + _GRAM]
        if octets:
            yield octets[-_GRAM:]


def _in_both_forms(part: _Part) -> Iterable[bytes]:
    return (part.octets,) if part.in_query is None else _KEPT.split(part.octets)


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
        self._wild = _Wild(p for p in best.values() if p.parts)

    def find(self, target: bytes, most: int = MAX_STEPS) -> tuple[Rule | None, int]:
        """The rule that decides (None: none matches) and the steps taken. `target` is in `normal` form.

        TOO_COSTLY where they are more than `most`; by one pattern at most, which costs a hundredth of MAX_STEPS.
        """
        found, steps = self._plain(target)
        patterns = self._wild.patterns
        if patterns and (not found or patterns[0].rank > found.rank):
            near, looked_up = self._wild.near(target)
            steps += looked_up
            for place in near:
                wild = patterns[place]
                if found and wild.rank <= found.rank:
                    break
                if steps > most:
                    return TOO_COSTLY, steps
                steps += _STEPS_PER_PATTERN
                if target.startswith(wild.head):
                    is_match, tried = wild.matches(target)
                    steps += tried
                    if is_match:
                        found = wild
                        break
        return (found.rule if found else None) if steps <= most else TOO_COSTLY, steps

    def _plain(self, target: bytes) -> tuple[_Pattern | None, int]:
        found, steps = self._prefixes.longest(target)
        found = self._exact.get(target) or found
        if not self._starred:
            return found, steps
        starred, more = self._starred.longest(target[:-1])
        return starred if starred and (not found or starred.rank > found.rank) else found, steps + more
