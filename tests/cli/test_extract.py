"""`tiptoe extract`: from a first handler to the items of a crawl, and what a person reads when something is wrong."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine

from tests.cli.conftest import Tiptoe
from tests.crawl.web import Answer, Web, html
from tests.features.extract.archived import Shelf, extractions, items
from tests.store.rows import clean, make_crawl, sql

BOOKS = """
from app.features.extract.handlers import follow, handler

@handler(match=r"/books/", version={version})
def books(page):
    if page.title == "Bad":
        raise ValueError("no price here")
    yield {{"title": page.title, "v": {version}}}
    yield follow("/books/9")
"""
PAGES = [(f"/books/{n}", f"<title>Book {n}</title>".encode()) for n in range(3)]


@pytest.fixture
def engine(database_url: str) -> Iterator[Engine]:
    with clean(database_url) as engine:
        yield engine


@pytest.fixture
def shelf(engine: Engine, database_url: str, tmp_path: Path) -> Shelf:
    shelf = Shelf(engine, tmp_path / ".tiptoe", database_url)
    shelf.put_all([*PAGES, ("/about", b"<title>About</title>")])
    return shelf


def write(version: int = 1, name: str = "books.py") -> None:
    Path(name).write_text(BOOKS.format(version=version))


def test_a_handler_written_after_the_crawl_changed_and_run_again(tiptoe: Tiptoe, shelf: Shelf) -> None:
    write()
    ran = tiptoe("extract", "run", "books.py", "--crawl", "shop")
    assert (ran.code, ran.out.splitlines()[0].split(" in ")[0]) == (0, "books: 3 pages")
    assert "3 items of version 1" in ran.out
    assert "would follow 3 links" in ran.out
    assert "0 pages, 0 failed" in tiptoe("extract", "run", "books", "--crawl", "shop").out
    assert "3 pages in" in tiptoe("extract", "run", "books", "--crawl", "shop", "--again").out
    write(version=2)
    assert "3 pages in" in tiptoe("extract", "run", "books", "--crawl", "shop").out
    assert [(row["version"], row["stale"], row["item"]["v"]) for row in items(shelf.engine)] == [(2, False, 2)] * 3
    assert sql(shelf.engine, "SELECT count(*) AS n FROM fetches") == [{"n": 0}]
    assert tiptoe("sql", "SELECT title FROM items_books ORDER BY title LIMIT 1", "--json").json == [{"title": "Book 0"}]
    nope = tiptoe("export", "items", "--crawl", "shop", "--to", "nope.csv", "--where", "handler=nope")
    assert (nope.code, nope.err) == (0, "handler 'nope' had no page of shop; there are: books\n")


def test_links_are_admitted_only_when_a_run_is_asked_to(tiptoe: Tiptoe, shelf: Shelf) -> None:
    write()
    shelf.in_frontier("/books/0")
    tiptoe("extract", "run", "books", "--crawl", "shop")
    assert len(sql(shelf.engine, "SELECT FROM urls")) == 1
    tiptoe("extract", "run", "books", "--crawl", "shop", "--again", "--follow")
    found = sql(shelf.engine, "SELECT url, depth, state, found_on FROM urls WHERE depth > 0")
    assert [(row["url"], row["depth"], row["state"]) for row in found] == [("http://shop.test/books/9", 1, "queued")]


def test_failures_are_told_with_their_cause_and_tried_again(tiptoe: Tiptoe, shelf: Shelf) -> None:
    write()
    shelf.put("/books/1", b"<title>Bad</title>")
    ran = tiptoe("extract", "run", "books", "--crawl", "shop")
    assert (ran.code, "1 failed" in ran.out, "tiptoe extract status books" in ran.out) == (1, True, True)
    said = tiptoe("extract", "status", "books").out
    assert "1 page: raised ValueError: no price here (books.py:7)" in said
    assert "http://shop.test/books/1" in said
    assert 'raise ValueError("no price here")' in said
    document = tiptoe("extract", "status", "books", "--json").json
    (row,) = document["handlers"]
    assert (row["done"], row["failed"], row["waiting"], row["items"]) == (2, 1, 0, 2)
    assert tiptoe("extract", "retry", "books").out == "1 page due again\n"
    assert {row["state"] for row in extractions(shelf.engine)} == {"done", "due"}


PARTS = """
from dataclasses import dataclass

from app.features.extract.handlers import handler

@dataclass
class Part:
    price: float
    sizes: list[int]

@handler(match="/parts/", items=Part)
def parts(page):
    if page.title.startswith("word"):
        float(page.title)
    yield {{"price": page.title, "sizes": [1, {size!r}]}}
"""


def failing(shelf: Shelf, titles: list[str], size: object = 2) -> None:
    """Pages of these titles, which the handler in parts.py reads as numbers."""
    shelf.put_all([(f"/parts/{n}", f"<title>{title}</title>".encode()) for n, title in enumerate(titles)])
    Path("parts.py").write_text(PARTS.format(size=size))


def test_failures_of_a_field_and_of_a_line_are_a_group_each_whatever_they_say(tiptoe: Tiptoe, shelf: Shelf) -> None:
    euros = [f"{n} euros (got {n}); Part.x: no" for n in range(5)]
    failing(shelf, [*euros, *(f"word {n}" for n in range(4)), "7"])
    ran = tiptoe("extract", "run", "parts.py", "--crawl", "shop")
    assert (ran.code, "9 failed" in ran.out) == (1, True)
    cause, raised = tiptoe("extract", "status", "parts", "--json").json["causes"]
    assert (cause["field"], cause["count"], len(cause["values"]), len(cause["urls"])) == ("Part.price", 5, 3, 3)
    assert cause["cause"].startswith("item does not fit: Part.price: Input should be a valid number")
    assert "euros" not in cause["cause"]
    said = tiptoe("extract", "status", "parts.py").out
    assert "5 pages: item does not fit: Part.price: Input should be a valid number" in said
    assert "0 euros" in said
    assert (raised["count"], raised["field"]) == (4, None)
    assert raised["cause"].startswith("raised ValueError: could not convert string to float: 'word")


def test_an_item_with_two_faults_counts_for_both_fields(tiptoe: Tiptoe, shelf: Shelf) -> None:
    failing(shelf, ["a lot", "7"], size="large")
    tiptoe("extract", "run", "parts.py", "--crawl", "shop")
    causes = tiptoe("extract", "status", "parts", "--json").json["causes"]
    assert [(cause["field"], cause["count"]) for cause in causes] == [("Part.sizes[]", 2), ("Part.price", 1)]


def test_a_run_that_finds_only_failed_pages_says_what_to_do(tiptoe: Tiptoe, shelf: Shelf) -> None:
    failing(shelf, ["much", "more"])
    assert "failed before" not in tiptoe("extract", "run", "parts.py", "--crawl", "shop").out
    failing(shelf, [])
    again = tiptoe("extract", "run", "parts.py", "--crawl", "shop")
    assert (again.code, again.out.splitlines()[0]) == (1, "parts: 0 pages, 0 failed")
    assert "2 pages failed before with this version, and were left alone" in again.out
    assert "tiptoe extract retry parts --crawl shop" in again.out
    assert tiptoe("extract", "run", "parts.py", "--crawl", "shop", "--json").json["handlers"][0]["failed_before"] == 2
    assert tiptoe("extract", "retry", "parts.py").out == "2 pages due again\n"


def test_try_prints_and_keeps_nothing(tiptoe: Tiptoe, shelf: Shelf) -> None:
    write()
    ran = tiptoe("extract", "try", "http://shop.test/books/2", "--handler", "books.py")
    assert (ran.code, '"title": "Book 2"' in ran.out, "follow /books/9" in ran.out) == (0, True, True)
    assert "from the archive of shop" in ran.err
    document = tiptoe("extract", "try", "http://shop.test/books/2", "--handler", "books.py", "--json").json
    assert document["handlers"][0]["items"] == [{"title": "Book 2", "v": 1}]
    assert (extractions(shelf.engine), items(shelf.engine)) == ([], [])


def test_a_prompt_over_a_page(tiptoe: Tiptoe, shelf: Shelf) -> None:
    """A failure ends a line, not the prompt."""
    write()
    lines = """
page.title
css("title::text").get()
xpath("//title/text()").getall()
items("books.py")
1 / 0
items(lambda page: [{"words": len(page.title.split())}])
items("gone.py")
page.url
"""
    ran = tiptoe("shell", "http://shop.test/books/2", stdin=lines)
    assert ran.code == 0
    for said in (
        "'Book 2'",
        "['Book 2']",
        "[{'title': 'Book 2', 'v': 1}]",
        "[{'words': 2}]",
        "'http://shop.test/books/2'",
    ):
        assert said in ran.out
    assert "ZeroDivisionError" in ran.err
    assert "gone.py: does not exist" in ran.err
    assert "from the archive of shop" in ran.err
    assert (extractions(shelf.engine), items(shelf.engine)) == ([], [])
    nope = tiptoe("shell", "mailto:x", stdin="")
    assert (nope.code, nope.out, "is not a URL that can be crawled" in nope.err) == (2, "", True)


def test_status_without_any_handler(tiptoe: Tiptoe, shelf: Shelf) -> None:
    assert "no handler has had a page yet" in tiptoe("extract", "status").out
    assert tiptoe("extract", "status", "--json").json == {"handlers": [], "causes": []}


# what is in books.py, the command, words of the one line
BAD = [
    ("x = 1 /", ["run", "books.py", "--crawl", "shop"], "books.py: does not import: SyntaxError"),
    ("import gone", ["run", "books", "--crawl", "shop"], "does not import: ModuleNotFoundError: No module named 'gone"),
    ("x = 1", ["run", "books", "--crawl", "shop"], "declares no handler"),
    (None, ["run", "books.py", "--crawl", "shop"], "books.py: does not exist; `tiptoe extract new NAME`"),
    (None, ["run", "books", "--crawl", "shop"], "handler books: TIPTOE_HANDLERS names no module or file"),
    ("", ["run", "books.py", "--crawl", "gone"], "crawl gone: does not exist"),
    ("", ["run", "prices", "--crawl", "shop"], "handler prices: TIPTOE_HANDLERS names no module or file"),
    ("", ["try", "http://shop.test/about", "--handler", "books.py"], "its match /books/ is not found in"),
    ("", ["try", "mailto:x", "--handler", "books.py"], "url mailto:x: is not a URL that can be crawled"),
    ("", ["new", "Books"], "handler 'Books': use 1 to 40"),
    ("", ["new", "class"], "handler 'class': means something else in Python; choose another name"),
    ("", ["new", "books"], "books.py: already exists"),
    ("", ["status", "--crawl", "gone"], "crawl gone: does not exist"),
    (None, ["status", "books.py"], "books.py: does not exist"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "command", "words"), BAD, ids=[" ".join(row[1]) + str(n) for n, row in enumerate(BAD)]
)
def test_what_is_wrong_is_one_line(
    tiptoe: Tiptoe, shelf: Shelf, text: str | None, command: list[str], words: str
) -> None:
    if text is not None:
        Path("books.py").write_text(text or BOOKS.format(version=1))
    ran = tiptoe("extract", *command)
    assert (ran.code, ran.out) == (2, "")
    assert words in ran.err
    assert len([line for line in ran.err.splitlines() if line.startswith("tiptoe: ")]) == 1


def test_handlers_of_the_settings_are_known_by_name(
    tiptoe: Tiptoe, shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(name="shop_handlers.py")
    monkeypatch.setenv("TIPTOE_HANDLERS", "shop_handlers.py")
    assert "3 pages in" in tiptoe("extract", "run", "books", "--crawl", "shop").out
    ran = tiptoe("extract", "run", "prices", "--crawl", "shop")
    assert (ran.code, "does not exist; there are: books" in ran.err) == (2, True)


def test_a_page_that_is_not_archived_is_fetched_politely_and_not_kept(tiptoe: Tiptoe, shelf: Shelf, web: Web) -> None:
    site = web.site()
    site.robots = "User-agent: *\nDisallow: /private\n"
    site.pages |= {"/books/1": html(title="Fresh"), "/books/2": Answer(status=404), "/private/books/": html()}
    write()
    ran = tiptoe("extract", "try", site.url("/books/1"), "--handler", "books.py")
    assert (ran.code, '"title": "Fresh"' in ran.out, "fetched now, and not kept" in ran.err) == (0, True, True)
    assert site.paths == ["/robots.txt", "/books/1"]
    sql(shelf.engine, "UPDATE hosts SET polite_at = now() + interval '1 hour'")
    ran = tiptoe("extract", "try", site.url("/books/2"), "--handler", "books.py")
    assert ran.code == 2
    assert "may not be contacted now; it waits for its delay" in ran.err
    sql(shelf.engine, "UPDATE hosts SET polite_at = now()")
    ran = tiptoe("extract", "try", site.url("/private/books/"), "--handler", "books.py")
    assert (ran.code, "line 2 of robots.txt, Disallow: /private" in ran.err) == (2, True)
    sql(shelf.engine, "UPDATE hosts SET polite_at = now()")
    ran = tiptoe("extract", "try", site.url("/books/2"), "--handler", "books.py")
    assert (ran.code, "is not in the archive, and its site answered with status 404" in ran.err) == (2, True)
    assert site.paths == ["/robots.txt", "/books/1", "/books/2"]
    assert [len(sql(shelf.engine, f"SELECT FROM {table}")) for table in ("urls", "pages", "items", "fetches")] == [
        0,
        0,
        0,
        3,
    ]
    assert sql(shelf.engine, "SELECT DISTINCT state FROM hosts") == [{"state": "idle"}]


@pytest.fixture
def web() -> Iterator[Web]:
    with Web() as web:
        yield web


def test_a_crawl_does_not_begin_with_handlers_that_do_not_load(
    tiptoe: Tiptoe, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("books.py").write_text("import gone\n")
    monkeypatch.setenv("TIPTOE_HANDLERS", "books.py")
    ran = tiptoe("crawl", "http://127.0.0.1:8099/")
    assert (ran.code, ran.out) == (2, "")
    assert "tiptoe: books.py: does not import: ModuleNotFoundError: No module named 'gone'" in ran.err
    assert sql(engine, "SELECT FROM crawls") == []


# the option, the crawl's handlers
@pytest.mark.parametrize(
    ("options", "handlers"),
    [([], []), (["--handler", "books", "--handler", "prices"], ["books", "prices"]), (["--handler", "all"], [])],
)
def test_a_crawl_keeps_the_handlers_that_it_names(
    tiptoe: Tiptoe, engine: Engine, options: list[str], handlers: list[str]
) -> None:
    tiptoe("seed", "add", "shop", "http://127.0.0.1:8099/", *options)
    assert sql(engine, "SELECT handlers FROM crawls") == [{"handlers": handlers}]
    assert tiptoe("crawl", "edit", "shop", "--handler", "Books").code == 2
    assert sql(engine, "SELECT handlers FROM crawls") == [{"handlers": handlers}]


def test_a_handler_that_there_is_not(tiptoe: Tiptoe, shelf: Shelf) -> None:
    write()
    assert "books has had no page yet" in tiptoe("extract", "status", "books").out, "its file is here"
    tiptoe("extract", "run", "books.py", "--crawl", "shop")
    for verb in ("status", "retry"):
        ran = tiptoe("extract", verb, "boooks")
        assert (ran.code, ran.out) == (2, "")
        assert ran.err == "tiptoe: handler 'boooks': does not exist; there are: books\n"


def test_a_crawl_without_an_archive_is_named_as_the_reason(tiptoe: Tiptoe, engine: Engine) -> None:
    make_crawl(engine, "bare", archive=False)
    write()
    ran = tiptoe("extract", "run", "books.py", "--crawl", "bare")
    assert (ran.code, ran.out) == (0, "books: 0 pages, 0 failed\n")
    assert ran.err.splitlines()[-1] == (
        "crawl bare keeps no archive; run: tiptoe crawl edit bare --archive, then tiptoe crawl start bare --again"
    )
