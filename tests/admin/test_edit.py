"""What is asked of a crawl is changed whole or not at all, and two changes at once both count."""

import pytest

from app.admin import seeds
from app.admin.crawls import find
from app.admin.edit import edit, open_crawl
from app.crawl.state.worker import Kit
from app.errors import InputError
from app.model import Budgets, CrawlChange
from app.store import crawls, db
from tests.crawl.loop import make_settings, start
from tests.store.rows import Aside, await_blocked, backend


def test_a_crawl_has_one_scope(kit: Kit) -> None:
    made = open_crawl(kit.engine, kit.settings, "new", CrawlChange(scope="domain"))
    assert made.scope == "domain"
    assert open_crawl(kit.engine, kit.settings, "new", CrawlChange(scope=None)).id == made.id
    assert open_crawl(kit.engine, kit.settings, "new", CrawlChange(scope="domain")).id == made.id
    with pytest.raises(InputError, match="already has the scope domain"):
        open_crawl(kit.engine, kit.settings, "new", CrawlChange(scope="host"))
    assert open_crawl(kit.engine, kit.settings, "other", CrawlChange(scope=None)).scope == "host"


def test_a_change_that_cannot_work_changes_nothing(kit: Kit) -> None:
    start(kit, "http://a.test/")
    before = find(kit.engine, "c")
    with pytest.raises(InputError, match="sitemaps 'some'"):
        edit(kit.engine, kit.settings, "c", CrawlChange(scope="domain", budgets={"max_pages": 7}, sitemaps="some"))
    assert find(kit.engine, "c") == before


def test_two_changes_at_once_both_count(kit: Kit) -> None:
    crawl = start(kit, "http://a.test/")
    with db.transaction(kit.engine) as tx:
        crawls.lock(tx, crawl.id)
        aside = Aside(lambda: edit(kit.engine, kit.settings, "c", CrawlChange(keep_fresh=True)))
        await_blocked(kit.engine, backend(tx), aside)
        crawls.change(tx, crawl_id=crawl.id, spec=CrawlChange(budgets={"max_depth": 3}).of(crawl.spec))
    assert aside.outcome().spec == CrawlChange(keep_fresh=True, budgets={"max_depth": 3}).of(crawl.spec)
    assert find(kit.engine, "c").spec.budgets == Budgets(max_depth=3)


def test_a_scope_is_drawn_around_seeds_as_the_operator_admits_them(kit: Kit, database_url: str) -> None:
    """A port that browsers refuse, which the settings allow."""
    settings = make_settings(database_url, bad_ports=("25",))
    seed = "http://a.test:6000/docs/x"
    crawl = open_crawl(kit.engine, settings, "c", CrawlChange())
    seeds.add(kit.engine, settings, crawl, [seed])
    assert edit(kit.engine, settings, "c", CrawlChange(scope="prefix")).scope_prefixes == ["http://a.test:6000/docs/"]
