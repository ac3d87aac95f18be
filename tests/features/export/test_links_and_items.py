"""Exports of links, a row for each link of each reading, and of items."""

import csv
import json
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pytest

from app.errors import InputError
from app.store import item_views
from tests.features.export.conftest import Planted
from tests.store.rows import sql

PAGES = 450  # of links: more than two batches
LINKS = """
    INSERT INTO links (host_id, crawl_id, key, found_at, url, links)
    SELECT 1 + n % 3, CASE WHEN n % 5 = 4 THEN 2 ELSE 1 END, '', timestamptz '2026-11-23 12:00Z' + n * interval '1 s',
           'http://from.test/' || n,
           json_build_array(json_build_object('to', 'http://to.test/' || n, 'anchor', 'to ' || n),
                            json_build_object('to', 'http://ad.test/', 'rel', 'nofollow sponsored'))
    FROM generate_series(1, :pages) AS n"""
ITEMS = """
    INSERT INTO items (host_id, crawl_id, key, handler, n, url, capture_id, version, stale, item)
    SELECT 1 + page % 3, 1, sha256(convert_to(CAST(page AS text), 'UTF8')), handler, n, 'http://a.test/' || page, 1, 2,
           page % 4 = 0, jsonb_build_object('page', page, 'tags', jsonb_build_array('a', n))
    FROM generate_series(1, 30) AS page, generate_series(0, 1) AS n, unnest(ARRAY['books', 'people']) AS handler"""


@pytest.fixture
def linked(planted: Planted) -> Planted:
    sql(planted.engine, "DELETE FROM links")
    sql(planted.engine, LINKS, pages=PAGES)
    return planted


@pytest.fixture
def extracted(planted: Planted) -> Planted:
    sql(planted.engine, "DELETE FROM items")
    sql(planted.engine, ITEMS)
    return planted


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_every_link_in_the_order_of_the_readings(linked: Planted) -> None:
    assert linked.export("links", "x.jsonl").rows == 2 * 360
    rows = lines(linked.folder / "x.jsonl")
    assert rows[:2] == [
        {
            "from_url": "http://from.test/1",
            "from_host": "h1.test",
            "to_url": to,
            "anchor": anchor,
            "rel": rel,
            "found_at": "2026-11-23T12:00:01Z",
        }
        for to, anchor, rel in (
            ("http://to.test/1", "to 1", None),
            ("http://ad.test/", None, "nofollow sponsored"),
        )
    ]
    numbers = [int(row["from_url"].rpartition("/")[2]) for row in rows]
    assert numbers == sorted(numbers)
    assert len({(row["from_url"], row["to_url"]) for row in rows}) == 720


# filters → links
@pytest.mark.parametrize(
    ("where", "rows"),
    [
        (["rel=nofollow"], 360),
        (["rel=ugc"], 0),
        (["to~^http://to"], 360),
        (["to~/45$"], 1),
        (["from~/45$"], 2),
        (["host=h0.test"], 2 * 120),
        (["from~/445$", "from~/446$", "rel=sponsored"], 2),
    ],
)
def test_filters_of_links(linked: Planted, where: list[str], rows: int) -> None:
    assert linked.export("links", "x.csv", where=tuple(where)).rows == rows


def test_parts_of_links_go_on_after_a_crash(linked: Planted) -> None:
    def tell(rows: int) -> None:
        if rows > 300:
            raise KeyboardInterrupt

    wish: dict[str, Any] = {"part_rows": 150, "form": "parquet"}
    with pytest.raises(KeyboardInterrupt):
        linked.export("links", "parts", tell=tell, **wish)
    done = linked.export("links", "parts", **wish)
    assert (done.rows, done.is_resumed) == (720, True)
    with duckdb.connect() as connection:
        query = f"SELECT count(*), count(DISTINCT (from_url, to_url)) FROM '{linked.folder}/parts/*.parquet'"
        assert connection.execute(query).fetchone() == (720, 720)


def test_items_with_what_they_hold(extracted: Planted) -> None:
    assert extracted.export("items", "x.jsonl", columns=("url", "handler", "n", "item")).rows == 120
    rows = lines(extracted.folder / "x.jsonl")
    page = int(rows[0]["url"].rpartition("/")[2])
    assert rows[0] == {**rows[0], "item": {"page": page, "tags": ["a", rows[0]["n"]]}}
    assert len({(row["url"], row["handler"], row["n"]) for row in rows}) == 120


@pytest.mark.parametrize(
    ("where", "rows"),
    [
        (["handler=books"], 60),
        (["handler=books", "handler=people"], 120),
        (["stale=yes"], 28),
        (["stale=no", "handler=people"], 46),
        (["url~/1$"], 4),
    ],
)
def test_filters_of_items(extracted: Planted, where: list[str], rows: int) -> None:
    assert extracted.export("items", "x.jsonl", where=tuple(where)).rows == rows


def test_items_of_a_page_that_is_gone_are_stale(extracted: Planted) -> None:
    """Here, in the view of all items, and in the view of their handler."""
    sql(
        extracted.engine,
        """INSERT INTO urls (host_id, crawl_id, key, url, state, lane, score, depth, due_at, gone_at)
           SELECT DISTINCT host_id, crawl_id, key, url, 'gone', 1, 0, 0, now(), now()
           FROM items WHERE url LIKE '%/1'""",
    )
    item_views.widen(extracted.engine, "books", {"page": "bigint"})
    assert extracted.export("items", "x.jsonl", where=("stale=yes",)).rows == 28 + 4
    stale = "SELECT count(*) AS n FROM {} WHERE {}stale"
    assert sql(extracted.engine, stale.format("v_items", ""))[0]["n"] == 32
    assert sql(extracted.engine, stale.format("items_books", "_"))[0]["n"] == 16
    sql(extracted.engine, "DROP VIEW items_books")
    sql(extracted.engine, "DELETE FROM urls")


def test_a_view_of_an_earlier_release_learns_of_gone_pages(extracted: Planted) -> None:
    old = """CREATE VIEW items_books AS
        SELECT c.name AS _crawl, i.url AS _url, i.n AS _n, i.version AS _version, i.stale AS _stale,
               i.extracted_at AS _extracted_at, i.item AS _item, CAST(i.item ->> 'page' AS bigint) AS page
        FROM items AS i JOIN crawls AS c ON c.id = i.crawl_id WHERE i.handler = 'books'"""
    sql(extracted.engine, old)
    item_views.widen(extracted.engine, "books", {"page": "bigint"})
    assert "gone_at" in sql(extracted.engine, "SELECT pg_get_viewdef('items_books') AS text")[0]["text"]
    sql(extracted.engine, "DROP VIEW items_books")


def test_items_in_parts(extracted: Planted) -> None:
    done = extracted.export("items", "parts", part_rows=7, form="csv")
    assert (done.rows, len(done.parts)) == (120, 18)


PRICES = """
    INSERT INTO items (host_id, crawl_id, key, handler, n, url, capture_id, version, item)
    SELECT 1, 1, sha256(convert_to(item, 'UTF8')), 'prices', 0, 'http://a.test/' || place, 1, 1, CAST(item AS jsonb)
    FROM unnest(CAST(:items AS text[])) WITH ORDINALITY AS made (item, place)"""
# type of the view → what an item holds, what Parquet's column holds, and its type there
TYPES = {
    "text": ('a, "b"', 'a, "b"', "VARCHAR"),
    "bigint": (7, 7, "BIGINT"),
    "double precision": (3, 3.0, "DOUBLE"),
    "boolean": (True, True, "BOOLEAN"),
    "numeric": ("12.50", Decimal("12.50"), "DECIMAL(38,9)"),
    "timestamptz": ("2026-11-01T12:00:00Z", datetime(2026, 11, 1, 12, tzinfo=UTC), "TIMESTAMP WITH TIME ZONE"),
    "date": ("1969-11-01", date(1969, 11, 1), "DATE"),
    "jsonb": ({"a": [1]}, '{"a": [1]}', "VARCHAR"),
}


@pytest.fixture
def priced(planted: Planted) -> Iterator[Planted]:
    """An item with a field of each type, one without fields, and one that fits none of the types but text."""
    sql(planted.engine, "DELETE FROM items")
    whole = {f"f_{kind.split()[0]}": value for kind, (value, _, _) in TYPES.items()}
    none_fits = {name: [1] for name in whole}
    rows = [json.dumps(each) for each in ({**whole, "url": "/of-the-item"}, {}, none_fits)]
    sql(planted.engine, PRICES, items=rows)
    item_views.widen(planted.engine, "prices", {f"f_{kind.split()[0]}": kind for kind in TYPES} | {"url": "text"})
    yield planted
    sql(planted.engine, "DROP VIEW items_prices")
    sql(planted.engine, "DELETE FROM items")


def test_fields_are_typed_columns_of_parquet(priced: Planted) -> None:
    done = priced.export("items", "x.parquet")
    assert (done.rows, done.unfit) == (3, len(TYPES) - 2)  # text and JSON hold anything
    names = [f"f_{kind.split()[0]}" for kind in TYPES]
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        rows = connection.execute(
            f"SELECT {', '.join(names)} FROM '{priced.folder}/x.parquet' ORDER BY _url"
        ).fetchall()
        kinds = connection.execute(f"DESCRIBE SELECT {', '.join(names)} FROM '{priced.folder}/x.parquet'").fetchall()
    first = dict(zip(names, rows[0], strict=True))
    first["f_timestamptz"] = first["f_timestamptz"].astimezone(UTC)
    assert list(first.values()) == [value for _, value, _ in TYPES.values()]
    assert [row[1] for row in kinds] == [kind for _, _, kind in TYPES.values()]
    assert rows[1] == (None,) * len(TYPES)
    assert rows[2] == ("[1]", *(None,) * (len(TYPES) - 2), "[1]")


def test_fields_are_columns_of_csv_as_the_item_has_them(priced: Planted) -> None:
    priced.export("items", "x.csv")
    with (priced.folder / "x.csv").open(newline="") as file:
        rows = sorted(csv.DictReader(file), key=lambda row: row["_url"])
    assert "item" not in rows[0]
    assert rows[0]["f_text"] == 'a, "b"'
    assert (rows[0]["f_numeric"], rows[0]["f_boolean"], rows[0]["f_jsonb"]) == ("12.50", "true", '{"a": [1]}')
    assert (rows[0]["url"], rows[0]["_url"], rows[1]["f_text"]) == ("/of-the-item", "http://a.test/1", "")


def test_fields_are_keys_of_json_lines(priced: Planted) -> None:
    priced.export("items", "x.jsonl")
    rows = sorted(lines(priced.folder / "x.jsonl"), key=lambda row: row["_url"])
    assert {f"f_{kind.split()[0]}": value for kind, (value, _, _) in TYPES.items()}.items() <= rows[0].items()
    assert rows[1]["f_text"] is None


@pytest.mark.parametrize(
    ("asked", "columns"),
    [
        (("f_bigint", "handler"), ["f_bigint", "handler"]),
        (("_url", "item"), ["_url", "item"]),
    ],
)
def test_fields_can_be_chosen(priced: Planted, asked: tuple[str, ...], columns: list[str]) -> None:
    priced.export("items", "x.jsonl", columns=asked)
    assert list(lines(priced.folder / "x.jsonl")[0]) == columns
    with pytest.raises(InputError, match="did you mean f_bigint"):
        priced.export("items", "y.jsonl", columns=("f_bigin",))


def test_the_items_of_several_handlers_have_one_column(priced: Planted) -> None:
    sql(priced.engine, ITEMS)
    priced.export("items", "x.jsonl")
    assert "item" in lines(priced.folder / "x.jsonl")[0]
    priced.export("items", "y.jsonl", where=("handler=prices",))
    assert "f_text" in lines(priced.folder / "y.jsonl")[0]
    priced.export("items", "z.jsonl", where=("handler=books",))
    assert "item" in lines(priced.folder / "z.jsonl")[0], "its view was not made"
