"""What an export costs: `python -m bench.export [ROWS]`, a million by default.

Makes a database with so many pages (2 kB of text each) and requests, and exports them by the command, in a process of
its own. Prints, for each: rows a second by the clock, its CPU seconds without Postgres', the largest memory of the
process, and the size of the file.
"""

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from sqlalchemy import text

from app.local.services import LocalServices
from app.store import db, migrate

HOSTS = 1_000
FILL = [
    "INSERT INTO crawls (name, scope) VALUES ('docs', 'any')",
    f"""INSERT INTO hosts (name, queue, delay_s)
        SELECT 'h' || n || '.test', 'host-00', 1 FROM generate_series(1, {HOSTS}) AS n""",
    f"""INSERT INTO pages (host_id, crawl_id, key, url, status, content_type, charset, language, title,
                           description, main_text, body_sha256, text_sha256, body_bytes, truncated, links, depth,
                           first_fetched_at, fetched_at, changed_at)
        SELECT 1 + n % {HOSTS}, 1, sha256(convert_to(url, 'UTF8')), url, 200, 'text/html; charset=utf-8', 'utf-8', 'en',
               'The title of page ' || n, 'Some words on what this page says, number ' || n,
               words, sha256(convert_to('b' || n, 'UTF8')), sha256(convert_to('t' || n, 'UTF8')), 14000, false,
               50, 3, now(), now(), now()
        FROM generate_series(1, CAST(:rows AS integer)) AS n,
             LATERAL (SELECT 'https://h' || 1 + n % {HOSTS} || '.test/a/page/of/usual/length/' || n || '.html' AS url,
                             repeat('words of page ' || n || ' ', 90) AS words) AS made""",
    """INSERT INTO fetches (host_id, crawl_id, visit_id, url_key, url, kind, reason, started_at, ended_at, delay_s,
                            status, outcome, content_type, wire_bytes, body_bytes, truncated,
                            dns_ms, connect_ms, first_byte_ms,
                            total_ms, conditional, body_sha256, attempt)
       SELECT host_id, 1, 1, key, url, 'page', 'new', now() + row_number() OVER () * interval '1 ms',
              now() + row_number() OVER () * interval '1 ms' + interval '90 ms', 1, 200, 'page', content_type, 4000,
              14000, false, 1, 2, 50, 90, false, body_sha256, 1
       FROM pages""",
]
EXPORTS = [
    ("pages", "parquet", ()),
    ("pages", "parquet", ("--columns", "+text")),
    ("pages", "jsonl", ("--columns", "+text")),
    ("pages", "csv", ()),
    ("fetches", "parquet", ()),
]


def main(rows: int) -> None:
    with tempfile.TemporaryDirectory(prefix="bench-export-") as folder:
        Path(folder).chmod(0o711)
        with LocalServices(Path(folder) / "home", database_url=None, broker_url=None, log=print) as services:
            migrate.upgrade(services.database_url)
            fill(services.database_url, rows)
            print(f"{'':28}{'rows/s':>9}{'CPU s':>8}{'MiB':>7}{'file MB':>9}")
            for what, form, more in EXPORTS:
                export(services.database_url, Path(folder), rows, what, form, *more)


def fill(url: str, rows: int) -> None:
    engine = db.connect(url)
    for statement in [*FILL, "ANALYZE"]:
        with engine.begin() as tx:
            tx.execute(text(statement), {"rows": rows})
    engine.dispose()


def export(url: str, folder: Path, rows: int, what: str, form: str, *more: str) -> None:
    to = folder / f"{what}.{form}"
    command = [sys.executable, "-m", "tiptoe", "export", what, "--crawl", "docs", "--to", str(to), "--json", *more]
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    with subprocess.Popen(command, env={**os.environ, "TIPTOE_DATABASE_URL": url}, stdout=subprocess.DEVNULL) as child:
        most = 0
        while child.poll() is None:
            most = max(most, peak(child.pid))
            time.sleep(0.05)
        assert child.returncode == 0, command
    seconds = time.monotonic() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    name = " ".join((what, form, *more[1:]))
    print(f"{name:28}{rows / seconds:9,.0f}{cpu:8.1f}{most / 1024:7.0f}{to.stat().st_size / 1e6:9.0f}", flush=True)


def peak(pid: int) -> int:
    """KiB that a process has held at most (proc(5), VmHWM); 0 when it is gone."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM")), 0)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
