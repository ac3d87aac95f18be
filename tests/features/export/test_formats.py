"""Files of each format, read back by others: json, csv, DuckDB, arro3; pandas where it is installed; PyYAML."""

import csv
import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import Any

import duckdb
import pytest
import yaml
from arro3.io import read_parquet
from hypothesis import given
from hypothesis import strategies as st

from app.features.export import formats, markdown
from app.features.export.columns import ColumnType, ExportColumn
from app.features.export.formats import ExportFormat
from app.features.export.rows import Row

AT = datetime(2026, 11, 23, 15, 30, 1, 234567, tzinfo=UTC)
COLUMNS = [
    ExportColumn("url", ColumnType.TEXT),
    ExportColumn("status", ColumnType.INTEGER),
    ExportColumn("seconds", ColumnType.REAL),
    ExportColumn("truncated", ColumnType.BOOLEAN),
    ExportColumn("at", ColumnType.TIME),
    ExportColumn("item", ColumnType.JSON),
]
NAMES = [column.name for column in COLUMNS]
FULL: Row = ('http://a.test/ä?b="c"', 200, 0.5, True, AT, {"price": 1.5, "tags": ["a"]})
LINES: Row = ("two\nlines, and a \r comma", 404, 1e300, False, AT, ["x"])
EMPTY: Row = (None,) * len(COLUMNS)
BATCHES = [[FULL, LINES], [EMPTY]]


def write(form: ExportFormat, path: Path, batches: Iterator[list[Row]] | None = None) -> Path:
    formats.writer(form)(path, COLUMNS, iter(BATCHES) if batches is None else batches)
    return path


def test_json_lines(tmp_path: Path) -> None:
    lines = write(ExportFormat.JSONL, tmp_path / "x").read_text().splitlines()
    shown = "2026-11-23T15:30:01.234567Z"
    expected = [dict(zip(NAMES, row, strict=True)) for row in (FULL, LINES, EMPTY)]
    assert [json.loads(line) for line in lines] == [{**row, "at": row["at"] and shown} for row in expected]


def test_csv(tmp_path: Path) -> None:
    path = write(ExportFormat.CSV, tmp_path / "x")
    with path.open(newline="") as file:
        header, full, lines, empty = csv.reader(file)
    assert header == NAMES
    assert full == [FULL[0], "200", "0.5", "true", AT.isoformat(), '{"price": 1.5, "tags": ["a"]}']
    assert (lines[0], lines[3]) == (LINES[0], "false")
    assert empty == [""] * len(COLUMNS)


def test_a_return_by_itself_does_not_end_a_record_of_csv(tmp_path: Path) -> None:
    """Readers take it for the end of a line, unless it is quoted."""
    path = write(ExportFormat.CSV, tmp_path / "x.csv", iter([[("old\rMac", *EMPTY[1:])], [FULL]]))
    with path.open(newline="") as file:
        assert [row[0] for row in csv.reader(file)] == ["url", "old\rMac", FULL[0]]
    with duckdb.connect() as connection:
        found = connection.execute(f"SELECT url FROM read_csv('{path}', header = true, strict_mode = true)").fetchall()
    assert found == [("old\rMac",), (FULL[0],)]


def test_parquet_is_typed_and_duckdb_reads_it(tmp_path: Path) -> None:
    path = write(ExportFormat.PARQUET, tmp_path / "x.parquet")
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        found = connection.execute(f"SELECT *, item::JSON->>'$.price' FROM '{path}'")
        assert [column[0] for column in found.description or ()][:-1] == NAMES
        types = connection.execute(f"SELECT column_type FROM (DESCRIBE FROM '{path}')").fetchall()
        rows = connection.execute(
            f"SELECT url, status, seconds, truncated, epoch_us(\"at\"), item FROM '{path}'"
        ).fetchall()
    assert [kind for (kind,) in types] == [
        "VARCHAR",
        "BIGINT",
        "DOUBLE",
        "BOOLEAN",
        "TIMESTAMP WITH TIME ZONE",
        "VARCHAR",
    ]
    micros = int(AT.timestamp()) * 1_000_000 + AT.microsecond
    assert rows == [
        (*FULL[:4], micros, '{"price": 1.5, "tags": ["a"]}'),
        (*LINES[:4], micros, '["x"]'),
        EMPTY,
    ]


@pytest.mark.parametrize(("name", "groups"), [("title", 1), ("text", 3), ("html", 25), ("data", 3)])
def test_a_group_of_parquet_has_the_fewer_rows_the_more_they_hold(tmp_path: Path, name: str, groups: int) -> None:
    """What waits for the end of its group is in proportion to a batch: a site decides how long texts and bodies are."""
    columns = [ExportColumn("url", ColumnType.TEXT), ExportColumn(name, ColumnType.TEXT)]
    rows = [[(f"http://h.test/{n}", "x") for n in range(lot, lot + 50)] for lot in range(0, 5_000, 50)]
    formats.writer(ExportFormat.PARQUET)(tmp_path / "x.parquet", columns, iter(rows))
    with duckdb.connect() as connection:
        query = f"SELECT count(DISTINCT row_group_id), sum(num_values) FROM parquet_metadata('{tmp_path}/x.parquet')"
        assert connection.execute(query).fetchone() == (groups, 10_000)


def test_pandas_reads_parquet(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    frame = pandas.read_parquet(write(ExportFormat.PARQUET, tmp_path / "x.parquet"))
    assert list(frame.columns) == NAMES
    assert frame.url[0] == FULL[0]
    assert frame["at"][0] == pandas.Timestamp(AT)


@pytest.mark.parametrize("form", [ExportFormat.JSONL, ExportFormat.CSV, ExportFormat.PARQUET])
def test_nothing_to_export_is_a_file_too(tmp_path: Path, form: ExportFormat) -> None:
    path = write(form, tmp_path / "x", iter(()))
    if form is ExportFormat.PARQUET:
        assert read_parquet(path).schema.names == NAMES
    else:
        assert path.read_text() == ("" if form is ExportFormat.JSONL else ",".join(NAMES) + "\n")


@pytest.mark.parametrize("form", [ExportFormat.JSONL, ExportFormat.CSV, ExportFormat.PARQUET])
def test_a_full_disk_is_an_error_of_the_system(form: ExportFormat) -> None:
    with pytest.raises(OSError, match="No space left"):
        write(form, Path("/dev/full"))


class _Gone(Exception):
    pass


@pytest.mark.parametrize("form", [ExportFormat.JSONL, ExportFormat.CSV, ExportFormat.PARQUET])
def test_what_ends_the_rows_ends_the_file(tmp_path: Path, form: ExportFormat) -> None:
    def rows() -> Iterator[list[Row]]:
        yield [FULL]
        raise _Gone

    with pytest.raises(_Gone):
        write(form, tmp_path / "x", rows())


PAGE: dict[str, Any] = {
    "url": "http://a.test/docs/Über uns?q=1",
    "title": 'He said: "no" # yes',
    "description": None,
    "fetched_at": AT,
    "status": 200,
    "key": "0123456789abcdef",
    "text": "plain",
    "markdown": "# Title\n\n- one\n",
}


def test_a_page_as_markdown() -> None:
    name, text = markdown.file_of(PAGE)
    _, front, content = text.split("---\n", 2)
    assert yaml.safe_load(front) == {
        "url": PAGE["url"],
        "title": PAGE["title"],
        "fetched_at": AT.replace(microsecond=0),
        "status": 200,
    }
    assert content == "\n# Title\n\n- one\n"
    assert name == "http_a.test/docs/Über-uns-q-1-0123456789ab.md"


@pytest.mark.parametrize(
    "sign", ["\x7f", "\x85", "\x96", "\u2028", "\u2029", "\ufeff", "\ufffe", "\U0001f600", "\u00e9", "\\"]
)
def test_a_title_is_read_back_as_it_was(sign: str) -> None:
    """YAML takes fewer characters than JSON does, and than sites write: \x96 was a dash in windows-1252."""
    title = f"one {sign} two"
    _, front, _ = markdown.file_of({**PAGE, "title": title})[1].split("---\n", 2)
    assert yaml.safe_load(front)["title"] == title


# URL → the file's name; {key}: the hash of the URL, {…}: that of the part before
@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://a.test/", "a.test/index.md"),
        ("https://a.test/docs", "a.test/docs.md"),
        ("https://a.test/docs/", "a.test/docs/index.md"),
        ("https://a.test/docs/a.html", "a.test/docs/a.html.md"),
        ("http://a.test/x", "http_a.test/x.md"),
        ("http://a.test:8080/x", "http_a.test_8080/x.md"),
        ("https://a.test/docs/index", "a.test/docs/index-{key}.md"),
        ("https://a.test/Docs/x", "a.test/Docs-{…}/x.md"),
        ("https://a.test/X", "a.test/X-{key}.md"),
        ("https://a.test/x.md/y", "a.test/x.md-{…}/y.md"),
        ("https://a.test/x.md", "a.test/x.md.md"),
        ("https://a.test/x?q=1", "a.test/x-q-1-{key}.md"),
        ("https://a.test/%2e%2e/%2e%2e/etc/passwd", "a.test/_-{…}/_-{…}/etc/passwd.md"),
        ("https://a.test/a%5cb", "a.test/a-b-{key}.md"),
        ("https://a.test/a%00b", "a.test/a-b-{key}.md"),
        ("https://a.test/a%2Fb", "a.test/a-b-{key}.md"),
        ("https://a.test/.htaccess", "a.test/htaccess-{key}.md"),
        ("https://a.test/nul.txt", "a.test/nul.txt-{key}.md"),
        ("https://a.test/con/x", "a.test/con-{…}/x.md"),
        ("https://a.test/a./x", "a.test/a-{…}/x.md"),
        ("https://a.test//x", "a.test/_-{…}/x.md"),
        ("https://a.test/" + "long" * 100, "a.test/" + "long" * 20 + "-{key}.md"),
        ("https://a.test/" + "%C3%BC" * 200 + "/x", "a.test/" + "ü" * 40 + "-{…}/x.md"),
        ("https://a.test/" + "x/" * 40, "a.test/" + "x/" * 16 + "_-{key}.md"),
        ("http://[::1]/a", "http_1-{…}/a.md"),
        ("https://my_blog.test/a", "my_blog.test-{…}/a.md"),
    ],
)
def test_names_are_fit_for_a_file_system(url: str, name: str) -> None:
    found, _ = markdown.file_of({**PAGE, "url": url})
    pattern = re.escape(name).replace(r"\{…\}", "[0-9a-f]{12}").replace(r"\{key\}", "0123456789ab")
    assert re.fullmatch(pattern, found), found


@given(st.lists(st.text("aA./%2e5cöN\\\x00?_-:md", max_size=12), min_size=1, max_size=6, unique=True))
def test_no_two_urls_have_one_file_and_none_leaves_the_folder(paths: list[str]) -> None:
    urls = {f"https://a.test/{path}" for path in paths} | {f"http://a.test/{path}" for path in paths}
    names = {url: markdown.file_name(url, sha256(url.encode()).hexdigest()) for url in urls}
    assert len({name.casefold() for name in names.values()}) == len(urls), names
    files = {name.casefold() for name in names.values()}
    folders = {str(folder) for name in files for folder in PurePosixPath(name).parents}
    assert files & folders == set()
    for name in names.values():
        parts = name.split("/")
        assert not {"", ".", ".."} & set(parts), name
        assert all(len(part.encode()) <= 255 and "\0" not in part and "\\" not in part for part in parts), name


def test_a_page_without_a_body_has_its_text() -> None:
    assert markdown.file_of({**PAGE, "markdown": None})[1].endswith("---\n\nplain\n")


# a cell → as it is written for a spreadsheet
CELLS = [
    ("=HYPERLINK(A1)", "'=HYPERLINK(A1)"),
    ("+1", "'+1"),
    ("-cmd|' /C calc'!A0", "'-cmd|' /C calc'!A0"),
    ("@SUM(A1)", "'@SUM(A1)"),
    ("\t=1", "'\t=1"),
    ("\r\n =1", "'\r\n =1"),
    ("＝1", "'＝1"),
    ("http://a.test/=1", "http://a.test/=1"),
    ("", ""),
]


@pytest.mark.parametrize(("cell", "written"), CELLS)
def test_cells_that_a_spreadsheet_would_run(tmp_path: Path, cell: str, written: str) -> None:
    """Texts of sites, in any column of text; numbers are ours."""
    rows: list[Row] = [(cell, -1, -0.5, True, AT, cell)]
    for spreadsheet, wanted in [(True, written), (False, cell)]:
        formats.writer(ExportFormat.CSV, spreadsheet=spreadsheet)(tmp_path / "pages.csv", COLUMNS, iter([rows]))
        with (tmp_path / "pages.csv").open(encoding="utf-8", newline="") as file:
            header, (url, status, seconds, _, _, item) = csv.reader(file)
        assert header == NAMES
        assert (url, item) == (wanted, wanted)
        assert (status, seconds) == ("-1", "-0.5")
