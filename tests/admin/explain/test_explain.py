"""`url why` tells the truth about each fate of a URL."""

import pytest

from app.admin.explain import respelt
from app.admin.waiting import last_ending
from app.crawl.state.worker import Worker
from app.errors import InputError
from app.model import Url
from app.policy.url import Canon
from tests.admin.explain.explained import alone, why
from tests.crawl.loop import go, run, start
from tests.crawl.web import Site
from tests.store.rows import sql


def test_a_page_that_was_fetched(worker: Worker, site: Site) -> None:
    start(worker, site.url())
    run(worker)
    found = why(worker, site.url("/a") + "?utm_source=x#top")
    (here,) = found.crawls
    assert found.url == site.url("/a")
    assert found.changed == ["parameters dropped: utm_source", "fragment dropped: #top"]
    assert (here.url["state"], here.url["depth"], here.url["found_on"]) == ("resting", 1, site.url())
    assert here.scope == "inside"
    assert here.page is not None
    assert here.page["title"] == "Page A"
    assert "not set to keep fresh" in here.waits_for[0]
    assert [fetch["status"] for fetch in found.fetches] == [200]
    assert found.robots is not None
    assert found.robots.allowed is True


def test_a_page_of_a_crawl_without_an_archive_says_so(worker: Worker, site: Site) -> None:
    start(worker, site.url(), archive=False)
    assert alone(worker, site.url()).unarchived is None, "it was not fetched yet"
    go(worker)
    assert (alone(worker, site.url()).unarchived or "").startswith("crawl c keeps no archive; run: ")
    sql(worker.engine, "UPDATE crawls SET archive = true, revision = revision + 1")
    assert alone(worker, site.url()).unarchived is None


def test_a_page_that_keeps_fresh_waits_for_its_recrawl(worker: Worker, site: Site) -> None:
    start(worker, site.url(), keep_fresh=True)
    go(worker)
    assert alone(worker, site.url()).waits_for[0].startswith("its recrawl, due ")


def test_a_duplicate_names_its_original(worker: Worker, site: Site) -> None:
    start(worker, site.url())
    run(worker)
    one, two = site.url("/one"), site.url("/two")
    (alias,) = [url for url in (one, two) if alone(worker, url).url["state"] == "alias"]
    original = two if alias == one else one
    here = alone(worker, alias)
    assert here.duplicate is not None
    assert (here.duplicate["kind"], here.duplicate["of_url"]) == ("body", original)
    assert here.waits_for == [f"nothing: the document is at {original}"]


def test_a_redirect_names_its_target(worker: Worker, site: Site) -> None:
    start(worker, site.url())
    run(worker)
    assert alone(worker, site.url("/moved")).waits_for == [f"nothing: it redirects to {site.url('/a')}"]


def test_what_robots_refuses_names_the_line(worker: Worker, site: Site) -> None:
    start(worker, site.url())
    run(worker)
    found = why(worker, site.url("/private/x"))
    (here,) = found.crawls
    assert here.url["state"] == "refused"
    assert here.waits_for[0].startswith("robots.txt to allow it")
    assert found.robots is not None
    assert (found.robots.allowed, found.robots.group, found.robots.line) == (False, "*", 2)
    assert found.robots.sentence() == "refused: line 2, Disallow: /private (group *)"


def test_a_failing_page_waits_for_its_retry_then_for_an_operator(worker: Worker, site: Site) -> None:
    start(worker, site.url())
    go(worker)
    assert alone(worker, site.url("/broken")).waits_for[0].startswith("its retry after attempt 1, due ")
    run(worker)
    here = alone(worker, site.url("/broken"))
    assert here.url["state"] == "quarantined"
    assert here.waits_for == [
        f"an operator (failed too often: server_error (500) 3 times): tiptoe url retry {site.url('/broken')}"
    ]
    assert len(why(worker, site.url("/broken")).fetches) == 3


def test_a_gone_page(worker: Worker, site: Site) -> None:
    start(worker, site.url())
    run(worker)
    assert alone(worker, site.url("/gone")).url["state"] == "gone"


def test_a_link_out_of_scope_was_refused(worker: Worker, site: Site) -> None:
    start(worker, site.url())
    go(worker)
    found = why(worker, "http://elsewhere.test/")
    assert found.crawls == []
    assert [(row["reason"], row["found_on"]) for row in found.suppressions] == [("scope", site.url())]
    assert [would_be.verdict for would_be in found.elsewhere] == [
        "a link to it is refused: scope: elsewhere.test is not one of the crawl's hosts " + site.host
    ]
    assert found.robots is not None
    assert found.robots.allowed is None


def test_a_link_that_is_no_url_was_refused(worker: Worker, site: Site) -> None:
    start(worker, site.url())
    go(worker)
    found = why(worker, "http://")
    assert found.url is None
    assert [row["reason"] for row in found.suppressions] == ["invalid"]


def test_a_text_that_nobody_ever_met_is_refused(worker: Worker) -> None:
    with pytest.raises(InputError, match="'nonsense': not a URL; write it in full"):
        why(worker, "nonsense")


def test_a_url_that_no_crawl_knows(worker: Worker, site: Site) -> None:
    start(worker, site.url())
    found = why(worker, site.url("/never-linked"))
    assert found.crawls == []
    assert [would_be.verdict for would_be in found.elsewhere] == ["a link to it would be admitted; none was found yet"]


def test_a_finished_crawl_judges_urls_it_does_not_know(worker: Worker, site: Site) -> None:
    start(worker, site.url())
    run(worker)
    (would_be,) = why(worker, site.url("/never-linked")).elsewhere
    assert would_be.verdict == "a link to it would be admitted; none was found yet"


# as given → what the canonical form changed
@pytest.mark.parametrize(
    ("asked", "changes"),
    [
        ("http://a.test/", []),
        ("http://a.test", ["path: (empty) → /"]),
        ("HTTP://A.test:80/", ["host: A.test:80 → a.test"]),
        ("http://a.test/x/../b%7Ec", ["path: /x/../b%7Ec → /b%7Ec"]),
        ("http://a.test/?b=1&a=2", []),
        ("http://a.test/?b=1&gclid=x&a=2", ["parameters dropped: gclid"]),
        ("http://a.test/?gclid=x", ["parameters dropped: gclid"]),
        ("http://a.test/?a=%7e", []),
        ("http://a.test/?a=ä", ["escapes in the query normalised"]),
        ("http://a.test/#part", ["fragment dropped: #part"]),
        ("http:\\\\a.test\\", ["host:  → a.test", "path: \\\\a.test\\ → /"]),
        ("http://bücher.test/", ["host: bücher.test → xn--bcher-kva.test"]),
        ("http://[bad/", None),
    ],
)
def test_what_the_canonical_form_changed(asked: str, changes: list[str] | None) -> None:
    url = Canon().canonicalise(asked)
    if changes is None:
        url = Canon().canonicalise("http://a.test/")
        changes = ["spelt as the URL standard has it"]
    assert isinstance(url, Url)
    assert respelt(asked, url) == changes


def test_explaining_changes_nothing(worker: Worker, site: Site) -> None:
    start(worker, site.url())
    go(worker)
    before = sql(worker.engine, "SELECT * FROM urls ORDER BY id"), sql(worker.engine, "SELECT * FROM hosts")
    for path in ("/", "/a", "/private/x", "/nowhere"):
        why(worker, site.url(path))
    assert (sql(worker.engine, "SELECT * FROM urls ORDER BY id"), sql(worker.engine, "SELECT * FROM hosts")) == before


def test_the_last_ending_says_what_is_unwanted_about_an_answer() -> None:
    """The detail of a URL is of its cause otherwise."""
    row = {"outcome": "unwanted", "status": 200, "detail": "application/pdf is not read"}
    assert last_ending(row) == "unwanted: application/pdf is not read (status 200)"
    assert last_ending({**row, "outcome": "page", "detail": "line 2"}) == "page (status 200)"
    assert last_ending({**row, "outcome": "unreachable", "status": None}) == "unreachable"
    assert last_ending({**row, "outcome": None, "status": None}) is None
