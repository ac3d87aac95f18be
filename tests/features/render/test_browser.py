"""A web of shells beside plain pages, crawled with `auto` and a real browser: what is read, what is asked, and how."""

import mimetypes
from collections.abc import Callable

import pytest

from app.admin import audit
from app.admin import captures as shown
from app.beat.finish import finish
from app.browser.page import Browsers
from app.crawl.state.worker import Worker
from app.model import Budgets
from tests.browser.site import WEB
from tests.crawl.archiving import Archiving
from tests.crawl.loop import go, start
from tests.crawl.web import Answer, Site, Web, html
from tests.features.render.shells import render, rows, there

DELAY_S = 0.05
PLAIN = 50

# page, words that its scripts bring
SHELLS = [
    ("/react/", ["Lamps of the north", "Sentence 4 about lamps"]),
    ("/hydration/", ["Sentence 5 about tides"]),
    ("/scroll/", ["Entry 1 of", "Entry 50 of"]),
    ("/late/", ["Text that came after more than a second."]),
    ("/routes/", ["Sentence 5 about valleys"]),
]


def serve(site: Site) -> None:
    """The browser's web on a host."""
    for path in WEB.rglob("*"):
        if path.is_file():
            kind = mimetypes.guess_type(path.name)[0] or "application/octet-stream"
            found = Answer(headers={"Content-Type": kind, "Access-Control-Allow-Origin": "*"}, body=path.read_bytes())
            place = f"/{path.relative_to(WEB)}"
            site.pages[place] = site.pages[place.removesuffix("index.html")] = found


@pytest.fixture
def sites(web: Web) -> tuple[Site, Site]:
    """Shells on one host, plain pages on another."""
    shells, plain = web.site(), web.site()
    serve(shells)
    for n in range(PLAIN):
        words = f"Page {n} says what it has to say without a script, and it says so at some length. " * 8
        plain.pages[f"/{n}"] = html(text=words, head="<script src=/count.js></script>")
    return shells, plain


def test_auto_reads_what_scripts_bring_and_renders_no_plain_page(
    make: Callable[..., Worker], sites: tuple[Site, Site], browsers: Browsers
) -> None:
    worker = make(default_delay_s=DELAY_S, address_gap_s=DELAY_S)
    shells, plain = sites
    seeds = [*(shells.url(path) for path, _ in SHELLS), *(plain.url(f"/{n}") for n in range(PLAIN))]
    start(worker, *seeds, budgets=Budgets(max_depth=0))
    there(worker.engine)
    for _ in range(200):
        go(worker)
        if len(rows(worker, "SELECT url FROM urls WHERE fetched_at IS NULL AND depth = 0")) == 0:
            break
    assert finish(worker.engine) == [], "it waits for its renders"
    render(worker, browsers)
    assert finish(worker.engine) == ["c"]
    texts = {row.url: row.main_text for row in rows(worker, "SELECT url, main_text FROM pages")}
    missing = [(path, word) for path, words in SHELLS for word in words if word not in texts[shells.url(path)]]
    assert missing == []
    assert rows(worker, f"SELECT url FROM renders WHERE url LIKE '{plain.url('/')}%'") == []
    assert len(rows(worker, "SELECT url FROM renders WHERE state = 'done' AND ending = 'quiet'")) == len(SHELLS)
    assert min(gap for site in sites for gap in site.gaps()) >= DELAY_S
    report = audit.audit(worker.engine, worker.settings, None)
    assert (report.violations, report.disorder) == (0, 0)
    assert "/count.js" not in plain.paths


def test_the_archive_has_what_a_browser_made(archiving: Archiving, site: Site, browsers: Browsers) -> None:
    worker = archiving.worker
    serve(site)
    start(worker, site.url("/react/"), budgets=Budgets(max_depth=0))
    go(worker)
    render(worker, browsers)
    here = shown.show(worker.engine, archiving.settings, site.url("/react/"))
    assert (here.capture.kind, here.capture.status) == ("rendered", 200)
    text = shown.text_of(here.capture, here.answer, archiving.settings)
    assert "Lamps of the north" in text
    (page,) = rows(worker, "SELECT main_text, text_sha256 FROM pages")
    assert (text, here.capture.text_sha256) == (page.main_text, page.text_sha256)
    plain = shown.show(worker.engine, archiving.settings, site.url("/react/"), plain=True)
    assert b"Lamps of the north" not in plain.answer.body
    archiving.close()
