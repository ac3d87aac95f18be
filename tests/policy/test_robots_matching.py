"""Patterns against other matchers, and the bound on the work that they cost (promise R10)."""

import re
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from protego import Protego

from app.policy.robots import (
    MAX_BYTES,
    parse,
)
from app.policy.robots_match import MAX_STEPS, TOO_COSTLY, Rule, Ruleset, normal
from tests.examples import examples
from tests.policy.robots_rows import US, robots_txt

# --- against other matchers ---------------------------------------------------------------------------------

targets = st.text(alphabet="ab/c", max_size=8).map(lambda rest: "/" + rest)


patterns = st.text(alphabet="ab/c*", max_size=6).map(lambda rest: "/" + rest)


def escaped_length(pattern: str) -> int:
    return len(quote(re.sub(r"\*+", "*", pattern), safe="/*$"))


def rank_by_regex(pattern: str, target: str) -> int | None:
    """Length of the match by a regular expression, written without a look at `robots_match`."""
    anchored = pattern.endswith("$")
    body = pattern.removesuffix("$")
    stem = body.rstrip("*")
    expression = ".*".join(map(re.escape, re.split(r"\*+", stem)))
    if stem != body:
        if re.match(expression + ".", target, re.DOTALL):
            return escaped_length(stem) + 1
        return escaped_length(stem) if re.match(expression, target, re.DOTALL) else None
    if anchored:
        return escaped_length(stem) + 1 if re.fullmatch(expression, target, re.DOTALL) else None
    return escaped_length(stem) if re.match(expression, target, re.DOTALL) else None


@settings(max_examples=examples(500), deadline=None)
@given(st.lists(st.tuples(st.booleans(), patterns, st.booleans()), max_size=6), targets)
def test_agrees_with_a_matcher_of_regular_expressions(rules: list[tuple[bool, str, bool]], target: str) -> None:
    written = [(allow, pattern + "$" * anchored) for allow, pattern, anchored in rules]
    ranks = [(rank, allow) for allow, p in written if (rank := rank_by_regex(p, target)) is not None]
    body = robots_txt("User-agent: *", *(f"{'Allow' if a else 'Disallow'}: {p}" for a, p in written))
    robots = parse(body, US)
    assert robots.allowed(target) is (max(ranks)[1] if ranks else True)
    assert robots.decide(target).allowed is robots.allowed(target)


@settings(max_examples=examples(300), deadline=None)
@given(st.lists(st.tuples(st.booleans(), patterns), max_size=6), targets)
def test_agrees_with_protego(rules: list[tuple[bool, str]], target: str) -> None:
    """On what it reads as we do: no anchors, no stars at the end, no runs of stars."""
    written = [(allow, re.sub(r"\*+", "*", pattern).rstrip("*")) for allow, pattern in rules]
    body = robots_txt("User-agent: *", *(f"{'Allow' if a else 'Disallow'}: {p}" for a, p in written))
    theirs = Protego.parse(body.decode()).can_fetch("http://h" + target, US)
    assert parse(body, US).allowed(target) is theirs


@given(st.text(max_size=30))
def test_normal_form_undoes_escapes_of_any_text(text: str) -> None:
    octets = re.sub(r"[/?%]", "", text).encode("utf-8", "replace")
    assert normal(quote(octets, safe="").encode()) == octets


# --- bounded work (promise R10) --------------------------------------------------------------------------------


def starred(*tails: str) -> Ruleset:
    return Ruleset(Rule(allow=False, pattern=tail.encode(), line=number) for number, tail in enumerate(tails, start=1))


def test_ordinary_work_is_small() -> None:
    rules = starred(*(f"/*?p{n}=" for n in range(100)))
    rule, steps = rules.find(b"/shop/item-12345.html?page=2")
    assert rule is None
    assert steps < MAX_STEPS / 100


@pytest.mark.parametrize(
    "tail", ["/" + "*a" * 250_000 + "*z", "/" + "*a" * 1000 + "*z$", "*" + "a" * 250 + "b" + "a" * 249]
)
def test_no_single_pattern_is_too_costly(tail: str) -> None:
    rule, steps = starred(tail).find(b"/" + b"a" * 2050)
    assert rule is None
    assert steps < MAX_STEPS / 10


# A text of many letters has all parts of these patterns but the last, which it has too early.
COSTLY = [f"/{'*a' * x}{'*b' * y}*z" for x in range(1, 60) for y in range(1, 60)]
MANY_LETTERS = "/z" + "ab" * 1_000


def test_work_is_counted_and_given_up_by_staying_away() -> None:
    rules = starred(*COSTLY)
    rule, steps = rules.find(MANY_LETTERS.encode())
    assert rule is TOO_COSTLY
    assert MAX_STEPS < steps < 1.1 * MAX_STEPS
    assert not TOO_COSTLY.allow
    assert rules.find(b"/short") == (None, rules.find(b"/short")[1])


def test_giving_up_is_no_disallow() -> None:
    robots = parse(robots_txt("User-agent: *", *(f"Allow: {tail}" for tail in COSTLY)), US)
    decision = robots.decide(MANY_LETTERS)
    assert not robots.allowed(MANY_LETTERS)
    assert (decision.allowed, decision.line, decision.rule, decision.is_too_costly) == (False, None, None, True)


def test_a_plain_prefix_spares_the_shorter_patterns_with_stars() -> None:
    rules = starred("/a-long-prefix-decides", *(f"/*{n:x}" for n in range(1000)))
    rule, steps = rules.find(b"/a-long-prefix-decides/f")
    assert rule is not None
    assert rule.line == 1
    assert steps < 1000


HOSTILE: list[Any] = [
    pytest.param(b"\0" * MAX_BYTES, id="NULs"),
    pytest.param(b"User-agent: *\nDisallow: /" + b"\0" * MAX_BYTES, id="NULs in a pattern"),
    pytest.param(bytes(range(256)) * 2000, id="binary"),
    pytest.param(b"\r" * MAX_BYTES, id="CR only"),
    pytest.param(b":" * MAX_BYTES, id="colons"),
    pytest.param(b"User-agent: *\n" * 40_000, id="agents"),
    pytest.param(b"User-agent: *\nDisallow: /" + b"%" * 400_000, id="percent signs"),
    pytest.param(b"User-agent: *\nDisallow: /" + b"*" * 400_000, id="stars"),
    pytest.param(b"User-agent: *\nCrawl-delay: " + b"9" * 400_000, id="digits"),
    pytest.param(b"User-agent: *\nRequest-rate: " + b"9" * 4000 + b"/" + b"9" * 4000, id="rate"),
    pytest.param(b"User-agent: *\n" + b"Disallow: /a*b*c*d$\n" * 30_000, id="the same rule"),
]


@pytest.mark.parametrize("body", HOSTILE)
def test_hostile_files_are_read(body: bytes) -> None:
    robots = parse(body, US)
    assert robots.allowed("/robots.txt")
    for target in ("/", "/a" * 1000, "/%00", "/\ud800", ""):
        assert robots.decide(target).allowed is robots.allowed(target)
