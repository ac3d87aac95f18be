"""An opt-out that comes later: no word of the page is found anywhere; and what may not take a page away."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine

from app.admin import crawls
from app.crawl.state.worker import Worker
from app.features.near.find import find_near
from app.features.search.find import index_pages
from tests.cli.conftest import Tiptoe, tiptoe
from tests.crawl.archiving import Archiving
from tests.crawl.loop import go, run, start
from tests.crawl.web import Answer, Site, Web, html
from tests.features.rights.said import licence
from tests.store.rows import one, sql

__all__ = ["tiptoe"]

WORD = "quixotry"
STEM = "quixot"
CHALLENGE = html(title="Just a moment...", status=403, headers={"cf-mitigated": "challenge", "X-Robots-Tag": "noindex"})
LINK = f'<p><a href="/b">all about {WORD}</a></p>'


@pytest.fixture
def crawler(archiving: Archiving, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Worker:
    monkeypatch.setenv("TIPTOE_HOME", str(tmp_path))
    return archiving.worker


@pytest.fixture
def site(web: Web) -> Site:
    site = web.site()
    site.pages |= {"/": html("/a", "/b"), "/a": spoken(), "/b": html(text="b")}
    return site


def spoken(**headers: str) -> Answer:
    fields = {name.replace("_", "-"): value for name, value in headers.items()}
    said = f"<p>It is {WORD}, as they say, and no other word that anybody knows of would do in its place today.</p>" * 3
    return Answer(
        body=f"<html lang=en><title>Of {WORD}</title><body><h1>Of it</h1>{said}{LINK}</body></html>".encode(),
        headers={"Content-Type": "text/html", **fields},
    )


def crawl(worker: Worker, site: Site, **wishes: Any) -> None:
    start(worker, site.url(), search=True, keep_links=True, **wishes)
    run(worker)
    sql(
        worker.engine,
        """INSERT INTO items (host_id, crawl_id, key, handler, n, capture_id, version, url, item)
           SELECT host_id, crawl_id, key, 'words', 0, 1, 1, url, '{"word": "quixotry"}'
           FROM pages WHERE title LIKE 'Of%'""",
    )
    index_pages(worker.engine)


def again(worker: Worker) -> None:
    crawls.go_round(worker.engine, "c")
    run(worker)
    index_pages(worker.engine)


def mentions(engine: Engine) -> list[str]:
    """The tables that have the word, or its stem, in any row."""
    tables = sql(
        engine,
        """SELECT oid::regclass::text AS name FROM pg_class
           WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace""",
    )
    return [
        row["name"]
        for row in tables
        if one(engine, f"SELECT EXISTS (SELECT FROM {row['name']} AS t WHERE t::text LIKE '%{STEM}%')")
    ]


def reads(tiptoe: Tiptoe, site: Site, folder: Path) -> dict[str, bool]:
    """By command, whether what it says has the word."""
    url, found = site.url("/a"), {}
    for command in (
        ("search", "c", WORD),
        ("page", "list", "--crawl", "c"),
        ("page", "show", url),
        ("page", "show", url, "--text"),
        ("page", "show", url, "--html"),
        ("page", "show", url, "--json"),
        ("changes", "c", "--since", "1h"),
        ("url", "why", url),
        ("rights", url),
        ("crawl", "report", "c"),
        ("sql", "SELECT title, main_text FROM pages"),
    ):
        ran = tiptoe(*command)
        said = ran.out.replace(f'"{WORD}"', "") if command[0] == "search" else ran.out
        found[" ".join(command[:2]) + " " + command[-1]] = WORD in said
    for what in ("pages", "items", "links", "fetches"):
        to = folder / f"{what}.jsonl"
        tiptoe("export", what, "--crawl", "c", "--to", str(to), *(["--columns", "+html"] if what == "pages" else []))
        found[f"export {what}"] = to.exists() and WORD in to.read_text()
        to.unlink(missing_ok=True)
    return found


def test_before_it_is_withdrawn_the_word_is_found(crawler: Worker, site: Site, tiptoe: Tiptoe, tmp_path: Path) -> None:
    """Else the next tests would look in the wrong places."""
    crawl(crawler, site)
    assert {"pages", "items"} <= set(mentions(crawler.engine))
    found = reads(tiptoe, site, tmp_path)
    assert {name for name, is_there in found.items() if is_there} >= {
        *("export pages", "export items", "export links", "page show --html", f"search c {WORD}"),
    }


@pytest.mark.parametrize(
    ("said", "wishes"),
    [
        ({"X_Robots_Tag": "noindex"}, {}),
        ({"X_Robots_Tag": "none"}, {}),
        ({"Content_Signal": "ai-train=no"}, {"honour_opt_outs": True}),
        ({"Content_Signal": "use=reference"}, {"honour_opt_outs": True}),
    ],
)
def test_after_it_no_word_of_the_page_is_found_anywhere(
    crawler: Worker, site: Site, tiptoe: Tiptoe, tmp_path: Path, said: dict[str, str], wishes: dict[str, object]
) -> None:
    crawl(crawler, site, **wishes)
    site.pages["/a"] = spoken(**said)
    again(crawler)
    again(crawler)
    assert mentions(crawler.engine) == []
    assert [name for name, is_there in reads(tiptoe, site, tmp_path).items() if is_there] == []
    ran = tiptoe("page", "show", site.url("/a"))
    assert ran.code == 2
    assert "was withdrawn by its owner" in ran.err
    (tombstone,) = sql(crawler.engine, "SELECT words, withdrawn_at, confirmed_at FROM withdrawals")
    assert next(iter(said.values())).split("=")[0] in tombstone["words"]
    assert tombstone["confirmed_at"] > tombstone["withdrawn_at"]


def test_it_is_not_shown_from_the_first_look_on(crawler: Worker, site: Site, tiptoe: Tiptoe, tmp_path: Path) -> None:
    crawl(crawler, site)
    site.pages["/a"] = spoken(X_Robots_Tag="noindex")
    again(crawler)
    assert [name for name, is_there in reads(tiptoe, site, tmp_path).items() if is_there] == []
    (tombstone,) = sql(crawler.engine, "SELECT words, confirmed_at FROM withdrawals")
    assert tombstone == {"words": "noindex", "confirmed_at": None}
    stated = json.loads(tiptoe("rights", site.url("/a"), "--json").out)
    assert [(each["crawl"], each["words"]) for each in stated["withdrawn"]] == [("c", "noindex")]
    assert "withdrawn by its owner in crawl c: noindex" in tiptoe("rights", site.url("/a")).out


def test_the_records_stay_in_the_archive_until_they_are_pruned(crawler: Worker, site: Site) -> None:
    crawl(crawler, site)
    before = one(crawler.engine, "SELECT count(*) FROM captures WHERE url = :url", url=site.url("/a"))
    site.pages["/a"] = spoken(X_Robots_Tag="noindex")
    again(crawler)
    assert one(crawler.engine, "SELECT count(*) FROM captures WHERE url = :url", url=site.url("/a")) == before + 1


@pytest.mark.parametrize(
    "answer",
    [
        html(status=404, headers={"X-Robots-Tag": "noindex", "Content-Signal": "ai-train=no"}),
        html(status=500, headers={"X-Robots-Tag": "noindex", "Content-Signal": "ai-train=no"}),
        html(status=403, headers={"X-Robots-Tag": "noindex"}, head='<meta name="robots" content="noindex">'),
        CHALLENGE,
    ],
)
def test_an_opt_out_in_an_error_page_or_a_challenge_changes_nothing(
    crawler: Worker, site: Site, answer: Answer
) -> None:
    crawl(crawler, site)
    site.pages["/a"] = answer
    crawls.go_round(crawler.engine, "c")
    go(crawler)
    assert one(crawler.engine, "SELECT count(*) FROM fetches WHERE status >= 400 AND kind = 'page'") >= 1
    assert one(crawler.engine, "SELECT count(*) FROM withdrawals") == 0
    assert WORD in str(one(crawler.engine, "SELECT main_text FROM pages WHERE url = :url", url=site.url("/a")))
    assert one(crawler.engine, "SELECT count(*) FROM items") == 1


def test_a_page_that_returns_is_shown_again(crawler: Worker, site: Site, tiptoe: Tiptoe) -> None:
    crawl(crawler, site)
    site.pages["/a"] = spoken(X_Robots_Tag="noindex")
    again(crawler)
    site.pages["/a"] = spoken()
    again(crawler)
    assert one(crawler.engine, "SELECT count(*) FROM withdrawals") == 0
    assert WORD in tiptoe("page", "show", site.url("/a"), "--html").out
    assert WORD in tiptoe("search", "c", WORD).out


def test_a_page_that_is_gone_after_it_was_withdrawn_stays_so(crawler: Worker, site: Site, tiptoe: Tiptoe) -> None:
    crawl(crawler, site)
    site.pages["/a"] = spoken(X_Robots_Tag="noindex")
    again(crawler)
    site.pages["/a"] = Answer(status=410)
    again(crawler)
    assert tiptoe("page", "show", site.url("/a"), "--html").code == 2
    assert one(crawler.engine, "SELECT words FROM withdrawals") == "noindex"


# what the site says later, and what it may not say it by; the pages that are left
@pytest.mark.parametrize(
    ("robots", "left"),
    [
        ("User-agent: *\nContent-Signal: /a ai-train=no\n", {"/", "/b"}),
        ("User-agent: *\nContent-Signal: ai-train=no, use=reference\n", set()),
        ("License: {licence}\n", {"/", "/b"}),
        (Answer(status=503, body=b"User-agent: *\nContent-Signal: ai-train=no\n"), {"/", "/a", "/b"}),
        (Answer(status=404, body=b"User-agent: *\nContent-Signal: ai-train=no\n"), {"/", "/a", "/b"}),
    ],
)
def test_a_file_of_the_site_withdraws_its_pages_at_once(
    crawler: Worker, site: Site, robots: str | Answer, left: set[str]
) -> None:
    site.robots = "User-agent: *\nAllow: /\n"
    site.pages["/a"] = html(text=" ".join(f"word{number}" for number in range(99)))  # enough for a fingerprint
    site.pages["/l.xml"] = Answer(
        body=licence('<prohibits type="usage">ai-train</prohibits>', url="/a"),
        headers={"Content-Type": "application/rsl+xml"},
    )
    crawl(crawler, site, honour_opt_outs=True)
    sql(crawler.engine, "DELETE FROM changes")
    find_near(crawler.engine)
    assert one(crawler.engine, "SELECT count(*) FROM fingerprints") > 0
    site.robots = robots.format(licence=site.url("/l.xml")) if isinstance(robots, str) else robots
    sql(crawler.engine, "UPDATE robots SET expires_at = now()")
    sql(crawler.engine, "UPDATE urls SET state = 'queued', due_at = NULL WHERE url = :url", url=site.url("/b"))
    sql(crawler.engine, "UPDATE crawls SET state = 'active', finished_at = NULL, ended_because = NULL")
    sql(crawler.engine, "UPDATE hosts SET next_fetch_at = now(), blocked_until = NULL")
    go(crawler)
    assert site.paths.count("/a") == 1, "none of them was looked at again"
    rows = sql(crawler.engine, "SELECT url FROM pages")
    assert {row["url"].removeprefix(site.url("/")[:-1]) for row in rows} == left
    gone = {"/", "/a", "/b"} - left
    assert one(crawler.engine, "SELECT count(*) FROM withdrawals") == len(gone)
    causes = sql(crawler.engine, "SELECT cause FROM urls WHERE cause IS NOT NULL")
    assert len(causes) >= len(gone)
    told = sql(crawler.engine, "SELECT url FROM changes WHERE kind = 'withdrawn'")
    assert {row["url"].removeprefix(site.url("/")[:-1]) for row in told} == gone, "in the feed of changes"
    find_near(crawler.engine)
    prints = (
        "SELECT count(*) FROM fingerprints AS f LEFT JOIN pages AS p USING (host_id, crawl_id, key) WHERE p.key IS NULL"
    )
    assert one(crawler.engine, prints) == 0, "nothing to compare with is left of them"


def test_what_a_file_withdrew_returns_when_the_file_does_not_say_so_any_more(crawler: Worker, site: Site) -> None:
    site.robots = "User-agent: *\nContent-Signal: /a ai-train=yes\n"
    site.pages["/a"] = spoken(ETag='"1"')
    crawl(crawler, site, honour_opt_outs=True)
    for signal, kept in (("no", 2), ("yes", 3)):
        site.robots = f"User-agent: *\nContent-Signal: /a ai-train={signal}\n"
        sql(crawler.engine, "UPDATE robots SET expires_at = now()")
        again(crawler)
        assert one(crawler.engine, "SELECT count(*) FROM pages") == kept
    assert one(crawler.engine, "SELECT count(*) FROM withdrawals") == 0


def test_erasing_rewrites_segments_without_the_withdrawn_page(
    archiving: Archiving, crawler: Worker, site: Site, tiptoe: Tiptoe, tmp_path: Path
) -> None:
    crawl(crawler, site)
    site.pages["/a"] = spoken(X_Robots_Tag="noindex")
    again(crawler)
    archiving.close()
    assert WORD in unpacked(tmp_path)
    assert "add --yes" in tiptoe("archive", "prune", "--withdrawn").err
    ran = tiptoe("archive", "prune", "c", "--withdrawn", "--yes")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("1 segment rewritten, ")
    assert WORD not in unpacked(tmp_path)
    assert one(crawler.engine, "SELECT count(*) FROM captures WHERE url = :url", url=site.url("/a")) == 0
    assert tiptoe("page", "show", site.url("/b"), "--html").code == 0
    assert tiptoe("archive", "verify").code == 0
    assert tiptoe("archive", "prune", "--withdrawn", "--yes", "--json").json["segments"] == 0


def unpacked(home: Path) -> str:
    """All that segments below a folder hold, unpacked."""
    files = sorted(home.rglob("*.warc.gz"))
    return "".join(gzip.decompress(each.read_bytes()).decode("utf-8", "replace") for each in files)
