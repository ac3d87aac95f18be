"""Crawls by name: what is made, what each verb does, and what it refuses."""

from collections.abc import Callable

import pytest
from sqlalchemy import Engine, text

from app.admin import crawls
from app.crawl.state.worker import Kit
from app.errors import InputError
from app.model import Budgets, CrawlSpec
from app.store import crawls as rows
from app.store import db, hosts, urls
from tests.crawl.loop import go, run, start
from tests.crawl.web import Web, html
from tests.store.rows import Aside, await_blocked, backend, one, sql


def put(kit: Kit, state: str, because: str | None = None) -> None:
    sql(
        kit.engine,
        """UPDATE crawls SET state = :s, ended_because = :b, finished_at = CASE WHEN :s = 'finished' THEN now() END""",
        s=state,
        b=because,
    )


def test_a_crawl_that_cannot_work_is_not_made(kit: Kit) -> None:
    with pytest.raises(InputError, match="max_pages 0: use a number from 1"):
        crawls.create(kit.engine, "c", CrawlSpec(budgets=Budgets(max_pages=0)))
    assert one(kit.engine, "SELECT count(*) FROM crawls") == 0


@pytest.mark.parametrize("name", ["", "x" * 101, "a\nb", "a\x00b"])
def test_a_name_is_printable(kit: Kit, name: str) -> None:
    with pytest.raises(InputError, match="crawl name"):
        crawls.create(kit.engine, name)


def test_names_are_taken_once_and_unknown_ones_named(kit: Kit) -> None:
    crawls.create(kit.engine, "one")
    with pytest.raises(InputError, match="there is one of this name"):
        crawls.create(kit.engine, "one")
    with pytest.raises(InputError, match="there are: one"):
        crawls.find(kit.engine, "two")


# --- by name -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("act", "state", "message"),
    [
        (crawls.pause, "paused", "only an active crawl"),
        (crawls.pause, "finished", "only an active crawl"),
        (crawls.finish, "finished", "finished already"),
        (crawls.resume, "active", "is active, not paused"),
        (crawls.resume, "finished", "is finished, not paused"),
    ],
)
def test_what_cannot_be_done_to_a_crawl_says_why(
    kit: Kit, act: Callable[[Engine, str], object], state: str, message: str
) -> None:
    crawls.create(kit.engine, "c")
    put(kit, state)
    with pytest.raises(InputError, match=message):
        act(kit.engine, "c")


def test_pause_and_resume(kit: Kit, web: Web) -> None:
    site = web.site()
    site.pages["/"] = html()
    start(kit, site.url())
    crawls.pause(kit.engine, "c")
    go(kit)
    assert site.log == []
    assert crawls.resume(kit.engine, "c").state == "active"
    run(kit)
    assert site.pages_asked == ["/"]


def test_only_what_is_paused_resumes_and_what_is_active_pauses(kit: Kit) -> None:
    start(kit, "http://a.test/")
    with pytest.raises(InputError, match="is active, not paused"):
        crawls.resume(kit.engine, "c")
    crawls.finish(kit.engine, "c")
    with pytest.raises(InputError, match="is finished already"):
        crawls.finish(kit.engine, "c")
    with pytest.raises(InputError, match="only an active crawl can be paused"):
        crawls.pause(kit.engine, "c")


# --- rounds ------------------------------------------------------------------------------------------------------


def test_again_locks_counters_before_the_crawl(kit: Kit) -> None:
    """As a settle does, which counts its pages and reserves further ones."""
    start(kit, "http://a.test/", budgets=Budgets(max_pages=100))
    count = {"crawl_id": 1, "host_id": 1, "pages": 1, "fetches": 1, "failed": 0, "bytes": 0}
    with db.transaction(kit.engine) as tx:
        rows.count(tx, [count])
    with db.transaction(kit.engine) as tx:
        rows.count(tx, [count])
        aside = Aside(lambda: crawls.go_round(kit.engine, "c"))
        assert await_blocked(kit.engine, backend(tx), aside)
        assert rows.reserve(tx, crawl_id=1, n=5) == 5
    aside.outcome()


def test_again_holds_no_url_while_it_waits_for_a_host(kit: Kit) -> None:
    """A settle of the second host writes the first one's URLs while --again waits for the second."""
    start(kit, "http://a.test/", "http://b.test/")
    sql(kit.engine, "UPDATE urls SET state = 'resting', due_at = now()")
    with db.transaction(kit.engine) as tx:
        hosts.lock(tx, [2])
        aside = Aside(lambda: crawls.go_round(kit.engine, "c"))
        assert await_blocked(kit.engine, backend(tx), aside)
        tx.execute(text("UPDATE urls SET score = 0.5"))
    assert aside.outcome() == 0, "both have a next contact already"
    assert one(kit.engine, "SELECT count(*) FROM urls WHERE state = 'queued'") == 2


def test_again_goes_round_a_large_host_in_lots(kit: Kit) -> None:
    start(kit, *(f"http://a.test/{n}" for n in range(40)), *(f"http://{h}.test/" for h in "bcdefgh"))
    sql(kit.engine, "UPDATE urls SET state = 'resting', due_at = now()")
    with db.transaction(kit.engine) as tx, pytest.MonkeyPatch.context() as patch:
        patch.setattr(urls, "LOT_URLS", 4)
        lots = urls.lots_of_round(tx, 1)
        assert [lot.ids for lot in lots] == [[1]] * 10 + [[2, 3, 4, 5], [6, 7, 8]]
        gone = [urls.go_round(tx, 1, lot).total() for lot in lots]
    assert sum(gone) == 47
    assert max(gone) < 15, "keys are spread over their range"


def test_a_finished_crawl_with_nothing_queued_does_not_start(kit: Kit) -> None:
    start(kit, "http://a.test/")
    sql(kit.engine, "UPDATE urls SET state = 'resting', due_at = now() + interval '1 day'")
    put(kit, "finished", "done")
    with pytest.raises(InputError, match=r"is finished \(done\); nothing is queued; .*--again"):
        crawls.start(kit.engine, "c")
    assert crawls.start_round(kit.engine, "c").round == 2


def test_a_crawl_at_its_budget_does_not_start(kit: Kit, web: Web) -> None:
    site = web.site()
    site.pages |= {"/": html("/a", "/b"), "/a": html(), "/b": html()}
    start(kit, site.url(), budgets=Budgets(max_pages=1))
    run(kit)
    with pytest.raises(InputError, match=r"is finished \(max_pages: 1\); tiptoe crawl edit c --max-pages N, then"):
        crawls.start(kit.engine, "c")
