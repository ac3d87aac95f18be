"""Seeds from files: what is a list, what is CSV, which column, and which line a record is told by."""

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.admin.seeds import seeds
from app.errors import InputError


def read(text: str, **how: str) -> list[tuple[int, str]]:
    return list(seeds(io.StringIO(text, newline=""), **how))


# file, its name's suffix, column → (line, seed)
@pytest.mark.parametrize(
    ("text", "suffix", "column", "found"),
    [
        # a list: commas are of the URL
        ("https://a/1\n\n# x\r\nhttps://a/2", "", None, [(1, "https://a/1"), (4, "https://a/2")]),
        ("https://a/a,b,c.html\nhttps://a/x\n", "", None, [(1, "https://a/a,b,c.html"), (2, "https://a/x")]),
        ("https://a/a,b,c.html\nhttps://a/x\n", ".txt", None, [(1, "https://a/a,b,c.html"), (2, "https://a/x")]),
        ("\ufeffhttps://a/1\n", "", None, [(1, "https://a/1")]),
        # CSV by its name, by a column, by its header, by a quote; TSV by its tabs
        ("https://a/x.html,2024\n", ".csv", None, [(1, "https://a/x.html")]),
        ("https://a/x.html,2024\n", "", "1", [(1, "https://a/x.html")]),
        ("2024,https://a/x.html\n", "", "2", [(1, "https://a/x.html")]),
        ("title,url\nx,https://a/1\n", "", None, [(2, "https://a/1")]),
        ("URL\nhttps://a/1\n", "", None, [(2, "https://a/1")]),
        ("title;Link\nx;https://a/1,2\n", "", None, [(2, "https://a/1,2")]),
        ("title;Link\nx;https://a/1,2\n", ".csv", None, [(2, "https://a/1,2")]),
        ('"https://a/1,2","x, y"\nhttps://a/3,z\n', "", None, [(1, "https://a/1,2"), (2, "https://a/3")]),
        ('"https://a/""q""",x\n', "", None, [(1, 'https://a/"q"')]),
        ("https://a/1\tx\n", "", None, [(1, "https://a/1")]),
        ("name\turl\nx\thttps://a/1,2\n", ".tsv", None, [(2, "https://a/1,2")]),
        # which column
        ("a,Where To\nx,https://a/1\n", ".csv", "where to", [(2, "https://a/1")]),
        ("a,Where To\nx,https://a/1\n", ".csv", "2", [(2, "https://a/1")]),
        ("url,link\nhttps://a/1,https://a/2\n", ".csv", "link", [(2, "https://a/2")]),
        ("a.org,b.org\nc.org,d.org\n", ".csv", "2", [(1, "b.org"), (2, "d.org")]),
        # records over several lines, empty cells, and records that are too short
        ('url,text\n"https://a/1","x\ny"\nhttps://a/2,z\n', ".csv", None, [(2, "https://a/1"), (4, "https://a/2")]),
        (
            't,url\n"x\n\n# y",https://a/1\n# z\n\nv,https://a/2\n',
            ".csv",
            None,
            [(2, "https://a/1"), (7, "https://a/2")],
        ),
        ("url,x\n,1\nhttps://a/2,2\n", ".csv", None, [(3, "https://a/2")]),
        ("x,url\n1,https://a/1\nshort\n", ".csv", None, [(2, "https://a/1"), (3, "short (no column 2)")]),
        ("", ".csv", None, []),
        ("# nothing\n\n", "", None, []),
    ],
)
def test_files(text: str, suffix: str, column: str | None, found: list[tuple[int, str]]) -> None:
    assert list(seeds(io.StringIO(text, newline=""), suffix=suffix, column=column)) == found


@pytest.mark.parametrize("column", ["nix", "0", "-1", "1.5", ""])
def test_a_column_that_is_not_there(column: str) -> None:
    with pytest.raises(InputError, match="is not in the first line; use one of: a, b; or a number from 1"):
        read("a,b\nhttps://a/1,x\n", suffix=".csv", column=column)


def test_a_record_that_cannot_be_read_costs_itself_alone() -> None:
    long = "x" * (csv.field_size_limit() + 1)
    found = read(f"url,t\nhttps://a/1,x\nhttps://a/2,{long}\nhttps://a/3,x\n", suffix=".csv")
    assert [number for number, _ in found] == [2, 3, 4]
    assert "field larger than field limit" in found[1][1]
    assert [found[0][1], found[2][1]] == ["https://a/1", "https://a/3"]


_CELL = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20)


@given(st.lists(st.tuples(_CELL, _CELL), max_size=20))
def test_what_a_csv_writer_wrote_is_read(rows: list[tuple[str, str]]) -> None:
    """Whatever the cells beside hold: line ends, quotes, commas."""
    file = io.StringIO(newline="")
    writer = csv.writer(file)
    writer.writerow(["title", "url", "text"])
    for number, (before, after) in enumerate(rows):
        writer.writerow([f"t{before}", f"https://a/{number},x", after])
    file.seek(0)
    found = list(seeds(file, suffix=".csv"))
    assert [text for _, text in found] == [f"https://a/{number},x" for number in range(len(rows))]
