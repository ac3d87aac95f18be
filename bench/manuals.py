"""How whole the Markdown of manuals is: `python -m bench.manuals [--every N] [--missing] [FOLDER …]`.

Reads each N-th page of the manuals that Debian ships (python3-doc, python-django-doc, sqlite3-doc, git-doc,
postgresql-doc), or of the folders given, and counts which headings, code blocks, table rows and list items of their
main part are in their Markdown, as a CommonMark reader with tables finds them there. Nothing of how the reader works
stands in the truth. The main part is the first of `[role=main]`, `main`, `div.body`, else body; without `nav`, classes
with `toc` or `related`, permalinks, and tables of navigation. List items are those with prose, or in a list that is
kept. A cell is moved where a row's cells are there, and one of them stands in another column. --missing prints what is
not there.
"""

import argparse
import re
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TypeAlias
from unicodedata import normalize

from lxml import etree
from markdown_it import MarkdownIt

from app.parse import markdown

Element: TypeAlias = etree._Element  # noqa: SLF001  # lxml documents it under no other name
FOLDERS = tuple(
    Path("/usr/share/doc", name)
    for name in (
        "python3.11/html",
        "python-django-doc/html",
        "sqlite3",
        "git-doc",
        "postgresql-doc-15/html",
    )
)
KINDS = ("headings", "code", "rows", "items")
_MAINS = (
    *("//*[@role='main']", "//main", "//div[contains(concat(' ', @class, ' '), ' body ')]"),
    *("//*[@id='yui-main']", "//body"),  # the former is Django's
)
_AROUND = """descendant::*[self::nav or self::script or self::style or contains(@class, 'toc')
    or contains(@class, 'related') or starts-with(@class, 'nav')]"""
_SIGNS = "¶#§"
_PROSE_CHARS = 40  # of an item outside links, for it to hold prose
_LINKED = 0.5  # of a table's text, for it to be one of navigation
_WORD = re.compile(r"\w+")


@dataclass(slots=True)
class Counted:
    """What of a page, or of many, is in the Markdown.   moved: rows with a cell under another column"""

    wanted: Counter[str] = field(default_factory=Counter)
    found: Counter[str] = field(default_factory=Counter)
    moved: int = 0
    missing: list[tuple[str, str]] = field(default_factory=list)

    def recall(self, kind: str) -> float:
        return self.found[kind] / self.wanted[kind] if self.wanted[kind] else 1.0

    def add(self, other: "Counted") -> None:
        self.wanted += other.wanted
        self.found += other.found
        self.moved += other.moved
        self.missing += other.missing


def main(arguments: argparse.Namespace) -> None:
    whole = Counted()
    print(f"{'':28}{'pages':>6}{''.join(f'{kind:>10}' for kind in KINDS)}{'moved':>7}{'s':>7}")
    for folder in arguments.folders or FOLDERS:
        paths = pages_of(folder, arguments.every)
        counted, start = Counted(), time.process_time()
        for path in paths:
            page = count(path.read_bytes())
            counted.add(page)
            if arguments.missing:
                for kind, words in page.missing:
                    print(f"  {path}: {kind}: {words[:160]}")
        whole.add(counted)
        _print(str(folder)[-28:], len(paths), counted, time.process_time() - start)
    _print("all", 0, whole, 0)


def _print(name: str, pages: int, counted: Counted, spent: float) -> None:
    recalls = "".join(f"{counted.recall(kind):10.4f}" for kind in KINDS)
    print(f"{name:28}{pages:6}{recalls}{counted.moved:7}{spent:7.1f}", flush=True)
    print(f"{'':34}{''.join(f'{counted.wanted[kind]:10}' for kind in KINDS)}", flush=True)


def pages_of(folder: Path, every: int = 1) -> list[Path]:
    """The pages of a folder, evenly drawn: each N-th of them by name. Pages that lead elsewhere at once are none."""
    return [path for path in sorted(folder.rglob("*.html"))[::every] if not path.is_symlink() and path.is_file()]


def count(body: bytes) -> Counted:
    """Which of the page's headings, code blocks, rows and items its Markdown holds."""
    main_part = _main_part(body)
    written = Written(markdown.of(body, "https://manual.test/", "text/html"))
    counted = Counted()
    if main_part is None:
        return counted
    _count(
        "headings", [_words(e) for e in main_part.iter("h1", "h2", "h3", "h4", "h5", "h6")], written.headings, counted
    )
    _count(
        "code", [_words(e) for e in main_part.iter("pre") if not _is_within(e, "table", "pre")], written.code, counted
    )
    _count_rows(main_part, written, counted)
    _count_items(main_part, written, counted)
    return counted


class Written:
    """The parts of a text of Markdown: words of headings, code blocks, cells of rows, and items."""

    def __init__(self, text: str) -> None:
        self.headings: Counter[str] = Counter()
        self.code: Counter[str] = Counter()
        self.rows: list[tuple[str, ...]] = []
        self.items: set[str] = set()
        self.words = ""
        self._read(text)

    def _read(self, text: str) -> None:
        tokens = MarkdownIt("commonmark").enable("table").parse(text)
        row: list[str] = []
        words: list[str] = []
        is_first = False
        for token, after in pairwise([*tokens, *tokens[-1:]]):
            if token.type in ("fence", "code_block"):
                self.code[_squeezed(token.content)] += 1
                words.append(_squeezed(token.content))
            elif token.type == "list_item_open":
                is_first = True
            elif token.type == "inline":
                words.append(_shown(token.content))
                if is_first:
                    self.items.add(words[-1])
                    is_first = False
            elif token.type == "heading_open":
                self.headings[_shown(after.content)] += 1
            elif token.type in ("th_open", "td_open"):
                row.append(_shown(after.content))
            elif token.type == "tr_close":
                self.rows.append(tuple(row))
                row = []
        self.words = "".join(words)


def _count(kind: str, wanted: Sequence[str], there: Counter[str], counted: Counted) -> None:
    expected = Counter(words for words in wanted if words)
    counted.wanted[kind] += expected.total()
    counted.found[kind] += (expected & there).total()
    counted.missing += [(kind, words) for words in (expected - there).elements()]


def _count_rows(main_part: Element, written: "Written", counted: Counted) -> None:
    there = Counter(written.rows)
    by_words: dict[str, list[tuple[str, ...]]] = {}
    for cells in written.rows:
        by_words.setdefault("".join(sorted(filter(None, cells))), []).append(cells)
    for table in main_part.iter("table"):
        if _is_layout(table):
            continue
        for row in _rows(table):
            counted.wanted["rows"] += 1
            cells = tuple(row)
            alike = [
                c
                for c in by_words.get("".join(sorted(filter(None, cells))), ())
                if _stripped(c) == _stripped(cells) or there[c] > 0
            ]
            exact = next((c for c in alike if _stripped(c) == _stripped(cells) and there[c] > 0), None)
            if exact is not None:
                there[exact] -= 1
                counted.found["rows"] += 1
            else:
                counted.moved += bool(alike)
                counted.missing.append(("rows" if not alike else "moved", " | ".join(cells)))


def _count_items(main_part: Element, written: "Written", counted: Counted) -> None:
    for each in main_part.iter("ul", "ol"):
        if _is_within(each, "table"):
            continue
        items = [(item, words) for item in each.iterchildren("li") if (words := _own_words(item))]
        here = [words in written.words for _, words in items]
        is_kept = sum(words in written.items for _, words in items) * 2 >= len(items)
        for (item, words), is_here in zip(items, here, strict=True):
            if is_kept or len(_unlinked(item)) >= _PROSE_CHARS:
                counted.wanted["items"] += 1
                counted.found["items"] += is_here
                if not is_here:
                    counted.missing.append(("items", words))


def _main_part(body: bytes) -> Element | None:
    root = etree.fromstring(body, etree.HTMLParser(remove_comments=True, encoding=_encoding(body)))
    if root is None:
        return None
    found = next((found[0] for path in _MAINS if (found := root.xpath(path))), None)
    if found is None:
        return None
    for element in found.xpath(_AROUND):
        _drop(element)
    for link in list(found.iter("a")):
        if (link.get("href") or "").startswith("#") and "".join(link.itertext()).strip() in _SIGNS:
            _drop(link)
    for table in list(found.iter("table")):
        whole, linked = len(_words(table)), sum(len(_words(a)) for a in table.iter("a"))
        if linked > whole * _LINKED and not table.xpath(".//th") and len(list(table.iter("tr"))) <= 3:
            _drop(table)
    return found


def _encoding(body: bytes) -> str:
    try:
        body.decode()
    except UnicodeDecodeError:
        return "cp1252"
    return "utf-8"


def _drop(element: Element) -> None:
    above = element.getparent()
    if above is not None:
        before = element.getprevious()
        if before is not None:
            before.tail = (before.tail or "") + (element.tail or "")
        else:
            above.text = (above.text or "") + (element.tail or "")
        above.remove(element)


def _is_layout(table: Element) -> bool:
    """Whether it is for the looks: one that holds blocks, or has one column, or stands in another."""
    if _is_within(table, "table") or table.xpath(
        ".//table or .//h1 or .//h2 or .//h3 or .//pre or .//ul or .//ol or .//dl"
    ):
        return True
    return max((sum(map(bool, row)) for row in _rows(table)), default=0) < 2


def _rows(table: Element) -> Iterator[list[str]]:
    """The words of each row's cells, "" where a cell of an earlier row or column reaches in."""
    reaching: dict[int, int] = {}  # column: rows that a cell above still takes there
    for row in table.iter("tr"):
        cells: list[str] = []
        for cell in row:
            if cell.tag in ("td", "th"):
                _pad(cells, reaching)
                wide, high = _span(cell, "colspan"), _span(cell, "rowspan")
                for column in range(len(cells), len(cells) + wide):
                    if high > 1:
                        reaching[column] = high - 1
                cells += [_words(cell), *[""] * (wide - 1)]
        _pad(cells, reaching)
        if any(cells):
            yield cells


def _pad(cells: list[str], reaching: dict[int, int]) -> None:
    while reaching.get(len(cells), 0):
        reaching[len(cells)] -= 1
        cells.append("")


def _span(cell: Element, name: str) -> int:
    written = (cell.get(name) or "").strip()
    return max(1, min(int(written), 1000)) if written.isdecimal() else 1


def _stripped(cells: Sequence[str]) -> tuple[str, ...]:
    """The cells without empty ones at the end."""
    last = max((n for n, words in enumerate(cells, 1) if words), default=0)
    return tuple(cells[:last])


def _is_within(element: Element, *tags: str) -> bool:
    return next(element.iterancestors(*tags), None) is not None


def _words(element: Element) -> str:
    return _squeezed("".join(_shown_texts(element)))


def _shown_texts(element: Element) -> Iterator[str]:
    return (str(text) for text in element.xpath(".//text()[not(ancestor::script or ancestor::style)]"))


def _own_words(item: Element) -> str:
    """The words of an item before the first block in it."""
    pieces = [item.text or ""]
    for child in item.iterchildren():
        if child.tag in ("ul", "ol", "dl", "pre", "table", "div", "blockquote"):
            break
        if child.tag == "p":
            if not _squeezed("".join(pieces)):
                pieces += ["".join(child.itertext())]
            break
        pieces += ["".join(child.itertext()), child.tail or ""]
    return _squeezed("".join(pieces))


def _unlinked(item: Element) -> str:
    return " ".join(str(text) for text in item.xpath(".//text()[not(ancestor::a)]")).strip()


def _shown(line: str) -> str:
    """The words of a line of Markdown as a reader shows them."""
    parts: list[str] = []
    (token,) = MarkdownIt("commonmark").parseInline(line)
    for child in token.children or ():
        if child.type in ("text", "code_inline"):
            parts.append(child.content)
    return _squeezed("".join(parts))


def _squeezed(text: str) -> str:
    """Letters and digits alone: what a writer escapes or wraps is the same."""
    return "".join(_WORD.findall(normalize("NFKC", text)))  # ² is 2


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m bench.manuals", description=__doc__)
    parser.add_argument("folders", type=Path, nargs="*", help="D: the manuals that Debian ships")
    parser.add_argument("--every", type=int, default=1, help="each N-th page of a manual; D: 1, every page")
    parser.add_argument("--missing", action="store_true", help="print what is not there")
    main(parser.parse_args())
