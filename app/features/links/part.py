"""Keeps the links of pages, by the hooks."""

from collections.abc import Sequence

from app.crawl.frontier.admit import join
from app.crawl.page.page_read import PageRead
from app.crawl.state.part import SettlePart, SettleStep
from app.crawl.state.visit import Visit
from app.features.links import rows
from app.features.links.rows import LinksRow
from app.hooks import answers
from app.model import Url

LINKS: SettlePart[LinksRow] = SettlePart(
    name="links",
    rank=120,
    write=lambda settling: rows.keep(settling.tx, settling.rows(LINKS)),
    words=lambda row: f"the links of {row['url']}",
)


@answers
def steps() -> Sequence[SettleStep]:
    return [LINKS]


@answers
def page_read(visit: Visit, read: PageRead) -> None:
    """Keep the links of the document, if it has any; those that are no URL of ours are left out."""
    due = read.attempt.due
    if not visit.picked.crawls[due.crawl_id].keep_links or read.wished.kept_out is not None:
        return
    found = []
    for link in read.document.links:  # all were joined for the frontier: most are known by now
        to = join(visit.worker.canon, visit.picked.joined, read.base, link.href, encoding=read.document.charset)
        if isinstance(to, Url):
            parts = {"to": to.text, "anchor": link.text, "rel": " ".join(link.rel)}
            found.append({name: value for name, value in parts.items() if value})
    if found:
        row: LinksRow = {
            "host_id": visit.host_id,
            "crawl_id": due.crawl_id,
            "key": due.key,
            "url": due.url,
            "links": found,
        }
        visit.batch.add(LINKS, row)
