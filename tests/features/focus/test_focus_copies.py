"""A visit's memory of differences between URLs: which are copies of fetched pages, and how often one is tried."""

import pytest

from app.features.focus.crawl_focus import CrawlFocus
from app.policy.focus.patterns import MOST_WAITING, Yield
from app.policy.focus.score import score
from app.policy.focus.shape import shape_of
from tests.features.focus.test_focus import judging, learn, prose, url


@pytest.mark.parametrize(
    ("page", "copy"),
    [
        ("/r/tree/d/f{}.c", "/r/blame/d/f{}.c"),
        ("/photo/{}", "/album/7/photo/{}"),
        ("/x?id={}&cat=1", "/x?id={}&cat=2"),
        ("/job/{}?src=list&rank=1", "/job/{}?src=similar&rank=2"),
    ],
)
def test_ours_what_siblings_differ_in_is_learned(page: str, copy: str) -> None:
    focus = judging()
    for n in range(9):
        learn(focus, page.format(n), prose(n))
    for n in range(4):
        learn(focus, copy.format(n), prose(n))
    assert focus.copies(url(copy.format(5)))
    assert not focus.copies(url(copy.format(77)))  # nobody fetched a sibling of it
    assert not focus.copies(url(page.format(77)))
    name = focus.copies(url(copy.format(5))) or ""
    focus.refuse(name)
    for n in range(4, 7):
        learn(focus, copy.format(n), prose(f"other {n}"))
    assert name in focus.turned
    assert not focus.copies(url(copy.format(8)))


def test_ours_siblings_that_say_something_are_no_copies() -> None:
    focus = judging()
    for n in range(9):
        for language in ("en", "de"):
            learn(focus, f"/{language}/x{n}", prose((language, n)))
    assert not focus.copies(url("/de/x5"))


def test_ours_a_word_that_brings_something_takes_no_row() -> None:
    focus = judging()
    for n in range(9):
        for part in ("about", "prices", "reviews"):
            learn(focus, f"/product/name-{'abcdefghi'[n]}/{part}", prose((part, n)))
    assert [name for name in focus.yields if name.startswith("≈")] == []


def test_ours_a_list_that_leads_to_news_is_no_copy_of_the_one_before() -> None:
    focus = judging()
    for n in range(9):
        learn(focus, f"/list?page={n}", "All things")
        learn(focus, f"/thing/{n}", prose(n), found_on=f"/list?page={n}")
    assert not focus.copies(url("/list?page=10"))


def test_ours_a_copy_is_not_credited_for_copies() -> None:
    focus = judging()
    for n in range(5):
        learn(focus, f"/docs/x{n}", prose(n))
    for n in range(5):
        learn(focus, f"/mirror/docs/x{n}", prose(n))
        learn(focus, f"/mirror/docs/y{n}", prose(f"other {n}"), found_on=f"/mirror/docs/x{n}")
    assert focus.copies(url("/mirror/docs/x0"))
    assert focus.copies(url("/mirror/docs/x0?highlight=word"))  # a view of a copy


def named(focus: CrawlFocus, target: str) -> None:
    """A page named it, and it was not fetched so far."""
    focus.lane_of(score(focus.profile, url(target), depth=2), target)


def test_ours_a_copy_waits_for_the_page_that_it_copies() -> None:
    focus = judging()
    for n in range(9):
        learn(focus, f"/photo/{n}", prose(n))
        learn(focus, f"/album/7/photo/{n}", prose(n))
    assert focus.copies(url("/album/7/photo/77")) is None  # nobody named the page itself
    named(focus, "/photo/77")
    assert focus.copies(url("/album/7/photo/77")) == "≈/[album/#]/w/#"
    for n in range(9, 19):
        learn(focus, f"/photo/{n}", prose(0))  # it is not proven any more: both would be lost
    assert focus.copies(url("/album/7/photo/77")) is None


@pytest.mark.parametrize("view", ["/mirror/shop/toys/{}", "/shop/toys/{}/print", "/shop/toys/{}?print=1"])
def test_ours_a_page_that_comes_after_its_copy_says_nothing_against_its_like(view: str) -> None:
    focus = judging()
    learn(focus, "/shop/toys", prose("all toys"))
    for n in range(9):
        learn(focus, view.format(n), prose(n))
    for n in range(9):
        learn(focus, f"/shop/toys/{n}", prose(n))
    target = url("/shop/toys/77")
    assert focus.copies(target) is None
    assert focus.trap(target, shape_of(target.target), risk=0.0, found_on="/shop/toys") is None


def test_ours_without_a_budget_a_page_is_not_blamed_for_a_view_of_it_either() -> None:
    focus = judging()
    focus.refuses, focus.found = False, MOST_WAITING + 1
    learn(focus, "/shop/toys/7?print=1", prose(7))
    learn(focus, "/shop/toys/7", prose(7))
    assert shape_of("/shop/toys/7").name not in focus.yields


@pytest.mark.parametrize(("found", "new"), [(MOST_WAITING, 3), (MOST_WAITING + 1, 1)])
def test_without_a_budget_texts_of_a_small_host_are_not_compared(found: int, new: int) -> None:
    """None of its URLs waits for what its like has brought."""
    focus = judging()
    focus.refuses, focus.found = False, found
    for n in range(3):
        learn(focus, f"/n/{n}", prose("the same"))
    learn(focus, "/n/4", "")
    assert focus.yields["/n/#"].new == new
    assert focus.yields["/n/#"].fetched == 3


def test_ours_what_brought_no_page_is_no_view() -> None:
    focus = judging()
    focus.brought_nothing(url("/shop/toys/7/print"))
    assert not focus.seen.had_view("/shop/toys/7")


def test_ours_two_that_copy_each_other_do_not_wait_where_nothing_else_is_left() -> None:
    focus = judging()
    for n in range(9):
        learn(focus, f"/photo/{n}", prose(n))
        learn(focus, f"/album/7/photo/{n}", prose(n))
    named(focus, "/photo/77")
    assert focus.copied("/album/7/photo/77")
    assert not focus.copied("/album/7/photo/77", {})
    learn(focus, "/photo/77", prose(77))
    assert focus.copied("/album/7/photo/77", {})


def test_ours_words_with_numbers_are_one_difference() -> None:
    focus = judging()
    for n in range(9):
        learn(focus, f"/en/latest/x{n}", prose(n))
        learn(focus, f"/en/v{n}b/x{n}", prose(n))
    assert focus.copies(url("/en/v77b/x3")) == "≈/w/{v#b}/w#"


def test_ours_a_word_of_one_url_alone_is_no_rule() -> None:
    focus = judging()
    learn(focus, "/sport", prose("sport"))
    for n in range(9):
        learn(focus, f"/sport/a-story-{'abcdefghi'[n]}", prose("sport"))
    assert [name for name in focus.yields if name.startswith("≈")] == []


def test_ours_without_a_budget_nothing_is_compared() -> None:
    focus = judging()
    focus.refuses = False
    for n in range(9):
        learn(focus, f"/photo/{n}", prose(n))
        learn(focus, f"/album/7/photo/{n}", prose(n))
    assert focus.copies(url("/album/7/photo/5")) is None
    assert [name for name in focus.yields if name.startswith("≈")] == []


def test_one_of_a_poor_group_is_fetched_after_all_while_none_waits() -> None:
    focus = judging()
    for refused, retries in ((998, False), (1_999, False), (7_999, True), (7_999, False)):
        focus.yields["?print"] = Yield(fetched=4, lately=3.4, refused=refused)
        assert focus.retries("?print") is retries, refused
    focus.note(url("/x/77?print=1"), is_new=False, found_on=None)
    assert focus.retries("?print"), "the one before was fetched"


def test_ours_three_copies_are_enough_for_a_parameter() -> None:
    """Of two a site's forms lost its pages, which differ by the same parameter."""
    focus = judging()
    for n in range(4):
        learn(focus, f"/x/{n}", prose(n))
    for n in range(3):
        assert focus.copies(url("/x/3?print=1")) is None
        learn(focus, f"/x/{n}?print=1", prose(n))
    assert focus.copies(url("/x/3?print=1")) == "≈?print"


# how many times links of a shape were refused, its URLs, and whether it tells something
@pytest.mark.parametrize(
    ("refused", "urls", "told", "spared", "keeps"),
    [
        (5_000, 500, 1, 0, True),  # the same links, again and again
        (5_000, 600, 1, 0, False),
        (5_000, 600, 3, 0, True),  # the host's share of the budget
        (5_000, 1_600, 3, 0, False),
        (5_000, 1_600, 3, 4, True),  # rows show whether it grows
        (5_000, 3_000, 3, 4, False),
    ],
)
def test_so_many_urls_of_a_pattern_have_rows(refused: int, urls: int, told: int, spared: int, *, keeps: bool) -> None:
    focus = judging()
    focus.share = 1_000
    focus.yields["/n/#"] = Yield(urls=urls, fetched=3, refused=refused, told=told, spared=spared)
    assert focus.keeps("/n/#") is keeps


# how many are left, once the one that was tried alone is fetched, and how many follow
@pytest.mark.parametrize(("left", "then"), [(5, [("/a/#", 2)]), (6, [])])
def test_a_pattern_that_seems_to_have_no_end_is_tried_once_more_alone(left: int, then: list[tuple[str, int]]) -> None:
    focus = judging()
    focus.share = 1_000
    focus.yields |= {
        "/a/#": Yield(urls=99, fetched=9, refused=9, told=9, spared=2, grown=3),
        "/b/#": Yield(urls=99, fetched=9, refused=9, told=9),
    }
    assert focus.spares({"/a/#": 6, "/b/#": 4}) == [("/b/#", 4)]
    assert focus.spares({"/a/#": 6}) == [("/a/#", 1)]
    focus.spare("/a/#", 1, 5)
    assert focus.spares({"/a/#": left}) == then
