"""(g) The whole frontier at two sizes: what steps of the crawl, of its upkeep and of a person's questions cost.

Each size is a database of its own (`bench.scale_load`); operations (`bench.scale_ops`) are the product's functions, and
the sizes take turns. Bars: p95 of the claim grows at most 1.5-fold, everything else that a crawl waits for 2-fold;
what counts everything may grow with it. Ten million URLs take 16 GB of disk and half an hour.
"""

import argparse
import logging
import random
import statistics
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import structlog
from sqlalchemy import text

from app.admin import crawls
from app.admin.seeds import add
from app.config import load
from app.local.services import start_postgres
from bench import scale_load, tiptoe
from bench.report import BenchError, Cell, save, table
from bench.scale_ops import COUNTING, Frontier

BARS = {"claim": 1.5}
BAR = 2.0
HOSTS = (2_000, 20_000)
TICKS = 150
VISITS_A_TICK = 1
EACH = 40  # times that everything else is done
COUNTS = 3
SEEDS = 100_000
SEEDS_A_HOST = 50
NO_SEEDS = ("DELETE FROM urls WHERE crawl_id <> 1", "DELETE FROM hosts WHERE name LIKE 'seed%'", "VACUUM hosts, urls")


def main(arguments: argparse.Namespace) -> None:
    """Load, measure; print and save. Raises BenchError."""
    wanted = _sizes(arguments)
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    with tiptoe.fresh_home() as home, ExitStack() as stack:
        settings = load(home=home, default_delay_s=0, address_gap_s=0, jitter=0, latency_factor=0, keep_text=True)
        server = arguments.server or _embedded(home, stack)
        engines = {size: scale_load.make(server, size, hosts, settings) for size, hosts in wanted}
        bytes_ = {size: scale_load.sizes(engine) for size, engine in engines.items()}
        frontiers = {size: Frontier(engine, settings, random.Random(2)) for size, engine in engines.items()}
        seeds = [_seeds(size, frontier) for size, frontier in frontiers.items()]
        _measure(frontiers)
        for engine in engines.values():
            engine.dispose()
    rows = [_row(size, what, times) for size, each in frontiers.items() for what, times in each.times.items()]
    found = {"rows": rows, "growth": _growth(rows), "seeds": seeds}
    _tell(found, bytes_)
    wal = {size: round(statistics.mean(frontier.wal)) for size, frontier in frontiers.items()}
    print("\nWAL bytes of a settle of 50: " + ", ".join(f"{n:,} at {size:,} URLs" for size, n in wal.items()))
    save("scale", {"sizes": wanted, **found, "bytes": bytes_, "wal": wal})


def _embedded(home: Path, stack: ExitStack) -> str:
    running = start_postgres(home, lambda line: print(f"  {line}"))
    stack.callback(running.release)
    return running.url


def _sizes(arguments: argparse.Namespace) -> list[tuple[int, int]]:
    """(URLs, hosts), the smallest first."""
    urls, hosts = (each if isinstance(each, tuple) else (each,) for each in (arguments.urls, arguments.hosts or HOSTS))
    if len(urls) != len(hosts):
        raise BenchError("--urls and --hosts: as many of one as of the other, e.g. 100000,10000000 and 2000,200000")
    return sorted(zip(urls, hosts, strict=True))


def _seeds(size: int, frontier: Frontier) -> dict[str, Cell]:
    """The product's own import. Raises BenchError."""
    crawl = crawls.create(frontier.aside, "seeds")
    began = time.monotonic()
    added = add(frontier.aside, frontier.settings, crawl, frontier.seeds(SEEDS, SEEDS // SEEDS_A_HOST))
    seconds = time.monotonic() - began
    crawls.finish(frontier.aside, crawl.name)
    if added.added != SEEDS:
        raise BenchError(f"{added.added:,} seeds were added, not {SEEDS:,}: {added.bad[:1]}")
    with frontier.aside.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        for statement in NO_SEEDS:
            connection.execute(text(statement))
    return {"URLs": f"{size:,}", "seeds": SEEDS, "seconds": round(seconds, 1), "a second": round(SEEDS / seconds)}


def _measure(frontiers: dict[int, Frontier]) -> None:
    steps: list[tuple[int, Callable[[Frontier], None]]] = [
        (TICKS, lambda each: each.tick(VISITS_A_TICK)),
        (EACH, Frontier.admit),
        (EACH, Frontier.promote),
        (EACH, Frontier.maintain),
        (EACH, Frontier.look),
        (COUNTS, Frontier.count),
    ]
    for times, step in steps:
        for nth in range(-max(times // 10, 1), times):
            for frontier in frontiers.values():
                kept = {what: len(values) for what, values in frontier.times.items()}
                step(frontier)
                if nth < 0:  # warming up
                    for what, values in frontier.times.items():
                        del values[kept.get(what, 0) :]


def _row(size: int, what: str, times: list[tuple[float, float]]) -> dict[str, Cell]:
    return {"URLs": f"{size:,}", "what": what, **_quantiles(times), "n": len(times)}


def _quantiles(times: list[tuple[float, float]]) -> dict[str, Cell]:
    """Of wall milliseconds, and of the server's CPU milliseconds."""
    wall, cpu = ([each[column] for each in times] for column in (0, 1))
    cuts = statistics.quantiles(wall, n=100, method="inclusive") if len(wall) > 1 else wall * 99
    busy = statistics.quantiles(cpu, n=100, method="inclusive") if len(cpu) > 1 else cpu * 99
    return {"p50": cuts[49], "p95": cuts[94], "p99": cuts[98], "cpu p50": busy[49], "cpu p95": busy[94]}


def _growth(rows: list[dict[str, Cell]]) -> list[dict[str, Cell]]:
    """p95 and the server's CPU at the largest size over those at the smallest."""
    found = []
    for what in dict.fromkeys(row["what"] for row in rows):
        same = [row for row in rows if row["what"] == what]
        wall, busy = (float(same[-1][of] or 0) / max(float(same[0][of] or 0), 0.01) for of in ("p95", "cpu p50"))
        counts = what in COUNTING or what in {"crawl report", "status"}
        bar = None if counts else BARS.get(str(what), BAR)
        found.append({"what": what, "p95 grows": round(wall, 2), "cpu grows": round(busy, 2), "bar": bar})
    return found if len({row["URLs"] for row in rows}) > 1 else []


def _tell(found: dict[str, list[dict[str, Cell]]], bytes_: dict[int, list[dict[str, int | str]]]) -> None:
    table("seeds, by the product's own import", found["seeds"])
    table("milliseconds", sorted(found["rows"], key=lambda row: str(row["what"])))
    table("the largest over the smallest (no bar: it counts everything)", found["growth"])
    for size, tables in bytes_.items():
        rows: list[dict[str, Cell]] = [
            {
                "table": each["name"],
                "rows": each["rows"],
                "bytes a row": round(int(each["table_bytes"]) / int(each["rows"])),
                "index bytes a row": round(int(each["index_bytes"]) / int(each["rows"])),
                "MB": round((int(each["table_bytes"]) + int(each["index_bytes"])) / 1e6),
            }
            for each in tables
        ]
        table(f"{size:,} URLs: bytes", rows)
