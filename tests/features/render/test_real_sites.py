"""Real documentation, from Debian's packages: pages that need no browser get none. Skipped where no tree is there.

A tree is looked for where its package is installed, and in the shared origin (`shared/origin`, see its README).
"""

import mimetypes
from collections.abc import Callable
from pathlib import Path

import pytest

from app.crawl.state.worker import Worker
from app.model import Budgets
from app.parse.html.html import read
from tests.crawl.loop import run, start
from tests.crawl.web import Answer, Web
from tests.features.render.shells import rows, there

ORIGIN = Path(__file__).parents[4] / "shared" / "origin" / "sites"
# package, document root within it
TREES = [
    ("postgresql-doc-15", "usr/share/doc/postgresql-doc-15/html"),
    ("python3.11-doc", "usr/share/doc/python3.11/html"),
    ("sqlite3-doc", "usr/share/doc/sqlite3"),
    ("python-django-doc", "usr/share/doc/python-django-doc/html"),
]
PAGES = 30


def tree(package: str, root: str) -> Path:
    for place in (ORIGIN / package / root, Path("/") / root):
        if (place / "index.html").is_file():
            return place
    pytest.skip(f"{package} is neither installed, nor in {ORIGIN}")


@pytest.mark.parametrize(("package", "root"), TREES, ids=[package for package, _ in TREES])
def test_a_crawl_of_real_documentation_renders_nothing(
    make: Callable[..., Worker], web: Web, package: str, root: str
) -> None:
    folder, site = tree(package, root), web.site()
    for path in folder.rglob("*.htm*"):
        if path.is_file():
            place = f"/{path.relative_to(folder)}"
            site.pages[place] = lambda _, path=path: served(path)  # type: ignore[misc]
    site.pages["/"] = site.pages["/index.html"]
    worker = make(default_delay_s=0.0, address_gap_s=0.0)
    start(worker, site.url("/"), budgets=Budgets(max_pages=PAGES))
    there(worker.engine)
    run(worker)
    assert rows(worker, "SELECT count(*) AS n FROM pages")[0].n >= PAGES // 2
    assert rows(worker, "SELECT url, state, evidence FROM renders") == []


@pytest.mark.faults  # it reads some thousands of pages
@pytest.mark.parametrize(("package", "root"), TREES, ids=[package for package, _ in TREES])
def test_no_page_of_real_documentation_is_taken_for_a_shell(package: str, root: str) -> None:
    files = [path for path in tree(package, root).rglob("*.htm*") if path.is_file()]
    assert len(files) > 100
    shells = {str(path): read(path.read_bytes(), content_type="text/html").shell for path in files}
    assert {path: dict(shell) for path, shell in shells.items() if shell} == {}


def served(path: Path) -> Answer:
    return Answer(headers={"Content-Type": mimetypes.guess_type(path.name)[0] or "text/html"}, body=path.read_bytes())
