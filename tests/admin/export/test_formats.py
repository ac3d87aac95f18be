"""Files of each format, read back by others: json, csv, DuckDB, arro3; pandas where it is installed; PyYAML."""

import csv
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import pytest
import yaml
from arro3.io import read_parquet

from app.admin.export import formats, markdown
from app.admin.export.columns import ColumnType, ExportColumn
from app.admin.export.formats import ExportFormat
from app.admin.export.rows import Row

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
    assert name == "a.test/docs-Über-uns-q-1-0123456789ab.md"


@pytest.mark.parametrize("title", ["a\x7fb", "a\x92s", "a\x85b", "a\u2028b", "\ufeffa", "a\ufffeb", "tab\t", "😀 \\ é"])
def test_front_matter_holds_what_yaml_does_not_print(title: str) -> None:
    _, text = markdown.file_of({**PAGE, "title": title})
    assert yaml.safe_load(text.split("---\n", 2)[1])["title"] == title


# URL → the file's name, without the hash
@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("http://a.test/", "a.test/index"),
        ("http://a.test:8080/x", "a.test-8080/x"),
        ("http://a.test/../../etc/passwd", "a.test/etc-passwd"),
        ("http://a.test/" + "long" * 100, "a.test/" + "long" * 20),
        ("http://[::1]/a", "-1-/a"),
    ],
)
def test_names_are_fit_for_a_file_system(url: str, name: str) -> None:
    found, _ = markdown.file_of({**PAGE, "url": url})
    assert found == f"{name}-0123456789ab.md"


def test_a_page_without_a_body_has_its_text() -> None:
    assert markdown.file_of({**PAGE, "markdown": None})[1].endswith("---\n\nplain\n")
