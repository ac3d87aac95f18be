"""`tiptoe export`: what it writes and says, and what it refuses in one line with the remedy."""

import json
import re
import resource
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Tiptoe
from tests.crawl.web import Site


def test_a_crawl_becomes_a_file(tiptoe: Tiptoe, site: Site, tmp_path: Path) -> None:
    ran = tiptoe("export", "pages", "--crawl", "docs", "--to", "pages.jsonl", "--columns", "url,text")
    assert ran.code == 0, ran.err
    rows = [json.loads(line) for line in (tmp_path / "pages.jsonl").read_text().splitlines()]
    assert {row["url"] for row in rows} == {site.url("/"), site.url("/a")}
    assert next(row["text"] for row in rows if row["url"] == site.url("/a")) == "Words of its own."
    first, second = ran.out.splitlines()
    assert first.startswith("2 pages to pages.jsonl, in ")
    assert second.startswith("next increment: --since 20")


def test_json_says_what_was_written(tiptoe: Tiptoe, site: Site, tmp_path: Path) -> None:
    ran = tiptoe("export", "fetches", "--crawl", "docs", "--to", "log", "--format", "csv", "--part-rows", "2", "--json")
    assert (ran.json["what"], ran.json["to"], ran.json["missing"], ran.json["resumed"]) == ("fetches", "log", 0, False)
    assert ran.json["parts"] == sorted(path.name for path in (tmp_path / "log").glob("part-*.csv"))
    assert ran.json["rows"] >= 3
    since = ran.json["next_since"]
    later = tiptoe("export", "fetches", "--crawl", "docs", "--to", "more.csv", "--since", since, "--json")
    assert later.json["rows"] == ran.json["rows"]  # it was crawled within the overlap
    ago = tiptoe("export", "fetches", "--crawl", "docs", "--to", "ago.csv", "--since", "7d", "--json")
    assert ago.json["rows"] == ran.json["rows"]


def test_the_summary_agrees_with_its_counts(tiptoe: Tiptoe, site: Site) -> None:
    ran = tiptoe("export", "pages", "--crawl", "docs", "--to", "one", "--where", "url~/a$", "--format", "markdown")
    assert ran.out.startswith("1 page to one, in ")


def test_a_crawl_that_keeps_links_and_has_none_yet_has_nothing_to_export(tiptoe: Tiptoe, site: Site) -> None:
    tiptoe("crawl", "edit", "docs", "--keep-links")
    ran = tiptoe("export", "links", "--crawl", "docs", "--to", "links.csv")
    tiptoe("crawl", "edit", "docs", "--no-keep-links")
    assert (ran.code, ran.out.partition(",")[0]) == (0, "0 links to links.csv")


def test_items_of_a_crawl_that_no_handler_ran_over_say_so(tiptoe: Tiptoe, site: Site) -> None:
    ran = tiptoe("export", "items", "--crawl", "docs", "--to", "items.csv")
    assert (ran.code, ran.out.partition(",")[0]) == (0, "0 items to items.csv")
    assert ran.err == "no handler ran over docs yet: tiptoe extract run HANDLER --crawl docs\n"


def test_nothing_found_names_the_host_that_there_is_not(tiptoe: Tiptoe, site: Site) -> None:
    ran = tiptoe("export", "pages", "--crawl", "docs", "--to", "pages.csv", "--where", "host=nope.test")
    assert (ran.code, ran.out.partition(",")[0]) == (0, "0 pages to pages.csv")
    assert ran.err == "host nope.test: no crawl has met it; `tiptoe host list` names those that are known\n"


# arguments after `export`, words of the line
BAD = [
    (("urls", "--crawl", "docs", "--to", "x"), ("export urls", "pages, fetches, links, items")),
    (("pages", "--crawl", "nope", "--to", "x"), ("crawl nope", "docs")),
    (("pages", "--crawl", "docs", "--to", "x.csv", "--content", "full"), ("--content full", "add --columns +text")),
    (("pages", "--crawl", "docs", "--to", "x", "--format", "xlsx"), ("--format xlsx", "jsonl, csv, parquet, markdown")),
    (("pages", "--crawl", "docs", "--to", "x", "--columns", "titel"), ("--columns titel", "did you mean title?")),
    (("pages", "--crawl", "docs", "--to", "x", "--where", "colour=red"), ("--where colour=red", "language=…")),
    (("pages", "--crawl", "docs", "--to", "x", "--where", "url~["), ("--where url~[", "regular expression")),
    (("pages", "--crawl", "docs", "--to", "x", "--since", "soon"), ("--since soon", "2026-11-01", "7d")),
    (("pages", "--crawl", "docs", "--to", "x", "--part-rows", "0"), ("--part-rows 0", "1 or more")),
    (("pages", "--crawl", "docs", "--to", "/proc/x/"), ("--to /proc/x", "cannot be written", "another folder")),
    (("pages", "--crawl", "docs", "--to", "x.txt"), ("--to x.txt", "a file that ends in .jsonl, .csv or .parquet")),
    (("pages", "--crawl", "docs", "--to", "x.txt", "--format", "csv"), ("--to x.txt", "or a file that ends in .csv")),
    (
        ("links", "--crawl", "docs", "--to", "x"),
        ("crawl docs", "tiptoe crawl edit docs --keep-links, then tiptoe crawl start docs --again"),
    ),
    (("pages", "--crawl", "docs", "--to", "http://h/x"), ("--to http://h/x", "s3://bucket/prefix/")),
    (("links", "--crawl", "docs", "--to", "x", "--format", "markdown"), ("--format markdown", "is for pages")),
    (("pages", "--crawl", "docs"), ("--to", "tiptoe export --help")),
]


@pytest.mark.parametrize(("arguments", "words"), BAD, ids=[" ".join(arguments) for arguments, _ in BAD])
def test_bad_input_is_one_line(tiptoe: Tiptoe, site: Site, arguments: tuple[str, ...], words: tuple[str, ...]) -> None:
    ran = tiptoe("export", *arguments)
    assert ran.code == 2
    (line,) = ran.err.splitlines()
    assert line.startswith("tiptoe: ")
    assert [word for word in words if word not in line] == []


# module that is missing → arguments, words of the line
MISSING = [
    ("arro3.core", ("--format", "parquet"), "-m pip install 'arro3-core"),
    ("html_to_markdown", ("--columns", "url,markdown"), "-m pip install 'html-to-markdown"),
    ("obstore", ("--to", "s3://b/x/"), "-m pip install 'obstore"),
]


@pytest.mark.parametrize(("module", "arguments", "words"), MISSING, ids=[module for module, _, _ in MISSING])
def test_an_extra_that_is_missing(
    tiptoe: Tiptoe, site: Site, monkeypatch: pytest.MonkeyPatch, module: str, arguments: tuple[str, ...], words: str
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    ran = tiptoe("export", "pages", "--crawl", "docs", "--to", "x", *arguments)
    assert (ran.code, len(ran.err.splitlines())) == (2, 1), ran.err
    assert words in ran.err


def test_a_full_disk_is_one_line(tiptoe: Tiptoe, site: Site, tmp_path: Path) -> None:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, before[1]))
    try:
        ran = tiptoe("export", "pages", "--crawl", "docs", "--to", "pages.csv")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert (ran.code, len(ran.err.splitlines())) == (2, 1), ran.err
    assert re.search(r"cannot be written \(.+\); free space or name another place", ran.err)
    assert not list(tmp_path.glob("*pages.csv*"))
