"""What near duplicates cost: `python -m bench.near [FOLDER]`.

The CPU of a page's fingerprint, of the processes that compare it, and of Postgres, over pages of a FOLDER of HTML or of
the manual that the other benchmarks crawl, and over mirrors of them; how long the processes wait for each other, and
the bytes that a fingerprint takes, indexes included.
"""

import argparse
import random
import subprocess
import sys
import tempfile
import time
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, text

from app.features.near import rows as near
from app.features.near.find import catch_up
from app.features.near.fingerprint import words_of
from app.features.near.simhash import simhash
from app.local.services import LocalServices
from app.parse.html import html
from app.store import db, migrate
from bench import cpu, tree

PAGES = 2_000
PACE = 8  # pages that one host is ahead of another
TABLES = ("fingerprints", "fingerprint_keys")
COMPARER = "import sys; from bench.near import compare_all; compare_all(sys.argv[1])"
WAITS = """
SELECT count(*), count(*) FILTER (WHERE wait_event_type = 'Lock')
FROM pg_stat_activity WHERE application_name = 'comparer' AND state <> 'idle'"""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.near", description=__doc__.partition("\n")[0])
    parser.add_argument("folder", nargs="?", type=Path, metavar="FOLDER")
    parser.add_argument("--processes", type=int, nargs="*", default=[1, 2], help="so many compare at once, in turn")
    parser.add_argument("--mirrors", type=int, default=4, help="hosts that have all pages, but for a name")
    parser.add_argument("--first", action="store_true", help="that name stands first: no mirror is a duplicate")
    args = parser.parse_args()
    texts = _texts(args.folder)
    _fingerprint(texts)
    with tempfile.TemporaryDirectory(prefix="bench-near-") as folder:
        Path(folder).chmod(0o711)
        with LocalServices(Path(folder) / "home", database_url=None, broker_url=None, log=print) as services:
            migrate.upgrade(services.database_url)
            engine = db.connect(services.database_url)
            for mirrors in (1, args.mirrors):
                for processes in args.processes:
                    _compare(engine, texts, mirrors=mirrors, processes=processes, first=args.first)
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


def _compare(engine: Engine, texts: list[str], *, mirrors: int, processes: int, first: bool) -> None:
    """The job, over all pages as a crawl leaves them, by so many processes."""
    _put(engine, texts, mirrors, first=first)
    url = engine.url.render_as_string(hide_password=False)
    comparers = [_start(url) for _ in range(processes)]
    for each in comparers:
        assert each.stdout is not None
        each.stdout.readline()  # all is imported
    before = cpu.seconds()["postgres"]
    for each in comparers:
        assert each.stdin is not None
        each.stdin.write("go\n")
        each.stdin.flush()
    looks, waits = _waits(engine, comparers)
    used = [float(each.communicate()[0].split()[-1]) for each in comparers]
    postgres, n = cpu.seconds()["postgres"] - before, len(texts) * mirrors
    with engine.connect() as connection:
        noted = connection.execute(text("SELECT count(*) FROM duplicates")).scalar_one()
        last = connection.execute(
            text("SELECT md5(string_agg(url || kind || of_url, '' ORDER BY url)) FROM duplicates")
        )
        print(
            f"{mirrors} x {len(texts)} pages, {processes} at once: {sum(used) / n * 1000:.3f} ms of CPU a page"
            f" ({', '.join(f'{each:.1f} s' for each in used)}), Postgres {postgres / n * 1000:.3f} ms;"
            f" waiting for a lock in {waits} of {looks} looks; {noted} noted ({str(last.scalar_one())[:8]});"
            f" {_bytes(engine) / n:.0f} bytes a page"
        )


def compare_all(url: str) -> None:
    """Compare until nothing waits, as one of the processes. Prints its CPU."""
    import_module("app.features.near.compare_lot")  # and numpy, which else the first lot does
    engine = db.connect(url, session_name="comparer")
    print("ready", flush=True)
    sys.stdin.readline()
    began = time.process_time()
    catch_up(engine, 1, within_s=3_600, pause=lambda: time.sleep(0.25))
    print(time.process_time() - began)


def _start(url: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", COMPARER, url]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def _waits(engine: Engine, comparers: list[subprocess.Popen[str]]) -> tuple[int, int]:
    """How often comparers were looked at, and how often one waited for a lock of another."""
    looks = waits = 0
    while any(each.poll() is None for each in comparers):
        with engine.connect() as connection:
            found = connection.execute(text(WAITS)).one()
        looks, waits = looks + found[0], waits + found[1]
        time.sleep(0.02)
    return looks, waits


def _put(engine: Engine, texts: list[str], mirrors: int, *, first: bool) -> None:
    """Pages as a crawl leaves them, in the order in which they were fetched.   first: they begin with their host"""
    rng = random.Random(3)
    rows: list[dict[str, Any]] = [
        {
            "host": host,
            "key": sha256(f"{host} {n}".encode()).digest(),
            "url": f"http://h{host}.test/{n}",
            "text": f"{each}\nServed by h{host}." if not first else f"Served by h{host}.\n{each}",
            "same": sha256(f"{host} {each}".encode()).digest(),
            "n": int((n + rng.random() * PACE) * mirrors),
        }
        for n, each in enumerate(texts)
        for host in range(1, mirrors + 1)
    ]
    with engine.begin() as tx:
        tx.execute(
            text(f"TRUNCATE crawls, pages, urls, near_queue, duplicates, {', '.join(TABLES)} RESTART IDENTITY CASCADE")
        )
        tx.execute(text("INSERT INTO crawls (name, scope) VALUES ('c', 'any')"))
        tx.execute(
            text(
                """INSERT INTO pages (host_id, crawl_id, key, url, status, main_text, body_sha256, text_sha256,
                                      body_bytes, truncated, links, depth, first_fetched_at, fetched_at, changed_at)
                   VALUES (:host, 1, :key, :url, 200, :text, :key, :same, 1, false, 0, 0, now(),
                           now() + :n * interval '1 ms', now())"""
            ),
            rows,
        )
        tx.execute(
            text(
                """INSERT INTO urls (host_id, crawl_id, key, url, state, lane, score, depth, kind, fetched_at, due_at)
                   SELECT host_id, 1, key, url, 'resting', 1, 0, 0, 'page', fetched_at, now() FROM pages"""
            )
        )
        near.queue(tx, [(row["host"], 1, row["key"]) for row in rows])
    with engine.connect() as connection:
        connection.execution_options(isolation_level="AUTOCOMMIT").execute(text("CHECKPOINT"))


def _bytes(engine: Engine) -> int:
    with engine.begin() as tx:
        sizes = ", ".join(f"pg_total_relation_size('{name}')" for name in TABLES)
        return sum(tx.execute(text(f"SELECT {sizes}")).one())


if __name__ == "__main__":
    main()
