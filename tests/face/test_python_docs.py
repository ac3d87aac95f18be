"""docs/python.md: its cells run in their order in one process, as a notebook's, and there is one for each name."""

import re

import pytest

import tiptoe
from tests.acceptance.conftest import manual
from tests.acceptance.pages import blocks
from tests.crawl.web import Web, html
from tests.face.conftest import Script

CELLS = [block.text for block in blocks("docs/python.md") if block.language == "python"]


def test_each_name_has_its_example() -> None:
    used = set(re.findall(r"tiptoe\.(\w+)", "\n".join(CELLS)))
    assert used == set(tiptoe.__all__)


@pytest.mark.acceptance
def test_the_cells_run(script: Script, web: Web) -> None:
    site = web.site()
    manual(site, 6)
    site.pages |= {path: html(title=path) for path in ("/page", "/a")}
    # What it prints is not judged cell by cell: that is done by test_crawl. Here all of it has to run.
    text = "\n".join(CELLS).replace("https://example.org", site.url(""))
    ran = script.run(text)
    assert (ran.code, ran.err) == (0, ""), ran.err
    assert "docs 6 pages" in ran.out
    assert "2 are new" in ran.out
    assert "'title': 'Page 0'" in ran.out
    assert "only http:// and https:// URLs can be crawled" in ran.out
    assert len((script.folder / "pages.jsonl").read_text().splitlines()) == 6
