"""Seeds come in whatever their neighbours look like, and the scope takes them in."""

import threading
from typing import Any

import pytest

from app.admin import seeds
from app.admin.crawls import create, find
from app.admin.seeds import Added
from app.beat.finish import finish
from app.crawl.state.worker import Worker
from app.errors import InputError
from app.model import CrawlSpec
from app.net.dns import Resolver
from app.store import crawls, db, urls
from tests.crawl.loop import run, start
from tests.crawl.web import Web, html
from tests.store.rows import Aside, admission, await_blocked, backend, host, make_crawl, make_host, one, sql


def add(worker: Worker, *lines: str, name: str = "c") -> Added:
    return seeds.add(worker.engine, worker.settings, find(worker.engine, name), lines)


def stored(worker: Worker) -> list[str]:
    return [row["url"] for row in sql(worker.engine, "SELECT url FROM urls ORDER BY url")]


@pytest.mark.parametrize(
    ("line", "url"),
    [
        ("http://a.test", "http://a.test/"),
        ("  http://a.test/x  \r\n", "http://a.test/x"),
        ("HTTP://A.Test:80/x/../y#f", "http://a.test/y"),
        ("\ufeffhttp://a.test/", "http://a.test/"),
        ("a.test/x", "https://a.test/x"),
        ("http://a.test/a,b", "http://a.test/a,b"),  # a comma of its own
        ("# http://a.test/", None),
        ("", None),
        ("   ", None),
    ],
)
def test_a_line_is_a_seed(worker: Worker, line: str, url: str | None) -> None:
    create(worker.engine, "c")
    added = add(worker, line)
    assert stored(worker) == ([url] if url else [])
    assert (added.added, added.bad_count) == (1 if url else 0, 0)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("nonsense", "not a URL"),
        ("url", "not a URL"),  # the head of a CSV
        ("ftp://a.test/", "only http"),
        ("http://u:p@a.test/", "user name"),
        ("http://a.test/" + "x" * 2083, "2,083"),
        ("http://", "not a URL"),
        ("javascript:alert(1)", "only http"),
        ("http://a.test:99999/", "not a URL"),
    ],
)
def test_bad_lines_are_named_by_number_and_good_ones_kept(worker: Worker, line: str, why: str) -> None:
    create(worker.engine, "c")
    added = add(worker, "# a comment", "http://a.test/1", line, "", "http://a.test/2", line)
    assert stored(worker) == ["http://a.test/1", "http://a.test/2"]
    assert (added.added, added.bad_count, [bad.line for bad in added.bad]) == (2, 2, [3, 6])
    assert why in added.bad[0].why
    assert str(added.bad[0]).startswith("line 3: ")


def test_of_very_many_bad_lines_the_first_thousand_are_named_and_all_counted(worker: Worker) -> None:
    create(worker.engine, "c")
    added = add(worker, *["no url"] * 1_500, "http://a.test/")
    assert (len(added.bad), added.bad_count, added.added) == (1_000, 1_500, 1)


def test_repeats_are_known(worker: Worker) -> None:
    create(worker.engine, "c")
    first = add(worker, "http://a.test/", "http://a.test", "http://a.test/?utm_source=x", "http://b.test/")
    second = add(worker, "http://a.test/", "http://c.test/")
    assert (first.added, first.known) == (2, 2)
    assert (second.added, second.known) == (1, 1)


def test_many_seeds_come_in_batches(worker: Worker) -> None:
    create(worker.engine, "c")
    lines = [f"http://h{number % 7}.test/{number}" for number in range(12_000)]
    added = add(worker, *lines)
    assert (added.added, added.known) == (12_000, 0)
    assert one(worker.engine, "SELECT count(*) FROM hosts WHERE next_fetch_at IS NOT NULL") == 7


def test_a_seed_is_due_at_once_first_in_line(worker: Worker) -> None:
    create(worker.engine, "c")
    add(worker, "http://a.test/blog/x")
    (row,) = sql(worker.engine, "SELECT state, lane, score, depth, found_on FROM urls")
    assert row == {"state": "queued", "lane": 0, "score": 1.0, "depth": 0, "found_on": None}
    found = host(worker.engine, 1)
    assert found["next_fetch_at"] <= found["now"]


def test_seeds_that_settles_admit_at_the_same_time_do_not_deadlock(worker: Worker) -> None:
    """A settle admits, then reserves pages of the crawl; adding seeds must take its locks in the same order."""
    crawl_id = make_crawl(worker.engine, "c", max_pages=100)
    host_id = make_host(worker.engine, "1.test")
    row = admission(host_id, crawl_id, "/")
    with db.transaction(worker.engine) as tx:
        urls.admit(tx, [{**row, "url": "http://1.test/", "key": _key(worker, "http://1.test/")}])
        aside = Aside(lambda: add(worker, "http://1.test/"))
        await_blocked(worker.engine, backend(tx), aside)
        assert crawls.reserve(tx, crawl_id=crawl_id, n=5) == 5
    assert aside.outcome().known == 1


def _key(worker: Worker, text: str) -> bytes:
    url = worker.canon.canonicalise(text)
    assert not isinstance(url, str)
    return url.key


def test_seeds_start_a_crawl_that_has_just_ended(worker: Worker) -> None:
    """A new one has no URL yet when beat looks, and ends; whoever made it knows nothing of that."""
    crawl = create(worker.engine, "c")
    finish(worker.engine)
    assert one(worker.engine, "SELECT state FROM crawls") == "finished"
    seeds.add(worker.engine, worker.settings, crawl, ["http://a.test/"])
    assert one(worker.engine, "SELECT state FROM crawls") == "active"


def test_seeds_added_to_a_crawl_at_its_budget_wake_all_its_hosts(worker: Worker) -> None:
    start(worker, "http://a.test/")
    sql(worker.engine, "UPDATE hosts SET next_fetch_at = NULL")
    sql(worker.engine, "UPDATE crawls SET state = 'finished', ended_because = 'max_pages', finished_at = now()")
    add(worker, "http://b.test/")
    assert find(worker.engine, "c").state == "active"
    assert one(worker.engine, "SELECT count(*) FROM hosts WHERE next_fetch_at IS NULL") == 0


# --- scope -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "column", "first", "then"),
    [
        ("host", "scope_hosts", ["www.a.co.uk"], ["b.test", "www.a.co.uk"]),
        ("domain", "scope_domains", ["a.co.uk"], ["a.co.uk", "b.test"]),
        ("prefix", "scope_prefixes", ["http://www.a.co.uk/docs/"], ["http://b.test/", "http://www.a.co.uk/docs/"]),
    ],
)
def test_a_scope_widens_with_its_seeds(
    worker: Worker, kind: str, column: str, first: list[str], then: list[str]
) -> None:
    crawl = create(worker.engine, "c", CrawlSpec(scope=kind))
    add(worker, "http://www.a.co.uk/docs/index.html")
    assert getattr(find(worker.engine, "c"), column) == first
    add(worker, "http://b.test/x", "http://www.a.co.uk/docs/other")
    found = find(worker.engine, "c")
    assert getattr(found, column) == then
    others = {"scope_hosts", "scope_domains", "scope_prefixes"} - {column}
    assert all(getattr(found, other) == [] for other in others)
    assert found.revision > crawl.revision, "workers read it anew"


def test_a_worker_that_knows_the_scope_learns_that_it_widened(worker: Worker, web: Web) -> None:
    first, second = web.site(), web.site()
    first.pages["/"] = html(second.url("/a"))
    second.pages["/"] = html("/a")
    start(worker, first.url())
    run(worker)
    assert second.paths == []
    add(worker, second.url())
    run(worker)
    assert second.pages_asked == ["/", "/a"]


# --- seeds that can be contacted ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "problems"),
    [
        (["http://127.0.0.1/"], []),
        (["http://127.0.0.1/", "http://10.0.0.1/"], ["10.0.0.1 is not public"]),
        (["http://127.0.0.1/", "nonsense"], ["not a URL"]),
        (["http://127.0.0.1/", "http://no-such-host.invalid/"], ["does not resolve"]),
        (["http://127.0.0.1/", "http://8.8.8.8/"], ["TIPTOE_CONTACT"]),
    ],
)
def test_seeds_are_checked_one_by_one(worker: Worker, given: list[str], problems: list[str]) -> None:
    found = seeds.check(worker.settings, seeds.read(worker.settings, given))
    assert len(found) == len(problems)
    assert all(problem in line for problem, line in zip(problems, found, strict=True))


# addresses of the name, what is said of it
MIXED = [
    (["10.0.0.1", "127.0.0.1"], None),
    (["127.0.0.1", "10.0.0.1", "169.254.169.254"], None),
    (["10.0.0.1", "169.254.169.254"], "10.0.0.1 is not public"),
    (["8.8.8.8", "127.0.0.1"], None),
    (["8.8.8.8", "10.0.0.1"], "TIPTOE_CONTACT"),
]


@pytest.mark.parametrize(("addresses", "problem"), MIXED)
def test_a_name_with_an_address_that_may_be_contacted_is_a_seed(
    worker: Worker, addresses: list[str], problem: str | None
) -> None:
    resolver = Resolver(getaddrinfo=lambda *_, **__: [(2, 1, 6, "", (each, 0)) for each in addresses])
    urls = seeds.read(worker.settings, ["http://mixed.test/"]).urls
    found = seeds.out_of_reach(worker.settings, urls, resolver)
    assert len(found) == (problem is not None)
    assert problem is None or problem in str(found[0])


def test_names_are_looked_up_at_once(worker: Worker, monkeypatch: pytest.MonkeyPatch) -> None:
    all_of_them = threading.Barrier(20, timeout=60)

    def looked_up(host: str, *_: object, **__: object) -> list[Any]:
        all_of_them.wait()
        return [(2, 1, 6, "", ("127.0.0.1", 0))] if host != "h3.test" else []

    monkeypatch.setattr(seeds, "make_resolver", lambda _: Resolver(getaddrinfo=looked_up))
    given = [f"http://h{number}.test/" for number in range(20)]
    found = seeds.check(worker.settings, seeds.read(worker.settings, given))
    assert len(found) == 1
    assert "h3.test" in found[0]


@pytest.mark.parametrize("only", ["http://10.0.0.1/", "nonsense", "", "# x", "http://no-such-host.invalid/"])
def test_when_no_seed_is_any_good_it_is_an_error(worker: Worker, only: str) -> None:
    with pytest.raises(InputError):
        seeds.check(worker.settings, seeds.read(worker.settings, [only]))
