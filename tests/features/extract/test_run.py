"""Handlers over archived pages: rows that are due become items, once each, whatever happens on the way."""

from collections.abc import Callable, Sequence
from datetime import datetime

import pytest
from structlog.testing import capture_logs

from app.features.extract import run
from app.features.extract.write import Extraction, HandledRow
from app.features.rights import rows as rights
from app.model.handler import HandlerSpec
from app.policy import tdm
from app.store import db
from app.store import extractions as store
from tests.features.extract.archived import BOOKS, Shelf, body, extractions, items, titles
from tests.features.extract.conftest import work
from tests.store.rows import one, sql

Shared = Callable[..., Extraction]


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


@pytest.mark.parametrize(("one_in", "logged"), [(0, 0), (1, 2)])
def test_a_page_of_the_logs_sample_says_what_its_handler_made_of_it(
    shelf: Shelf, shared: Shared, one_in: int, logged: int
) -> None:
    shelf.due(shelf.put_all([("/books/1", body("One", "Uno")), ("/books/2", body("Two"))]), BOOKS)
    with capture_logs() as logs:
        work(shared(titles(), settings=shelf.settings(log_trace=one_in)))
    traced = [line for line in logs if line["event"] == "trace.extracted"]
    assert len(traced) == logged
    for line in traced:
        (row,) = [row for row in extractions(shelf.engine) if row["url"] == line["url"]]
        assert (line["handler"], line["state"], line["items"]) == ("books", "done", row["items"])
        assert line["capture"] == row["capture_id"]
        assert bytes(row["key"]).hex().startswith(line["trace"])


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
@pytest.mark.faults
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


@pytest.mark.parametrize(("declared_s", "lease_s"), [(0.5, 75.0), (300.0, 615.0)])
def test_a_handler_has_the_deadline_that_it_declares(
    shelf: Shelf, shared: Shared, declared_s: float, lease_s: float
) -> None:
    shelf.due(shelf.put_all([("/books/1", body("One"))]), BOOKS)
    extraction = shared(
        f"""
        import time
        @handler(match="/books/", deadline_s={declared_s})
        def books(page):
            if {declared_s} < 1:
                time.sleep(60)
            yield {{"title": page.title}}
        """
    )
    work(extraction)
    assert extraction.lease_s == lease_s
    (row,) = extractions(shelf.engine)
    assert (row["cause"] or "").startswith("took longer than 0.5 s" if declared_s < 1 else "")
    assert (row["cause"] is None) == (declared_s > 1)


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
    admitted: list[HandledRow] = []
    found = shelf.put_all([("/books/1", body("One")), ("/books/2", body("Two"))])
    shelf.due(found[:1], BOOKS, named=True, admits=False)
    shelf.due(found[1:], BOOKS)
    work(shared(text, admit=admitted.extend))
    assert [each.row.url for each in admitted] == ["http://shop.test/books/2"]
    assert [row["would_follow"] for row in extractions(shelf.engine)] == [
        [{"url": "/next", "lane": None, "score": None}],
        None,
    ]


def test_rows_of_one_page_are_kept_while_its_handlers_take_their_time(
    shelf: Shelf, shared: Shared, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "WRITE_S", 0.0)
    names = ["a", "b", "c"]
    text = "\n".join(f"@handler()\ndef {name}(page):\n    yield follow('/next')" for name in names)
    kept: list[datetime] = []

    def admit(rows: Sequence[HandledRow]) -> None:
        if rows:
            kept.append(one(shelf.engine, "SELECT max(taken_until) FROM extractions WHERE state = 'due'"))

    (page,) = shelf.put_all([("/books/1", body("One"))])
    shelf.due([page], *(HandlerSpec(name=name) for name in names))
    work(shared(text, admit=admit))
    assert len(kept) == len(set(kept)) == 3, "each time for longer"
    assert kept == sorted(kept)


SAYS_THE_RIGHTS = """
@handler(match=r"/books/")
def books(page):
    return {"title": page.rights["ai-train"] + " " + page.rights["search"]}
"""


def test_a_handler_sees_what_the_owner_allows(shelf: Shelf, shared: Shared) -> None:
    captures = shelf.put_all([("/books/1", body("One")), ("/books/2", body("Two"))])
    with db.transaction(shelf.engine) as tx:
        rights.keep(
            tx,
            [
                {
                    "host_id": captures[0].host_id,
                    "crawl_id": captures[0].crawl_id,
                    "key": captures[0].key,
                    "url": captures[0].url,
                    "statements": tdm.of_reply({"content-signal": "search=yes, ai-train=no"}),
                    "is_confirmed": False,
                }
            ],
        )
    shelf.due(captures, BOOKS)
    work(shared(SAYS_THE_RIGHTS))
    assert [row["item"]["title"] for row in items(shelf.engine)] == ["refused allowed", "unknown unknown"]


def test_a_handler_gets_no_page_that_its_owner_withdrew(shelf: Shelf, shared: Shared) -> None:
    captures = shelf.put_all([("/books/1", body("One")), ("/books/2", body("Two"))])
    gone = captures[0]
    with db.transaction(shelf.engine) as tx:
        place = {"host_id": gone.host_id, "crawl_id": gone.crawl_id, "key": gone.key}
        rights.withdraw(tx, [{**place, "url": gone.url, "words": "noindex"}])  # type: ignore[typeddict-item]
    assert shelf.due(captures, BOOKS) == 1
    work(shared(titles()))
    assert [row["url"] for row in items(shelf.engine)] == ["http://shop.test/books/2"]


NUMBERED = """
from dataclasses import dataclass

@dataclass
class Book:
    n: int

@handler(match=r"/books/", items=Book)
def books(page):
    yield Book(n=int(page.title))
"""


def test_a_number_beyond_its_column_fails_alone(shelf: Shelf, shared: Shared) -> None:
    """JSON holds it, the view's column does not: no query of the view would bring any item."""
    found = shelf.put_all([("/books/1", body(str(1 << 63))), ("/books/2", body(str((1 << 63) - 1)))])
    shelf.due(found, BOOKS)
    work(shared(NUMBERED))
    assert sql(shelf.engine, "SELECT n FROM items_books") == [{"n": (1 << 63) - 1}]
    failed = [row["cause"] for row in extractions(shelf.engine) if row["state"] == "failed"]
    assert failed == ["item does not fit: n is 9223372036854775808, which is no bigint; declare the field as str"]
