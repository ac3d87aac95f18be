"""A visit's memory of what pages brought: whether one says something new, and whose refused URLs get another try."""

import pytest

from app.crawl.state.focus import CrawlFocus, SeenPhrases
from app.model import Url
from app.policy.focus.patterns import Yield
from app.policy.focus.shipped import profile_of
from app.policy.focus.vocabulary import Vocabulary
from app.policy.url import Canon

CAPTION = "A heron waits beside the frozen weir"


def test_a_list_in_another_order_says_nothing_new() -> None:
    seen = SeenPhrases()
    names = [f"{a} {b} shirt" for a in ("red", "blue", "green") for b in ("summer", "winter", "autumn")]
    assert seen.judge("Shirts\n" + "\n".join(names), "/shirts", names) is False
    assert seen.judge("Shirts\n" + "\n".join(reversed(names)), "/shirts?dir=up", names) is False


# what a gallery's page says besides eight names of other pages: few words are enough
@pytest.mark.parametrize("caption", [CAPTION, "Frozen weir"])
def test_a_short_page_among_links_says_something_new(caption: str) -> None:
    seen = SeenPhrases()
    frame = ["Large", "Small", "Original", "Next photo", "Previous photo", "Album"]
    assert seen.judge("\n".join(["Herons at dawn", *frame]), "/photo/1", frame) is True
    assert seen.judge("\n".join([caption, *frame]), "/photo/2", frame) is True
    assert seen.judge("\n".join([caption, *frame]), "/photo/2?size=s", frame) is False


def test_a_sentence_among_many_links_says_something_new() -> None:
    seen = SeenPhrases()
    links = [f"{a}{b} page" for a in "bcdfgh" for b in "aeiou"]
    assert seen.judge("\n".join(["Stubs", *links]), "/", links) is False
    assert seen.judge("\n".join([CAPTION, *links]), "/stub", links) is True


def test_a_page_without_text_proves_nothing() -> None:
    assert SeenPhrases().judge("", "/app", ["Next"]) is None


def test_a_page_is_not_blamed_for_a_view_of_it_that_came_first() -> None:
    seen = SeenPhrases()
    assert not seen.had_view("/a?ref=1")  # nothing was read so far
    seen.judge(CAPTION, "/a?ref=1")
    assert [seen.had_view(target) for target in ("/a?ref=1", "/a", "/b", "/a?ref=2")] == [False, True, False, False]


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
