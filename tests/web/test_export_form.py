"""Export as a form: the file is what `tiptoe export` writes, and what is wrong is said on the form; nothing is left."""

import tempfile
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from zipfile import ZipFile

import pytest
from sqlalchemy import Engine

from app.errors import InputError
from app.features.export.export import export_rows
from app.features.export.plan import ExportWish
from app.web.pages.export_form import AT_ONCE, ROWS_MOST, check_rows, making
from tests.faults.waiting import until
from tests.web.served import Browser, settings_of

# the form's fields → those of a wish
SAVED: list[tuple[str, dict[str, object]]] = [
    ("", {"what": "pages", "form": "jsonl"}),
    ("&what=pages&format=csv&where=status%3D200", {"what": "pages", "form": "csv", "where": ("status=200",)}),
    ("&content=full&where=url~/a", {"what": "pages", "form": "jsonl", "where": ("url~/a",), "content": "full"}),
    (
        "&format=csv&columns=url,title&spreadsheet=on",
        {"what": "pages", "form": "csv", "columns": ("url", "title"), "spreadsheet": True},
    ),
    ("&what=fetches&format=csv&since=7d", {"what": "fetches", "form": "csv", "since": "7d"}),
    ("&what=items", {"what": "items", "form": "jsonl"}),
]
# the form's fields → words that stand on the form
WRONG = [
    ("&what=words", "words"),
    ("&format=xml", "xml"),
    ("&format=../../x", "x"),
    ("&where=colour%3Dred", "colour"),
    ("&where=status%3Dgood", "three digits"),
    ("&where=url~(", "url~("),
    ("&columns=colour", "colour"),
    ("&content=half", "half"),
    ("&since=lately", "lately"),
]


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    def left() -> set[Path]:
        return set(Path(tempfile.gettempdir()).glob("tiptoe-export-*"))

    before = left()
    yield
    until(lambda: left() <= before, "what was written is removed once it is read")


@pytest.mark.parametrize(("query", "wish"), SAVED)
def test_the_file_is_what_the_command_writes(
    browser: Browser, crawled: Engine, database_url: str, tmp_path: Path, query: str, wish: dict[str, object]
) -> None:
    answer = browser.get(f"/export/file?crawl=docs{query}")
    assert answer.status_code == 200, answer.text
    to = tmp_path / f"file.{wish['form']}"
    export_rows(crawled, settings_of(database_url), ExportWish(crawl="docs", to=str(to), **wish))  # type: ignore[arg-type]  # a row of the table
    assert answer.content == to.read_bytes()
    assert answer.headers["content-disposition"] == f'attachment; filename="docs-{wish["what"]}.{wish["form"]}"'
    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["content-security-policy"].startswith("sandbox")


def test_markdown_is_a_zip_of_a_file_for_each_page(browser: Browser) -> None:
    answer = browser.get("/export/file?crawl=shells&format=markdown")
    assert answer.headers["content-disposition"] == 'attachment; filename="shells-pages.zip"'
    with ZipFile(BytesIO(answer.content)) as saved:
        (name,) = [each for each in saved.namelist() if each.endswith(".md")]
        assert "# Made" in saved.read(name).decode()


@pytest.mark.parametrize(("query", "words"), WRONG)
def test_what_is_wrong_is_said_on_the_form(browser: Browser, query: str, words: str) -> None:
    answer = browser.get(f"/export/file?crawl=docs{query}")
    assert answer.status_code == 400
    assert "Not exported." in answer.text
    assert words in answer.text
    assert 'action="/export/file"' in answer.text
    assert "content-disposition" not in answer.headers


@pytest.mark.parametrize("path", ["/export", "/export?crawl=nothing", "/export/file?crawl=nothing"])
def test_a_crawl_that_is_not_there_is_refused(browser: Browser, path: str) -> None:
    assert browser.get(path).status_code == 400


def test_few_are_made_at_a_time(browser: Browser) -> None:
    for _ in range(AT_ONCE):
        assert making.acquire(blocking=False)
    try:
        answer = browser.get("/export/file?crawl=docs")
        assert answer.status_code == 429
        assert "2 exports are being made" in answer.text
    finally:
        making.release(AT_ONCE)
    assert browser.get("/export/file?crawl=docs").status_code == 200


def test_a_file_for_a_browser_has_so_many_rows_at_most() -> None:
    check_rows(ROWS_MOST, "docs", "pages")
    with pytest.raises(
        InputError, match="has more than 250,000 rows; narrow it, or run `tiptoe export pages --crawl docs"
    ):
        check_rows(ROWS_MOST + 1, "docs", "pages")


def test_the_form_is_found_from_a_crawl_and_its_pages(browser: Browser) -> None:
    for path in ("/crawl?name=docs", "/pages?crawl=docs"):
        assert 'href="/export?crawl=docs"' in browser.get(path).text
