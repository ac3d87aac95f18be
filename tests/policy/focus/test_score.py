"""Scores of links, and their components: each rises and falls with what it stands for."""

from datetime import UTC, datetime
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.model import Url
from app.policy.focus.patterns import RISKY
from app.policy.focus.profile_text import profile_of, read
from app.policy.focus.score import LEAST_RAISE, MOST_PAGE, VIEW, Parts, as_view, handed_on, raised, score, unpacked
from app.policy.focus.vocabulary import LEAST_PAGES, MOST_WORDS, Vocabulary
from app.policy.url import Canon

NOW = datetime(2026, 11, 23, tzinfo=UTC)
GENERAL = profile_of("general")


def url(target: str) -> Url:
    found = Canon().canonicalise(f"http://h{target}")
    assert isinstance(found, Url)
    return found


def parts(target: str, *, depth: int = 1, lastmod: datetime | None = None) -> Parts:
    return score(GENERAL, url(target), depth=depth, now=NOW, lastmod=lastmod).parts


# better, worse, the component that tells them apart
@pytest.mark.parametrize(
    ("better", "worse", "component"),
    [
        ("/docs/x", "/about", "base"),
        ("/about", "/tag/x", "base"),
        ("/2026/11/20/x", "/2026/09/01/x", "fresh"),
        ("/2026/11/20/x", "/x", "fresh"),
        ("/news-2026-11-01", "/news-2019-11-01", "fresh"),
        ("/x", "/x?a=1&b=2", "duplicate"),
        ("/x", "/x?sort=price", "duplicate"),
        ("/x", "/print/x", "duplicate"),
        ("/x", "/x?ref=front", "duplicate"),
        ("/docs/x", "/9f86d081884c7d659a2feaa0c55ad015/docs/x", "duplicate"),
        ("/docs/x", "/docs/x?token=9f86d081884c7d659a2feaa0c55ad015", "duplicate"),
        ("/list?page=2", "/list?page=40", "trap"),
        ("/list/page/2", "/list/page/40", "trap"),
        ("/calendar/2026/11", "/calendar/2031/05", "trap"),
        ("/day?d=2026-11-01", "/day?d=2031-11-01", "trap"),
        ("/a/b/c", "/a/b/a/b", "trap"),
        ("/a/b/c", "/a/b/c/d/e/f/g/h/i/j", "trap"),
    ],
)
def test_one_component_tells_them_apart(better: str, worse: str, component: str) -> None:
    one, other = parts(better), parts(worse)
    sign = 1 if component in {"base", "anchor", "fresh"} else -1
    assert sign * (getattr(one, component) - getattr(other, component)) > 0
    assert one.score > other.score


# what is no date, no page number and no session
@pytest.mark.parametrize(
    "target", ["/v2020", "/items/20201", "/docs/2.0/x", "/a-deadbeef", "/list?page=3", "/deadbeef"]
)
def test_ordinary_numbers_are_no_risk(target: str) -> None:
    found = parts(target)
    assert (found.fresh, found.duplicate) == (0, 0)
    assert found.trap <= 0.04  # for its depth alone


# the risk of a duplicate by its form → with its path known alone
@pytest.mark.parametrize(("before", "after"), [(0.0, VIEW), (0.05, VIEW), (0.2, 0.2), (0.4, 0.4)])
def test_ours_a_view_comes_later_and_is_no_suspect(before: float, after: float) -> None:
    found = as_view(Parts(0.5, 0.0, 0.0, before, 0.0), "/a?ref=front")
    assert found.duplicate == after
    assert (found.risk >= RISKY) == (before >= RISKY)


@pytest.mark.parametrize(
    ("target", "is_view"), [("/list?page=2", False), ("/list?start=20", False), ("/list?colour=red&p=3", True)]
)
def test_ours_the_next_page_of_a_list_is_no_view_of_it(target: str, is_view: bool) -> None:
    """But of one that is filtered, too, it is."""
    parts = Parts(0.5, 0.0, 0.0, 0.0, 0.0)
    assert (as_view(parts, target) != parts) == is_view


def test_a_score_falls_with_depth_a_little() -> None:
    scores = [parts("/x", depth=depth).score for depth in range(20)]
    assert scores == sorted(set(scores), reverse=True)
    assert scores[0] - scores[-1] < 0.25


def test_a_believed_lastmod_is_worth_as_much_as_a_date() -> None:
    assert parts("/x", lastmod=NOW).fresh == pytest.approx(0.2)
    assert parts("/x").fresh == 0


# topics, anchor → more than the anchor before it
def test_anchors_are_ranked_by_topics_and_vocabulary() -> None:
    known = Vocabulary()
    for _ in range(20):
        known.learn(["home", "next", "crawler"])
    for _ in range(20):
        known.learn(["home", "next", "robots"])
    profile = read('topics = {words = ["robots"]}')

    def anchor(text: str) -> float:
        return score(profile, url("/x"), depth=1, anchor=text, worth=known.worth).parts.anchor

    assert (
        anchor("robots") > anchor("robots home") > anchor("crawler") > anchor("next") == anchor("") == anchor("xyzzy")
    )


def test_a_vocabulary_is_bounded_and_goes_on_learning() -> None:
    known = Vocabulary()
    for number in range(3 * MOST_WORDS // 100):
        known.learn([f"w{number}x{place}" for place in range(100)] + ["common", "rare"][: 1 + (number % 7 == 0)])
    assert known.worth("rare") > known.worth("common")
    assert known.worth("w1x1") == 0


def test_a_vocabulary_says_nothing_at_first() -> None:
    known = Vocabulary()
    for _ in range(LEAST_PAGES - 1):
        known.learn(["word"])
    assert known.worth("word") == 0


@given(st.tuples(*[st.floats(0, 1)] * 5))
def test_parts_survive_packing(values: tuple[float, float, float, float, float]) -> None:
    found = Parts(*values)
    packed = found.packed()
    assert 0 <= packed < 2**31  # Postgres' integer
    assert unpacked(packed) == pytest.approx(found, abs=0.01)


@given(st.tuples(*map(partial(st.floats, 0), (1, 0.3, 0.2, 0.4, 0.6, 0.3))))
def test_parts_with_a_page_survive_packing(values: tuple[float, ...]) -> None:
    found = Parts(*values)
    packed = found.packed()
    assert -(2**31) <= packed < 2**31
    assert unpacked(packed) == pytest.approx(found, abs=0.0101)
    assert (packed < 0) == (found.page > 0)


def test_rows_that_knew_no_page_keep_their_parts() -> None:
    assert unpacked(30 << 24 | 18 << 18 | 12 << 12 | 24 << 6 | 36) == pytest.approx((0.5, 0.3, 0.2, 0.4, 0.6, 0))


def test_a_relevant_page_raises_its_links() -> None:
    plain = parts("/x")
    some, all_ = (handed_on(plain, relevance) for relevance in (0.5, 1.0))
    assert plain.score < some.score < all_.score == pytest.approx(plain.score + MOST_PAGE)
    assert (plain.page, some.risk) == (0, plain.risk)


# anchor and relevance of a further page → anchor and page afterwards; None: nothing is written for it
@pytest.mark.parametrize(
    ("anchor", "relevance", "expected"),
    [
        (0.1, 0.5, None),
        (0.0, 0.0, None),
        (0.1, 0.5 + LEAST_RAISE / MOST_PAGE / 2, None),
        (0.3, 0.0, (0.3, 0.15)),
        (0.0, 1.0, (0.1, 0.3)),
        (0.2, 0.8, (0.2, 0.24)),
    ],
)
def test_a_further_page_raises_and_never_lowers(
    anchor: float, relevance: float, expected: tuple[float, float] | None
) -> None:
    before = Parts(base=0.5, anchor=0.1, fresh=0.0, duplicate=0.0, trap=0.02, page=0.15)
    after = raised(before, anchor=anchor, relevance=relevance)
    assert (after and (after.anchor, after.page)) == (expected and pytest.approx(expected))
    assert after is None or after._replace(anchor=0.1, page=0.15) == before


def test_a_score_that_is_at_its_most_is_not_raised() -> None:
    assert raised(Parts(1.0, 0.0, 0.0, 0.0, 0.0), anchor=0.3, relevance=1.0) is None


# topics, path → it is worth something
@pytest.mark.parametrize(
    ("topics", "target", "is_worth"),
    [
        ('words = ["robots"]', "/robots/x", True),
        ('words = ["index"]\nlanguage = "en"', "/x/create-index.html", True),
        ('words = ["model"]\nlanguage = "en"', "/db/models/", True),
        ('words = ["model"]', "/db/models/", False),
        ('words = ["robots"]', "/robotsx", False),
        ("words = []", "/robots/x", False),
    ],
)
def test_a_topic_in_the_path_is_worth_a_third_of_one_in_the_anchor(topics: str, target: str, is_worth: bool) -> None:
    profile = read(f"[topics]\n{topics}\n")
    assert score(profile, url(target), depth=1).parts.anchor == pytest.approx(0.1 * is_worth)


@given(st.text(max_size=300), st.integers(0, 100))
def test_any_url_has_a_score(text: str, depth: int) -> None:
    found = Canon().canonicalise(f"http://h/{text}")
    if isinstance(found, Url):
        scored = score(GENERAL, found, depth=depth, anchor=text, now=NOW)
        assert 0 <= scored.parts.score <= 1
        assert scored.lane in range(4)
