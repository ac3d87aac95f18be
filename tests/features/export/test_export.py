"""Exports of planted rows: every row of the crawl once, whatever the format, the parts and the crash in between."""

import json
import os
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pytest

from app.errors import InputError
from app.store import db, pages
from app.store.pages import Revision
from tests.features.export.conftest import HOSTS, PAGES, Planted
from tests.store.rows import one, sql

ALL = HOSTS * PAGES
NOON = datetime(2026, 11, 23, 12, tzinfo=UTC)


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def parts(folder: Path) -> list[dict[str, Any]]:
    return [row for path in sorted(folder.glob("part-*.jsonl")) for row in lines(path)]


def urls_of(planted: Planted, crawl: str = "docs") -> list[str]:
    query = "SELECT url FROM pages WHERE crawl_id = (SELECT id FROM crawls WHERE name = :crawl) ORDER BY url"
    return [row["url"] for row in sql(planted.engine, query, crawl=crawl)]


@pytest.mark.parametrize("what", ["pages", "fetches"])
def test_a_file_has_every_row_of_the_crawl_once(planted: Planted, what: str) -> None:
    done = planted.export(what, "all.jsonl")
    rows = lines(planted.folder / "all.jsonl")
    assert sorted(row["url"] for row in rows) == urls_of(planted)
    assert (done.rows, done.parts, done.is_resumed) == (ALL, ["all.jsonl"], False)
    assert [path.name for path in planted.folder.iterdir()] == ["all.jsonl"]


@pytest.mark.parametrize("what", ["pages", "fetches"])
@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_duckdb_reads_what_is_exported(planted: Planted, what: str, form: str) -> None:
    planted.export(what, f"all.{form}")
    with duckdb.connect() as connection:
        found = connection.execute(f"SELECT url FROM '{planted.folder}/all.{form}' ORDER BY url").fetchall()
        times = connection.execute(
            f"SELECT typeof(COLUMNS('fetched_at|started_at')) FROM '{planted.folder}/all.{form}' LIMIT 1"
        ).fetchone()
    assert [url for (url,) in found] == urls_of(planted)
    assert set(times or ()) == {"TIMESTAMP WITH TIME ZONE"}


@pytest.mark.parametrize("form", ["jsonl", "csv", "parquet"])
@pytest.mark.parametrize(
    ("written", "number"), [("1e30", 1e30), ("1" + "0" * 308, 1e308), (str(2**64), 2.0**64), (str(-(2**63)), -(2**63))]
)
def test_a_number_of_a_page_is_no_matter_of_others(planted: Planted, form: str, written: str, number: float) -> None:
    """Postgres gives what a page wrote as 1e30 as an integer of 31 digits."""
    sql(planted.engine, "UPDATE pages SET data = CAST(:data AS jsonb)", data=f'{{"json-ld": [{{"sku": {written}}}]}}')
    try:
        assert planted.export("pages", f"all.{form}", columns=("url", "data")).rows == ALL
    finally:
        sql(planted.engine, "UPDATE pages SET data = NULL")
    if form == "jsonl":
        assert {row["data"]["json-ld"][0]["sku"] for row in lines(planted.folder / "all.jsonl")} == {number}


def test_columns_in_their_order_texts_only_where_asked_for(planted: Planted) -> None:
    planted.export("pages", "few.jsonl", columns=("title", "url", "text", "host", "links"))
    row = lines(planted.folder / "few.jsonl")[0]
    assert list(row) == ["title", "url", "text", "host", "links"]
    number = row["url"].rpartition("-")[2]
    assert row == {**row, "title": f"Page {number}", "text": f"Text of {number}", "links": int(number)}
    assert row["url"].startswith(f"http://{row['host']}/")
    planted.export("pages", "usual.jsonl")
    assert {"text", "markdown"} < lines(planted.folder / "usual.jsonl")[0].keys()
    planted.export("pages", "added.jsonl", columns=("+text", "+key"))
    assert list(lines(planted.folder / "added.jsonl")[0])[-2:] == ["text", "key"]
    planted.export("pages", "usual.csv")
    assert "text" not in (planted.folder / "usual.csv").read_text().splitlines()[0].split(",")


def test_a_duplicate_says_of_which_page(planted: Planted) -> None:
    page = sql(planted.engine, "SELECT * FROM pages WHERE crawl_id = 1 LIMIT 1")[0]
    note = "INSERT INTO duplicates (host_id, crawl_id, key, url, kind, of_url) VALUES (:host, 1, :key, 'u', 'body', 'http://o/')"
    sql(planted.engine, note, host=page["host_id"], key=page["key"])
    planted.export("pages", "x.jsonl", columns=("url", "duplicate_of"))
    assert [row["url"] for row in lines(planted.folder / "x.jsonl") if row["duplicate_of"] == "http://o/"] == [
        page["url"]
    ]
    assert planted.export("pages", "y.jsonl", where=("duplicate=yes",)).rows == 1
    assert planted.export("pages", "z.jsonl", where=("duplicate=no",)).rows == ALL - 1
    sql(planted.engine, "DELETE FROM duplicates")


# what, filters, rows of the crawl
@pytest.mark.parametrize(
    ("what", "where", "rows"),
    [
        ("pages", ["status=203"], 12),
        ("pages", ["status=203", "status=200"], ALL),
        ("pages", ["language=en"], 60),
        ("pages", ["language=en-gb"], 30),
        ("pages", ["language=fr"], 0),
        ("pages", ["type=text/html"], ALL),
        ("pages", ["type=text/plain"], 0),
        ("pages", ["host=H1.test"], PAGES),
        ("pages", ["url~/page-1$"], 3),
        ("pages", ["url~-1$", "url~-2$", "host=h0.test"], 2),
        ("fetches", ["status=203", "host=h2.test"], 4),
        ("fetches", ["outcome=page"], ALL),
        ("fetches", ["outcome=gone"], 0),
        ("fetches", ["kind=page", "url~h1.*-39$"], 1),
    ],
)
def test_filters(planted: Planted, what: str, where: list[str], rows: int) -> None:
    assert planted.export(what, "x.jsonl", where=tuple(where)).rows == rows
    assert len(lines(planted.folder / "x.jsonl")) == rows


@pytest.mark.parametrize(
    ("field", "type_"),
    [
        ("text/html", "text/html"),
        ("Text/HTML ;charset=utf-8", "text/html"),
        ("text/html charset=utf-8", "text/html"),
        ('"text/html"', "text/html"),
        ("html", "text/html"),
        ("*/*", "text/html"),
        ("charset=utf-8", "text/html"),
        ("", "text/html"),
        (None, "text/html"),
        ("application/octet-stream, text/html", "text/html"),
        ("application/xml", "application/xhtml+xml"),
        ("application/atom+xml;x=y", "text/html"),
        ("application/xhtml+xml", "text/html"),
        ("text/html, text/markdown", "text/markdown"),
        ("text/x-rst; charset=x", "text/x-rst"),
    ],
)
def test_a_type_is_read_as_the_page_was(planted: Planted, field: str | None, type_: str) -> None:
    sql(planted.engine, "UPDATE pages SET content_type = :field", field=field)
    try:
        assert planted.export("pages", "x.jsonl", where=(f"type={type_}",)).rows == ALL
        assert planted.export("pages", "y.jsonl", where=("type=text/calendar",)).rows == 0
        assert planted.export("pages", "parts/", where=(f"type={type_}",), part_rows=50).rows == ALL
    finally:
        sql(planted.engine, "UPDATE pages SET content_type = 'text/html; charset=utf-8'")


@pytest.mark.parametrize(("what", "rows"), [("pages", 11), ("fetches", 10)])  # a request starts a second earlier
def test_since(planted: Planted, what: str, rows: int) -> None:
    assert planted.export(what, "x.csv", since=NOON - timedelta(minutes=10)).rows == rows * HOSTS


def test_an_increment_has_what_a_304_took_back(planted: Planted) -> None:
    page = sql(planted.engine, "SELECT * FROM pages JOIN crawls ON crawls.id = crawl_id WHERE name = 'other' LIMIT 1")[
        0
    ]
    taken_back = Revision(
        host_id=page["host_id"],
        crawl_id=page["crawl_id"],
        key=page["key"],
        directives="noarchive",
        opt_out="tdm-reservation",
        noarchive=True,
    )
    since = one(planted.engine, "SELECT clock_timestamp()")
    with db.transaction(planted.engine) as tx:
        pages.revise(tx, [taken_back])
    planted.export("pages", "x.jsonl", crawl="other", since=since, columns=("url", "opt_out", "text"))
    assert lines(planted.folder / "x.jsonl") == [{"url": page["url"], "opt_out": "tdm-reservation", "text": None}]


def test_the_next_increment_begins_before_this_one(planted: Planted) -> None:
    before = one(planted.engine, "SELECT clock_timestamp()")
    done = planted.export("pages", "x.csv")
    after = one(planted.engine, "SELECT clock_timestamp()")
    assert before - timedelta(minutes=11) < done.next_since < after - timedelta(minutes=9)


# rows of a part → the parts
@pytest.mark.parametrize(("part_rows", "sizes"), [(50, [50, 50, 20]), (60, [60, 60]), (500, [ALL])])
def test_parts(planted: Planted, part_rows: int, sizes: list[int]) -> None:
    done = planted.export("pages", "parts", part_rows=part_rows)
    assert done.parts == [f"part-{number:05}.jsonl" for number in range(1, len(sizes) + 1)]
    assert [len(lines(planted.folder / "parts" / name)) for name in done.parts] == sizes
    assert sorted(row["url"] for row in parts(planted.folder / "parts")) == urls_of(planted)
    assert planted.export("pages", "none", where=("status=500",)).parts == ["part-00001.jsonl"]


@pytest.mark.parametrize(("to", "whole"), [("x.jsonl", "x.jsonl"), ("parts", "parts/part-00001.jsonl")])
def test_a_place_has_one_export_at_a_time(planted: Planted, to: str, whole: str) -> None:
    """Two would write one draft, and leave a file of both."""
    refused: list[str] = []

    def tell(rows: int) -> None:
        with pytest.raises(InputError, match="is being written by another export; wait for it") as raised:
            planted.export("pages", to)
        refused.append(str(raised.value))
        planted.export("fetches", "beside.jsonl")

    planted.export("pages", to, tell=tell)
    assert refused
    assert sorted(row["url"] for row in lines(planted.folder / whole)) == urls_of(planted)
    assert planted.export("pages", "x.jsonl").rows == ALL


@pytest.mark.parametrize("form", ["jsonl", "csv", "parquet"])
@pytest.mark.parametrize("make", [Path.symlink_to, Path.hardlink_to, lambda path, _: os.mkfifo(path)])
@pytest.mark.parametrize("name", ["out.{}", "parts/part-00001.{}", "state/export.json"])
def test_what_another_user_put_in_the_way_is_not_written_to(
    planted: Planted, form: str, make: Callable[[Path, Path], None], name: str
) -> None:
    """In a folder that both may write to: a file that its owner alone may write, or a pipe that nobody reads."""
    mine = planted.folder / "mine"
    mine.write_text("mine")
    path = planted.folder / name.format(form)
    path.parent.mkdir(exist_ok=True)
    make(path.with_name(f".{path.name}.part"), mine)
    to = path if path.parent == planted.folder else path.parent
    with pytest.raises(InputError, match=rf"--to {re.escape(str(to.parent))}.*: cannot be written \(.*\);"):
        planted.export("pages", str(to), form=form)
    assert mine.read_text() == "mine"
    assert not path.exists()


class _Killed(Exception):
    pass


def killed_after(rows: int) -> Callable[[int], None]:
    def tell(so_far: int) -> None:
        if so_far >= rows:
            raise _Killed

    return tell


@pytest.mark.parametrize(("what", "form"), [("pages", "jsonl"), ("pages", "parquet"), ("fetches", "jsonl")])
@pytest.mark.parametrize("after", [1, 30, 60, 119])
def test_the_same_command_goes_on_behind_the_last_whole_part(
    planted: Planted, what: str, form: str, after: int
) -> None:
    wish: dict[str, Any] = {"part_rows": 30, "form": form}
    with pytest.raises(_Killed):
        planted.export(what, "parts", tell=killed_after(after), **wish)
    folder = planted.folder / "parts"
    whole = {path: path.stat().st_mtime_ns for path in folder.glob("part-*")}
    assert len(whole) == (after - 1) // 30
    done = planted.export(what, "parts", **wish)
    assert (done.rows, len(done.parts), done.is_resumed) == (ALL, 4, bool(whole))
    assert {path: path.stat().st_mtime_ns for path in whole} == whole
    with duckdb.connect() as connection:
        read = "read_json" if form == "jsonl" else "read_parquet"
        found = connection.execute(f"SELECT url FROM {read}('{folder}/part-*') ORDER BY url").fetchall()
    assert [url for (url,) in found] == urls_of(planted)
    assert [path.name for path in folder.glob(".*")] == []


def test_how_long_ago_is_said_once(planted: Planted) -> None:
    """The same command, given later, goes on with what the first one began."""
    state = planted.folder / "parts" / "export.json"
    with pytest.raises(_Killed):
        planted.export("pages", "parts", part_rows=30, since="999w", tell=killed_after(31))
    since = json.loads(state.read_text())["since"]
    done = planted.export("pages", "parts", part_rows=30, since="999W")
    assert (done.is_resumed, json.loads(state.read_text())["since"]) == (True, since)


def test_a_folder_of_another_export_is_left_alone(planted: Planted) -> None:
    with pytest.raises(_Killed):
        planted.export("pages", "parts", part_rows=30, tell=killed_after(31))
    with pytest.raises(InputError, match=r"holds another export .*; name another folder"):
        planted.export("pages", "parts", where=("status=200",))
    planted.export("pages", "parts", part_rows=30)
    with pytest.raises(InputError, match=r"holds this export already; .* --since 20"):
        planted.export("pages", "parts", part_rows=30)


def test_a_damaged_state_is_named(planted: Planted) -> None:
    (planted.folder / "parts").mkdir()
    (planted.folder / "parts" / "export.json").write_text("{")
    with pytest.raises(InputError, match=r"export.json in .*parts: cannot be read"):
        planted.export("pages", "parts")


def test_an_old_file_stays_until_the_new_one_is_whole(planted: Planted) -> None:
    (planted.folder / "all.csv").write_text("old")
    with pytest.raises(_Killed):
        planted.export("pages", "all.csv", tell=killed_after(1))
    assert [path.name for path in planted.folder.iterdir()] == ["all.csv"]
    assert (planted.folder / "all.csv").read_text() == "old"
    planted.export("pages", "all.csv")
    assert (planted.folder / "all.csv").read_text().startswith("url,host,")


def test_markdown_of_pages_without_archive_is_their_text(planted: Planted) -> None:
    done = planted.export("pages", "book", form="markdown")
    assert (done.rows, done.missing) == (ALL, ALL)
    files = sorted(path.relative_to(planted.folder / "book") for path in planted.folder.glob("book/*/*.md"))
    assert len(files) == ALL
    text = (planted.folder / "book" / files[0]).read_text()
    assert text.startswith('---\nurl: "http://h0.test/page-0"\ntitle: "Page 0"\n')
    assert text.endswith("---\n\nText of 0\n")


# wish, words of the error
@pytest.mark.parametrize(
    ("wish", "words"),
    [
        ({"crawl": "nope"}, ("crawl nope", "other, docs")),
        ({"where": ("url~(",)}, ("--where url~(", "regular expression")),
        ({"part_rows": 0}, ("--part-rows 0", "1 or more")),
        ({"form": "markdown", "what": "fetches"}, ("--format markdown", "is for pages")),
    ],
)
def test_what_cannot_be_exported(planted: Planted, wish: dict[str, Any], words: tuple[str, ...]) -> None:
    given = {"what": "pages", "to": "x", **wish}
    with pytest.raises(InputError) as caught:
        planted.export(given.pop("what"), given.pop("to"), **given)
    assert [word for word in words if word not in str(caught.value)] == []
    assert list(planted.folder.iterdir()) == []
