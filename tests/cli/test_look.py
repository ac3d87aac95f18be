"""Commands that look, on a crawl of a small web: pages for people, documents for scripts, exit codes for shells."""

import pytest

from tests.cli.conftest import Tiptoe
from tests.crawl.web import Site
from tests.store.rows import sql as run_sql


def test_status(tiptoe: Tiptoe, site: Site) -> None:
    said = tiptoe("status").out
    assert "docs  finished  done" in said
    assert f"{site.host}  " in said.partition("last visits")[2]
    document = tiptoe("status", "--json").json
    assert [(row["name"], row["pages"], row["failed"]) for row in document["crawls"]] == [("docs", 2, 3)]
    assert {
        "crawls",
        "estimated",
        "waiting",
        "waiting_percent",
        "offers",
        "visits",
        "archive",
        "needs_script",
        "webhooks",
    } == document.keys()


def test_crawl_list(tiptoe: Tiptoe, site: Site) -> None:
    assert tiptoe("crawl", "list").out.splitlines()[1].startswith("docs  finished")
    assert [row["name"] for row in tiptoe("crawl", "list", "--json").json] == ["docs"]


def test_crawl_report(tiptoe: Tiptoe, site: Site) -> None:
    said = tiptoe("crawl", "report", "docs").out
    for part in ("URLs by state", "quarantined  1", "server_error  500", "links not admitted", "scope", site.host):
        assert part in said
    assert tiptoe("crawl", "report", "docs", "--json").json["urls"] == {"quarantined": 1, "refused": 1, "done": 2}


def test_crawl_report_of_an_unknown_crawl(tiptoe: Tiptoe, site: Site) -> None:
    ran = tiptoe("crawl", "report", "nix")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == "tiptoe: crawl nix: does not exist; there are: docs\n"


def test_url_why_page(tiptoe: Tiptoe, site: Site) -> None:
    said = tiptoe("url", "why", site.url("/a") + "?gclid=1").out
    for part in (
        site.url("/a"),
        "parameters dropped: gclid",
        "in crawl docs (finished): done",
        f"found on          {site.url()}",
        "allowed: no line of group * applies to it",
        "page (status 200)",
        "latest requests",
    ):
        assert part in said
    assert "\x1b" not in said


def test_url_why_json_has_the_same_facts(tiptoe: Tiptoe, site: Site) -> None:
    document = tiptoe("url", "why", site.url("/private/x"), "--json").json
    (here,) = document["crawls"]
    assert (here["crawl"], here["url"]["state"], document["robots"]["line"]) == ("docs", "refused", 2)
    assert here["url"]["key"] == run_key(site.url("/private/x"))
    assert here["waits_for"] == ["robots.txt to allow it; it was refused because of robots.txt"]


def run_key(url: str) -> str:
    from hashlib import sha256

    return sha256(url.encode()).hexdigest()


def test_url_why_of_a_refused_link(tiptoe: Tiptoe, site: Site) -> None:
    said = tiptoe("url", "why", "http://elsewhere.test/").out
    assert "no crawl knows this URL" in said
    assert f"docs   scope   1      {site.url()}" in said


def test_url_why_of_nonsense(tiptoe: Tiptoe, site: Site) -> None:
    ran = tiptoe("url", "why", "nonsense")
    assert ran.code == 2
    assert "write it in full, as https://example.org/" in ran.err


def test_host_show_and_list(tiptoe: Tiptoe, site: Site) -> None:
    said = tiptoe("host", "show", site.url("/a")).out
    for part in (
        f"{site.host} waits for nothing",
        "s between two requests, at least: ",
        "robots.txt",
        "available",
        "latest visits",
        "latest requests",
    ):
        assert part in said
    assert tiptoe("host", "show", site.host, "--json").json["host"]["name"] == site.host
    assert site.host in tiptoe("host", "list").out
    assert [row["host"] for row in tiptoe("host", "list", "--json").json] == [site.host]
    assert tiptoe("host", "list", "--waits-for", "paused", "--json").json == []
    refused = tiptoe("host", "list", "--waits-for", "bogus")
    assert refused.code == 2
    assert "use the beginning of one of: delay, due" in refused.err


# path → exit code, a word of the answer
@pytest.mark.parametrize(
    ("path", "code", "word"),
    [("/a", 0, "allowed: no line of group *"), ("/private/y", 1, "refused: line 2, Disallow: /private (group *)")],
)
def test_robots_check(tiptoe: Tiptoe, site: Site, path: str, code: int, word: str) -> None:
    ran = tiptoe("robots", "check", site.url(path))
    assert ran.code == code
    assert word in ran.out
    assert "http://a.test/sitemap.xml" in ran.out
    assert tiptoe("robots", "check", site.url(path), "--json").json["allowed"] is (code == 0)


def test_robots_check_without_a_copy(tiptoe: Tiptoe, site: Site) -> None:
    ran = tiptoe("robots", "check", "http://never.test/")
    assert ran.code == 3
    assert "http://never.test/robots.txt was not fetched yet" in ran.out


def test_robots_check_fetch_asks_once(tiptoe: Tiptoe, site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIPTOE_DEFAULT_DELAY_S", "0")
    asked = site.paths.count("/robots.txt")
    assert tiptoe("robots", "check", site.url("/a"), "--fetch").code == 0
    monkeypatch.setenv("TIPTOE_DEFAULT_DELAY_S", "60")
    refused = tiptoe("robots", "check", site.url("/a"), "--fetch")
    assert refused.code == 2
    assert "may not be contacted now; it waits for its delay of 60 s to pass" in refused.err
    assert site.paths.count("/robots.txt") == asked + 1


def test_audit(tiptoe: Tiptoe, site: Site) -> None:
    ran = tiptoe("audit", "docs")
    assert ran.code == 0
    assert ran.out.splitlines()[-1].endswith(" for robots.txt or tdmrep.json, 1 host: no violation")
    document = tiptoe("audit", "--json").json
    assert document["violations"] == 0
    assert [host["host"] for host in document["hosts"]] == [site.host]


def test_seed_list(tiptoe: Tiptoe, site: Site) -> None:
    assert [(row["url"], row["status"]) for row in tiptoe("seed", "list", "docs", "--json").json] == [(site.url(), 200)]
    assert site.url() in tiptoe("seed", "list", "docs").out


def test_violations_exit_1(tiptoe: Tiptoe, site: Site, database_url: str) -> None:
    """Last in this module: it spoils the log."""
    from app.store import db

    engine = db.connect(database_url, pool_size=1)
    run_sql(engine, "UPDATE fetches SET delay_s = 100")
    engine.dispose()
    ran = tiptoe("audit")
    assert ran.code == 1
    assert "VIOLATIONS" in ran.out
    assert tiptoe("audit", "--json").code == 1
