"""The handlers that we show to people work: the one that `tiptoe extract new` writes, and those of the docs."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from app.cli import extract
from app.features.extract import process
from app.features.extract.process import HandlerProcess
from tests.acceptance.pages import Block, blocks
from tests.features.extract.conftest import MEMORY_BYTES, page

SHOWN = [block for block in blocks("docs/extraction.md") if block.language == "python"]
BOOK = b"<title>A book</title><h1>One</h1><p class='price'>EUR 12.50</p><a href='/next'>next</a>"


@contextmanager
def started(path: Path) -> Iterator[HandlerProcess]:
    made = process.start([str(path)], memory_bytes=MEMORY_BYTES)
    yield made
    made.end()


def test_the_first_handler_works_as_it_stands(tmp_path: Path) -> None:
    path = extract.write("my_books", tmp_path)
    with started(path) as handlers:
        assert handlers.specs["my_books"].fields == {"title": "text", "headings": "jsonb", "links": "bigint"}
        found = handlers.handle(page(BOOK), "my_books", deadline_s=10.0, before=lambda _: None)
    assert found.items == [{"title": "A book", "headings": ["One"], "links": 1}]


@pytest.mark.parametrize("block", SHOWN, ids=lambda block: str(block.line))
def test_a_handler_of_the_docs_works(block: Block, tmp_path: Path) -> None:
    path = tmp_path / "books.py"
    path.write_text(block.text)
    with started(path) as handlers:
        (name,) = handlers.specs
        assert handlers.specs[name].fits("http://a.test/books/1")
        found = handlers.handle(page(BOOK), name, deadline_s=10.0, before=lambda _: None)
    assert found.items == [{"title": "A book", "price": 12.5}]


def test_the_docs_show_one() -> None:
    assert SHOWN


def test_a_folder_called_tiptoe_does_not_stand_for_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A clone of the repository lies where its user works."""
    (tmp_path / "tiptoe").mkdir()
    monkeypatch.chdir(tmp_path)
    with started(extract.write("books", Path())) as handlers:
        assert list(handlers.specs) == ["books"]
