"""What near duplicates cost: `python -m bench.near [FOLDER] --documents 1000000`.

- a page: the CPU of its fingerprint, of the job that compares it, and Postgres' time, over pages of a FOLDER of HTML or
  of the manual that the other benchmarks crawl
- a lookup among so many fingerprints drawn at random, and the bytes that one takes, indexes included
"""

import argparse
import random
import statistics
import tempfile
import time
from hashlib import sha256
from pathlib import Path

import psycopg
from sqlalchemy import Connection, Engine, text

from app.features.near import rows as near
from app.features.near.find import find_near
from app.features.near.fingerprint import BITS, keys, words_of
from app.features.near.rows import Fingerprint
from app.features.near.simhash import simhash
from app.local.services import LocalServices
from app.parse.html import html
from app.store import db, migrate
from bench import tree

PAGES = 2_000
LOOKUPS = 1_000
LOT = 20_000
COPY = "COPY fingerprint_keys (key, fingerprint_id, simhash) FROM STDIN"
TABLES = ("fingerprints", "fingerprint_keys")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.near", description=__doc__.partition("\n")[0])
    parser.add_argument("folder", nargs="?", type=Path, metavar="FOLDER")
    parser.add_argument("--documents", type=int, default=1_000_000, help="fingerprints that are looked up among")
    args = parser.parse_args()
    texts = _texts(args.folder)
    _fingerprint(texts)
    with tempfile.TemporaryDirectory(prefix="bench-near-") as folder:
        Path(folder).chmod(0o711)
        with LocalServices(Path(folder) / "home", database_url=None, broker_url=None, log=print) as services:
            migrate.upgrade(services.database_url)
            engine = db.connect(services.database_url)
            _compare(engine, texts)
            _fill(engine, args.documents)
            _look_up(engine, args.documents)
            engine.dispose()


def _texts(folder: Path | None) -> list[str]:
    if folder is None:
        bodies = [body for name, body in tree.load(None, PAGES).pages.items() if name.endswith(".html")]
    else:
        bodies = [path.read_bytes() for path in sorted(folder.rglob("*.html"))[:PAGES] if path.is_file()]
    return [html.read(body, content_type="text/html").main_text for body in bodies]


def _fingerprint(texts: list[str]) -> None:
    """CPU of a fingerprint, the second time: the words are known."""
    for measured in (False, True):
        began = time.process_time()
        words = [words_of(each) for each in texts]
        for each in words:
            simhash(each)
        took = time.process_time() - began
        if measured:
            n = len(texts)
            print(f"{n} pages, {sum(map(len, words)) / n:.0f} words each: {took / n * 1000:.3f} ms a fingerprint")


def _compare(engine: Engine, texts: list[str]) -> None:
    """The job, over all pages as a crawl leaves them."""
    with engine.begin() as tx:
        tx.execute(text("INSERT INTO crawls (name, scope) VALUES ('c', 'any')"))
        rows = [
            {
                "key": sha256(str(n).encode()).digest(),
                "url": f"http://h.test/{n}",
                "text": each,
                "same": sha256(each.encode()).digest(),
            }
            for n, each in enumerate(texts)
        ]
        tx.execute(
            text(
                """INSERT INTO pages (host_id, crawl_id, key, url, status, main_text, body_sha256, text_sha256,
                                      body_bytes, truncated, links, depth, first_fetched_at, fetched_at, changed_at)
                   VALUES (1, 1, :key, :url, 200, :text, :key, :same, 1, false, 0, 0, now(), now(), now())"""
            ),
            rows,
        )
        tx.execute(text("INSERT INTO near_queue (host_id, crawl_id, key) SELECT host_id, crawl_id, key FROM pages"))
    cpu, began = time.process_time(), time.monotonic()
    found = find_near(engine, within_s=3_600)
    here, took = time.process_time() - cpu, time.monotonic() - began
    n = len(texts)
    print(f"job: {here / n * 1000:.3f} ms of CPU a page, Postgres and wire {(took - here) / n * 1000:.3f} ms; {found}")
    print(f"{_bytes(engine) / found.pages:.0f} bytes a page")


def _fill(engine: Engine, documents: int) -> None:
    """Fingerprints at random of another crawl; the index is made at the end, which is quicker."""
    rng = random.Random(1)
    with engine.begin() as tx:
        tx.execute(text("TRUNCATE fingerprints, fingerprint_keys"))
        tx.execute(text("DROP INDEX fingerprint_keys_key"))
    for first in range(0, documents, LOT):
        with engine.begin() as tx, psycopg_of(tx).cursor() as cursor, cursor.copy(COPY) as copy:
            for n in range(first, min(first + LOT, documents)):
                value = rng.getrandbits(BITS)
                signed = value - (1 << BITS) if value >> 63 else value
                copy.write("".join(f"{2 << 25 | key}\t{n}\t{signed}\n" for key in keys(value)))
    with engine.begin() as tx:
        tx.execute(
            text("CREATE INDEX fingerprint_keys_key ON fingerprint_keys (key) INCLUDE (fingerprint_id, simhash)")
        )
    with engine.connect() as connection:
        connection.execution_options(isolation_level="AUTOCOMMIT").execute(text("VACUUM ANALYZE fingerprint_keys"))


def psycopg_of(tx: Connection) -> psycopg.Connection[tuple[object, ...]]:
    found = tx.connection.driver_connection
    assert isinstance(found, psycopg.Connection)
    return found


def _look_up(engine: Engine, documents: int) -> None:
    rng = random.Random(2)
    took_ms, found = [], 0
    for n in range(LOOKUPS):
        value = random.Random(1).getrandbits(BITS) ^ 0b11111 if n == 0 else rng.getrandbits(BITS)
        began = time.monotonic()
        with db.transaction(engine) as tx:
            found += len(near.by_key(tx, [Fingerprint(documents + n, (1, 2, b""), value)], most=64))
        took_ms.append((time.monotonic() - began) * 1000)
    p95 = statistics.quantiles(took_ms, n=20)[-1]
    print(f"lookup among {documents:,}: median {statistics.median(took_ms):.2f} ms, p95 {p95:.2f} ms; {found} found")
    writes = [Fingerprint(documents * 2 + n, (1, 2, b""), rng.getrandbits(BITS)) for n in range(LOOKUPS)]
    began = time.monotonic()
    for first in range(0, LOOKUPS, 50):
        with db.transaction(engine) as tx:
            near.put(
                tx, {(1, 2, sha256(str(each.id).encode()).digest()): each.value for each in writes[first : first + 50]}
            )
    took = time.monotonic() - began
    size = _bytes(engine) / documents
    print(f"write among them, 50 at once: {took / LOOKUPS * 1000:.2f} ms a page; keys {size:.0f} bytes")


def _bytes(engine: Engine) -> int:
    with engine.begin() as tx:
        sizes = ", ".join(f"pg_total_relation_size('{name}')" for name in TABLES)
        return sum(tx.execute(text(f"SELECT {sizes}")).one())


if __name__ == "__main__":
    main()
