"""What is asked of an export, checked before anything is written: kinds, formats, columns, filters, places."""

from pathlib import Path

import pytest

from app.errors import InputError
from app.features.export.columns import COLUMNS, FILTERS, ExportKind, choose, kind_of, parse, with_all
from app.features.export.formats import format_of
from app.features.export.target import opened

PAGES, FETCHES = ExportKind.PAGES, ExportKind.FETCHES
USUAL = [column.name for column in COLUMNS[PAGES] if not column.asked]


# names as given → the columns
@pytest.mark.parametrize(
    ("names", "found"),
    [
        ([], USUAL),
        (["title", "url"], ["title", "url"]),
        (["+text"], [*USUAL, "text"]),
        (["url", "+html", "+markdown"], ["url", "html", "markdown"]),
    ],
)
def test_columns(names: list[str], found: list[str]) -> None:
    assert [column.name for column in choose(PAGES, names)] == found


def test_what_a_format_needs_is_added_once() -> None:
    columns = with_all(PAGES, choose(PAGES, ["title", "url"]), ["url", "key"])
    assert [column.name for column in columns] == ["title", "url", "key"]


def test_texts_and_bodies_must_be_asked_for() -> None:
    assert {column.name for column in COLUMNS[PAGES] if column.asked} >= {"text", "markdown", "html"}


# names, words of the error
@pytest.mark.parametrize(
    ("names", "words"),
    [
        (["titel"], ("--columns titel", "pages", "title?")),
        (["zzz"], ("--columns zzz", "there are url, host")),
        (["url", "url"], ("--columns url", "twice")),
        (["+url"], ("--columns url", "twice")),
        (["+nope"], ("--columns nope",)),
    ],
)
def test_columns_that_there_are_not(names: list[str], words: tuple[str, ...]) -> None:
    with pytest.raises(InputError) as caught:
        choose(PAGES, names)
    assert [word for word in words if word not in str(caught.value)] == []


# kind, filters → the parameters that have a value
@pytest.mark.parametrize(
    ("kind", "texts", "found"),
    [
        (PAGES, [], {}),
        (PAGES, ["status=200", "status=304"], {"status": [200, 304]}),
        (PAGES, ["language=EN", "host=Example.org"], {"language": ["en"], "host": ["example.org"]}),
        (PAGES, ["url~^https://a/=b"], {"url_like": ["^https://a/=b"]}),
        (PAGES, ["type=Text/HTML"], {"type": ["text/html"]}),
        (FETCHES, ["outcome=page", "kind=sitemap"], {"outcome": ["page"], "kind": ["sitemap"]}),
    ],
)
def test_filters(kind: ExportKind, texts: list[str], found: dict[str, object]) -> None:
    values = parse(kind, texts)
    assert {name: value for name, value in values.items() if value is not None} == found
    assert set(values) == {each.parameter for each in FILTERS[kind]}


# kind, filter, words of the error
@pytest.mark.parametrize(
    ("kind", "text", "words"),
    [
        (PAGES, "titel=x", ("--where titel=x", "status=…", "url~…")),
        (PAGES, "url=x", ("--where url=x", "url~…")),
        (PAGES, "status", ("--where status", "not a filter")),
        (PAGES, "status=abc", ("--where status=abc", "three digits")),
        (PAGES, "host=", ("--where host=", "no value")),
        (PAGES, "outcome=page", ("not a filter of pages",)),
        (FETCHES, "outcome=pages", ("--where outcome=pages", "not_found")),
        (FETCHES, "language=en", ("not a filter of fetches",)),
    ],
)
def test_filters_that_there_are_not(kind: ExportKind, text: str, words: tuple[str, ...]) -> None:
    with pytest.raises(InputError) as caught:
        parse(kind, [text])
    assert [word for word in words if word not in str(caught.value)] == []


# word, place → the format
@pytest.mark.parametrize(
    ("word", "to", "form"),
    [
        (None, "pages.csv", "csv"),
        (None, "s3://bucket/pages.parquet", "parquet"),
        (None, "folder/", "jsonl"),
        (None, "pages.txt", "jsonl"),
        ("parquet", "folder", "parquet"),
    ],
)
def test_format(word: str | None, to: str, form: str) -> None:
    assert format_of(word, to) == form


@pytest.mark.parametrize("word", ["xlsx", "Parquet", ""])
def test_a_format_that_there_is_not(word: str) -> None:
    with pytest.raises(InputError, match="use one of jsonl, csv, parquet, markdown"):
        format_of(word, "x")


def test_a_kind_that_there_is_not() -> None:
    with pytest.raises(InputError, match=r"export urls: can export pages, .*; name one of them"):
        kind_of("urls")


# place, endings of the format → what it is below the test's folder, and the file in it
@pytest.mark.parametrize(
    ("to", "endings", "folder", "name"),
    [
        ("pages.csv", ("csv",), ".", "pages.csv"),
        ("deep/er/pages.csv", ("csv",), "deep/er", "pages.csv"),
        ("parts", ("csv",), "parts", None),
        ("parts/", ("csv",), "parts", None),
        ("version.1/", ("csv",), "version.1", None),
        ("there.d", ("csv",), "there.d", None),
        ("pages", (), "pages", None),
        ("..", ("csv",), "..", None),
    ],
)
def test_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, to: str, endings: tuple[str, ...], folder: str, name: str | None
) -> None:
    (tmp_path / "below" / "there.d").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "below")
    with opened(to, endings=endings) as (target, found):
        assert (Path(target.shown).resolve(), found) == ((tmp_path / "below" / folder).resolve(), name)
        assert Path(target.shown).is_dir()


# place, endings, words of the error
@pytest.mark.parametrize(
    ("to", "endings", "words"),
    [
        ("pages.txt", ("csv",), ("--to pages.txt", "a file that ends in .csv")),
        ("pages.xlsx", ("jsonl", "csv", "parquet"), ("a file that ends in .jsonl, .csv or .parquet",)),
        ("book.md", (), ("--to book.md", "name a folder")),
        ("ftp://host/pages.csv", ("csv",), ("--to ftp://host/pages.csv", "s3://bucket/prefix/")),
        ("s3://", ("csv",), ("--to s3://", "s3://bucket/prefix/")),
        (" ", ("csv",), ("is not a place that can be written to", "name a file")),
        ("-", ("csv",), ("is not a place that can be written to", "name a file")),
        ("file/below/", ("csv",), ("--to file/below", "Not a directory", "another folder")),
        ("/proc/nowhere/", ("csv",), ("--to /proc/nowhere", "cannot be written", "another folder")),
    ],
)
def test_a_place_that_cannot_be_written_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, to: str, endings: tuple[str, ...], words: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(InputError) as caught, opened(to, endings=endings):
        pass
    assert [word for word in words if word not in str(caught.value)] == []
