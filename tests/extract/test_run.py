"""Handlers over archived pages: rows that are due become items, once each, whatever happens on the way."""

import shutil
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import orjson
import pytest

from app.extract import write as writing
from app.extract.process import Handled
from app.extract.write import Extraction, Found
from app.model.handler import HandlerSpec
from app.store import db
from app.store import extractions as store
from tests.extract.archived import Shelf, extractions, items
from tests.extract.conftest import work
from tests.store.rows import sql

Shared = Callable[..., Extraction]
BOOKS = HandlerSpec(name="books", match=("/books/",))
TITLES = """
    @handler(match=r"/books/", version={version})
    def books(page):
        for title in page.css("title::text, h1::text").getall():
            yield {{"title": title}}
"""


def titles(version: int = 1) -> str:
    return TITLES.format(version=version)


def body(*names: str) -> bytes:
    return f"<title>{names[0]}</title>".encode() + b"".join(f"<h1>{name}</h1>".encode() for name in names[1:])


def test_due_pages_become_items_and_a_view(shelf: Shelf, shared: Shared) -> None:
    found = shelf.put_all([("/books/1", body("One", "Uno")), ("/books/2", body("Two")), ("/about", body("About"))])
    assert shelf.due(found, BOOKS) == 2
    assert work(shared(titles())) == 2
    assert [(row["url"], row["n"], row["version"], row["item"]) for row in items(shelf.engine)] == [
        ("http://shop.test/books/1", 0, 1, {"title": "One"}),
        ("http://shop.test/books/1", 1, 1, {"title": "Uno"}),
        ("http://shop.test/books/2", 0, 1, {"title": "Two"}),
    ]
    assert [(row["state"], row["items"], row["attempts"]) for row in extractions(shelf.engine)] == [
        ("done", 2, 0),
        ("done", 1, 0),
    ]
    assert sql(shelf.engine, "SELECT _crawl, title FROM items_books ORDER BY title LIMIT 1") == [
        {"_crawl": "shop", "title": "One"}
    ]
    assert work(shared(titles())) == 0


# the capture that follows: its body, its status; whether the page is due again
@pytest.mark.parametrize(
    ("after", "status", "is_due"),
    [(body("One"), 200, False), (body("New"), 200, True), (b"", 304, False), (body("New"), 404, True)],
)
def test_a_page_is_due_again_when_its_body_changed(
    shelf: Shelf, shared: Shared, after: bytes, status: int, is_due: bool
) -> None:
    shelf.due([shelf.put("/books/1", body("One"))], BOOKS)
    work(shared(titles()))
    assert shelf.due(shelf.put_all([("/books/1", after)], status=status), BOOKS) == int(is_due)
    work(shared(titles()))
    assert [row["item"]["title"] for row in items(shelf.engine)] == ["New" if is_due else "One"]


# the crawl's handlers, those loaded → those that its page is due for
@pytest.mark.parametrize(
    ("named", "due"),
    [("{}", ["books", "prices"]), ("{books}", ["books"]), ("{gone,prices}", ["prices"]), ("{gone}", [])],
)
def test_a_crawl_may_name_its_handlers(shelf: Shelf, named: str, due: list[str]) -> None:
    sql(shelf.engine, "UPDATE crawls SET handlers = :named", named=named)
    shelf.due([shelf.put("/books/1", body("One"))], BOOKS, HandlerSpec(name="prices"))
    assert [row["handler"] for row in extractions(shelf.engine)] == due


def test_items_of_a_page_are_replaced_and_those_of_others_stay(shelf: Shelf, shared: Shared) -> None:
    shelf.due(shelf.put_all([("/books/1", body("One", "Uno", "Un")), ("/books/2", body("Two"))]), BOOKS)
    extraction = shared(titles())
    work(extraction)
    shelf.due([shelf.put("/books/1", body("Eins"))], BOOKS)
    work(extraction)
    assert [row["item"]["title"] for row in items(shelf.engine)] == ["Eins", "Two"]


def test_a_failure_is_tried_again_and_then_put_aside(shelf: Shelf, shared: Shared) -> None:
    shelf.due(shelf.put_all([("/books/1", body("One")), ("/books/2", body("Two"))]), BOOKS)
    extraction = shared("""
        @handler(match="/books/")
        def books(page):
            yield {"title": page.title}
            if page.title == "One":
                raise ValueError("no price")
    """)
    for attempts in (1, 2, 3):
        work(extraction)
        bad, good = extractions(shelf.engine)
        assert (bad["attempts"], bad["state"]) == (attempts, "failed" if attempts == 3 else "due")
        assert bad["cause"] == "raised ValueError: no price (books.py:7)"
        assert "raise ValueError" in bad["traceback"]
        assert good["state"] == "done"
        sql(shelf.engine, "UPDATE extractions SET due_at = now()")
    assert work(extraction) == 0
    assert [row["item"]["title"] for row in items(shelf.engine)] == ["Two"]
    with db.transaction(shelf.engine) as tx:
        assert store.retry(tx, handler="books", crawl_id=None) == 1
    assert work(extraction) == 1


# what the handler does on one page: its cause. The others' items are there, and this page's earlier ones are stale
@pytest.mark.parametrize(
    ("act", "cause"),
    [
        ("raise ValueError('no')", "raised ValueError: no"),
        ("import os; os._exit(1)", "ended its process with code 1"),
        ("import time; time.sleep(60)", "took longer than 2 s"),
        ("b'x' * (3 << 30)", "needed more than 512 MiB"),
        ("yield Book(title=7)", "item does not fit: Book.title: Input should be a valid string (got 7)"),
    ],
)
def test_what_one_page_does_to_a_handler_costs_no_other(shelf: Shelf, shared: Shared, act: str, cause: str) -> None:
    pages = [(f"/books/{n}", body(f"Book {n}")) for n in range(6)]
    shelf.due(shelf.put_all(pages), BOOKS)
    work(shared(titles()))
    shelf.due(shelf.put_all([(path, body(f"New {path[-1]}")) for path, _ in pages]), BOOKS)
    extraction = shared(
        f"""
        from dataclasses import dataclass
        @dataclass
        class Book:
            title: str
        @handler(match="/books/")
        def books(page):
            if page.title == "New 3":
                {act}
            yield Book(title=page.title)
        """
    )
    for _ in range(3):
        work(extraction)
        sql(shelf.engine, "UPDATE extractions SET due_at = now()")
    (failed,) = [row for row in extractions(shelf.engine) if row["state"] != "done"]
    assert failed["state"] == "failed"
    assert cause in failed["cause"]
    assert [(row["item"]["title"], row["stale"]) for row in items(shelf.engine)] == [
        ("Book 3" if n == 3 else f"New {n}", n == 3) for n in range(6)
    ]


def test_a_new_version_makes_older_items_stale_and_replaces_them(shelf: Shelf, shared: Shared) -> None:
    found = shelf.put_all([("/books/1", body("One")), ("/books/2", body("Two"))])
    shelf.due(found, BOOKS)
    work(shared(titles()))
    extraction = shared(titles(2))
    assert work(extraction) == 0
    assert {(row["version"], row["stale"]) for row in items(shelf.engine)} == {(1, True)}
    newer = HandlerSpec(name="books", match=("/books/",), version=2)
    assert shelf.due(found[:1], newer, named=True) == 1
    assert work(shared(titles())) == 0  # the older code does not take what waits for the newer
    assert work(extraction) == 1
    assert [(row["version"], row["stale"]) for row in items(shelf.engine)] == [(2, False), (1, True)]


def test_what_was_handled_before_the_page_changed_counts_for_nothing(shelf: Shelf, shared: Shared) -> None:
    shelf.due([shelf.put("/books/1", body("Old"))], BOOKS)

    def change(found: object) -> None:
        """Between the handler and the writing of its items."""
        if len(shelf_puts) == 0:
            shelf_puts.append(1)
            shelf.due([shelf.put("/books/1", body("New"))], BOOKS)

    shelf_puts: list[int] = []
    extraction = shared(titles(), admit=change)
    assert work(extraction) == 2
    assert [row["item"]["title"] for row in items(shelf.engine)] == ["New"]
    assert dict(extraction.ended) == {"done": 1}


def test_many_workers_at_once_double_nothing_and_miss_nothing(shelf: Shelf, shared: Shared) -> None:
    pages = [(f"/books/{n}", body(f"Book {n}", f"Part of {n}")) for n in range(300)]
    shelf.due(shelf.put_all(pages), BOOKS)
    extraction, together = shared(titles()), threading.Barrier(4)

    def at_once(_: int) -> int:
        together.wait()
        return work(extraction)

    with ThreadPoolExecutor(4) as threads:
        assert sum(threads.map(at_once, range(4))) == 300
    assert sorted(row["item"]["title"] for row in items(shelf.engine)) == sorted(
        title for n in range(300) for title in (f"Book {n}", f"Part of {n}")
    )


def test_rows_of_a_lost_worker_come_back_and_what_it_still_writes_changes_nothing(shelf: Shelf, shared: Shared) -> None:
    shelf.due(shelf.put_all([(f"/books/{n}", body(f"Book {n}")) for n in range(5)]), BOOKS)
    extraction = shared(titles())
    with db.transaction(shelf.engine) as tx:
        lost = store.claim(tx, [BOOKS], n=10, lease_s=60.0)
    assert (len(lost), work(extraction)) == (5, 0)
    sql(shelf.engine, "UPDATE extractions SET taken_until = now()")
    assert work(extraction) == 5
    late = Handled(handler="books", items=[{"title": "late"}])
    writing.write(extraction, [Found(row=row, version=1, handled=late) for row in lost])
    assert [row["item"]["title"] for row in items(shelf.engine)] == [f"Book {n}" for n in range(5)]


def test_what_ends_its_worker_again_and_again_is_taken_alone_and_then_put_aside(shelf: Shelf, shared: Shared) -> None:
    shelf.due(shelf.put_all([(f"/books/{n}", body(f"Book {n}")) for n in range(3)]), BOOKS)
    takes = []
    for _ in range(store.TAKES_MOST):
        with db.transaction(shelf.engine) as tx:
            takes.append(len(store.claim(tx, [BOOKS], n=10, lease_s=60.0)))
        sql(shelf.engine, "UPDATE extractions SET taken_until = NULL")
    assert takes == [3] * store.TAKES_ALONE + [1] * (store.TAKES_MOST - store.TAKES_ALONE)
    sql(shelf.engine, "UPDATE extractions SET takes = CASE WHEN url LIKE '%/1' THEN 10 ELSE 3 END")
    work(shared(titles()))
    rows = extractions(shelf.engine)
    assert [row["state"] for row in rows] == ["done", "failed", "done"]
    assert rows[1]["cause"] == "its worker died 10 times while it was handled"


def test_what_postgres_refuses_fails_alone(shelf: Shelf, shared: Shared) -> None:
    shelf.due(shelf.put_all([(f"/books/{n}", body(f"Book {n}")) for n in range(2)]), BOOKS)
    extraction = shared(titles())
    with db.transaction(shelf.engine) as tx:
        rows = store.claim(tx, [BOOKS], n=10, lease_s=60.0)
    bad: Any = orjson.Fragment(b'{"a": 1e999999}')
    made = [Handled(handler="books", items=[bad]), Handled(handler="books", items=[{"a": 1}])]
    writing.write(extraction, [Found(row=row, version=1, handled=each) for row, each in zip(rows, made, strict=True)])
    assert sorted(row["state"] for row in extractions(shelf.engine)) == ["done", "failed"]
    assert [row["item"] for row in items(shelf.engine)] == [{"a": 1}]


def test_a_capture_that_is_gone_is_a_cause(shelf: Shelf, shared: Shared) -> None:
    shelf.due(shelf.put_all([("/books/1", body("One")), ("/books/2", body("Two"))]), BOOKS)
    sql(shelf.engine, "DELETE FROM captures WHERE url LIKE '%/1'")
    work(shared(titles()))
    rows = extractions(shelf.engine)
    assert [row["state"] for row in rows] == ["failed", "done"]
    assert "not in the archive any more" in rows[0]["cause"]


def test_what_is_on_another_machine_waits_for_it(
    shelf: Shelf, shared: Shared, tmp_path: Path, database_url: str
) -> None:
    far = Shelf(shelf.engine, tmp_path / "far", database_url, name="far", node="far")
    far.due([far.put("/books/1", body("Far away"))], BOOKS)
    shelf.due([shelf.put("/books/2", body("Here"))], BOOKS)
    here = shared(titles())
    assert work(here) == 2
    waiting, done = extractions(shelf.engine)
    assert (waiting["node"], waiting["state"], waiting["takes"], done["state"]) == ("far", "due", 0, "done")
    assert work(here) == 0
    assert work(shared(titles(), settings=far.settings(), node="far")) == 1
    assert [row["item"]["title"] for row in items(shelf.engine)] == ["Far away", "Here"]


def test_a_segment_that_comes_here_is_read_here(
    shelf: Shelf, shared: Shared, tmp_path: Path, database_url: str
) -> None:
    far = Shelf(shelf.engine, tmp_path / "far", database_url, name="far", node="far")
    far.due([far.put("/books/1", body("Far away"))], BOOKS)
    here = shared(titles())
    work(here)
    shutil.copytree(tmp_path / "far/archive", tmp_path / "archive", dirs_exist_ok=True)
    sql(shelf.engine, "UPDATE extractions SET due_at = now()")
    assert work(here) == 1
    assert [row["item"]["title"] for row in items(shelf.engine)] == ["Far away"]


def test_the_page_as_it_was_before(shelf: Shelf, shared: Shared) -> None:
    shelf.put("/books/1", body("First"))
    shelf.put("/books/1", body("First"))
    shelf.due([shelf.put("/books/1", body("Second"))], BOOKS)
    work(
        shared("""
        @handler()
        def books(page):
            yield {"now": page.title, "was": page.previous.title, "earliest": page.previous.previous is None}
    """)
    )
    assert [row["item"] for row in items(shelf.engine)] == [{"now": "Second", "was": "First", "earliest": True}]


def test_a_runner_that_is_stopped_gives_back_what_it_took(shelf: Shelf, shared: Shared) -> None:
    shelf.due(shelf.put_all([(f"/books/{n}", body(f"Book {n}")) for n in range(50)]), BOOKS)
    extraction = shared(titles())
    extraction.stopping.set()
    assert work(extraction) == 0
    extraction.stopping.clear()

    def stop(_: object) -> None:
        extraction.stopping.set()

    extraction.admit = stop
    sql(shelf.engine, "UPDATE extractions SET due_at = now()")
    work(extraction)
    extraction.stopping.clear()
    work(extraction)
    assert len(items(shelf.engine)) == 50
    assert {row["taken_until"] for row in extractions(shelf.engine)} == {None}


def test_links_are_recorded_where_a_run_admits_none(shelf: Shelf, shared: Shared) -> None:
    text = """
        @handler()
        def books(page):
            yield follow("/next")
    """
    admitted: list[Found] = []
    found = shelf.put_all([("/books/1", body("One")), ("/books/2", body("Two"))])
    shelf.due(found[:1], BOOKS, named=True, admits=False)
    shelf.due(found[1:], BOOKS)
    work(shared(text, admit=admitted.extend))
    assert [each.row.url for each in admitted] == ["http://shop.test/books/2"]
    assert [row["would_follow"] for row in extractions(shelf.engine)] == [
        [{"url": "/next", "lane": None, "score": None}],
        None,
    ]
