"""A crawl of one shell with an archive: fetched again, and what the archive has of it."""

from pathlib import Path

from app.crawl.state.worker import Worker
from app.model import Capture
from app.store import db, page_list
from tests.crawl.loop import go
from tests.crawl.web import Answer, Hit, Site, html
from tests.features.archive.deposits import all_captures
from tests.features.archive.readers import Read, by_warcio
from tests.features.render.shells import DOCUMENT, shell
from tests.store.rows import sql

OTHER = DOCUMENT.replace("What", "All")
PLAIN = html(text="A page that says what it has to say. " * 20)


def again(worker: Worker) -> None:
    """Fetch everything once more."""
    sql(worker.engine, "UPDATE urls SET state = 'queued', due_at = NULL WHERE state <> 'refused'")
    sql(worker.engine, "UPDATE hosts SET next_fetch_at = now()")
    go(worker)


def of_page(worker: Worker, site: Site) -> list[Capture]:
    """The captures of the page, the earliest first."""
    return [each for each in all_captures(worker.engine, 1) if each.url == site.url("/")]


def kinds(worker: Worker, site: Site) -> list[str]:
    return [each.kind if each.status == 200 else str(each.status) for each in of_page(worker, site)]


def conversions(*paths: Path) -> list[Read]:
    return [record for path in paths for record in by_warcio(path) if record.kind == "conversion"]


def listed(worker: Worker) -> list[page_list.ListedPage]:
    with db.transaction(worker.engine) as tx:
        return page_list.listed(tx, crawl_id=1, after=(0, b""), url_like=None, since=None, n=10)


def not_modified(hit: Hit) -> Answer:
    """The shell, and a 304 to whom has it."""
    return Answer(status=304) if hit.headers.get("If-None-Match") else shell(ETag='"1"')
