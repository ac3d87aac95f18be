"""`tiptoe page`: what the archive has of a page, without a request: listed, shown in every form, compared."""

import gzip
import json
from contextlib import redirect_stdout
from pathlib import Path

import pytest
from sqlalchemy import Engine

from app.cli import out
from app.model import CaptureKind
from app.parse.html.html import READER
from tests.cli.archived import URL, Deposit, engine, put, writer
from tests.cli.conftest import Terminal, Tiptoe
from tests.steering import steering
from tests.store.rows import make_crawl, sql

__all__ = ["engine", "put", "writer"]

PAGE = """<html><head><title>News</title></head><body><main><h1>News of the week</h1>
<p>The first passage stays as it was, word for word, with enough of them to be text.</p>
<p>{}</p><p>The last passage ends \x1b[31mthe page\x1b]0;owned\x07, and stays too, as it was before.</p>
</main></body></html>"""
OLD = PAGE.format("Version 4.1 of the crawler is out, and it waits 10 seconds between requests.")
NEW = PAGE.format("Version 4.2 of the crawler is out, and it waits 12 seconds between requests.")


URL_ROW = """INSERT INTO urls (host_id, crawl_id, key, url, state, lane, score, depth, fetched_at)
             VALUES (:h, :c, :k, :u, 'queued', 1, 0.5, 0, now())"""
PAGE_ROW = """INSERT INTO pages (host_id, crawl_id, key, url, status, main_text, body_sha256, text_sha256, body_bytes,
                                 truncated, links, depth, first_fetched_at, fetched_at, changed_at)
              VALUES (:h, :c, :k, :u, 200, 'as it was', :b, '', 1, false, 0, 0, now(), now(), now())"""


def test_show_has_the_captures_and_the_headers(tiptoe: Tiptoe, put: Deposit) -> None:
    put(OLD)
    ran = tiptoe("page", "show", URL)
    assert (ran.code, ran.err) == (0, "")
    lines = [line.split(None, 1) for line in ran.out.splitlines() if line.strip()]
    assert ["crawl", "docs"] in lines
    assert ["answer", "200 OK"] in lines
    assert ["Content-Type", "text/html; charset=utf-8"] in lines
    assert steering(ran.out) == []
    document = tiptoe("page", "show", URL, "--json").json
    assert (document["status"], document["truncated"], document["body_bytes"]) == (200, False, len(OLD))
    assert [capture["id"] for capture in document["captures"]] == [document["capture"]["id"]]


SAYS_THE_SIZE = """
from tiptoe.plugins import Reader, answers

@answers
def readers():
    return [Reader(media_types=["application/x-sized"], read="says_the_size:read", columns={"size": "integer"})]
"""


def test_show_has_the_columns_of_plugins(
    tiptoe: Tiptoe, put: Deposit, engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    capture = put("a body")
    where = {"h": capture.host_id, "c": capture.crawl_id, "k": capture.key, "u": URL}
    sql(engine, PAGE_ROW, **where, b=capture.body_sha256)
    sql(engine, """UPDATE pages SET data = '{"og": {"size": 1}, "says_the_size": {"size": 6, "other": 7}}'""")
    assert tiptoe("page", "show", URL, "--json").json["columns"] == {}
    (tmp_path / "says_the_size.py").write_text(SAYS_THE_SIZE)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("TIPTOE_PLUGINS", "says_the_size")
    assert tiptoe("page", "show", URL, "--json").json["columns"] == {"says_the_size.size": 6}
    assert ["says_the_size.size", "6"] in [line.split() for line in tiptoe("page", "show", URL).out.splitlines()]


# option → what stands in it
@pytest.mark.parametrize(
    ("option", "first", "holds"),
    [
        ("--headers", "200 OK", "Server: T\xe9st"),
        ("--html", "<html><head><title>News</title>", "<p>Version 4.1 of the crawler"),
        ("--text", "News of the week", "Version 4.1 of the crawler is out"),
        ("--text-best", "News of the week", "Version 4.1 of the crawler is out"),
        ("--markdown", "# News of the week", "Version 4.1 of the crawler is out"),
        ("--warc", "WARC/1.1", f"WARC-Target-URI: {URL}"),
    ],
)
def test_a_part_of_a_capture(tiptoe: Tiptoe, put: Deposit, option: str, first: str, holds: str) -> None:
    put(OLD)
    ran = tiptoe("page", "show", URL, option)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith(first)
    assert holds in ran.out
    assert steering(ran.out) == []
    assert holds in tiptoe("page", "show", URL, option, "--json").json[option[2:]]


@pytest.mark.parametrize("option", ["--text", "--markdown"])
def test_all_that_a_reader_sees(tiptoe: Tiptoe, put: Deposit, option: str) -> None:
    put(OLD.replace("<main>", "<nav>Home page</nav><main>"))
    assert "Home page" not in tiptoe("page", "show", URL, option).out
    assert tiptoe("page", "show", URL, option, "--content", "full").out.startswith("Home page")


def test_a_file_has_the_bytes_as_they_came(tiptoe: Tiptoe, put: Deposit, tmp_path: Path) -> None:
    put(OLD)
    assert tiptoe("page", "show", URL, "--out", str(tmp_path / "a.html")).out.endswith("a.html: html written\n")
    assert (tmp_path / "a.html").read_bytes() == OLD.encode()
    tiptoe("page", "show", URL, "--warc", "--out", str(tmp_path / "a.warc.gz"))
    assert gzip.decompress((tmp_path / "a.warc.gz").read_bytes()).startswith(b"WARC/1.1\r\n")
    tiptoe("page", "show", URL, "--text", "--out", str(tmp_path / "a.txt"))
    assert (tmp_path / "a.txt").read_text().startswith("News of the week")


def test_a_page_in_another_encoding_is_read_in_it(tiptoe: Tiptoe, put: Deposit) -> None:
    body = "<p>Größe über alles, und noch ein Satz mit Umlauten: Übermut tut selten gut.</p>".encode("latin-1")
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=iso-8859-1\r\n\r\n"
    put(
        body, reply={"head": head, "headers": {"content-type": "text/html; charset=iso-8859-1"}}, charset="windows-1252"
    )
    assert "Größe über" in tiptoe("page", "show", URL, "--html").out
    assert "Größe über" in tiptoe("page", "show", URL, "--text").out


def test_which_capture(tiptoe: Tiptoe, put: Deposit) -> None:
    first, second = put(OLD), put(NEW)
    put(b"gone", kind=CaptureKind.ERROR, reply={"status": 404})
    assert "4.2" in tiptoe("page", "show", URL, "--text").out, "the latest page, not the latest answer"
    assert "4.1" in tiptoe("page", "show", URL, "--text", "--at", str(first.id)).out
    assert "4.2" in tiptoe("page", "show", URL, "--text", "--at", str(second.id)).out
    at = first.fetched_at.isoformat()
    assert "4.1" in tiptoe("page", "show", URL, "--text", "--at", at).out
    early = tiptoe("page", "show", URL, "--at", "2001-01-01")
    assert early.code == 2
    assert "--at 2001-01-01: is before the first capture, of 2026-11-23 12:00" in early.err
    unknown = tiptoe("page", "show", URL, "--at", "777")
    assert "--at 777: is not a capture of this URL; tiptoe page show lists their numbers" in unknown.err


def test_which_crawl(tiptoe: Tiptoe, put: Deposit, engine: Engine) -> None:
    make_crawl(engine, "other")
    make_crawl(engine, "none")
    put(NEW)
    put(OLD, crawl="other")
    assert "4.1" in tiptoe("page", "show", URL, "--text").out, "the crawl that fetched it last"
    assert "4.2" in tiptoe("page", "show", URL, "--text", "--crawl", "docs").out
    none = tiptoe("page", "show", URL, "--crawl", "none")
    assert (none.code, none.err.count("\n")) == (2, 1)
    assert f"{URL}: crawl none has no capture of it in the archive; tiptoe url why {URL} says why" in none.err


def test_diff_shows_what_changed_and_what_is_beside_it(tiptoe: Tiptoe, put: Deposit) -> None:
    old, _, new = put(OLD), put(NEW), put(NEW, url=URL)
    ran = tiptoe("page", "diff", URL)
    assert (ran.code, ran.err) == (0, "")
    lines = ran.out.splitlines()
    assert lines[0] == f"{URL} in docs"
    assert lines[1].startswith(f"capture {old.id} of 2026-11-23 12:00:00")
    assert [line[:20] for line in lines[3:]] == [
        "… 1 passage as before",
        "  The first passage",
        "- Version 4.1 of the",
        "+ Version 4.2 of the",
        "  The last passage e",
    ] or [line[0] for line in lines[3:]] == ["…", " ", "-", "+", " "]
    assert steering(ran.out) == []
    document = tiptoe("page", "diff", URL, "--json").json
    assert (document["old"]["id"], document["new"]["id"]) == (old.id, new.id)
    changed = [change for change in document["changes"] if change["kind"] == "+"]
    assert [[each["text"][a:b] for a, b in each["marked"]] for each in changed] == [["4.2", "12"]]


def test_diff_of_two_that_are_named(tiptoe: Tiptoe, put: Deposit) -> None:
    first, second = put(OLD), put(NEW)
    back = tiptoe("page", "diff", URL, "--old", str(second.id), "--new", str(first.id))
    assert "+ Version 4.1" in back.out
    same = tiptoe("page", "diff", URL, "--old", str(first.id), "--new", str(first.id))
    assert same.out.endswith("the same text\n")


def test_colours_are_for_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    out.differing("+", "a new \x1b[31mword", [(2, 5)])
    assert capsys.readouterr().out == "+ a new \N{REPLACEMENT CHARACTER}[31mword\n"
    with redirect_stdout(Terminal()) as terminal:
        out.differing("+", "a new \x1b[31mword", [(2, 5)])
    said = terminal.getvalue()
    assert "\x1b[32m" in said
    assert "\x1b[4mnew" in said or "\x1b[32m\x1b[4mnew" in said
    assert "\x1b[31m" not in said


def test_list_has_pages_by_key(tiptoe: Tiptoe, put: Deposit) -> None:
    for n in range(5):
        put(OLD, url=f"http://site.test/{n}")
    put(NEW, url="http://site.test/1")
    put(OLD, url="http://site.test/robots.txt", kind=CaptureKind.ROBOTS)
    found = tiptoe("page", "list", "--crawl", "docs", "--json").json
    assert {(page["url"], page["captures"]) for page in found} == {
        (f"http://site.test/{n}", 2 if n == 1 else 1) for n in range(5)
    }
    some = tiptoe("page", "list", "--crawl", "docs", "--limit", "2")
    assert "… the first 2 pages; continue with --after http://site.test/" in some.err
    seen = [page["url"] for page in json.loads(tiptoe("page", "list", "--crawl", "docs", "--limit", "2", "--json").out)]
    rest = tiptoe("page", "list", "--crawl", "docs", "--after", seen[-1], "--json").json
    assert {page["url"] for page in rest} | set(seen) == {page["url"] for page in found}
    assert len(rest) == 3


# pattern → the pages that it names
@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("docs", ["/docs/a", "/docs/b_c"]),
        ("*/docs/*", ["/docs/a", "/docs/b_c"]),
        ("http://site.test/docs/b_c", ["/docs/b_c"]),
        ("*b?c", []),
        ("b_", ["/docs/b_c"]),
        ("b%", []),
        ("\\", []),
        ("*", ["/docs/a", "/docs/b_c", "/x?a=1"]),
        ("x?a", ["/x?a=1"]),
        ("%a" * 500, []),
        ("*a" * 500, []),
    ],
)
def test_list_by_pattern(tiptoe: Tiptoe, put: Deposit, pattern: str, found: list[str]) -> None:
    for path in ("/docs/a", "/docs/b_c", "/x?a=1"):
        put(OLD, url=f"http://site.test{path}")
    pages = tiptoe("page", "list", "--crawl", "docs", "--url", pattern, "--json").json
    assert sorted(page["url"].removeprefix("http://site.test") for page in pages) == found


def test_list_since(tiptoe: Tiptoe, put: Deposit) -> None:
    put(OLD)
    at = put(OLD, url="http://site.test/later").fetched_at.isoformat()
    pages = tiptoe("page", "list", "--crawl", "docs", "--since", at, "--json").json
    assert [page["url"] for page in pages] == ["http://site.test/later"]


# arguments → what is wrong, and what would do
@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["show", "http://site.test/"], "http://site.test/: no crawl has a capture of it in the archive"),
        (["show", "http://b.test/"], "http://b.test/: no crawl knows the host b.test; tiptoe host list shows those"),
        (["show", "nonsense://x"], "URL 'nonsense://x': "),
        (["show", URL, "--text", "--html"], "--html and --text: exclude each other; choose one"),
        (["show", URL, "--html", "--content", "full"], "--content full: is of a text; add --text or --markdown"),
        (["show", URL, "--at", "yesterday"], "--at yesterday: is not a moment; write 2026-11-01"),
        (["show", URL, "--at", "9" * 30], f"--at {'9' * 30}: is not a moment; write 2026-11-01"),
        (["show", URL, "--crawl", "nix"], "crawl nix: does not exist; there are: docs"),
        (["show", URL, "--out", "/proc/nowhere/x"], "/proc/nowhere/x: cannot be written"),
        (
            ["diff", URL],
            f"{URL}: has one capture of a page in docs; crawl it again, or name another crawl",
        ),
        (["diff", "http://site.test/"], "http://site.test/: no crawl has a capture of it in the archive"),
        (["list"], "Missing option '--crawl'; see tiptoe page list --help"),
        (["list", "--crawl", "nix"], "crawl nix: does not exist; there are: docs"),
        (["list", "--crawl", "docs", "--since", "soon"], "--since soon: is not a moment; write 2026-11-01"),
        (["list", "--crawl", "docs", "--limit", "0"], "--limit 0: is out of range; use 1 to 10,000"),
        (["list", "--crawl", "docs", "--after", "http://b.test/"], "http://b.test/: no crawl knows the host b.test"),
    ],
)
def test_bad_input_is_one_line_with_its_remedy(tiptoe: Tiptoe, put: Deposit, args: list[str], said: str) -> None:
    put(OLD)
    ran = tiptoe("page", *args)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert ran.err.startswith(f"tiptoe: {said}")


def test_a_segment_that_is_gone_is_one_line(tiptoe: Tiptoe, put: Deposit, tmp_path: Path) -> None:
    put(OLD)
    for file in (tmp_path / "home" / "archive").rglob("*.warc.gz*"):
        file.unlink()
    ran = tiptoe("page", "show", URL)
    assert (ran.code, ran.out, ran.err.count("\n")) == (1, "", 1)


def test_reread_renews_what_an_earlier_release_read_and_says_what_it_could_not(
    tiptoe: Tiptoe, put: Deposit, engine: Engine
) -> None:
    kept = put(OLD)
    where = {"h": kept.host_id, "c": kept.crawl_id, "u": URL}
    for url, key in ((URL, kept.key), (f"{URL}&lost", b"lost")):
        sql(engine, URL_ROW, **where | {"u": url, "k": key})
        sql(engine, PAGE_ROW, **where | {"u": url, "k": key, "b": kept.body_sha256})
    ran = tiptoe("page", "reread", "docs")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == ("docs: 1 page read again, 1 with another text; 1 not in the archive, or on another machine\n")
    rows = sql(engine, "SELECT title, reader FROM pages ORDER BY url")
    assert [tuple(row.values()) for row in rows] == [("News", READER), (None, None)]
    document = tiptoe("page", "reread", "docs", "--json").json
    assert (document["crawl"], document["pages"], document["missing"], document["left"]) == ("docs", 0, 1, 1)


def test_reread_names_a_crawl_that_is_not_there(tiptoe: Tiptoe) -> None:
    ran = tiptoe("page", "reread", "nope")
    assert (ran.code, ran.out) == (2, "")
    assert "nope" in ran.err
    assert len(ran.err.splitlines()) == 1
