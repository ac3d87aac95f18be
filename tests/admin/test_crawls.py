"""Crawls by name: what is made, what each verb does, and what it refuses."""

from collections.abc import Callable

import pytest
from sqlalchemy import Engine, text

from app.admin import crawls
from app.crawl.state.worker import Worker
from app.errors import InputError
from app.model import Budgets, CrawlSpec
from app.store import crawls as rows
from app.store import db, hosts, urls
from tests.crawl.loop import go, run, start
from tests.crawl.web import Web, html
from tests.store.rows import Aside, await_blocked, backend, one, sql


def put(worker: Worker, state: str, because: str | None = None) -> None:
    sql(
        worker.engine,
        """UPDATE crawls SET state = :s, ended_because = :b, finished_at = CASE WHEN :s = 'finished' THEN now() END""",
        s=state,
        b=because,
    )


def test_a_crawl_that_cannot_work_is_not_made(worker: Worker) -> None:
    with pytest.raises(InputError, match="max_pages 0: use a number from 1"):
        crawls.create(worker.engine, "c", CrawlSpec(budgets=Budgets(max_pages=0)))
    assert one(worker.engine, "SELECT count(*) FROM crawls") == 0


@pytest.mark.parametrize("name", ["", "x" * 101, "й" * 51, "魚" * 34, "a\nb", "a\x00b", "\udcff"])
def test_a_name_is_printable_and_bounded_in_octets(worker: Worker, name: str) -> None:
    with pytest.raises(InputError, match="crawl name"):
        crawls.create(worker.engine, name)


@pytest.mark.parametrize(("name", "better"), [("a b/c", "a-b-c"), ("a\\b", "a-b"), ("/", "docs"), ("--json", "json")])
def test_a_name_is_one_word_and_no_path(worker: Worker, name: str, better: str) -> None:
    with pytest.raises(InputError, match=f"use {better}, say"):
        crawls.create(worker.engine, name)
    assert crawls.create(worker.engine, better)


@pytest.mark.parametrize("name", ["x" * 100, "й" * 50, "魚" * 33])
def test_a_name_may_be_in_any_language(worker: Worker, name: str) -> None:
    assert crawls.create(worker.engine, name).name == name


def test_names_are_taken_once_and_unknown_ones_named(worker: Worker) -> None:
    crawls.create(worker.engine, "one")
    with pytest.raises(InputError, match="already exists"):
        crawls.create(worker.engine, "one")
    with pytest.raises(InputError, match="there are: one"):
        crawls.find(worker.engine, "two")


# --- by name -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("act", "state", "message"),
    [
        (crawls.pause, "finished", "only an active crawl"),
        (crawls.resume, "finished", "is finished, not paused"),
    ],
)
def test_what_cannot_be_done_to_a_crawl_says_why(
    worker: Worker, act: Callable[[Engine, str], object], state: str, message: str
) -> None:
    crawls.create(worker.engine, "c")
    put(worker, state)
    with pytest.raises(InputError, match=message):
        act(worker.engine, "c")


def test_pause_and_resume(worker: Worker, web: Web) -> None:
    site = web.site()
    site.pages["/"] = html()
    start(worker, site.url())
    crawls.pause(worker.engine, "c")
    go(worker)
    assert site.log == []
    assert crawls.resume(worker.engine, "c")
    run(worker)
    assert site.pages_asked == ["/"]


def test_only_what_is_paused_resumes_and_what_is_active_pauses(worker: Worker) -> None:
    start(worker, "http://a.test/")
    assert [crawls.resume(worker.engine, "c"), crawls.find(worker.engine, "c").state] == [False, "active"]
    assert [crawls.pause(worker.engine, "c") for _ in range(2)] == [True, False]
    assert [crawls.resume(worker.engine, "c") for _ in range(2)] == [True, False]
    assert [crawls.finish(worker.engine, "c") for _ in range(2)] == [True, False]
    with pytest.raises(InputError, match="only an active crawl can be paused"):
        crawls.pause(worker.engine, "c")


# --- rounds ------------------------------------------------------------------------------------------------------


def test_again_locks_counters_before_the_crawl(worker: Worker) -> None:
    """As a settle does, which counts its pages and reserves further ones."""
    start(worker, "http://a.test/", budgets=Budgets(max_pages=100))
    count = {"crawl_id": 1, "host_id": 1, "pages": 1, "fetches": 1, "failed": 0, "bytes": 0}
    with db.transaction(worker.engine) as tx:
        rows.count(tx, [count])
    with db.transaction(worker.engine) as tx:
        rows.count(tx, [count])
        aside = Aside(lambda: crawls.go_round(worker.engine, "c"))
        assert await_blocked(worker.engine, backend(tx), aside)
        assert rows.reserve(tx, crawl_id=1, n=5) == 5
    aside.outcome()


def test_again_holds_no_url_while_it_waits_for_a_host(worker: Worker) -> None:
    """A settle of the second host writes the first one's URLs while --again waits for the second."""
    start(worker, "http://a.test/", "http://b.test/")
    sql(worker.engine, "UPDATE urls SET state = 'resting', due_at = now()")
    with db.transaction(worker.engine) as tx:
        hosts.lock(tx, [2])
        aside = Aside(lambda: crawls.go_round(worker.engine, "c"))
        assert await_blocked(worker.engine, backend(tx), aside)
        tx.execute(text("UPDATE urls SET score = 0.5"))
    assert aside.outcome() == 0, "both have a next contact already"
    assert one(worker.engine, "SELECT count(*) FROM urls WHERE state = 'queued'") == 2


def test_again_goes_round_a_large_host_in_lots(worker: Worker) -> None:
    start(worker, *(f"http://a.test/{n}" for n in range(40)), *(f"http://{h}.test/" for h in "bcdefgh"))
    sql(worker.engine, "UPDATE urls SET state = 'resting', due_at = now()")
    with db.transaction(worker.engine) as tx, pytest.MonkeyPatch.context() as patch:
        patch.setattr(urls, "LOT_URLS", 4)
        lots = urls.lots_of_round(tx, 1)
        assert [lot.ids for lot in lots] == [[1]] * 10 + [[2, 3, 4, 5], [6, 7, 8]]
        gone = [urls.go_round(tx, 1, lot).total() for lot in lots]
    assert sum(gone) == 47
    assert max(gone) < 15, "keys are spread over their range"


def test_a_finished_crawl_with_nothing_queued_does_not_start(worker: Worker) -> None:
    start(worker, "http://a.test/")
    sql(worker.engine, "UPDATE urls SET state = 'resting', due_at = now() + interval '1 day'")
    put(worker, "finished", "done")
    with pytest.raises(InputError, match=r"is finished \(done\); nothing is queued; .*--again"):
        crawls.start(worker.engine, "c")
    assert crawls.start_round(worker.engine, "c").round == 2


def test_a_crawl_at_its_budget_does_not_start(worker: Worker, web: Web) -> None:
    site = web.site()
    site.pages |= {"/": html("/a", "/b"), "/a": html(), "/b": html()}
    start(worker, site.url(), budgets=Budgets(max_pages=1))
    run(worker)
    with pytest.raises(InputError, match=r"is finished \(max_pages: 1\); tiptoe crawl edit c --max-pages N, then"):
        crawls.start(worker.engine, "c")
