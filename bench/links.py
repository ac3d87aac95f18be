"""What it costs to keep links: `python -m bench.links`, over pages of the manual that the other benchmarks crawl.

Prints, a page: its links, the worker's CPU to make their row and send it, Postgres' and the wire's time to
store it in batches of 50 pages, and its bytes in the database, indexes included.
"""

import tempfile
import time
from hashlib import sha256
from pathlib import Path

from sqlalchemy import Engine, text

from app.crawl.frontier import admit
from app.local.services import LocalServices
from app.model import Page
from app.parse.html import html
from app.policy.url import Canon
from app.store import db, links, migrate
from app.store.links import LinksRow
from bench import tree

PAGES = 1_000
BATCH = 50
BASE = "https://docs.example.org/manual/"


def main() -> None:
    documents = [
        (BASE + name, html.read(body, content_type="text/html"))
        for name, body in tree.load(None, PAGES).pages.items()
        if name.endswith(".html")
    ]
    canon, joined = Canon(), admit.Joined()
    make_rows(canon, joined, documents)  # as the crawl's own look at the links leaves them: joined
    began = time.process_time()
    rows = make_rows(canon, joined, documents)
    making = time.process_time() - began
    with tempfile.TemporaryDirectory(prefix="bench-links-") as folder:
        Path(folder).chmod(0o711)
        with LocalServices(Path(folder) / "home", database_url=None, broker_url=None, log=print) as services:
            migrate.upgrade(services.database_url)
            engine = db.connect(services.database_url)
            sending, storing, stored = store(engine, rows)
            engine.dispose()
    n = len(rows)
    print(f"{n} pages, {sum(len(row['links']) for row in rows) / n:.0f} links each")
    print(f"worker {(making + sending) / n * 1000:.3f} ms, Postgres and wire {storing / n * 1000:.3f} ms")
    print(f"{stored / n / 1000:.1f} kB a page")


def make_rows(canon: Canon, joined: admit.Joined, documents: list[tuple[str, Page]]) -> list[LinksRow]:
    found = []
    for url, document in documents:
        found += admit.kept(canon, joined, (1, 1, sha256(url.encode()).digest()), url, url, document)
    return found


def store(engine: Engine, rows: list[LinksRow]) -> tuple[float, float, int]:
    """(CPU seconds here, the other seconds, bytes)."""
    cpu, began = time.process_time(), time.monotonic()
    for first in range(0, len(rows), BATCH):
        with db.transaction(engine) as tx:
            links.keep(tx, rows[first : first + BATCH])
    here, took = time.process_time() - cpu, time.monotonic() - began
    with engine.begin() as tx:
        size = "SELECT sum(pg_total_relation_size(relid)) FROM pg_partition_tree('links') WHERE isleaf"
        return here, took - here, int(tx.execute(text(size)).scalar_one())


if __name__ == "__main__":
    main()
