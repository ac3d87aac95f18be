"""Keeps the links of pages, by the hooks.

Links of pages, for crawls that keep them: a row for each reading of a page. One query of links.sql each.
"""

from collections.abc import Sequence
from typing import TypedDict

from sqlalchemy import Connection

from app.crawl.frontier.admit import join
from app.crawl.page.attempt import PageRead
from app.crawl.state.part import SettlePart, SettleStep
from app.crawl.state.visit import Visit
from app.hooks import answers
from app.model import Url
from app.store import db

_sql = db.queries("links", __file__)


class LinksRow(TypedDict):
    """The links of a page. links: in document order; to, and anchor and rel where the link has them."""

    host_id: int
    crawl_id: int
    key: bytes
    url: str
    links: list[dict[str, str]]


def keep(tx: Connection, rows: Sequence[LinksRow]) -> None:
    if rows:
        db.run(tx, _sql["keep"], {"rows": db.rows_param(rows)})


def are_kept(tx: Connection, crawl_id: int) -> bool:
    """Whether there are links of a crawl."""
    return bool(tx.execute(_sql["are_kept"], {"crawl_id": crawl_id}).scalar_one())


def linking(tx: Connection, *, host_id: int, crawl_id: int, to: str) -> list[str]:
    """Pages of a host that link to a URL, three at most, of its latest readings. [] where the crawl keeps no links."""
    # The latest pages are searched for a link: a few seconds where they are long.
    where = {"host_id": host_id, "crawl_id": crawl_id, "to": to, "n": 20_000}
    return [row.url for row in db.run(tx, _sql["linking"], where)]


LINKS: SettlePart[LinksRow] = SettlePart(
    name="links",
    rank=120,
    write=lambda settling: keep(settling.tx, settling.rows(LINKS)),
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


@answers
def hosts_deleted(tx: Connection, crawl_id: int, after: int, until: int) -> None:
    db.run(tx, _sql["hosts_deleted"], {"crawl_id": crawl_id, "after": after, "until": until})
