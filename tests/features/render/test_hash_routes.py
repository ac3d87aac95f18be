"""Links behind a "#" are pages of a site, and no URLs of ours: they are counted, and the row of their page says so."""

import time
from typing import Any

import pytest

from app.admin import explain
from app.crawl.state.worker import Worker
from app.features.render.take_in import hash_routes
from app.model.render import lines
from tests.crawl.loop import go, run, start
from tests.crawl.web import Site
from tests.features.render.shells import DOCUMENT, Stand, render, rows

LINKS = '<p><a href="#/post/1">One</a> <a class="b" href="/#!/post/2">Two</a> <a href="#/post/1">One, again</a>'

# of a document, as a browser serialises it → routes
ROUTES: list[tuple[str, set[str]]] = [
    (LINKS, {"#/post/1", "#!/post/2"}),
    ('<a href="https://a.test/x?y=1#!key=4">', {"#!key=4"}),
    ('<a href="#top"><a href="/a#part-2"><a href="#"><a href="#/"><a href="/made">', set()),
    ('<pre>&lt;a href="#/post/1"&gt;</pre>', set()),
    ('<a title="x">say <b data-href="1">href="#/post/1"</b></a>', set()),
]


@pytest.mark.parametrize(("document", "found"), ROUTES)
def test_what_is_a_route(document: str, found: set[str]) -> None:
    assert hash_routes(document) == found


@pytest.mark.parametrize("part", ["<a ", '<a href="', "<a x ", '<a href="#/'])
def test_no_document_takes_long(part: str) -> None:
    began = time.process_time()
    hash_routes(part * 200_000)
    assert time.process_time() - began < 5


def test_a_page_whose_links_are_not_followed_says_so(worker: Worker, site: Site) -> None:
    start(worker, site.url("/"))
    go(worker)
    render(worker, Stand(html=DOCUMENT.replace("</article>", f"{LINKS}</article>")))
    run(worker)
    (page,) = rows(worker, f"SELECT needs_script, links FROM pages WHERE url = '{site.url('/')}'")
    evidence: dict[str, Any] = page.needs_script
    assert evidence["routes"] == "2 links"
    assert "2 links behind a #, which are not followed" in lines(evidence)
    assert site.paths.count("/") == 1, "a fragment makes no URL"
    asked = explain.why(worker.engine, worker.settings, site.url("/#/post/1"))
    assert "fragment dropped: #/post/1" in asked.changed


def test_others_do_not(worker: Worker, site: Site) -> None:
    start(worker, site.url("/"))
    go(worker)
    render(worker, Stand())
    (page,) = rows(worker, f"SELECT needs_script FROM pages WHERE url = '{site.url('/')}'")
    assert "routes" not in page.needs_script
