"""A small archive of pages, written as a worker writes it, and rows that make them due."""

import socket
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from typing import Any

from sqlalchemy import Engine

from app.config import Settings, load
from app.features.archive.recording import Recording
from app.features.archive.writer import ArchiveWriter, SegmentLimits
from app.model import Capture
from app.model.handler import HandlerSpec
from app.store import captures, db
from app.store import extractions as store
from tests.features.archive.answers import recording, reply
from tests.store.rows import make_crawl, make_host, sql

LIMITS = SegmentLimits(64 << 20, 3_600.0)

BOOKS = HandlerSpec(name="books", match=("/books/",))
TITLES = """
    @handler(match=r"/books/", version={version})
    def books(page):
        for title in page.css("title::text, h1::text").getall():
            yield {{"title": title}}
"""


def titles(version: int = 1) -> str:
    return TITLES.format(version=version)


def due_pages(found: Iterable[Capture]) -> list[store.DuePage]:
    """The captures that bring a page, as a settle makes them due: a 304 confirms one that was due before."""
    return [
        store.DuePage(each.host_id, each.crawl_id, each.key, each.url, each.id, each.body_sha256)
        for each in found
        if each.kind in {"page", "rendered"} and each.status != 304
    ]


def body(*names: str) -> bytes:
    return f"<title>{names[0]}</title>".encode() + b"".join(f"<h1>{name}</h1>".encode() for name in names[1:])


class Shelf:
    """A crawl with archived pages.   node: the machine that its segments are said to be on"""

    def __init__(
        self, engine: Engine, home: Path, database_url: str, *, node: str | None = None, **columns: Any
    ) -> None:
        name = columns.pop("name", "shop")
        self.engine, self.home, self._database_url = engine, home, database_url
        self.crawl_id = make_crawl(engine, name, **columns)
        self.host_id = make_host(engine, f"{name}.test")
        self._writer = ArchiveWriter(
            engine, home / "archive", node=node or socket.gethostname(), worker="test:1", limits=LIMITS, about={}
        )
        self._times = 0

    def settings(self, **given: Any) -> Settings:
        return load(**{"home": self.home, "database_url": self._database_url, **given})

    def put(self, path: str, body: bytes = b"", *, status: int = 200) -> Capture:
        """Archive an answer for this path. Returns its capture."""
        return self.put_all([(path, body)], status=status)[0]

    def put_all(self, pages: list[tuple[str, bytes]], *, status: int = 200) -> list[Capture]:
        rows = [self._writer.append(self._recording(path, body, status)) for path, body in pages]
        kept = [row for row in rows if row is not None]
        self._writer.sync(kept)
        with db.transaction(self.engine) as tx:
            ids = captures.add(tx, kept)
        self._writer.committed(kept, ids)
        with db.transaction(self.engine) as tx:
            found = [captures.by_id(tx, crawl_id=self.crawl_id, id=id) for id in sorted(ids.values())]
        return [each for each in found if each is not None]

    def due(self, found: list[Capture], *handlers: HandlerSpec, **how: bool) -> int:
        """Make captures due, as a settle does."""
        with db.transaction(self.engine) as tx:
            return store.due(tx, due_pages(found), handlers, **how)

    def in_frontier(self, path: str, *, depth: int = 0, **columns: Any) -> None:
        """A row of the page in `urls`."""
        url = f"http://shop.test{path}"
        given = {"host_id": self.host_id, "crawl_id": self.crawl_id, "key": sha256(url.encode()).digest(), "url": url}
        values = {**given, "state": "resting", "lane": 1, "score": 1.0, "depth": depth, **columns}
        names = ", ".join(values)
        sql(
            self.engine,
            f"INSERT INTO urls ({names}, due_at) VALUES ({', '.join(':' + name for name in values)}, now())",
            **values,
        )

    def _recording(self, path: str, body: bytes, status: int) -> Recording:
        self._times += 1
        return recording(
            reply(body, status=status),
            crawl_id=self.crawl_id,
            host_id=self.host_id,
            url=f"http://shop.test{path}",
            at_s=self._times,
        )


def extractions(engine: Engine) -> list[dict[str, Any]]:
    return sql(engine, "SELECT * FROM extractions ORDER BY handler, url")


def items(engine: Engine) -> list[dict[str, Any]]:
    return sql(engine, "SELECT handler, url, n, version, stale, item FROM items ORDER BY handler, url, n")
