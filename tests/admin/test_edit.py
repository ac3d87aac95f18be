"""What is asked of a crawl is changed whole or not at all, and two changes at once both count."""

import pytest

from app.admin import seeds
from app.admin.crawls import find
from app.admin.edit import edit, open_crawl
from app.crawl.state.worker import Worker
from app.errors import InputError
from app.model import Budgets, CrawlChange
from app.policy.focus.profile_text import text_of
from app.store import crawls, db
from tests.crawl.loop import make_settings, start
from tests.store.rows import Aside, await_blocked, backend, sql


def test_a_crawl_has_one_scope(worker: Worker) -> None:
    made = open_crawl(worker.engine, worker.settings, "new", CrawlChange(scope="domain"))
    assert made.scope == "domain"
    assert open_crawl(worker.engine, worker.settings, "new", CrawlChange(scope=None)).id == made.id
    assert open_crawl(worker.engine, worker.settings, "new", CrawlChange(scope="domain")).id == made.id
    with pytest.raises(InputError, match="already has the scope domain"):
        open_crawl(worker.engine, worker.settings, "new", CrawlChange(scope="host"))
    assert open_crawl(worker.engine, worker.settings, "other", CrawlChange(scope=None)).scope == "host"


def test_a_change_that_cannot_work_changes_nothing(worker: Worker) -> None:
    start(worker, "http://a.test/")
    before = find(worker.engine, "c")
    with pytest.raises(InputError, match="sitemaps 'some'"):
        edit(worker.engine, worker.settings, "c", CrawlChange(scope="domain", exact={"max_pages": 7}, sitemaps="some"))
    assert find(worker.engine, "c") == before


def test_two_changes_at_once_both_count(worker: Worker) -> None:
    crawl = start(worker, "http://a.test/")
    with db.transaction(worker.engine) as tx:
        crawls.lock(tx, crawl.id)
        aside = Aside(lambda: edit(worker.engine, worker.settings, "c", CrawlChange(keep_fresh=True)))
        await_blocked(worker.engine, backend(tx), aside)
        crawls.change(tx, crawl_id=crawl.id, spec=CrawlChange(exact={"max_depth": 3}).of(crawl.spec))
    assert aside.outcome().spec == CrawlChange(keep_fresh=True, exact={"max_depth": 3}).of(crawl.spec)
    assert find(worker.engine, "c").spec.budgets == Budgets(max_depth=3)


def test_a_scope_is_drawn_around_seeds_as_the_operator_admits_them(worker: Worker, database_url: str) -> None:
    """A port that browsers refuse, which the settings allow."""
    settings = make_settings(database_url, bad_ports=("25",))
    seed = "http://a.test:6000/docs/x"
    crawl = open_crawl(worker.engine, settings, "c", CrawlChange())
    seeds.add(worker.engine, settings, crawl, [seed])
    assert edit(worker.engine, settings, "c", CrawlChange(scope="prefix")).scope_prefixes == [
        "http://a.test:6000/docs/"
    ]


def test_what_a_new_profile_allows_is_a_trap_no_more(worker: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages of two by two; the others stay refused, and so do those of another cause or crawl."""
    monkeypatch.setattr("app.admin.edit.REOPEN_PAGE", 2)
    for name in ("c", "other"):
        start(
            worker,
            *(f"http://{host}.test/{path}?n={n}" for host in "ab" for path in ("book", "cal") for n in range(3)),
            name=name,
        )
    sql(worker.engine, "UPDATE urls SET state = 'refused', cause = 'trap', detail = '?n' RETURNING id")
    sql(worker.engine, "UPDATE urls SET cause = 'robots' WHERE url LIKE '%book?n=2' RETURNING id")
    edit(worker.engine, worker.settings, "c", CrawlChange(profile="docs"))
    assert not sql(worker.engine, "SELECT FROM urls WHERE state = 'queued'")

    edit(worker.engine, worker.settings, "c", CrawlChange(profile=text_of("docs") + "\n[traps]\nallow = ['^/book']\n"))
    queued = sql(worker.engine, "SELECT crawl_id, url, cause, detail FROM urls WHERE state = 'queued' ORDER BY url")
    assert [row["url"] for row in queued] == [f"http://{host}.test/book?n={n}" for host in "ab" for n in range(2)]
    assert {(row["crawl_id"], row["cause"], row["detail"]) for row in queued} == {
        (find(worker.engine, "c").id, None, None)
    }
