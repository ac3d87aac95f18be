"""When what a browser made is the document of its page, and who reads it. With a stand-in for the browser."""

import json
import re
from pathlib import Path

import pytest

from app.admin import captures as shown
from app.admin import explain, feed
from app.admin.captures import ArchivedCapture
from app.admin.crawls import find as find_crawl
from app.crawl.state.worker import Worker
from app.errors import InputError
from app.features.export.export import export_rows
from app.features.export.plan import ExportWish
from tests.crawl.archiving import Archiving
from tests.crawl.loop import go, start
from tests.crawl.web import Answer, Site
from tests.features.render.archived import OTHER, PLAIN, again, kinds, listed, not_modified, of_page
from tests.features.render.shells import DOCUMENT, TEXT, Stand, render, shell


# how the page is served, its captures after a recrawl
@pytest.mark.parametrize(
    ("page", "found"), [(not_modified, ["page", "rendered", "304"]), (shell(), ["page", "rendered", "page"])]
)
def test_a_recrawl_without_news_keeps_the_document(
    page: Answer, found: list[str], archiving: Archiving, keeping: Worker, site: Site
) -> None:
    site.pages["/"] = page
    start(keeping, site.url("/"), keep_fresh=True)
    go(keeping)
    render(keeping, Stand())
    again(keeping)
    assert render(keeping, Stand()) == 0
    assert kinds(keeping, site) == found
    here = shown.show(keeping.engine, archiving.settings, site.url("/"))
    assert (here.capture.kind, here.answer.body) == ("rendered", DOCUMENT.encode())
    assert [each.rendered for each in listed(keeping)] == [True]
    archiving.close()


def test_it_stands_until_an_answer_comes_that_needs_no_browser(
    archiving: Archiving, keeping: Worker, site: Site
) -> None:
    start(keeping, site.url("/"), keep_fresh=True)
    go(keeping)
    render(keeping, Stand())
    site.pages["/"] = shell(["/app.2.js"])
    again(keeping)  # nobody has rendered this one yet
    settings = archiving.settings
    assert shown.show(keeping.engine, settings, site.url("/")).capture.kind == "rendered"
    site.pages["/"] = PLAIN
    again(keeping)
    here = shown.show(keeping.engine, settings, site.url("/"))
    assert (here.capture.kind, here.answer.body) == ("page", PLAIN.body)
    assert [each.rendered for each in listed(keeping)] == [False]
    opened = feed.open_feed(keeping.engine, settings, find_crawl(keeping.engine, "c"))
    assert [(page.is_rendered, page.body) for page in opened.stored()] == [(False, PLAIN.body)]
    first, document, *_ = of_page(keeping, site)
    assert shown.show(keeping.engine, settings, site.url("/"), at=str(document.id)).answer.body == DOCUMENT.encode()
    past = shown.show(keeping.engine, settings, site.url("/"), at=first.fetched_at.isoformat())
    assert past.capture.id == first.id


def test_a_person_sees_the_document_and_may_ask_for_the_answer(
    archiving: Archiving, keeping: Worker, site: Site
) -> None:
    start(keeping, site.url("/"), keep_fresh=True)
    go(keeping)
    render(keeping, Stand())
    settings, url = archiving.settings, site.url("/")
    here = shown.show(keeping.engine, settings, url)
    assert TEXT.strip() in shown.text_of(here.capture, here.answer, settings)
    assert here.reply.header("content-type") == "text/html", "the headers are the answer's"
    assert shown.show(keeping.engine, settings, url, plain=True).answer.body == shell().body
    assert shown.show(keeping.engine, settings, url, plain=True, at=str(here.capture.id)).answer.body == shell().body
    with pytest.raises(InputError, match="one capture"):
        shown.compare(keeping.engine, settings, url)
    site.pages["/"] = shell(["/app.2.js"])
    again(keeping)
    render(keeping, Stand(html=OTHER))
    diff = shown.compare(keeping.engine, settings, url)
    assert (diff.old.kind, diff.new.kind) == ("rendered", "rendered")
    assert any("All the scripts" in each.text or "All" in each.text for each in diff.changes)
    plain = shown.compare(keeping.engine, settings, url, plain=True)
    assert (plain.old.kind, plain.new.kind, plain.changes) == ("page", "page", [])


def test_url_why_names_the_document_beside_its_answer(archiving: Archiving, keeping: Worker, site: Site) -> None:
    start(keeping, site.url("/"), keep_fresh=True)
    go(keeping)
    assert [each.made_of for each in why(keeping, site)] == [None]
    render(keeping, Stand())
    site.pages["/"] = shell(["/app.2.js"])
    again(keeping)  # its document stands until a browser has opened this one
    answer, document, waiting = of_page(keeping, site)
    assert [each.line for each in why(keeping, site)] == [
        f"capture {answer.id}: the site's answer, record urn:uuid:{answer.record_id}",
        f"capture {document.id}: what a browser made of {answer.id}, record urn:uuid:{document.record_id}",
    ]
    site.pages["/"] = PLAIN
    again(keeping)
    assert [each.capture > waiting.id and each.made_of is None for each in why(keeping, site)] == [True]


def why(worker: Worker, site: Site) -> list[ArchivedCapture]:
    return explain.why(worker.engine, worker.settings, site.url("/")).crawls[0].archived


def test_an_export_has_the_document_and_the_answer_where_it_is_asked_for(
    archiving: Archiving, keeping: Worker, site: Site, tmp_path: Path
) -> None:
    start(keeping, site.url("/"))
    go(keeping)
    render(keeping, Stand())
    out = tmp_path / "pages.jsonl"
    wish = ExportWish(what="pages", crawl="c", form=None, to=str(out), columns=("html", "plain_html", "rendered_at"))
    export_rows(keeping.engine, archiving.settings, wish, lambda rows: None)
    text = out.read_text()
    assert TEXT[:60] in text
    assert "<div id=root></div>" in text
    assert re.search(r'"rendered_at":"20\d\d-', text)


def test_an_export_has_all_that_a_reader_sees_where_it_is_asked_for(
    archiving: Archiving, keeping: Worker, site: Site, tmp_path: Path
) -> None:
    start(keeping, site.url("/"))
    go(keeping)
    render(keeping, Stand())
    out = tmp_path / "pages.jsonl"
    wish = ExportWish(what="pages", crawl="c", form=None, to=str(out), columns=("text", "markdown"), content="full")
    export_rows(keeping.engine, archiving.settings, wish, lambda rows: None)
    (row,) = map(json.loads, out.read_text().splitlines())
    assert TEXT[:60] in row["text"]
    assert TEXT[:60] in row["markdown"]


def test_a_script_reads_the_document_and_the_answer(archiving: Archiving, keeping: Worker, site: Site) -> None:
    start(keeping, site.url("/"))
    go(keeping)
    render(keeping, Stand(options={"url": site.url("/deep/page")}))
    opened = feed.open_feed(keeping.engine, archiving.settings, find_crawl(keeping.engine, "c"))
    (page,) = [each for each in opened.stored() if each.url == site.url("/")]
    assert page.is_rendered
    assert page.css("h1::text").get() == "Made"
    assert page.html == DOCUMENT
    assert page.body == page.plain.body == shell().body
    assert page.plain.css("h1") == []
    assert page.plain.title == "App"
    assert page.headers["content-type"] == "text/html"
    assert archiving.archive.read(of_page(keeping, site)[1]).at == site.url("/deep/page")
    assert page._own_url == site.url("/deep/page"), "where pushState left it"  # noqa: SLF001  # relative links start there
