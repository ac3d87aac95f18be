"""`url retry` and `url forget` change a URL under its host."""

from collections.abc import Callable

import pytest
from sqlalchemy import text

from app.admin import explain
from app.crawl.state.worker import Worker
from app.errors import InputError
from app.store import crawls as crawl_rows
from app.store import db
from app.store import hosts as rows
from tests.admin.explain.explained import alone, why
from tests.crawl.loop import go, run, start
from tests.crawl.web import Site
from tests.store.rows import Aside, await_blocked, backend, one


def test_retry_queues_and_wakes(worker: Worker, site: Site) -> None:
    crawl = start(worker, site.url())
    run(worker)
    with db.transaction(worker.engine) as tx:
        crawl_rows.start(tx, crawl.id)
    asked = len(site.log)
    assert explain.retry(worker.engine, worker.settings, site.url("/broken") + "#x", None) == ["c"]
    assert alone(worker, site.url("/broken")).url["state"] == "queued"
    assert one(worker.engine, "SELECT next_fetch_at IS NOT NULL FROM hosts WHERE name = :name", name=site.host)
    go(worker)
    assert site.paths[asked:] == ["/broken"]


def test_forget_takes_it_out_of_one_crawl(worker: Worker, site: Site) -> None:
    start(worker, site.url(), name="one")
    start(worker, site.url(), name="two")
    assert explain.forget(worker.engine, worker.settings, site.url(), "two") == ["two"]
    assert [row.crawl for row in why(worker, site.url()).crawls] == ["one"]


@pytest.mark.parametrize("act", [explain.retry, explain.forget])
@pytest.mark.parametrize(
    ("text", "crawl", "says"),
    [
        ("http://never.test/", None, "http://never.test/: no crawl knows it"),
        ("http://never.test/", "c", "http://never.test/: crawl c does not know it"),
        ("http://never.test/", "d", "crawl d: does not exist; there are: c"),
        (
            "http://never.test/",
            "coucou",
            "crawl coucou: does not exist; did you mean coucoux? there are: ",
        ),
        ("nonsense", None, "URL 'nonsense'"),
    ],
)
def test_retry_and_forget_refuse_what_is_not_there(
    worker: Worker, act: Callable[..., object], text: str, crawl: str | None, says: str
) -> None:
    start(worker, "http://site.test/")
    if crawl == "coucou":
        start(worker, "http://site.test/", name="coucoux")
    with pytest.raises(InputError) as refused:
        act(worker.engine, worker.settings, text, crawl)
    assert str(refused.value).startswith(says)


@pytest.mark.parametrize("act", ["retry", "forget"])
def test_operators_change_a_url_under_its_host(worker: Worker, act: str) -> None:
    start(worker, "http://a.test/")
    with db.transaction(worker.engine) as tx:
        rows.lock(tx, [1])
        aside = Aside(lambda: getattr(explain, act)(worker.engine, worker.settings, "http://a.test/", None))
        assert await_blocked(worker.engine, backend(tx), aside)
        tx.execute(text("UPDATE urls SET score = 0.5"))
    assert aside.outcome() == ["c"]
