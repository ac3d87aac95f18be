"""The docs as a site: built without a warning, each page in its navigation, and nothing loaded from elsewhere."""

import re
import shutil
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.site.build import CONFIG, ROOT, build, pages, stage

CONFIGURED: dict[str, Any] = tomllib.loads((ROOT / CONFIG).read_text())["project"]
LOADED = re.compile(r'<(?:script|img|iframe|source)\b[^>]*\bsrc="?(?:https?:)?//|<link\b[^>]*\bhref="?(?:https?:)?//')
OF_STYLES = re.compile(r'(?:url\(|@import\s*)["\']?(?:https?:)?//')


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    shutil.copy(ROOT / CONFIG, folder)
    stage(folder / CONFIGURED["docs_dir"])
    built = build(folder)
    assert built.returncode == 0, built.stdout + built.stderr
    made: str = CONFIGURED["site_dir"]
    return folder / made


def in_nav(entries: list[dict[str, Any]]) -> Iterator[str]:
    for entry in entries:
        for what in entry.values():
            if isinstance(what, str):
                yield what
            else:
                yield from in_nav(what)


def test_every_page_is_in_the_navigation_once() -> None:
    assert sorted(in_nav(CONFIGURED["nav"])) == sorted(pages())


def test_every_page_is_built(site: Path) -> None:
    for page in pages():
        place = (site / page).with_suffix("") / "index.html"
        assert (place.parent.parent / "index.html" if page.endswith("README.md") else place).exists(), page


def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    found = {page.name: LOADED.findall(page.read_text()) for page in site.rglob("*.html")}
    assert {name: each for name, each in found.items() if each} == {}
    assert [style.name for style in site.rglob("*.css") if OF_STYLES.search(style.read_text())] == []


def test_diagrams_are_drawn_by_what_we_ship(site: Path) -> None:
    """The theme would load it from elsewhere if it were not there before the theme's own script draws."""
    (script,) = CONFIGURED["extra_javascript"]
    drawn = [page for page in site.rglob("*.html") if 'class="mermaid"' in page.read_text()]
    assert len(drawn) >= 2
    for page in drawn:
        sources = re.findall(r'<script src="([^"]+)"', page.read_text())
        assert any((page.parent / source).resolve() == (site / script).resolve() for source in sources)
    assert (site / script).stat().st_size > 1_000_000
    assert "MIT" in (ROOT / "docs" / "vendor" / "mermaid.LICENSE.txt").read_text()


def test_a_broken_link_is_an_error(tmp_path: Path) -> None:
    shutil.copy(ROOT / CONFIG, tmp_path)
    stage(tmp_path / CONFIGURED["docs_dir"])
    page = tmp_path / CONFIGURED["docs_dir"] / "docs" / "start.md"
    page.write_text(page.read_text() + "\n[nowhere](no-such-page.md)\n")
    assert build(tmp_path).returncode != 0


def test_the_site_can_be_searched(site: Path) -> None:
    assert "TiptoeQueueDeep" in (site / "search.json").read_text()
