"""Figures of speed that the docs quote are those that a bench wrote."""

import json
import re
from pathlib import Path

import pytest

from bench.report import FIGURES

ROOT = Path(__file__).parents[2]
PAGES = ("README.md", "docs/comparison.md", "docs/scaling.md")
# A number before one of these units; `3 × 4` is a product and no figure.
_FIGURE = re.compile(
    r"(?<![\w.,])(\d[\d,]*(?:\.\d+)?)\s(pages/s|M\spages\sa\sday|×(?!\s?\d)|ms(?:\sof\sCPU)?\s(?:a|per)\spage)"
)


def quoted(text: str) -> list[str]:
    """Figures as bench/figures.json writes them, in the order in which they stand."""
    return [
        f"{number} {'ms a page' if unit.startswith('ms') else ' '.join(unit.split())}"
        for number, unit in _FIGURE.findall(text)
    ]


def written() -> set[str]:
    return {figure for bench in json.loads(FIGURES.read_text()).values() for figure in bench["figures"].values()}


@pytest.mark.parametrize("page", PAGES)
def test_what_a_page_quotes_was_measured(page: str) -> None:
    assert set(quoted((ROOT / page).read_text())) <= written()


def test_the_docs_quote_the_headline() -> None:
    assert any(figure.endswith("M pages a day") for figure in quoted((ROOT / "README.md").read_text()))


def test_each_bench_says_how_it_was_run() -> None:
    for bench in json.loads(FIGURES.read_text()).values():
        assert bench.keys() == {"command", "machine", "date", "commit", "figures"}
        assert all(bench.values())


def test_figures_are_found_in_a_text() -> None:
    text = (
        "1,234.5 ms of CPU per\npage; 3.5 ms a page, 63 pages/s or 2.7 M pages\na day: 1.11 × Scrapy's; 4 × 5; v2.0 ×"
    )
    assert quoted(text) == ["1,234.5 ms a page", "3.5 ms a page", "63 pages/s", "2.7 M pages a day", "1.11 ×"]
