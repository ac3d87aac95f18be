"""Rows that workers lose, share or cannot read: what comes of them, and that nothing is doubled or missing."""

import shutil
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import orjson

from app.features.extract import write as writing
from app.features.extract.process import Handled
from app.features.extract.write import Extraction, HandledRow
from app.store import db
from app.store import extractions as store
from tests.features.extract.archived import BOOKS, Shelf, body, extractions, items, titles
from tests.features.extract.conftest import work
from tests.store.rows import sql

Shared = Callable[..., Extraction]


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
    writing.write(extraction, [HandledRow(row=row, version=1, handled=late) for row in lost])
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
    writing.write(
        extraction, [HandledRow(row=row, version=1, handled=each) for row, each in zip(rows, made, strict=True)]
    )
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
