"""The view of a handler: a column per field, typed by the model, widened as fields appear."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import Engine

from app.store import item_views
from app.store.items import ItemRow
from tests.store.rows import make_crawl, sql


@pytest.fixture(autouse=True)
def _no_view(engine: Engine) -> None:
    sql(engine, "DROP VIEW IF EXISTS items_books")


def add(engine: Engine, **item: object) -> None:
    from app.store import db, items

    crawl_id = make_crawl(engine)
    row = ItemRow(
        host_id=1,
        crawl_id=crawl_id,
        key=b"k",
        handler="books",
        n=0,
        url="http://a.test/",
        capture_id=1,
        version=3,
        item=item,
    )
    with db.transaction(engine) as tx:
        items.replace(tx, [(1, crawl_id, b"k", "books")], [row])


def test_with_a_model_columns_have_its_types(engine: Engine) -> None:
    kinds = {"title": "text", "price": "numeric", "n": "bigint", "at": "timestamptz", "tags": "jsonb", "new": "boolean"}
    item_views.widen(engine, "books", kinds)
    add(engine, title="A", price="2.50", n=7, at="2026-11-23T10:00:00Z", tags=["x"], new=True)
    (row,) = sql(engine, "SELECT * FROM items_books")
    assert (row["title"], float(row["price"]), row["n"], row["tags"], row["new"]) == ("A", 2.5, 7, ["x"], True)
    assert (row["_url"], row["_version"], row["_stale"], row["_crawl"]) == ("http://a.test/", 3, False, "c")
    assert row["at"].hour == 10


def test_it_is_widened_and_keeps_what_it_has(engine: Engine) -> None:
    assert item_views.widen(engine, "books", {"price": "numeric"})[-1] == "price"
    add(engine, price="1", Größe="L", _url="mine")
    assert item_views.widen(engine, "books", {"price": None, "Größe": None, "_url": None})[-2:] == ["price", "Größe"]
    (row,) = sql(engine, 'SELECT price + 1 AS more, "Größe", _url FROM items_books')
    assert (float(row["more"]), row["Größe"], row["_url"]) == (2.0, "L", "http://a.test/")


@pytest.mark.parametrize("name", ["x" * 63, "x" * 64, "й" * 31, "й" * 32, "魚" * 21, "魚" * 22])
def test_a_field_is_a_column_where_postgres_does_not_cut_its_name(engine: Engine, name: str) -> None:
    assert (name in item_views.widen(engine, "books", {name: None})) == (len(name.encode()) <= 63)


@pytest.mark.parametrize("name", ["", 'a"; DROP TABLE items; --', "%(a)s"])
def test_whatever_a_field_is_called(engine: Engine, name: str) -> None:
    columns = item_views.widen(engine, "books", {name: None, "title": None})
    assert columns[-1] == "title"
    assert (name in columns) == (name != "")
    assert sql(engine, "SELECT * FROM items_books") == []


def test_two_long_names_that_begin_alike_cost_no_view(engine: Engine) -> None:
    long = "цена" * 15
    columns = item_views.widen(engine, "books", {f"{long}1": None, f"{long}2": None, "title": None})
    assert columns == [*item_views.FIRST, "title"]


def test_it_has_a_bounded_number_of_columns(engine: Engine) -> None:
    found = item_views.widen(engine, "books", {f"f{n}": None for n in range(500)})
    assert len(found) == item_views.COLUMNS_MOST + len(item_views.FIRST)


def test_many_at_once_make_one_view(engine: Engine) -> None:
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda n: item_views.widen(engine, "books", {f"f{n}": None}), range(8)))
    assert set(item_views.widen(engine, "books", {})) >= {f"f{n}" for n in range(8)}


def test_where_postgres_refuses_the_view_stays_as_it_is(engine: Engine) -> None:
    sql(engine, "CREATE VIEW items_books AS SELECT 1 AS mine")
    assert item_views.widen(engine, "books", {"title": "text"}) == []
    assert sql(engine, "SELECT * FROM items_books") == [{"mine": 1}]
