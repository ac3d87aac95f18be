"""The work of judging many links by one robots.txt (promise R10): bounded for a page, and never a disallow."""

import random
import string
from collections.abc import Iterator
from functools import cache
from itertools import count, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.model import Url
from app.policy.robots import MAX_BYTES, Robots, RobotsVerdict, parse
from app.policy.robots_match import _FEW, MAX_STEPS, SETTLE_STEPS, Rule, Ruleset, Work, normal
from app.policy.url import Canon
from tests.examples import examples
from tests.policy.robots_rows import US

LETTERS = string.ascii_lowercase


def file(lines: Iterator[str]) -> bytes:
    """As many of the lines as a file may have octets; no more of them are made."""
    written = bytearray(b"User-agent: *")
    for line in lines:
        written += b"\n" + line.encode()
        if len(written) > MAX_BYTES:
            break
    return bytes(written[: MAX_BYTES + 1])


def letters(parts: int) -> Iterator[str]:
    rng = random.Random(parts)
    while True:
        yield "Disallow: /" + "".join("*" + rng.choice(LETTERS) for _ in range(parts))


SHAPES: dict[str, Iterator[str]] = {
    "one letter, a number": ("Disallow: /" + "*a" * 30 + f"{n:06}" for n in count()),
    "one letter, a number in the middle": (f"Disallow: /*a*{n:06}" + "*a" * 30 for n in count()),
    "two letters": ("Disallow: /" + "*a*b" * (n % 400 + 1) + "*c" for n in count()),
    "shared beginnings": ("Disallow: /" + "*a" * x + "*b" * y + "*z" for x in range(1, 300) for y in range(1, 300)),
    "shared ends": ("Disallow: /" + "*z" * (n % 50 + 1) + "*a*b" * 100 + "*q" for n in count()),
    "few letters, $": ("Disallow: /" + "".join("*" + c for c in each) + "$" for each in product("abcd", repeat=8)),
    "alternating": (f"{('Allow', 'Disallow')[n % 2]}: /{'*a*b' * (n % 200 + 1)}*c" for n in count()),
    "stars at the end": ("Disallow: /" + "*a" * (n % 100 + 1) + "*b*" for n in count()),
    "escaped slashes": ("Disallow: /*%2Fa" + "*%2F" * (n % 60) for n in count()),
    "prefixes in each other": (f"Disallow: /{'a' * n}" for n in range(1, 999)),
    **{f"{parts} of any letters": letters(parts) for parts in (20, 900)},
}
TARGETS = [
    "/" + "a" * 2_000,
    "/" + "a" * 900 + "b",
    "/" + "ab" * 900 + "c",
    "/" + LETTERS * 75,
    "/" + "".join(random.Random(1).choices(LETTERS, k=2_000)),
    "/" + "abcd" * 400 + "a/z",
    "/" + "%2Fa" * 500,
    "/shop/item-12345.html?page=2",
]


def page(targets: list[str], links: int) -> list[Url]:
    """The links of a page: the targets in turn, each with a number."""
    canon = Canon()
    found = [canon.canonicalise(f"http://h.test{targets[n % len(targets)]}{n:05}") for n in range(links)]
    return [url for url in found if isinstance(url, Url)]


@cache
def compiled(shape: str) -> Robots:
    """The file of a shape, which takes most of a second."""
    return parse(file(SHAPES[shape]), US)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_decision_is_bounded_and_so_is_a_page(shape: str) -> None:
    robots, work = compiled(shape), Work(SETTLE_STEPS // 40)
    for url in page_of(TARGETS):
        alone = Work(SETTLE_STEPS)
        verdict, decision = robots.verdict(url, alone), robots.judge(url)
        assert SETTLE_STEPS - alone.left <= 1.2 * MAX_STEPS
        assert decision.is_too_costly is (verdict is RobotsVerdict.TOO_COSTLY)
        assert decision.allowed is (verdict is RobotsVerdict.ALLOWED)
    verdicts = [robots.verdict(url, work) for url in page(TARGETS, 150)]
    assert work.left > -0.2 * MAX_STEPS
    assert RobotsVerdict.TOO_COSTLY not in verdicts or work.left < MAX_STEPS


@pytest.mark.parametrize("shape", ["one letter, a number", "one letter, a number in the middle", "shared ends"])
def test_patterns_that_demand_what_no_link_has_cost_the_links_length(shape: str) -> None:
    """A page of links as long as ours may be is judged whole: some 50 steps for each of their octets."""
    robots, work = compiled(shape), Work(1_000 * 60 * 2_100)
    assert {robots.verdict(url, work) for url in page(["/" + "a" * 2_000], 1_000)} == {RobotsVerdict.ALLOWED}


ORDINARY = {
    "parameters": (lambda n: f"Disallow: /*?param{n}=", lambda n: f"/shop/item-{n}.html?param{n}=1"),
    "folders": (lambda n: f"Disallow: /*/private-{n}/", lambda n: f"/team/private-{n}/notes"),
    "below a folder": (lambda n: f"Disallow: /section{n}/*/print", lambda n: f"/section{n}/deep/print"),
    "endings": (lambda n: f"Disallow: /*-{n}.php$", lambda n: f"/a-{n}.php"),
    "several stars": (lambda n: f"Disallow: /user*edit*tab{n}*", lambda n: f"/user/7/edit?x=1&tab{n}"),
    "prefixes": (lambda n: f"Disallow: /folder{n}", lambda n: f"/folder{n}/page"),
    "escaped": (lambda n: f"Disallow: /*%2Fback{n}", lambda n: f"/go%2Fback{n}"),
}


@pytest.mark.parametrize(("kind", "links"), [(kind, 20_000 if kind == "folders" else 2_000) for kind in ORDINARY])
def test_a_large_ordinary_file_and_20_000_links_lose_none(kind: str, links: int) -> None:
    """500 KiB of rules; every second link is forbidden by one of them, every other one by none. A tenth of the links
    are a tenth of the budget."""
    rule, link = ORDINARY[kind]
    body = file(rule(n) for n in count(1))
    robots, work = parse(body, US), Work()
    assert len(body) > MAX_BYTES
    numbers = range(10_000, 10_000 - links // 2, -1)  # of the longest
    forbidden = page_of([link(n) for n in numbers])
    free = page_of([f"/news/2026/{n:05}/a-headline-of-some-words?page={n % 7}" for n in numbers])
    assert {robots.verdict(url, work) for url in forbidden} == {RobotsVerdict.DISALLOWED}
    assert {robots.verdict(url, work) for url in free} == {RobotsVerdict.ALLOWED}
    assert SETTLE_STEPS - work.left <= SETTLE_STEPS * links / 20_000


def page_of(targets: list[str]) -> list[Url]:
    canon = Canon()
    return [url for target in targets if isinstance(url := canon.canonicalise(f"http://h.test{target}"), Url)]


def test_past_the_budget_nobody_knows_and_no_work_is_done() -> None:
    robots, work = parse(b"User-agent: *\nDisallow: /", US), Work(0)
    (url,) = page_of(["/a"])
    assert robots.verdict(url, work) is RobotsVerdict.TOO_COSTLY
    assert work.left == 0
    assert robots.verdict(url, Work()) is RobotsVerdict.DISALLOWED


def test_the_rule_of_a_decision_is_short() -> None:
    """It stands in the row of each URL that it refuses. A run of stars matches as one, and may be half a megabyte."""
    (url,) = page_of(["/a"])
    decision = parse(b"User-agent: *\nDisallow: /" + b"*" * 500_000, US).judge(url)
    assert (decision.allowed, decision.line) == (False, 2)
    assert decision.rule is not None
    assert len(decision.rule) < 320


def test_robots_txt_itself_is_allowed_at_any_cost() -> None:
    (url,) = page_of(["/robots.txt"])
    assert parse(b"User-agent: *\nDisallow: /", US).verdict(url, Work(0)) is RobotsVerdict.ALLOWED


def test_both_forms_of_a_link_are_judged_within_one_budget() -> None:
    robots = parse(b"User-agent: *\nDisallow: /*utm_source", US)
    (url,) = page_of(["/a?utm_source=x"])
    assert (url.target, url.linked) == ("/a", "/a?utm_source=x")
    assert robots.verdict(url, Work()) is RobotsVerdict.DISALLOWED


# Decoys make a file large enough that its patterns are looked up by their octets.
DECOYS = [Rule(allow=True, pattern=f"/*decoy{n}*zz{n}".encode(), line=None) for n in range(_FEW + 1)]
pieces = st.sampled_from(["a", "b", "/", "abc", "aabbc", "c/ab?a", "%2F", "a%2Fb", "%3F", "?", "abcdefgh"])
patterns = st.lists(pieces, min_size=1, max_size=5).map(lambda each: "/" + "*".join(each))
targets = st.lists(pieces, max_size=8).map(lambda each: "/" + "".join(each))


@settings(max_examples=examples(500), deadline=None)
@given(st.lists(st.tuples(st.booleans(), patterns, st.sampled_from(["", "*", "$"])), max_size=8), targets)
def test_patterns_looked_up_by_octets_decide_as_patterns_tried_in_turn(
    written: list[tuple[bool, str, str]], target: str
) -> None:
    rules = [Rule(allow=a, pattern=(p + end).encode(), line=n) for n, (a, p, end) in enumerate(written, start=1)]
    octets = normal(target.encode())
    assert Ruleset([*rules, *DECOYS]).find(octets)[0] == Ruleset(rules).find(octets)[0]


@settings(max_examples=examples(300), deadline=None)
@given(st.lists(st.text(alphabet="ab/", max_size=6), max_size=12), st.text(alphabet="ab/", max_size=8))
def test_the_longest_prefix_is_found(heads: list[str], rest: str) -> None:
    rules = [Rule(allow=True, pattern=f"/{head}".encode(), line=n) for n, head in enumerate(heads, start=1)]
    target = f"/{rest}"
    found = Ruleset(rules).find(target.encode())[0]
    longest = max((f"/{head}" for head in heads if target.startswith(f"/{head}")), key=len, default=None)
    assert (found and found.pattern.decode()) == longest
