"""Refused URLs that are tried where nothing else of a host is left, and its share of the budget has room."""

from app.crawl.state.worker import Worker
from app.model import Budgets
from app.policy.focus.patterns import SMALL_SITE
from tests.crawl.loop import run, start
from tests.crawl.web import Web, html
from tests.features.focus.test_traps import AMPLE, asked, calendar, pattern, words
from tests.store.rows import one

EMPTY, GOOD = 7, 33


def test_what_a_bad_start_lost_is_fetched(worker: Worker, web: Web) -> None:
    """The first pages of a pattern bring nothing, and too few are refused for one to be tried before the end."""
    site = web.site()
    docs = [f"/docs/{n}x" for n in range(SMALL_SITE)]
    notes = [f"/notes/{n}" for n in range(EMPTY + GOOD)]
    site.pages |= {path: html(text=words(path)) for path in docs}
    site.pages |= {path: html(text=words(path) if n >= EMPTY else "Nothing") for n, path in enumerate(notes)}
    site.pages[docs[0]] = html(*notes[EMPTY:], text=words(docs[0]))
    site.pages["/"] = html(*notes[:EMPTY], *docs, text=words("/"))
    start(worker, site.url(), budgets=Budgets(max_pages=len(docs) + len(notes) + 10))
    run(worker)
    assert set(notes[EMPTY:]) <= set(site.pages_asked)


def test_what_brings_nothing_then_either_is_left_for_good(worker: Worker, web: Web) -> None:
    site = web.site()
    days = calendar(site, text=lambda n: f"{n}")
    start(worker, site.url(), budgets=AMPLE)
    run(worker)
    assert pattern(worker, "refused")["fetched"] == 3
    assert len(asked(site, "/day")) < SMALL_SITE / 2 < len(days)
    assert one(worker.engine, "SELECT count(*) FROM urls WHERE state = 'queued'") == 0


def test_views_that_copy_pages_are_one_pattern_whatever_their_pages_are(worker: Worker, web: Web) -> None:
    """Each folder is a shape of its own: one view of each would be tried, and nothing else."""
    site = web.site()
    pages = [f"/{folder * 3}/{folder}{letter}" for folder in "abcdefgh" for letter in "ijklmnopqrstuvw"]
    empty = [f"/{kind}/{n}" for kind in ("hours", "maps", "days", "rooms") for n in range(10)]
    for path in pages:
        site.pages[path] = html(f"{path}?print=1", text=words(path))
        site.pages[f"{path}?print=1"] = html(text=words(path))
    site.pages |= {path: html(text="Nothing") for path in empty}
    site.pages["/"] = html(*empty, *pages, text=words("/"))
    start(worker, site.url(), budgets=AMPLE)
    run(worker)
    views = [path for path in site.pages_asked if path.endswith("?print=1")]
    assert set(pages) <= set(site.pages_asked)
    assert len(views) <= 3 + 2, views  # two that copy, some in flight, and one of those that were refused
    held = one(worker.engine, "SELECT count(*) FROM urls WHERE state = 'refused' AND detail = '≈?print'")
    assert held > 0.8 * len(pages)
