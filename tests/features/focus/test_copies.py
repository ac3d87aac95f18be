"""A visit with a budget: which copies it leaves out, what it takes first, and what other workers have read."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import product

import pytest

from app.admin.crawls import find
from app.crawl.frontier import pick
from app.crawl.state.finder import Outside
from app.crawl.state.worker import Worker
from app.features.focus.on_host import learned_by
from app.features.focus.seen_phrases import SeenPhrases
from app.policy.focus.novelty import said
from app.policy.focus.patterns import SMALL_SITE
from app.store import db
from tests.crawl.loop import run, start
from tests.crawl.web import Answer, Web, html
from tests.features.focus.test_traps import AMPLE, asked, words
from tests.store.rows import one, sql

PAGES = SMALL_SITE // 2


def test_copies_below_another_folder_are_refused(worker: Worker, web: Web) -> None:
    site = web.site()
    files = [f"d{n % 4}/f{n}" for n in range(PAGES)]
    for n, each in enumerate(files):
        site.pages[f"/r/tree/{each}"] = html(f"/r/blame/{each}", f"/r/plain/{each}", text=words(n))
        site.pages[f"/r/blame/{each}"] = site.pages[f"/r/plain/{each}"] = html("/", text=words(n))
    site.pages["/"] = html(*[f"/r/tree/{each}" for each in files], text=words("/"))
    start(worker, site.url(), budgets=AMPLE)
    run(worker)
    assert len(asked(site, "/r/tree")) == PAGES
    assert len(asked(site, "/r/blame")) + len(asked(site, "/r/plain")) < PAGES / 2
    refused = "SELECT count(*) FROM urls WHERE state = 'refused' AND detail LIKE '≈%' AND url LIKE '%/r/blame/%'"
    assert one(worker.engine, refused) > PAGES / 4  # which of its patterns names it may differ: Bloom filters err


@pytest.mark.parametrize(
    "answer", [Answer(status=404), Answer(headers={"Content-Type": "text/turtle"}, body=b"@prefix a: <b> .")]
)
def test_what_is_no_page_beside_each_page_is_refused(worker: Worker, web: Web, answer: Answer) -> None:
    """Its ending tells it from the pages, with which it shares a pattern."""
    site = web.site()
    pages = [f"/dataset/{one}{other}" for one, other in product("abcdefghijklm", repeat=2)]
    for path in pages:
        site.pages |= {path: html(f"{path}.ttl", text=words(path)), f"{path}.ttl": answer}
    site.pages["/"] = html(*pages, text=words("/"))
    start(worker, site.url(), budgets=AMPLE)
    run(worker)
    assert set(pages) <= set(site.pages_asked)
    assert len([path for path in site.pages_asked if path.endswith(".ttl")]) < len(pages) / 2


def test_links_to_nothing_bring_nothing(worker: Worker, web: Web) -> None:
    site = web.site()
    site.pages["/"] = html(*[f"/old/{n}" for n in range(2 * SMALL_SITE)], text=words("/"))
    start(worker, site.url(), budgets=AMPLE)
    run(worker)
    assert len(asked(site, "/old")) <= 10


def test_the_last_lane_fills_no_batch(worker: Worker, web: Web) -> None:
    """What the others name is known after the next settle only."""
    site = web.site()
    for n in range(40):
        site.pages[f"/docs/{n}"] = html(f"/docs/{2 * n + 1}", f"/docs/{2 * n + 2}", text=words(n))
    users = [f"/user/{n}" for n in range(60)]
    site.pages |= {path: html(text=words(path)) for path in users}
    site.pages["/"] = html("/docs/0", *users, text=words("/"))
    start(worker, site.url(), budgets=AMPLE)
    run(worker)
    assert len([path for path in site.pages_asked[:30] if path.startswith("/user")]) < 15
    assert set(asked(site, "/user")) == set(users)


def test_the_last_lane_comes_after_views(worker: Worker, web: Web) -> None:
    """Their form is a risk, and they wait for others: not for those that are seldom worth a request."""
    site = web.site()
    views = [f"/docs/{n}?print=1" for n in range(60)]
    users = [f"/user/{n}" for n in range(60)]
    site.pages |= {path: html(text=words(path)) for path in (*views, *users)}
    site.pages["/"] = html(*views, *users, text=words("/"))
    start(worker, site.url(), budgets=AMPLE)
    run(worker)
    assert len([path for path in site.pages_asked[:30] if path.startswith("/user")]) < 15
    assert set(asked(site, "/user")) == set(users)


def test_what_another_worker_read_is_known(worker: Worker, web: Web) -> None:
    site = web.site()
    long = words("long") + "\n" + "\n".join(words(n) for n in range(60))
    site.pages |= {"/": html("/a", "/b?x=1", text=words("/")), "/a": html(text=words("a")), "/b?x=1": html(text=long)}
    start(worker, site.url(), budgets=AMPLE)
    run(worker)
    seen = taken_up(worker, now=datetime.now(UTC))
    assert [seen.judge(said(text), "/c") for text in (words("a"), long, words("c"))] == [False, False, True]
    assert seen.had_view("/b")
    assert seen.twins("/b?x=2")


def test_what_was_read_before_is_not_read_again(worker: Worker, web: Web) -> None:
    site = web.site()
    site.pages |= {"/": html("/a", text=words("/")), "/a": html(text=words("a"))}
    start(worker, site.url(), budgets=AMPLE)
    run(worker)
    seen = taken_up(worker, now=None, as_of=datetime.now(UTC) + timedelta(minutes=1))
    assert seen.judge(said(words("a")), "/c")


@pytest.mark.parametrize("is_own", [True, False])
def test_a_worker_reads_what_others_read_since_it_left(worker: Worker, web: Web, is_own: bool) -> None:
    site = web.site()
    site.pages |= {"/": html("/a", text=words("/")), "/a": html(text=words("a"))}
    start(worker, site.url(), budgets=AMPLE)
    run(worker)
    again = worker if is_own else replace(worker, name="other:1")
    seen = taken_up(again, now=None, as_of=datetime.now(UTC) - timedelta(minutes=1))
    assert seen.judge(said(words("a")), "/c") == is_own


@dataclass(slots=True, kw_only=True)
class AtHost(Outside):
    """A finder that is at a host."""

    at: int

    @property
    def host_id(self) -> int:
        return self.at


def taken_up(worker: Worker, *, now: datetime | None, as_of: datetime | None = None) -> SeenPhrases:
    """What a worker that was never at the host knows of it after its take-up."""
    (row,) = sql(worker.engine, "SELECT DISTINCT host_id FROM pages")
    host_id, crawl_id = int(str(row["host_id"])), find(worker.engine, "c").id
    learned_by(worker).seen.put((host_id, crawl_id), fresh := SeenPhrases())
    fresh.as_of = as_of
    finder = AtHost(worker=worker, moment=datetime.now(UTC), at=host_id)
    with db.transaction(worker.engine) as tx:
        pick.load_worth(finder, tx, crawl_id, refuses=True, now=now or datetime.now(UTC))
    return fresh
