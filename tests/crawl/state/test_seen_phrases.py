"""What a process remembers of its hosts' texts: bounded for all of them together, and the largest give way."""

from app.crawl.state.seen_phrases import SeenPhrases, keep_within
from app.crawl.state.worker import Worker
from app.policy.focus.novelty import said
from tests.crawl.loop import run, start
from tests.crawl.web import Web, html

LETTERS = str.maketrans("0123456789", "abcdefghij")
FIRST_BYTES = 10_178


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
    assert (small.bytes, large.bytes) == (FIRST_BYTES, 7 * FIRST_BYTES)
    keep_within([small, large], most_bytes=7 * FIRST_BYTES)
    assert (small.bytes, large.bytes) == (FIRST_BYTES, 6 * FIRST_BYTES)
    assert [seen.judge(said(page(n))) for seen, n in ((small, 3), (large, 399), (large, 3))] == [False, False, True]


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


class Huge(SeenPhrases):
    """What another host's pages left."""

    has_forgotten = False

    def __init__(self) -> None:
        super().__init__()
        self.bytes = 10_000_000

    def forget(self) -> None:
        self.has_forgotten = True


def test_a_visit_keeps_the_process_within_its_bound(worker: Worker, web: Web) -> None:
    site, other = web.site(), Huge()
    site.pages["/"] = html(text="A page.")
    worker.seen_phrases.put((-1, -1), other)
    start(worker, site.url())
    run(worker)
    assert other.has_forgotten
