"""Makes tables of a page such that html-to-markdown writes each cell under its own column."""

from collections.abc import Iterator

from lxml import etree

from app.parse.html.tree import Element

LAYOUT = ("table", "h1", "h2", "h3")  # a table that holds one is there for the looks
BLOCKS = ("pre", "ul", "ol", "dl", "blockquote", "h4", "h5", "h6")  # and so is one of a single column that holds one
_MOST_PADDED = 200_000  # cells of a page that are there because another row has them
_TABLE = ("table", "tbody", "thead", "tfoot", "tr", "td", "th")


def unpack(content: Element) -> None:
    """Make tables plain blocks that are there for the looks, and those of few cells that would be written as many.

    Of the others each row gets a cell for each column: the library puts some that stand beside spanning ones elsewhere.
    """
    room = _MOST_PADDED
    for table in list(content.iter("table")):
        is_layout = _is_layout(table)
        own_cells = 0 if is_layout else 4 * sum(1 for _ in table.iterdescendants("td", "th"))
        grid = None if is_layout else _grid(table, room + own_cells)
        if grid is None:
            room = room if is_layout else 0
            for part in [table, *_own_parts(table)]:
                part.tag = "div"
            continue
        width = max((len(cells) for _, cells in grid), default=0)
        room -= max(len(grid) * width - own_cells, 0)
        for row, cells in grid:
            others = [each for each in row if each.tag not in ("td", "th")]
            row[:] = [etree.Element("td") if cell is None else cell for cell in cells] + others
        etree.strip_attributes(table, "colspan", "rowspan")
        if width > 1:  # without a header, the library takes some for lists
            for cell in grid[0][0].iterchildren("td"):
                cell.tag = "th"


def _own_parts(table: Element) -> Iterator[Element]:
    """Its rows and cells, but those of tables in it, which have their turn: each is met once, however they nest."""
    walk = etree.iterwalk(table, events=("start",), tag=_TABLE)
    for _, element in walk:
        if element.tag != "table":
            yield element
        elif element is not table:
            walk.skip_subtree()


def _grid(table: Element, most: int) -> list[tuple[Element, list[Element | None]]] | None:
    """Each row and its cells, None wherever one of an earlier column or row reaches in.

    None: with as many columns in each row there would be more than `most`; no more are looked at. Cells may reach a
    thousand rows down, each of them.
    """
    grid: list[tuple[Element, list[Element | None]]] = []
    reaching: dict[int, int] = {}  # column: rows that a cell above still takes there
    empty = width = 0
    for row in table.iter("tr"):
        cells: list[Element | None] = []
        for cell in [each for each in row if each.tag in ("td", "th")]:
            _reach_in(cells, reaching)
            wide, high = _span(cell, "colspan"), _span(cell, "rowspan")
            if high > 1:
                reaching |= dict.fromkeys(range(len(cells), len(cells) + wide), high - 1)
            cells += [cell, *[None] * (wide - 1)]
            if empty + len(cells) > most:
                return None
        _reach_in(cells, reaching)
        grid.append((row, cells))
        empty, width = empty + cells.count(None), max(width, len(cells))
        if max(empty, len(grid) * width) > most:
            return None
    return grid


def _reach_in(cells: list[Element | None], reaching: dict[int, int]) -> None:
    while reaching.get(len(cells), 0):
        reaching[len(cells)] -= 1
        cells.append(None)


def _span(cell: Element, name: str) -> int:
    """The columns or rows of a cell, as the library counts them."""
    written = cell.get(name) or ""
    return min(int(written), 1_000) if written.isascii() and written.isdigit() and len(written) < 10 else 1


def _is_layout(table: Element) -> bool:
    """Whether a table is there for the looks: in cells, blocks would be written on one line."""
    has_layout = next(table.iterdescendants(*LAYOUT), None) is not None
    has_blocks = has_layout or next(table.iterdescendants(*BLOCKS), None) is not None
    return has_blocks and (has_layout or not any(_cells(row) > 1 for row in table.iter("tr")))


def _cells(row: Element) -> int:
    return sum(1 for cell in row if cell.tag in ("td", "th") and (len(cell) or (cell.text or "").strip()))
