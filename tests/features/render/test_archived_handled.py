"""Handlers over what a browser made: each page is handled again after its rendering, and its items are exact."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from app.admin import extract_try
from app.admin.extract import Handlers
from app.crawl.state.worker import Worker
from app.features.archive.read import Archive
from app.features.extract.part import HANDLERS
from app.features.extract.process import handler_pool
from app.features.extract.run import Runner
from app.features.extract.write import Extraction
from app.model.handler import HandlerSpec
from app.store import db
from app.store import extractions as store
from tests.crawl.archiving import Archiving
from tests.crawl.loop import go as go_once
from tests.crawl.loop import start
from tests.crawl.web import Site
from tests.features.extract.archived import due_pages
from tests.features.extract.conftest import MEMORY_BYTES
from tests.features.render.archived import OTHER, PLAIN, again, not_modified, of_page
from tests.features.render.shells import DOCUMENT, Stand, render, rows, shell
from tests.store.rows import sql

HANDLER = """
from app.features.extract.handlers import handler

@handler(match=r"/$")
def seen(page):
    previous = page.previous
    yield {
        "title": page.title, "heading": page.css("h1::text").get(), "links": [link.url for link in page.links],
        "rendered": page.is_rendered, "plain": page.plain.title, "body": len(page.body),
        "before": previous and previous.css("h1::text").get(),
    }
"""
SPEC = HandlerSpec(name="seen", match=("/$",))


@pytest.fixture
def crawler(keeping: Worker) -> Worker:
    """A worker with an archive, whose settles make pages due for the handler."""
    return replace(keeping, resources={**keeping.resources, HANDLERS: (SPEC,)})


@pytest.fixture
def work(archiving: Archiving, tmp_path: Path) -> Iterator[Callable[[], list[dict[str, object]]]]:
    """work(): handle what is due. Returns all items then."""
    path = tmp_path / "seen.py"
    path.write_text(HANDLER)
    pool = handler_pool([str(path)], memory_bytes=MEMORY_BYTES)

    def work() -> list[dict[str, object]]:
        extraction = Extraction(
            engine=archiving.engine, settings=archiving.settings, pool=pool, admit=lambda found: None
        )
        runner = Runner(extraction)
        try:
            runner.run()
        finally:
            runner.close()
        assert sql(archiving.engine, "SELECT cause FROM extractions WHERE cause IS NOT NULL") == []
        return [row["item"] for row in sql(archiving.engine, "SELECT item FROM items ORDER BY url, n")]

    yield work
    pool.close()


Work = Callable[[], list[dict[str, object]]]


def due(worker: Worker) -> list[tuple[str, int]]:
    """State of the extraction, and the capture that it is of."""
    return [tuple(row) for row in rows(worker, "SELECT state, capture_id FROM extractions")]


def test_a_page_is_handled_again_when_a_browser_made_its_document(crawler: Worker, site: Site, work: Work) -> None:
    start(crawler, site.url("/"))
    go_once(crawler)
    (item,) = work()
    assert (item["title"], item["heading"], item["rendered"]) == ("App", None, False)
    render(crawler, Stand(options={"url": site.url("/deep/")}))
    (item,) = work()
    assert item == {
        "title": "Made",
        "heading": "Made",
        "links": [site.url("/made")],
        "rendered": True,
        "plain": "App",
        "body": len(shell().body or b""),
        "before": None,
    }


def test_a_page_that_waits_for_both_is_handled_once(crawler: Worker, site: Site, work: Work) -> None:
    start(crawler, site.url("/"))
    go_once(crawler)
    render(crawler, Stand())
    document = of_page(crawler, site)[-1]
    assert due(crawler) == [("due", document.id)]
    assert [item["rendered"] for item in work()] == [True]


# how the page is served from then on
@pytest.mark.parametrize("page", [not_modified, shell()])
def test_a_recrawl_without_news_is_not_handled(page: object, crawler: Worker, site: Site, work: Work) -> None:
    site.pages["/"] = page  # type: ignore[assignment]
    start(crawler, site.url("/"), keep_fresh=True)
    go_once(crawler)
    render(crawler, Stand())
    before = work()
    again(crawler)
    assert [state for state, _ in due(crawler)] == ["done"]
    assert work() == before


def test_a_new_shell_does_not_undo_what_was_found_in_the_document(crawler: Worker, site: Site, work: Work) -> None:
    start(crawler, site.url("/"), keep_fresh=True)
    go_once(crawler)
    render(crawler, Stand())
    before = work()
    site.pages["/"] = shell(["/app.2.js"])
    again(crawler)
    assert work() == before, "nobody has rendered the new one yet"
    render(crawler, Stand())
    assert [state for state, _ in due(crawler)] == ["done"], "it is the same document"
    site.pages["/"] = shell(["/app.3.js"])
    again(crawler)
    render(crawler, Stand(html=OTHER.replace("<h1>Made", "<h1>Anew")))
    (item,) = work()
    assert (item["heading"], item["before"]) == ("Anew", "Made"), "the document from before, not its shell"


def test_a_page_that_needs_no_browser_any_more_is_handled_as_it_is(crawler: Worker, site: Site, work: Work) -> None:
    start(crawler, site.url("/"), keep_fresh=True)
    go_once(crawler)
    render(crawler, Stand())
    work()
    site.pages["/"] = PLAIN
    again(crawler)
    (item,) = work()
    assert (item["rendered"], item["body"], item["before"]) == (False, len(PLAIN.body or b""), "Made")


def test_a_run_over_the_archive_takes_the_document(
    crawler: Worker, archiving: Archiving, site: Site, work: Work, tmp_path: Path
) -> None:
    start(crawler, site.url("/"), keep_fresh=True)
    go_once(crawler)
    render(crawler, Stand())
    site.pages["/"] = shell(["/app.2.js"])
    again(crawler)
    sql(crawler.engine, "DELETE FROM extractions")
    with db.transaction(crawler.engine) as tx:
        found = store.pages(tx, crawl_id=1, after=(0, b""), n=100)
        store.due(tx, found, [SPEC], named=True, again=True)
    assert [item["rendered"] for item in work()] == [True]
    tried = extract_try.run(
        crawler.engine,
        archiving.settings,
        Handlers(sources=(str(tmp_path / "seen.py"),), names=("seen",)),
        site.url("/"),
    )
    assert [item["heading"] for each in tried.handlers for item in each.items] == ["Made"]


def test_a_document_whose_answer_is_elsewhere_is_handled_without_it(
    crawler: Worker, archiving: Archiving, site: Site, tmp_path: Path
) -> None:
    """A worker on another machine made it, and there is no object store."""
    start(crawler, site.url("/"))
    go_once(crawler)
    archiving.keeper._writer.close_all()  # noqa: SLF001  # the segment of the answer is final
    render(crawler, Stand())
    answer, document = of_page(crawler, site)
    assert answer.segment_id != document.segment_id
    (segment,) = sql(
        crawler.engine, "UPDATE segments SET node = 'far' WHERE id = :id RETURNING name", id=answer.segment_id
    )
    (archiving.place.folder / segment["name"]).unlink()
    path = tmp_path / "titles.py"
    path.write_text(
        "from app.features.extract.handlers import handler\n\n"
        "@handler()\ndef seen(page):\n    yield {'title': page.title}\n\n"
        "@handler()\ndef body(page):\n    yield {'bytes': len(page.body)}\n"
    )
    pool = handler_pool([str(path)], memory_bytes=MEMORY_BYTES)
    sql(crawler.engine, "DELETE FROM extractions")
    with db.transaction(crawler.engine) as tx:
        store.due(tx, due_pages([document]), [HandlerSpec(name="seen"), HandlerSpec(name="body")])
    runner = Runner(Extraction(engine=crawler.engine, settings=archiving.settings, pool=pool, admit=lambda found: None))
    try:
        runner.run()
    finally:
        runner.close()
        pool.close()
    assert [row["item"] for row in sql(crawler.engine, "SELECT item FROM items")] == [{"title": "Made"}]
    (row,) = sql(crawler.engine, "SELECT cause FROM extractions WHERE cause IS NOT NULL")
    assert "another machine" in row["cause"]
    assert Archive(crawler.engine, archiving.settings).read(document).body == DOCUMENT.encode()
