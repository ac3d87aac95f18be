"""(h) What a page takes on disk: real crawls of two sizes, with texts, by table. Bar: bytes a page grow by a tenth at
most.

The web of the other benchmarks. Sizes are Postgres' own, after VACUUM; a table's first pages weigh little at these
sizes.
"""

import argparse

from sqlalchemy import text

from app.local.services import start_postgres
from app.store import db
from bench import tiptoe
from bench.report import BenchError, Cell, save, table
from bench.scale_load import sizes
from bench.tree import load
from bench.web import Web, serve

HOSTS = (10, 40)
PAGES = 160
BAR = 1.1
TIMEOUT_S = 300.0


def main(arguments: argparse.Namespace) -> None:
    """Crawl twice; print and save bytes a page. Raises BenchError."""
    tree = load(arguments.tree, arguments.pages or PAGES)
    found: dict[int, dict[str, float]] = {}
    for hosts in HOSTS:
        with serve(tree, hosts=hosts, port=arguments.port) as web:
            pages, by_table = _crawl(web)
        found[pages] = {name: n / pages for name, n in by_table.items()}
    rows: list[dict[str, Cell]] = [
        {"table": name, **{f"at {pages:,} pages": round(each.get(name, 0)) for pages, each in found.items()}}
        for name in sorted(found[max(found)], key=lambda name: -found[max(found)][name])
    ]
    totals = {pages: sum(each.values()) for pages, each in found.items()}
    rows.append({"table": "in all", **{f"at {pages:,} pages": round(total) for pages, total in totals.items()}})
    table("growth: bytes a page, indexes included", rows)
    ratio = totals[max(totals)] / totals[min(totals)]
    print(f"  the larger over the smaller: {ratio:.2f} (bar: {BAR:g})")
    save("growth", {"rows": rows, "ratio": round(ratio, 3), "bar": BAR})


def _crawl(web: Web) -> tuple[int, dict[str, int]]:
    """(pages, bytes of each table)."""
    env = {
        "TIPTOE_DEFAULT_DELAY_S": "0",
        "TIPTOE_ADDRESS_GAP_S": "0",
        "TIPTOE_CONSTANT_LATENCY_FACTOR": "0",
        "TIPTOE_CONCURRENCY": tiptoe.THREADS,
    }
    with tiptoe.fresh_home() as home:
        said = tiptoe.crawl(web, home, env=env, arguments=("--sitemaps", "none"), timeout_s=TIMEOUT_S).said
        with start_postgres(home, print) as running:
            engine = db.connect(running.url)
            with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
                connection.execute(text("VACUUM ANALYZE"))
            by_table = {str(row["name"]): int(row["table_bytes"]) + int(row["index_bytes"]) for row in sizes(engine)}
            engine.dispose()
    if not said["pages"]:
        raise BenchError("the crawl brought no page")
    return said["pages"], by_table
