"""Prints what a decision costs for ordinary and hostile robots.txt files: ours, and protego's for comparison.

    python -m bench.robots_hostile

promise R10: never over 50 ms a decision. Columns: milliseconds to parse; microseconds of `allowed` for the worst
of the targets; the most steps that any target took; microseconds of protego's `can_fetch` for that worst one.
"""

import random
from collections.abc import Callable, Iterable
from functools import partial
from itertools import product
from time import perf_counter

from protego import Protego

from app.policy.robots import MAX_BYTES, parse
from app.policy.robots_match import Ruleset, normal
from app.policy.robots_text import read

LETTERS = "bcdefghijklmnopqrstuvwxyz0123456789"
TARGETS = (
    "/",
    "/shop/item-12345.html",
    "/search?q=caf%C3%A9&page=2",
    "/wiki/%E3%83%84%E3%83%BC%E3%83%AB",
    "/" + "a" * 2050,
    "/" + "ab" * 1025,
    "/" + "%41" * 680,
)


def rules(lines: Iterable[str]) -> bytes:
    """As many of the lines as fit, in one group for all."""
    taken, size = ["User-agent: *"], 13
    for line in lines:
        size += len(line.encode()) + 1
        if size > MAX_BYTES:
            break
        taken.append(line)
    return "\n".join(taken).encode()


def files() -> dict[str, bytes]:
    noise = random.Random(1)
    ordinary = [f"Disallow: /section{n}/" for n in range(30)] + [f"Disallow: /*?p{n}=" for n in range(10)]
    triples = ["".join(three) for three in product(LETTERS, repeat=3)]
    return {
        "ordinary, 30 prefixes, 10 stars": rules(ordinary),
        "prefixes only": rules(f"Disallow: /dir{n}" for n in range(MAX_BYTES)),
        "prefixes of every length": rules(f"Allow: /{'a' * n}" for n in range(1000, 0, -1)),
        "exact": rules(f"Disallow: /dir{n}$" for n in range(MAX_BYTES)),
        "*axyz": rules(f"Allow:*a{three}" for three in triples),
        "*axyz*": rules(f"Allow:*a{three}*" for three in triples),
        "*a*a*xyz": rules(f"Allow:/*a*a*{three}" for three in triples),
        "*a*a*a… one line": rules(["Disallow: /" + "*a" * (MAX_BYTES // 2 - 100) + "*z"]),
        "*a*a*a… 255 lines": rules("Disallow: /" + "*a" * 990 + f"*z{n}" for n in range(255)),
        "needles a…ab a…a": rules("Allow:*" + "a" * 250 + "b" + "a" * (249 + n) for n in range(1000)),
        "needles a…ab a…a, short": rules(
            "Allow:*" + "a" * n + "b" + "a" * m for n in range(5, 100) for m in range(5, 100)
        ),
        "escapes": rules(["Disallow: /" + "%41" * (MAX_BYTES // 3 - 100)]),
        "NULs": b"User-agent: *\nDisallow: /" + b"\0" * (MAX_BYTES - 100),
        "CR only": rules(ordinary).replace(b"\n", b"\r"),
        "BOM": b"\xef\xbb\xbf" + rules(ordinary),
        "binary": noise.randbytes(MAX_BYTES),
        "line ends only": b"\n" * MAX_BYTES,
        "agents only": b"User-agent: a\n" * (MAX_BYTES // 14),
        "hints only": rules("Crawl-delay: 1" for _ in range(MAX_BYTES)),
    }


def seconds(act: Callable[[], object], times: int) -> float:
    """The best of `times` runs."""
    best = float("inf")
    for _ in range(times):
        began = perf_counter()
        act()
        best = min(best, perf_counter() - began)
    return best


def main() -> None:
    print(f"{'file':34}{'parse ms':>10}{'ours µs':>10}{'steps':>11}{'protego µs':>12}   worst target")
    for name, body in files().items():
        parsing = seconds(partial(parse, body, "tiptoe"), 2)
        robots, ruleset = parse(body, "tiptoe"), Ruleset(read(body, "tiptoe").group.rules)
        protego = Protego.parse(body.decode("utf-8", "replace"))
        cost = {target: seconds(partial(robots.allowed, target), 5) for target in TARGETS}
        worst = max(cost, key=cost.__getitem__)
        theirs = seconds(partial(protego.can_fetch, "http://h" + worst, "tiptoe"), 5)
        steps = max(ruleset.find(normal(target.encode()))[1] for target in TARGETS)
        figures = f"{parsing * 1e3:10.1f}{cost[worst] * 1e6:10.1f}{steps:11,}{theirs * 1e6:12.1f}"
        print(f"{name:34}{figures}   {worst[:20]}")


if __name__ == "__main__":
    main()
