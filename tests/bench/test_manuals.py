"""How whole the Markdown of manuals is: the counting, and the manuals that Debian ships."""

from pathlib import Path

import pytest

from bench import manuals

PROSE = "It is a sentence of some length, so that this is an item with prose."
LEAST = {"headings": 0.995, "code": 0.995, "rows": 0.97, "items": 0.97}


def test_what_is_there_is_counted() -> None:
    page = f"""<nav><h2>N</h2></nav><main><h1>A<a href=#a>¶</a></h1><p>{PROSE}</p><pre>x = 1\n\ny = 2</pre>
    <ul><li>{PROSE}<li><a href=x>One</a></ul><table><tr><th>a<th>b<tr><td rowspan=2>1<td>2<tr><td>3</table></main>"""
    counted = manuals.count(page.encode())
    assert counted.wanted == {"headings": 1, "code": 1, "rows": 3, "items": 2}
    assert (counted.found, counted.moved, counted.missing) == (counted.wanted, 0, [])


def test_what_is_missing_or_moved_is_found_out() -> None:
    written = manuals.Written("| a | b |\n| --- | --- |\n| 2 | 1 |\n")
    assert written.rows == [("a", "b"), ("2", "1")]
    page = f"<h1>A</h1><p>{PROSE * 4}</p><div hidden><h2>B</h2></div>"
    assert manuals.count(page.encode()).missing == [("headings", "B")]


@pytest.mark.parametrize("folder", manuals.FOLDERS, ids=lambda folder: folder.parts[4])
def test_the_markdown_of_debians_manuals_is_whole(folder: Path) -> None:
    if not folder.is_dir():
        pytest.skip(
            f"{folder} is not there (Debian: python3-doc, python-django-doc, sqlite3-doc, git-doc, postgresql-doc)"
        )
    counted, missing = manuals.Counted(), []
    for path in manuals.pages_of(folder, every=71):
        page = manuals.count(path.read_bytes())
        counted.add(page)
        missing += [(path.name, *each) for each in page.missing]
    assert {kind: counted.recall(kind) >= least for kind, least in LEAST.items()} == dict.fromkeys(LEAST, True), missing
    assert counted.moved == 0, missing
