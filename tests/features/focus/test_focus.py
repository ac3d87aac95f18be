"""A visit's memory of what pages brought: whether one says something new, and whose refused URLs get another try."""

from itertools import count, permutations
from random import Random

import pytest

from app.features.focus.crawl_focus import CrawlFocus
from app.features.focus.seen_phrases import SeenPhrases
from app.model import Url
from app.policy.candidate import LAST_LANE
from app.policy.focus.novelty import said
from app.policy.focus.patterns import MOST_WAITING, SMALL_SITE, Yield
from app.policy.focus.profile_text import profile_of
from app.policy.focus.score import Parts, Precedence, score
from app.policy.focus.shape import shape_of
from app.policy.focus.vocabulary import Vocabulary
from app.policy.url import Canon

CAPTION = "A heron waits beside the frozen weir"


def test_a_list_in_another_order_says_nothing_new() -> None:
    seen = SeenPhrases()
    names = [f"{a} {b} shirt" for a in ("red", "blue", "green") for b in ("summer", "winter", "autumn")]
    assert seen.judge(said("Shirts\n" + "\n".join(names)), "/shirts", names) is False
    assert seen.judge(said("Shirts\n" + "\n".join(reversed(names))), "/shirts?dir=up", names) is False


# what a gallery's page says besides eight names of other pages: few words are enough
@pytest.mark.parametrize("caption", [CAPTION, "Frozen weir"])
def test_a_short_page_among_links_says_something_new(caption: str) -> None:
    seen = SeenPhrases()
    frame = ["Large", "Small", "Original", "Next photo", "Previous photo", "Album"]
    assert seen.judge(said("\n".join(["Herons at dawn", *frame])), "/photo/1", frame) is True
    assert seen.judge(said("\n".join([caption, *frame])), "/photo/2", frame) is True
    assert seen.judge(said("\n".join([caption, *frame])), "/photo/2?size=s", frame) is False


def test_a_sentence_among_many_links_says_something_new() -> None:
    seen = SeenPhrases()
    links = [f"{a}{b} page" for a in "bcdfgh" for b in "aeiou"]
    assert seen.judge(said("\n".join(["Stubs", *links])), "/", links) is False
    assert seen.judge(said("\n".join([CAPTION, *links])), "/stub", links) is True


@pytest.mark.parametrize("is_own", [True, False])
def test_a_form_that_is_filled_in_with_names_says_nothing_new(is_own: bool) -> None:
    seen = SeenPhrases()
    places = ["Avebury", "Barrow Hill", "Corfe", "Dunster", "Ely", "Fowey"]
    if is_own:
        assert seen.judge(said("\n".join(places)), "/places", places) is False
    else:  # another process read it
        seen.catch_up("/places", "\n".join(places))
    new = [
        seen.judge(said(f"From {one} to {other} it is {n * 37} km."), f"/way?from={n}&to={n + 9}", ["More"])
        for n, (one, other) in enumerate(permutations([*places, "Garth", "Hexham"], 2))
    ]
    assert new[0]
    assert sum(filter(None, new)) < 4
    assert seen.judge(said("Ely\nEly is a city of the Fens with a great cathedral."), "/place/5", ["More"]) is True


def test_without_a_budget_names_are_not_compared() -> None:
    seen = SeenPhrases()
    seen.judge(said("Places"), "/places", ["Ely", "Stow"])
    assert seen.judge(said("Ely Stow"), "/way/1") is False
    assert seen.judge(said("Ely Stow"), "/way/2", compares_names=False) is True


def test_a_page_without_text_proves_nothing() -> None:
    assert SeenPhrases().judge(said(""), "/app", ["Next"]) is None


def test_a_page_is_not_blamed_for_a_view_of_it_that_came_first() -> None:
    seen = SeenPhrases()
    assert not any(map(seen.had_view, ("/a?ref=1", "/mirror/en/b?id=1", "/c/print", "/d.md")))
    assert not any(map(seen.had_view, ("/a?ref=1", "/a?ref=2", "/en/b", "/f")))
    assert all(map(seen.had_view, ("/a", "/en/b?id=1", "/c", "/d")))


def url(target: str) -> Url:
    found = Canon().canonicalise(f"http://h{target}")
    assert isinstance(found, Url)
    return found


def test_ours_what_was_refused_before_its_trial_gets_it_once_another_turns() -> None:
    """It was refused for its group, or for the page that named it; what failed in its own trial stays refused."""
    yields = {
        "/a?page": Yield(urls=9, fetched=3, refused=4, lately=2.7),
        "/b?page&q": Yield(urls=9, refused=5),
        "/c?page": Yield(urls=9, fetched=3, refused=9, lately=2.7),
        "/d": Yield(urls=9),
    }
    focus = CrawlFocus(
        profile=profile_of("general"), vocabulary=Vocabulary(), seen=SeenPhrases(), yields=yields, refuses=True
    )
    focus.note(url("/item/1"), is_new=True, found_on="/a?page=1")
    assert focus.turned == {"/a?page", "/b?page&q"}


def judging() -> CrawlFocus:
    """Of a host that is no small site, in a crawl with a budget."""
    yields = {"/w": Yield(urls=SMALL_SITE + 1)}
    return CrawlFocus(
        profile=profile_of("general"), vocabulary=Vocabulary(), seen=SeenPhrases(), yields=yields, refuses=True
    )


def test_a_url_that_several_pages_name_is_counted_once() -> None:
    focus = judging()
    for _ in range(3):
        focus.lane_of(score(focus.profile, url("/x"), depth=1), "/x")
    assert (focus.found, focus.yields["/w"].urls) == (SMALL_SITE + 2, SMALL_SITE + 2)


def learn(focus: CrawlFocus, target: str, text: str, *, found_on: str | None = "/") -> None:
    focus.learn(url(target), said(text), labels=(), found_on=found_on)


def prose(seed: object) -> str:
    rng = Random(str(seed))
    return " ".join("".join(rng.choice("abcdefghij") for _ in range(6)) for _ in range(60))


def test_ours_a_list_is_credited_for_pages_below_it() -> None:
    focus = judging()
    for page in range(1, 5):
        for folder in ("shoes", "shirts"):
            learn(focus, f"/shop/{folder}?page={page}", "All things")
            learn(focus, f"/shop/{folder}/{page}", prose((folder, page)), found_on=f"/shop/{folder}?page={page}")
    assert not focus.copies(url("/shop/shoes?page=5"))
    assert not focus.copies(url("/shop/shirts?page=5"))


def test_ours_proven_shapes_come_first_where_a_budget_counts() -> None:
    focus = judging()
    parts = Parts(0.5, 0.0, 0.0, 0.2, 0.05)
    for n in range(3):
        learn(focus, f"/recipe/{n}?src=list", prose(n))
        learn(focus, f"/recipes/w{'abc'[n]}/x", "All recipes")
    proven, lists, unknown = (
        focus.learned(parts, shape_of(target)) for target in ("/recipe/9?src=list", "/recipes/y/z", "/other/9")
    )
    assert proven.score > unknown.score > lists.score
    assert (proven.duplicate, lists.duplicate, unknown) == (0.0, 0.2, parts)
    focus.refuses = False
    assert focus.learned(parts, shape_of("/recipe/9?src=list")) == parts


def test_ours_what_speaks_for_a_url_is_what_its_like_has_brought_by_now() -> None:
    focus = judging()
    risky, plain = Parts(0.5, 0.0, 0.0, 0.2, 0.05), Parts(0.5, 0.0, 0.0, 0.0, 0.05)
    assert focus.precedence(plain, "/recipe/9") is Precedence.OPEN
    for n in range(6):
        learn(focus, f"/recipe/{n}", prose(n))
        learn(focus, f"/recipes/w{'abcdef'[n]}/x", "All recipes")
    assert focus.precedence(risky, "/recipe/9") is Precedence.PROVEN
    assert focus.precedence(plain, "/recipes/y/z") is Precedence.LIST
    assert [focus.precedence(parts, "/other/9") for parts in (plain, risky)] == [Precedence.OPEN, Precedence.RISKY]
    focus.refuses = False
    assert focus.precedence(risky, "/recipe/9") is Precedence.RISKY


# from → to: whether the redirect counts as a page that brought nothing, until what it leads to does
@pytest.mark.parametrize(
    ("to", "counts"),
    [
        ("http://h/article/1", True),
        ("http://h/b", False),  # of its own shape
        ("https://h/article/1", False),  # pages of another origin credit nobody here
        ("http://elsewhere/article/1", False),
    ],
)
def test_ours_a_redirect_counts_within_its_origin(to: str, counts: bool) -> None:
    focus = CrawlFocus(profile=profile_of("general"), vocabulary=Vocabulary(), seen=SeenPhrases())
    target = Canon().canonicalise(to)
    assert isinstance(target, Url)
    focus.redirected(url("/a"), target, redirected_by=None)
    assert ("/w" in focus.yields) is counts


# pages that were fetched while the host was small, each of which counts as new
@pytest.mark.parametrize("before", [0, 15])
def test_without_a_budget_links_of_a_shape_that_brings_nothing_lately_wait(before: int) -> None:
    focus = judging()
    focus.refuses = False
    days = (f"/day/{n}" for n in count())

    def lane(target: str) -> int:
        return focus.lane_of(score(focus.profile, url(target), depth=1), target)

    for _ in range(before):
        learn(focus, next(days), "No events on this day.")
    assert lane("/day/99") != LAST_LANE
    for n in range(MOST_WAITING + 100):
        lane(f"/day/{10_000 + n}")
    for _ in range(25):
        learn(focus, next(days), "No events on this day.")
    assert (lane("/day/99") == LAST_LANE, lane("/other") == LAST_LANE) == (True, False)
    learn(focus, next(days), prose("a feast"))
    assert lane("/day/99") != LAST_LANE
