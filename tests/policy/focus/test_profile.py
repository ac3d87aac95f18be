"""Profiles: what they say of a path, and the one line that a broken one gets."""

import time

import pytest

from app.errors import InputError
from app.model import Url
from app.policy.focus.profile import REACH
from app.policy.focus.profile_text import MOST_BYTES, NAMES, profile_of, read, safe_pattern, text_of
from app.policy.url import Canon


def url(target: str) -> Url:
    found = Canon().canonicalise(f"http://h{target}")
    assert isinstance(found, Url)
    return found


# a document → its one line
@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("x =", "my.toml: is not TOML: Invalid value"),
        ("x = " + "1" * 5_000, "my.toml: is not TOML: Exceeds the limit"),
        (
            "foo = 1",
            "my.toml: foo: is not a key of a profile here; "
            "use: lanes, name, paths, recrawl, render, rest, topics, traps",
        ),
        ("[render]\npost = true", "my.toml: [render]: post = True: must be a list"),
        ("[render]\npost = [1]", "my.toml: [render]: post: must be a list of texts"),
        ("[render]\npost = ['(']", "my.toml: [render]: post '(': is not a regular expression"),
        ("[render]\npost = ['(a+)+$']", "my.toml: [render]: post '(a+)+$': may take forever"),
        ("[render]\nposts = ['a']", "my.toml: [render]: posts: is not a key of a profile here; use: post"),
        ("[render]\npost = [" + "'a'," * 21 + "]", "my.toml: [render]: post: 21 are too many; use at most 20"),
        ("lanes = 1", "my.toml: lanes = 1: must be a table"),
        ("name = 3", "my.toml: name = 3: must be a text in quotes"),
        ("[lanes]\nshares = [8, 4, 2]", "my.toml: [lanes]: shares = [8, 4, 2]: write four whole numbers from 1 to 100"),
        ("[lanes]\nshares = [8, 4, 2, 0]", "my.toml: [lanes]: shares = [8, 4, 2, 0]: write four whole numbers"),
        ("[rest]\nweight = 2", "my.toml: [rest]: weight = 2: use a number from 0 to 1"),
        ("[rest]\nweight = nan", "my.toml: [rest]: weight = nan: use a number from 0 to 1"),
        ("[rest]\nlane = true", "my.toml: [rest]: lane = True: use a number from 0 to 3"),
        ("[rest]\nevery = '7'", "my.toml: [rest]: every = '7': write a number and m, h, d or w, e.g. every = '7d'"),
        ("[[paths]]\nlane = 1", "my.toml: [[paths]] 1: needs either segments = [...] or pattern = '...'"),
        ("[[paths]]\nsegments = ['a']\npattern = 'b'", "my.toml: [[paths]] 1: needs either segments"),
        ("[[paths]]\nsegments = 'docs'", "my.toml: [[paths]] 1: segments = 'docs': must be a list"),
        ("[[paths]]\nsegments = [1]", "my.toml: [[paths]] 1: segments: must be a list of texts"),
        ("[paths]\nlane = 1", "my.toml: paths = {'lane': 1}: must be a list"),
        ("[[paths]]\npattern = '('", "my.toml: [[paths]] 1: pattern '(': is not a regular expression"),
        ("[[paths]]\npattern = '(a+)+$'", "my.toml: [[paths]] 1: pattern '(a+)+$': may take forever"),
        ("[traps]\nallow = ['a.*b.*c.*d']", "my.toml: [traps]: allow 'a.*b.*c.*d': may take forever"),
        ("[traps]\ntrial = 0", "my.toml: [traps]: trial = 0: use a number from 1 to 10000"),
        ("[traps]\ntrial = 2.5", "my.toml: [traps]: trial = 2.5: use a whole number from 1 to 10000"),
        ("[rest]\nlane = 1.9", "my.toml: [rest]: lane = 1.9: use a whole number from 0 to 3"),
        ("[rest]\nevery = '0d'", "my.toml: [rest]: every = '0d': write a number"),
        ("[[paths]]\nsegments = ['/']", "my.toml: [[paths]] 1: segments: '/': write one segment, or use pattern"),
        ("[[paths]]\nsegments = ['docs/api']", "my.toml: [[paths]] 1: segments: 'docs/api': write one segment"),
        ("[recrawl]\nrequests_per_day = 0", "my.toml: [recrawl]: requests_per_day = 0: use a number from 0.001"),
        ("[topics]\nlanguage = 'tlh'", "my.toml: [topics]: language = 'tlh': use one of: any, en"),
        ("[recrawl]\nrequests_per_day = -1", "my.toml: [recrawl]: requests_per_day = -1: use a number from 0"),
        ("#" * (MOST_BYTES + 1), "my.toml: is larger than 64 KiB"),
        ("[[paths]]\nsegments = ['a']\n" * 201, "my.toml: paths: 201 are too many; use at most 200"),
    ],
)
def test_a_broken_profile_has_one_line(text: str, error: str) -> None:
    with pytest.raises(InputError) as raised:
        read(text, what="my.toml")
    assert str(raised.value).startswith(error)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    "pattern",
    [
        "^/docs/",
        r"/\d{4}/\d\d/",
        "(?:a|b)+/x",
        "(ab){2,3}c*",
        "a.*b.*",
        "(?:.*a)?b",
        "",
        "(?:foo|bar)*x",
        "^/(?:a|b1|c)/[0-9]+(?:-x)?$",
    ],
)
def test_ordinary_patterns_pass(pattern: str) -> None:
    assert safe_pattern("pattern", pattern).pattern == pattern


# What explodes on a URL of 256 letters, though no repetition without end stands within another
@pytest.mark.parametrize(
    "pattern",
    [
        "(?:a|aa)*$",
        "(?:aa?)*$",
        "(?:a{1,20})*$",
        "(?:a{0,20}){0,20}b",
        "a?" * 60 + "a" * 60,
        "(?:ab|[ab]b)*c",
        "a{9}(a|)*b",
    ],
)
def test_patterns_that_explode_are_refused(pattern: str) -> None:
    with pytest.raises(InputError, match="may take forever"):
        safe_pattern("pattern", pattern)


@pytest.mark.parametrize("pattern", ["a.*a.*b", r"(?:\w+/)?\w+x", "a*a*b", "a?a?a*a*b", "(?:foo|bar)*x"])
def test_patterns_that_pass_are_quick(pattern: str) -> None:
    compiled, target = safe_pattern("pattern", pattern), "/" + "a" * 2_000
    began = time.process_time()
    for _ in range(3):
        compiled.search(target, 0, REACH)
    assert time.process_time() - began < 2.0  # minutes without the limits


@pytest.mark.parametrize("name", NAMES)
def test_shipped_profiles_are_sound(name: str) -> None:
    profile = profile_of(name)
    assert profile.name == name
    assert text_of(name).startswith("# ")
    assert len(profile.words) > 10
    assert profile.posts == (), "a POST is a decision of the person who crawls"


@pytest.mark.parametrize(
    # path, whether a rendered page may POST there
    ("target", "may"),
    [("/api/search", True), ("/api/search?q=a", True), ("/api/delete", False), ("/x/api/search", False)],
)
def test_a_profile_names_the_paths_of_a_post(target: str, may: bool) -> None:
    assert read("[render]\npost = ['^/api/search']").may_post(url(target)) is may
    assert not read("name = 'x'").may_post(url(target))


def test_an_unknown_name_is_told_the_known() -> None:
    with pytest.raises(InputError, match="use one of: general, docs, news, shop, forum; or the path of a TOML file"):
        profile_of("docks")


# profile, target → lane
@pytest.mark.parametrize(
    ("name", "target", "lane"),
    [
        ("general", "/", 1),
        ("general", "/about", 1),
        ("general", "/docs/x", 1),
        ("general", "/en/Guide/x", 1),
        ("general", "/blog", 2),
        ("general", "/en/news/2024/x", 2),
        ("general", "/tag/x", 3),
        ("general", "/docs/news/x", 1),  # the first segment that the table knows
        ("general", "/news/archive/x", 2),
        ("general", "/newsroom", 1),  # whole segments only
        ("general", "/?path=/blog/", 1),  # the query says nothing
        ("general", "/wiki/Special:RecentChanges", 3),
        ("general", "/wiki/Heron", 1),
        ("general", "/index.php?title=Heron&action=history", 3),
        ("general", "/index.php?action=show&id=5", 1),
        ("general", "/calendar/2026/11", 3),
        ("general", "/library/calendar.html", 1),
        ("general", "/events/2026-11-25/", 3),
        ("general", "/event/a-concert/", 1),
        ("general", "/2026/11/", 3),
        ("general", "/2026/11/24/a-post", 1),
        ("general", "/o/r/-/blame/main/f.py", 3),
        ("general", "/o/r/-/blob/main/f.py", 1),
        ("general", "/u/ada", 3),
        ("general", "/user-guide/x", 1),
        ("general", "/t/why/17", 1),
        ("general", "/t/why/17/45", 3),
        ("news", "/", 0),
        ("news", "/2026/11/23/x", 1),
        ("shop", "/shop?color=red&page=2", 3),
        ("forum", "/t/why/17", 1),
        ("forum", "/u/ada", 3),
    ],
)
def test_ours_lane(name: str, target: str, lane: int) -> None:
    assert profile_of(name).branch(target).lane == lane


def test_values_are_kept() -> None:
    profile = read(
        """
        name = "mine"
        topics = {words = ["Crawlers", "robots.txt"], language = "en"}
        recrawl = {requests_per_day = 500}
        [lanes]
        shares = [1, 2, 3, 4]
        [rest]
        every = "12h"
        [[paths]]
        segments = ["Specs"]
        lane = 0
        weight = 1.0
        importance = 2
        [traps]
        allow = ["^/calendar/"]
        """
    )
    assert (profile.shares, profile.topics, profile.requests_per_day) == (
        (1, 2, 3, 4),
        {"crawler", "robot", "txt"},
        500,
    )
    assert (profile.rest.every_s, profile.words["specs"].importance) == (43_200, 2)
    assert profile.allows(url("/calendar/2030"))
    assert not profile.allows(url("/docs/calendar/2030"))
