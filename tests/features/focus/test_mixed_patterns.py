"""Patterns that mix what is worth reading with what is not: a word of the path tells them apart."""

import pytest

from app.crawl.state.worker import Worker
from app.model import Budgets
from tests.crawl.loop import run, start
from tests.crawl.web import Web, html
from tests.features.focus.test_traps import asked, words
from tests.store.rows import one

PAGES = 75
KINDS = ("quiz", "assignment")


@pytest.mark.parametrize("most", [PAGES + 30, 4 * PAGES, 20 * PAGES], ids=["hardly enough", "enough", "ample"])
def test_pages_beside_forms_are_fetched(worker: Worker, web: Web, most: int) -> None:
    """As in Moodle: what a course holds has one pattern, and much of it is behind one form."""
    site = web.site()
    pages = [f"/mod/page/view?id={n}" for n in range(PAGES)]
    site.pages |= {path: html(text=words(path)) for path in pages}
    forms = [f"/mod/{KINDS[n % 2]}/view?id={n}" for n in range(PAGES, 2 * PAGES)]
    site.pages |= {path: html("/", text=words("form")) for path in forms}
    everything = [path for two in zip(pages, forms, strict=True) for path in two]
    site.pages["/"] = html(*everything, text=words("/"))
    start(worker, site.url(), budgets=Budgets(max_pages=most))
    run(worker)
    assert set(pages) <= set(site.pages_asked)
    assert len([path for path in asked(site, "/mod") if path in set(forms)]) <= PAGES / 2
    found = "SELECT count(*) FROM urls WHERE state = 'refused' AND left(detail, 1) = '∋'"
    assert one(worker.engine, found) > 0
