"""What a process remembers of its hosts' texts: bounded for all of them together, and the largest give way."""

import pytest

from app.crawl.state.worker import Worker
from app.features.focus.on_host import learned_by
from app.features.focus.seen_phrases import SeenPhrases, keep_within
from app.policy.focus.novelty import said
from app.policy.focus.vocabulary import MOST_WORDS, MOST_WORDS_OF_ALL, Vocabulary
from tests.crawl.loop import run, start
from tests.crawl.web import Web, html

LETTERS = str.maketrans("0123456789", "abcdefghij")
FIRST_BYTES = 2_545


def page(n: int) -> str:
    """Four hundred words that no other page has, without digits: numbers are no words."""
    return " ".join(f"{n} {k}".translate(LETTERS).replace(" ", "x") for k in range(400))


def after(pages: int) -> SeenPhrases:
    seen = SeenPhrases()
    for n in range(pages):
        assert seen.judge(said(page(n))) is True
    return seen


def test_the_largest_forget_their_oldest_phrases() -> None:
    small, large = after(20), after(400)
    before = large.bytes
    assert small.bytes == FIRST_BYTES
    keep_within([small, large], most_bytes=before)
    assert (small.bytes, large.bytes) == (FIRST_BYTES, before - FIRST_BYTES)
    assert [seen.judge(said(page(n))) for seen, n in ((small, 3), (large, 399), (large, 3))] == [False, False, True]


def test_hosts_that_were_not_used_for_long_give_way_to_those_in_hand() -> None:
    done, tiny, in_hand, newest = after(200), after(1), after(400), after(1)
    before = done.bytes, in_hand.bytes
    keep_within([done, tiny, in_hand, newest], most_bytes=sum(before))
    assert (done.bytes < before[0], in_hand.bytes) == (True, before[1])
    assert [seen.judge(said(page(3))) for seen in (done, in_hand)] == [True, False]


def test_five_hundred_small_hosts_forget_nothing() -> None:
    """As many as a process remembers: where the first filters alone were above the bound, all others gave way."""
    small, large = after(1), after(400)
    for n in range(100):
        small.name(f"/{n}")
    before = large.bytes
    keep_within([*[small] * 499, large])
    assert large.bytes == before
    assert large.judge(said(page(3))) is False


# a view of the page, whose address has a number that the page says, too
@pytest.mark.parametrize("view", ["/event/open-day/?ical=1", "/event/open-day/6", "/print/1/event/open-day"])
def test_a_view_of_a_page_has_no_line_of_its_own(view: str) -> None:
    seen, text = SeenPhrases(), said("Open day\nRoom 1, floor 6\n2026-01-06")
    assert seen.tells(text, "/event/open-day/", ())
    assert not seen.tells(text, view, ())
    assert seen.tells(said("Open day\nRoom 1, floor 7\n2026-01-06"), view, ())


def test_a_host_recalls_what_was_named_through_filters_that_follow_one_another() -> None:
    seen = SeenPhrases()
    for n in range(9_000):
        seen.name(f"/{n}x")
    assert all(seen.was_named(f"/{n}x") for n in range(9_000))
    assert sum(seen.was_named(f"/{n}y") for n in range(9_000)) < 900


def test_what_is_small_enough_forgets_nothing() -> None:
    seen = after(300)
    before = seen.bytes
    keep_within([seen], most_bytes=before)
    assert (seen.bytes, seen.judge(said(page(0)))) == (before, False)


def test_the_newest_phrases_stay_whatever_they_take() -> None:
    seen = after(300)
    for _ in range(9):
        keep_within([seen], most_bytes=0)
    assert seen.bytes > 0
    assert seen.judge(said(page(299))) is False


def test_a_text_that_was_said_is_nothing_new_though_a_word_of_it_is_a_name_by_now() -> None:
    """A filter takes words for names by chance, too: each time this would make a calendar's days new once more."""
    seen = SeenPhrases()
    day = "No events are planned on this day so far."
    assert seen.judge(said(day), "/day/1") is True
    assert seen.judge(said("Things"), "/things", ["Events are planned"]) is True
    assert [seen.judge(said(day), f"/day/{n}") for n in (2, 3)] == [False, False]
    assert seen.judge(said("No concerts are planned on that night but one."), "/day/4") is True


# a line that shows its page's address, with which a filter is linked, or what it was read from
@pytest.mark.parametrize("shown", ["{}", "Kept at http://h/{}"])
def test_a_page_that_shows_its_own_address_says_nothing_new(shown: str) -> None:
    seen = SeenPhrases()
    assert seen.judge(said("All shirts"), "/shop/shirts") is True
    for end in ("shirts?color=red&size=small&cut=slim", "shirts?brand=oak&fabric=linen&cut=wide"):
        assert seen.judge(said(f"All shirts\n{shown.format(end)}"), f"/shop/{end}") is False
        assert seen.judge(said(f"All shirts\n{shown.format(end)}"), "/shop/trousers?x=1") is True


class Huge(SeenPhrases):
    """What another host's pages left."""

    has_forgotten = False

    def __init__(self) -> None:
        super().__init__()
        self.bytes = 10_000_000

    def forget(self) -> None:
        self.has_forgotten = True


def test_a_visit_keeps_the_process_within_its_bound(worker: Worker, web: Web) -> None:
    site, other, words = web.site(), Huge(), Vocabulary()
    site.pages["/"] = html(text="A page.")
    learned_by(worker).seen.put((-1, -1), other)
    for crawl_id in range(10):
        learned_by(worker).vocabularies.put(-1 - crawl_id, words := Vocabulary())
        words.learn(f"{crawl_id} {word}" for word in range(MOST_WORDS - 100))
    start(worker, site.url())
    run(worker)
    assert other.has_forgotten
    assert sum(each.size for each in learned_by(worker).vocabularies.values()) <= MOST_WORDS_OF_ALL
    assert words.size == MOST_WORDS - 100
