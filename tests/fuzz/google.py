"""A second implementation of Google's rules for robots.txt, against which ours runs over random files and paths.

Written from RFC 9309 and the description at developers.google.com/search/docs/crawling-indexing/robots/robots_txt, as
simply as it can be: a file is read line by line, a pattern is tried octet by octet. `google` decides as Google's parser
does, which compares escapes as they are written and counts the octets of a pattern as they stand. Where ours decides
otherwise, RFC 9309 has to say so: `rfc9309` decides the same way over the paths to match of its table 2.2.2, and by the
most octets of these; ours must always decide as it does, and each disagreement with `google` belongs to one of the
REASONS.

    .venv/bin/python -m tests.fuzz.google --cases 1000000
"""

import argparse
import random
import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import quote_from_bytes

from app.policy.robots import parse

US = "tiptoe"
REASONS = {
    "escapes": "2.2.2: octets are compared after percent-encoding and decoding as in its table",
    "octets": "2.2.2: the most octets decide, of the paths to match; a star that matches none adds none",
}
_PATHS_OF_A_FILE = 20

# Pieces of patterns and paths that meet: delimiters, escapes in both cases, bare and broken percent signs, wildcards.
_PIECES = """/ / / a b ab go ? ? = & u= : // . ~ %7E %7e %2F %2f %3F %3f %3A %26 %25 % %% %2 %u011f %zz %41 A %2A %24 %20 +
    \u00f6 %C3%B6 %c3%b6 %FC ; , ! @""".split()  # noqa: SIM905  # a list literal takes a line per word
_ASCII = "".join(map(chr, range(0x21, 0x7F)))
_WILD = ["*", "*", "*", "$", "**"]
_FIELDS = ["Allow", "Disallow", "disallow", "ALLOW", "Disallow"]
_AGENTS = ["*", "*", "tiptoe", "Tiptoe", "other", "tiptoe-news", "TIPTOE/1.0"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    allow: bool
    pattern: bytes


def read(body: bytes) -> list[Rule]:
    """The rules of the groups that name us, else of those for all."""
    ours: list[Rule] = []
    alls: list[Rule] = []
    agents: set[str] = set()
    is_named = reads_agents = False
    for line in re.split(rb"\r\n|\r|\n", body):
        name, colon, value = line.partition(b"#")[0].partition(b":")
        field, value = name.strip().lower(), value.strip()
        if not colon or field not in {b"user-agent", b"allow", b"disallow"}:
            continue
        if field == b"user-agent":
            if not reads_agents:
                agents = set()
            reads_agents = True
            token = re.match(rb"\*$|[A-Za-z_-]*", value)
            agents.add(token[0].decode().lower() if token else "")
            is_named = is_named or US in agents
            continue
        reads_agents = False
        if value:
            rule = Rule(allow=field == b"allow", pattern=value)
            ours += [rule] * (US in agents)
            alls += [rule] * ("*" in agents)
    return ours if is_named else alls


def matches(pattern: bytes, path: bytes) -> bool:
    """`*` any octets, `$` at the end the end: every place where what was read so far may stand."""
    places = {0}
    for at, octet in enumerate(pattern):
        if octet == ord("$") and at == len(pattern) - 1:
            return len(path) in places
        if octet == ord("*"):
            places = set(range(min(places), len(path) + 1))
        else:
            places = {place + 1 for place in places if place < len(path) and path[place] == octet}
        if not places:
            return False
    return True


def google(rules: list[Rule], path: bytes) -> bool:
    best = {True: -1, False: -1}
    for rule in rules:
        pattern = _escaped(rule.pattern)
        if matches(pattern, _escaped(path)):
            best[rule.allow] = max(best[rule.allow], len(pattern))
    return best[True] >= best[False]


def rfc9309(rules: list[Rule], path: bytes, *, counts_stars: bool = False) -> bool:
    """counts_stars: by the octets of patterns as they are written, so that escapes alone make a difference."""
    target = _coded_target(path)
    best = {True: -1, False: -1}
    for rule in rules:
        if any(matches(variant, target) for variant in _variants(rule.pattern)):
            octets = len(_escaped(rule.pattern)) if counts_stars else _octets(rule.pattern, target)
            best[rule.allow] = max(best[rule.allow], octets)
    return best[True] >= best[False]


def why(rules: list[Rule], path: bytes, ours: bool) -> str | None:
    """Which of the REASONS explains that ours decides otherwise than Google's parser; "agreed"; None: nothing does."""
    if rfc9309(rules, path) is not ours:
        return None
    if google(rules, path) is ours:
        return "agreed"
    return "escapes" if rfc9309(rules, path, counts_stars=True) is ours else "octets"


def _escaped(octets: bytes) -> bytes:
    """As Google's parser does: octets beyond ASCII are escaped, the digits of escapes are made upper case."""
    upper = re.sub(rb"%[0-9A-Fa-f]{2}", lambda found: found[0].upper(), octets)
    return re.sub(rb"[\x80-\xff]", lambda found: b"%%%02X" % found[0][0], upper)


# In the query "/" and "?" are the same escaped and not, in the path they are not: codes of their own tell the two
# apart, and an escaped "*" or "$" from a wildcard.
_SLASH, _MARK, _STAR, _END, _PERCENT = b"\x01", b"\x02", b"\x03", b"\x04", b"\x05"
_TOKEN = re.compile(rb"%[0-9A-Fa-f]{2}|.", re.DOTALL)


def _coded(octets: bytes, *, in_query: bool, is_pattern: bool) -> bytes:
    coded = b""
    for found in _TOKEN.finditer(octets):
        written = found[0]
        is_escape = len(written) == 3
        octet = bytes([int(written[1:], 16)]) if is_escape else written
        if octet == b"%":
            coded += _PERCENT
        elif octet in b"/?" and (in_query or is_escape):
            in_path = b"%2F" if octet == b"/" else b"%3F"
            coded += (_SLASH if octet == b"/" else _MARK) if in_query else in_path
        elif octet in b"*$" and (is_escape or not is_pattern):
            coded += _STAR if octet == b"*" else _END
        else:
            coded += octet
    return coded


def _coded_target(path: bytes) -> bytes:
    before, mark, query = path.partition(b"?")
    return _coded(before, in_query=False, is_pattern=False) + mark + _coded(query, in_query=True, is_pattern=False)


def _variants(pattern: bytes) -> Iterator[bytes]:
    """The pattern with each place at which its "?" may be that of the URL: written, or passed by a star."""
    is_anchored = pattern.endswith(b"$")
    parts = (pattern[:-1] if is_anchored else pattern).split(b"*")
    end = b"$" if is_anchored else b""
    for begins in range(len(parts) + 1):
        earlier = [_coded(part, in_query=False, is_pattern=False) for part in parts[:begins]]
        if any(b"?" in part for part in parts[:begins]):
            break
        if begins == len(parts):
            yield b"*".join(earlier) + end
            break
        later = [_coded(part, in_query=True, is_pattern=False) for part in parts[begins + 1 :]]
        before, mark, after = parts[begins].partition(b"?")
        if mark:
            path = _coded(before, in_query=False, is_pattern=False)
            with_mark = path + mark + _coded(after, in_query=True, is_pattern=False)
            yield b"*".join([*earlier, with_mark, *later]) + end
        if begins:  # a star before it passed the "?"
            query = _coded(parts[begins], in_query=True, is_pattern=False)
            yield b"*".join([*earlier, b"?*" + query, *later]) + end


def _octets(pattern: bytes, target: bytes) -> int:
    """Of the path to match: escaped where RFC 3986 demands it; a run of stars is one, at the end where it matches
    something."""
    is_anchored = pattern.endswith(b"$")
    bare = re.sub(rb"\*+", b"*", pattern[:-1] if is_anchored else pattern)
    has_star = bare.endswith(b"*")
    bare = bare.removesuffix(b"*")
    if has_star and bare.endswith(b"$"):
        bare = bare[:-1] + b"%24"  # a star follows it: it is no end
    counts = has_star and any(matches(variant + b"*", target[:-1]) for variant in _variants(bare))
    parts = bare.split(b"*")
    octets, in_query = len(parts) - 1 + counts + (is_anchored and not has_star), False
    for part in parts:
        before, mark, after = part.partition(b"?")
        for text, is_query in ((before, in_query), (mark, False), (after, True)):
            octets += len(quote_from_bytes(_normal(text, in_query=is_query), "!*'();:@&=+$,/?#[]%"))
        in_query = in_query or bool(mark)
    return octets


def _normal(octets: bytes, *, in_query: bool) -> bytes:
    kept = {b"%25"} if in_query else {b"%25", b"%2F", b"%3F"}

    def undone(found: re.Match[bytes]) -> bytes:
        written = found[0].upper() if len(found[0]) == 3 else found[0]
        if written == b"%":
            return b"%25"
        return bytes([int(written[1:], 16)]) if len(written) == 3 and written not in kept else written

    return _TOKEN.sub(undone, octets)


def random_file(rng: random.Random) -> bytes:
    lines = []
    for _ in range(rng.randint(1, 3)):
        lines += [f"User-agent: {rng.choice(_AGENTS)}" for _ in range(rng.randint(1, 2))]
        lines += [f"{rng.choice(_FIELDS)}: {random_path(rng, wild=True)}" for _ in range(rng.randint(0, 5))]
    return rng.choice(["\n", "\r\n", "\r"]).join(lines).encode()


def random_path(rng: random.Random, *, wild: bool = False) -> str:
    pieces = [
        rng.choice(_WILD) if wild and rng.random() < 0.2 else rng.choice(_PIECES) for _ in range(rng.randint(0, 6))
    ]
    return "/" + "".join(pieces)


def near(rng: random.Random, rules: list[Rule]) -> bytes:
    """A path that a rule may match: its stars filled, some of its octets escaped or the other way round, and something
    behind."""
    written = rng.choice(rules).pattern
    filled = re.sub(rb"\*", lambda _: "".join(rng.choices(_PIECES, k=rng.randint(0, 2))).encode(), written)
    respelt = re.sub(_TOKEN, lambda found: _respelt(rng, found[0]), filled)
    found = respelt + rng.choice(_PIECES).encode() * (rng.random() < 0.4)
    return re.sub(rb"[\x80-\xff]", lambda octet: b"%%%02X" % octet[0][0], found)  # as every target is sent


def _respelt(rng: random.Random, token: bytes) -> bytes:
    if rng.random() < 0.7:
        return token
    if len(token) == 3:
        return rng.choice([token.lower(), bytes.fromhex(token[1:].decode())])
    return b"%%%02X" % token[0]


def run(cases: int, seed: int) -> Counter[str]:
    """How many decisions agreed, and what explains the others. Raises AssertionError for one that nothing explains."""
    rng, found = random.Random(seed), Counter[str]()
    for _ in range(-(-cases // _PATHS_OF_A_FILE)):
        body = random_file(rng)
        rules, robots = read(body), parse(body, US)
        for _ in range(_PATHS_OF_A_FILE):
            path = (
                quote_from_bytes(random_path(rng).encode(), _ASCII).encode()
                if not rules or rng.random() < 0.5
                else near(rng, rules)
            )
            ours = robots.allowed(path.decode("ascii"))
            reason = why(rules, path, ours)
            assert reason is not None, (
                f"nothing explains it: {path!r} is {'allowed' if ours else 'refused'} by {body!r}"
            )
            found[reason] += 1
    return found


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.google", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cases", type=int, default=1_000_000, help="decisions; D: 1,000,000")
    parser.add_argument("--seed", type=int, default=1, help="of the random files; D: 1")
    arguments = parser.parse_args()
    found = run(arguments.cases, arguments.seed)
    print(f"{sum(found.values()):,} decisions, {found.pop('agreed', 0):,} as Google's parser; otherwise by RFC 9309:")
    for reason, n in found.most_common():
        print(f"{n:>10,}  {REASONS[reason]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
