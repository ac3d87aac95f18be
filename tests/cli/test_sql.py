"""`tiptoe sql`: tables cut, JSON and CSV whole, nothing written, and Postgres' objections in one line with a remedy."""

import csv
import io

import pytest

from tests.cli.conftest import Tiptoe

ROWS = "SELECT n, repeat('x', 100) AS long, '\\x00ff'::bytea AS bytes FROM generate_series(1, 2) AS n"


def test_a_table_cuts_long_cells(tiptoe: Tiptoe) -> None:
    lines = tiptoe("sql", ROWS).out.splitlines()
    assert len(lines) == 3
    assert lines[1].split() == ["1", "x" * 79 + "…", "00ff"]


def test_json_is_one_document_with_everything(tiptoe: Tiptoe) -> None:
    assert tiptoe("sql", ROWS, "--json").json == [{"n": n, "long": "x" * 100, "bytes": "00ff"} for n in (1, 2)]


def test_csv_has_a_header_and_everything(tiptoe: Tiptoe) -> None:
    rows = list(csv.reader(io.StringIO(tiptoe("sql", ROWS, "--csv").out)))
    assert rows == [["n", "long", "bytes"], ["1", "x" * 100, "00ff"], ["2", "x" * 100, "00ff"]]


# query → its one value in JSON
@pytest.mark.parametrize(
    ("query", "value"),
    [
        ("SELECT 'a%b' LIKE '%%b' AS v", True),
        ("SELECT ':x %s' AS v", ":x %s"),
        ("SELECT now() = now() AS v;", True),
        ("SELECT NULL AS v", None),
        ("SELECT 1.50 AS v", 1.5),
        ("SELECT '2026-01-31 12:00+00'::timestamptz AT TIME ZONE 'UTC' AS v", "2026-01-31T12:00:00"),
        ("SELECT ARRAY['a', NULL] AS v", ["a", None]),
        ("SELECT '{\"a\": [1]}'::jsonb AS v", {"a": [1]}),
        ("SELECT '192.0.2.1'::inet AS v", "192.0.2.1"),
        ("WITH a AS (SELECT 1 AS v) SELECT * FROM a", 1),
        ("VALUES (1)", 1),
        ("SELECT CAST('interval' AS text) AS v", "interval"),
    ],
)
def test_values(tiptoe: Tiptoe, query: str, value: object) -> None:
    (row,) = tiptoe("sql", query, "--json").json
    assert list(row.values()) == [value]


@pytest.mark.parametrize(
    "query", ["EXPLAIN SELECT 1", "SHOW server_version", "TABLE crawls", "SELECT * FROM v_crawl_progress"]
)
def test_what_else_brings_rows(tiptoe: Tiptoe, query: str) -> None:
    assert tiptoe("sql", query).code == 0


def test_nothing_found(tiptoe: Tiptoe) -> None:
    assert tiptoe("sql", "SELECT 1 AS one WHERE false").out == "one\n"
    assert tiptoe("sql", "SELECT 1 AS one WHERE false", "--json").json == []
    assert tiptoe("sql", "SELECT 1 AS one WHERE false", "--csv").out == "one\n"


def test_a_table_says_that_there_is_more(tiptoe: Tiptoe) -> None:
    ran = tiptoe("sql", "SELECT * FROM generate_series(1, 10001)")
    assert len(ran.out.splitlines()) == 10_001
    assert "only the first 10,000 rows are shown" in ran.err


# query → what the line names, and the remedy
@pytest.mark.parametrize(
    ("query", "what", "remedy"),
    [
        ("SELECT * FROM page", 'relation "page" does not exist', "pages, "),
        (
            "SELECT titel FROM pages",
            'column "titel" does not exist',
            'Perhaps you meant to reference the column "pages.title".',
        ),
        ("SELEC 1", 'syntax error at or near "SELEC"', "correct the query"),
        ("SELECT 1; SELECT 2", "cannot insert multiple commands", "correct the query"),
        ("SELECT 1/0", "division by zero", "correct the query"),
        ("SELECT 1/(2-n) FROM generate_series(1, 3) AS n", "division by zero", "correct the query"),  # after a row
        ("DELETE FROM urls", "cannot execute DELETE in a read-only transaction", "tiptoe sql only reads"),
        ("CREATE TABLE x ()", "read-only transaction", "tiptoe sql only reads"),
        ("COMMIT", "didn't produce", "write a query, such as SELECT"),
        ("SET TRANSACTION READ WRITE", "must be set before any query", "correct the query"),
        ("COPY (SELECT 1) TO STDOUT", "COPY cannot be used", "write a query, such as SELECT"),
        ("SELECT 'infinity'::timestamptz", "infinity", "cast it, e.g. with ::text"),
        (" ; ", "an empty query", "SELECT url, title FROM pages LIMIT 10"),
    ],
)
def test_objections_are_one_line(tiptoe: Tiptoe, query: str, what: str, remedy: str) -> None:
    ran = tiptoe("sql", query)
    assert ran.code == 2
    (line,) = ran.err.splitlines()
    assert what in line
    assert remedy in line.partition(what)[2]


def test_a_transaction_that_was_ended_does_not_open_the_door(tiptoe: Tiptoe) -> None:
    ran = tiptoe("sql", "COMMIT; DELETE FROM crawls")
    assert ran.code == 2
    assert "cannot insert multiple commands" in ran.err


def test_one_form_at_a_time(tiptoe: Tiptoe) -> None:
    assert tiptoe("sql", "SELECT 1", "--json", "--csv").code == 2
