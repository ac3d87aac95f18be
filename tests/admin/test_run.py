"""A crawl that exists goes on as it stands, as far as the command that asks for it once more lets it."""

from typing import Any

import pytest
from sqlalchemy import Engine

from app.admin import seeds
from app.admin.crawls import find
from app.admin.run import Beginning, Prepared, prepare
from app.beat.finish import finish
from app.browser.values import BrowserProblem, Chromium
from app.crawl.state.worker import Worker
from app.crawl.visit import settle
from app.crawl.visit.visit import take_up
from app.errors import InputError
from app.model import Budgets, CrawlChange, VisitEnding
from app.policy.lifecycle import VisitEvent
from app.store import crawls, db
from tests.crawl.loop import start
from tests.store.rows import claim, counted, one, sql

RESUMED, ENDED, ROUND = Beginning.RESUMED, Beginning.ENDED, Beginning.ROUND


def put(worker: Worker, state: str, because: str | None = None) -> None:
    sql(
        worker.engine,
        """UPDATE crawls SET state = :s, ended_because = :b, finished_at = CASE WHEN :s = 'finished' THEN now() END""",
        s=state,
        b=because,
    )


def once_more(
    worker: Worker, *lines: str, max_pages: int | None = None, again: bool = False, **wishes: Any
) -> Prepared:
    """As a command asks for it that is given once more."""
    wish = CrawlChange(exact={} if max_pages is None else {"max_pages": max_pages}, **wishes)
    found = seeds.read(worker.settings, lines)
    return prepare(worker.engine, worker.settings, "c", wish, found.urls, again=again)


def how(prepared: Prepared) -> tuple[str, Beginning]:
    return prepared.crawl.state, prepared.beginning


def test_a_new_crawl_is_made_with_its_seeds(worker: Worker) -> None:
    made = once_more(worker, "http://a.test/", max_pages=7, scope="domain", keep_fresh=True)
    assert how(made) == ("active", Beginning.NEW)
    assert (made.crawl.max_pages, made.crawl.scope_domains, made.crawl.keep_fresh) == (7, ["a.test"], True)


@pytest.mark.parametrize(
    ("state", "because", "queued", "goes_on"),
    [
        ("active", None, True, True),
        ("paused", None, True, True),
        ("finished", "operator", True, True),
        ("finished", "max_pages", True, True),  # the new command has no such budget
        ("finished", "done", False, False),
    ],
)
def test_a_crawl_goes_on_if_it_can(
    worker: Worker, state: str, because: str | None, queued: bool, goes_on: bool
) -> None:
    start(worker, "http://a.test/")
    if not queued:
        sql(worker.engine, "UPDATE urls SET state = 'resting', due_at = now() + interval '1 day'")
    sql(worker.engine, "UPDATE hosts SET next_fetch_at = NULL")
    put(worker, state, because)
    before = find(worker.engine, "c")
    made = once_more(worker, "http://a.test/")
    assert how(made) == (("active", RESUMED) if goes_on else ("finished", ENDED))
    assert (made.crawl.active_since > before.active_since) is goes_on, "its clock starts anew when it goes on"
    if goes_on:
        assert one(worker.engine, "SELECT count(*) FROM hosts WHERE next_fetch_at IS NOT NULL") == 1, "it is woken"


NO_BROWSER = BrowserProblem("no Chromium was found", "install it", is_absence=True)


@pytest.mark.parametrize(("state", "because"), [("finished", "done"), ("finished", "operator"), ("paused", None)])
@pytest.mark.parametrize(
    ("here", "goes_on"), [(Chromium(path="/c", version="156.0.1.2"), True), (NO_BROWSER, False)], ids=["here", "none"]
)
def test_pages_that_wait_for_a_browser_are_opened_once_there_is_one(
    worker: Worker,
    monkeypatch: pytest.MonkeyPatch,
    state: str,
    because: str | None,
    here: Chromium | BrowserProblem,
    goes_on: bool,
) -> None:
    start(worker, "http://a.test/")
    sql(worker.engine, "UPDATE urls SET state = 'resting', due_at = now() + interval '1 day'")
    sql(
        worker.engine,
        """INSERT INTO renders (host_id, crawl_id, key, url, pattern, state, status, headers, body, body_sha256)
        SELECT host_id, crawl_id, key, url, '/', 'due', 200, '{}', 'x', 'x' FROM urls""",
    )
    put(worker, state, because)
    monkeypatch.setattr("app.admin.rendering.here", lambda settings: here)
    made = once_more(worker, "http://a.test/")
    finish(worker.engine)  # as beat does, before a worker that renders is up
    assert (how(made), find(worker.engine, "c").state) == (
        (("active", RESUMED), "active") if goes_on else (("finished", ENDED), "finished")
    )
    problem = None if goes_on else "no Chromium was found; install it"
    assert [row["problem"] for row in sql(worker.engine, "SELECT problem FROM render_workers")] == [problem]


def test_a_crawl_at_its_budget_still_does_not_go_on(worker: Worker) -> None:
    start(worker, "http://a.test/", budgets=Budgets(max_pages=5))
    counted(worker.engine, 1, 1, pages=5)
    put(worker, "finished", "max_pages")
    ended = once_more(worker, max_pages=5)
    assert (how(ended), ended.crawl.ended_because) == (("finished", ENDED), "max_pages")
    assert how(once_more(worker, max_pages=6)) == ("active", RESUMED)


def budget_row(worker: Worker) -> tuple[int | None, int, int]:
    """max_pages, pages_reserved, pages in this round."""
    (row,) = sql(worker.engine, "SELECT max_pages, pages_reserved FROM crawls")
    pages = one(worker.engine, "SELECT coalesce(sum(pages), 0) FROM crawl_hosts")
    return row["max_pages"], row["pages_reserved"], int(pages)


def grant(worker: Worker, n: int) -> int:
    with db.transaction(worker.engine) as tx:
        return crawls.reserve(tx, crawl_id=1, n=n)


def test_the_same_command_grants_no_page_twice(worker: Worker) -> None:
    """50 of 100 pages are in the hands of running visits when it is given once more."""
    start(worker, "http://a.test/", budgets=Budgets(max_pages=100))
    assert grant(worker, 50) == 50
    once_more(worker, max_pages=100)
    assert grant(worker, 100) == 50
    once_more(worker, max_pages=120)
    assert grant(worker, 100) == 20


def test_again_keeps_the_grants_of_running_visits(worker: Worker) -> None:
    """30 pages came, 50 more are in hand: those come in the new round, or are given back."""
    start(worker, "http://a.test/", budgets=Budgets(max_pages=100))
    grant(worker, 80)
    counted(worker.engine, 1, 1, pages=30)
    once_more(worker, max_pages=100, again=True)
    assert budget_row(worker) == (100, 50, 0)
    grant(worker, -50)
    assert budget_row(worker) == (100, 0, 0)


def test_a_first_budget_waits_for_the_visits_that_had_none(worker: Worker, engine: Engine) -> None:
    """What they have in hand was never granted: until they have left, the whole budget is theirs."""
    start(worker, "http://a.test/")
    sql(engine, "UPDATE hosts SET next_fetch_at = now() - interval '1 minute', queue = 'host-00'")
    (offer,) = claim(engine)
    visit = take_up(worker, offer.host_id, offer.token)
    assert visit is not None
    once_more(worker, max_pages=5)
    finish(engine)
    assert grant(worker, 1) == 0
    visit.move(VisitEvent.SERVED)
    settle.leave(visit, VisitEnding.NOTHING_DUE)
    finish(engine)
    assert grant(worker, 9) == 5


def test_new_seeds_bring_a_finished_crawl_to_life(worker: Worker) -> None:
    start(worker, "http://a.test/")
    sql(worker.engine, "UPDATE urls SET state = 'resting', due_at = now() + interval '1 day'")
    put(worker, "finished", "done")
    assert how(once_more(worker, "http://b.test/")) == ("active", RESUMED)


@pytest.mark.parametrize(("state", "because"), [("active", None), ("paused", None), ("finished", "done")])
def test_again_goes_round(worker: Worker, state: str, because: str | None) -> None:
    start(worker, "http://a.test/")
    sql(worker.engine, "UPDATE urls SET state = 'resting', due_at = now() + interval '1 day'")
    sql(worker.engine, "UPDATE hosts SET next_fetch_at = NULL")
    put(worker, state, because)
    assert how(once_more(worker, again=True)) == ("active", ROUND)
    assert one(worker.engine, "SELECT state FROM urls") == "queued"
    assert one(worker.engine, "SELECT next_fetch_at IS NOT NULL FROM hosts") is True
    assert one(worker.engine, "SELECT round FROM crawls") == 2


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"scope": "host"}, "scope host: crawl c already has the scope domain; .* tiptoe crawl edit c --scope host$"),
        ({"include": ("/b",)}, "include /b: crawl c already has the include /a; .* tiptoe crawl edit c --include /b$"),
        ({"exclude": ("/x", "/y z")}, "the exclude none; .* tiptoe crawl edit c --exclude /x --exclude '/y z'$"),
        ({"scope": "galaxy"}, "scope 'galaxy': use one of"),
        ({"sitemaps": "some"}, "sitemaps 'some': use one of: none, declared, all"),
    ],
)
def test_reach_is_what_the_crawl_was_made_with(worker: Worker, given: dict[str, Any], why: str) -> None:
    start(worker, "http://a.test/", scope="domain", include=("/a",), budgets=Budgets(max_pages=5), keep_fresh=True)
    with pytest.raises(InputError, match=why):
        once_more(worker, **given)
    assert find(worker.engine, "c").max_pages == 5, "nothing of such a command counts"
    found = once_more(worker, scope="domain", include=("/a",)).crawl
    assert (found.max_pages, found.keep_fresh) == (None, False), "those of the latest command"


def test_manners_stay_where_they_are_not_given(worker: Worker) -> None:
    start(worker, "http://a.test/", sitemaps="declared", honour_opt_outs=True)
    kept = once_more(worker).crawl
    assert (kept.sitemaps, kept.honour_opt_outs) == ("declared", True)
    changed = once_more(worker, sitemaps="none", honour_opt_outs=False).crawl
    assert (changed.sitemaps, changed.honour_opt_outs) == ("none", False)


# what the command names → what the crawl had and loses
@pytest.mark.parametrize(
    ("named", "lifted"),
    [
        ({}, {"max_pages": 5, "keep_fresh": True}),
        ({"max_pages": 5}, {"keep_fresh": True}),
        ({"max_pages": 9, "keep_fresh": False}, {}),
        ({"keep_fresh": True}, {"max_pages": 5}),
    ],
)
@pytest.mark.parametrize("again", [False, True])
def test_what_a_command_lifts_is_told(
    worker: Worker, named: dict[str, Any], lifted: dict[str, Any], again: bool
) -> None:
    start(worker, "http://a.test/", budgets=Budgets(max_pages=5), keep_fresh=True)
    assert once_more(worker, again=again, **named).lifted == lifted
    assert once_more(worker, **named).lifted == {}, "once"


def test_a_new_crawl_has_nothing_to_lift(worker: Worker) -> None:
    assert once_more(worker, "http://a.test/", max_pages=7).lifted == {}
