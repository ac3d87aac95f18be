"""What handlers cost: pages a second over an archive, and the CPU of a page beside the handler's own (promise K3).

    python -m bench.extract [pages]        default 10000

Pages of a manual, as `bench.web` serves them, are archived as a worker archives them. `cheap` yields the URL alone, so
that all it costs is ours. `parsel` reads title, headings, code and links by CSS. Then its version is raised, and it
runs again. No request is made: the fetch log stays empty. The bars: 500 pages a second on two cores; 1 ms a page above
the handler's own.
"""

import os
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from hashlib import sha256

from sqlalchemy import Engine

from app.admin import crawls
from app.admin import extract as use_case
from app.config import Settings, load
from app.features.archive.recording import Recording
from app.features.archive.writer import ArchiveWriter, SegmentLimits
from app.local.services import start_postgres
from app.model import CaptureKind, Reply
from app.store import captures, db, hosts, migrate
from bench import cpu, tiptoe, tree
from bench.report import Cell, save, table

BAR_PAGES_PER_S = 500.0
BAR_MS = 1.0
_NOW = datetime(2026, 11, 23, tzinfo=UTC)
TREE_PAGES = 154
_HEAD = b"HTTP/1.1 200 OK\r\nServer: nginx\r\nContent-Type: text/html; charset=utf-8\r\n\r\n"
_HANDLERS = """
from app.features.extract.handlers import handler

@handler(version={version})
def cheap(page):
    yield {{"url": page.url}}

@handler(version={version})
def parsel(page):
    yield {{
        "title": page.css("title::text").get(),
        "heads": page.css("h1::text, h2::text, h3::text").getall(),
        "code": len(page.css("pre, code")),
        "links": page.css("a::attr(href)").getall(),
        "version": {version},
    }}
"""


def main(pages: int) -> None:
    with archived(pages) as (engine, settings, size):
        handlers = settings.home / "bench_handlers.py"
        rows = []
        for version, name in ((1, "cheap"), (1, "parsel"), (2, "parsel")):
            handlers.write_text(_HANDLERS.format(version=version))
            rows.append(_run(engine, settings, str(handlers), name, version))
        with engine.connect() as tx:
            requests = tx.exec_driver_sql("SELECT count(*) FROM fetches").scalar_one()
    table(f"{pages:,} pages of {size / 1024:.1f} kB, {os.cpu_count()} cores, requests: {requests}", rows)
    save("extract", {"pages": pages, "rows": rows})
    assert all(row["failed"] == 0 and row["pages"] == pages for row in rows)


def _run(engine: Engine, settings: Settings, path: str, name: str, version: int) -> dict[str, Cell]:
    before = _cpu()
    wanted = use_case.Handlers(sources=(path,), names=(name,))
    (ended,) = use_case.run(engine, settings, wanted, crawls.find(engine, "bench"))
    used = {role: seconds - before.get(role, 0.0) for role, seconds in _cpu().items()}
    pages = ended.done + ended.failed
    return {
        "handler": f"{name} v{version}",
        "pages": ended.done,
        "failed": ended.failed,
        "pages/s": ended.pages_per_s,
        "ms of CPU": 1000 * sum(used.values()) / pages,
        "worker": 1000 * used["worker"] / pages,
        "handlers": 1000 * used["handlers"] / pages,
        "postgres": 1000 * used["postgres"] / pages,
    }


def _cpu() -> dict[str, float]:
    """CPU seconds so far. Handlers' processes are waited for when they end, so that they count as ended children."""
    found, own = cpu.seconds(), os.times()
    return {
        "worker": own.user + own.system,
        "handlers": found.get(cpu.ENDED, 0.0) + found.get("others", 0.0),
        "postgres": found.get("postgres", 0.0),
    }


@contextmanager
def archived(pages: int) -> Iterator[tuple[Engine, Settings, float]]:
    """A home with a Postgres of its own and so many pages in its archive, and the mean size of a body."""
    with tiptoe.fresh_home() as home, start_postgres(home, lambda line: None) as running:
        migrate.upgrade(running.url)
        engine = db.connect(running.url)
        settings = load(home=home, database_url=running.url)
        yield engine, settings, _fill(engine, settings, pages)
        engine.dispose()


def _fill(engine: Engine, settings: Settings, pages: int) -> float:
    """Archive pages of as many hosts as it takes. Returns the mean size of a body."""
    crawl_id = crawls.create(engine, "bench").id
    writer = ArchiveWriter(
        engine,
        settings.home / "archive",
        node=socket.gethostname(),
        worker="bench:1",
        limits=SegmentLimits(settings.archive_segment_bytes, settings.archive_segment_s),
        about={},
    )
    manual = tree.load(None, TREE_PAGES)
    total = n = 0
    for host in range(-(-pages // TREE_PAGES)):
        name = f"host{host}.test"
        with db.transaction(engine) as tx:
            row = {"name": name, "domain": name, "queue": "host-00"}
            host_id = hosts.ensure(tx, rows=[row], delay_s=1.0)[name]
        found = list(manual.for_host(name))[: pages - n]
        rows = [writer.append(_recording(host_id, crawl_id, f"http://{name}/{path}", body)) for path, body in found]
        kept = [row for row in rows if row is not None]
        writer.sync(kept)
        with db.transaction(engine) as tx:
            captures.add(tx, kept)
        n += len(found)
        total += sum(len(body) for _, body in found)
    return total / n


def _recording(host_id: int, crawl_id: int, url: str, body: bytes) -> Recording:
    headers = {"content-type": "text/html; charset=utf-8"}
    reply = Reply(status=200, started_s=0.0, ended_s=0.1, headers=headers, body=body, head=_HEAD, asked={})
    return Recording(
        host_id=host_id,
        crawl_id=crawl_id,
        key=sha256(url.encode()).digest(),
        url=url,
        kind=CaptureKind.PAGE,
        fetched_at=_NOW,
        reply=reply,
        body_sha256=sha256(body).digest(),
        notes={},
    )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
