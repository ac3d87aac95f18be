"""The cost of metrics: counting in a worker, a worker's page, and the fleet's figures as the frontier grows.

`count`: microseconds of CPU of a settle of 50 requests, for each request. `page`: milliseconds of a worker's page.
`fleet`: milliseconds that Postgres is asked for, of databases as in `bench.claim`; each reading samples anew.
"""

import argparse
import statistics
import time
from contextlib import ExitStack
from typing import Any

from sqlalchemy import Engine

from app.config import load
from app.local.services import start_postgres
from app.metrics import exposition, process
from app.metrics.counts import Counts, SettledBatch
from app.metrics.fleet import FleetPage
from app.store.fetches import Fetch
from bench import tiptoe
from bench.claim import make_database, timed
from bench.report import BenchError, Cell, save, table

SETTLES = 4_000
REQUESTS = 50
READINGS = 200


def main(arguments: argparse.Namespace) -> None:
    """Measure, print and save. Raises BenchError."""
    try:
        sizes = sorted(int(size) for size in arguments.sizes.split(","))
    except ValueError as error:
        raise BenchError(f"--sizes {arguments.sizes}: write numbers of URLs, e.g. 100000,1000000") from error
    counts = Counts()
    own: list[dict[str, Cell]] = [{"what": "count, µs a request", "p50": _count_us(counts)}]
    made = exposition.registry(lambda: process.values(counts, None, lambda: (0, 0)))
    own.append({"what": "page, ms", "p50": statistics.median(timed(lambda: exposition.page(made)) for _ in range(50))})
    table("metrics of a worker", own)
    rows: list[dict[str, Cell]] = []
    with tiptoe.fresh_home() as home, ExitStack() as stack:
        settings = load(home=home)
        running = start_postgres(home, lambda line: print(f"  {line}"))
        stack.callback(running.release)
        for size in sizes:
            engine = make_database(running.url, size, settings)
            stack.callback(engine.dispose)
            rows.append(_fleet(engine, size, settings.queue_names))
    table("metrics of the fleet: milliseconds", rows)
    save("metrics", {"own": own, "fleet": rows})


def _count_us(counts: Counts) -> float:
    fetches = [_fetch(number) for number in range(REQUESTS)]
    began = time.process_time()
    for visit_id in range(SETTLES):
        counts.settled([SettledBatch(visit_id, 1, fetches, REQUESTS, "delay")], took_s=0.005)
    return (time.process_time() - began) / SETTLES / REQUESTS * 1e6


def _fetch(number: int) -> Fetch:
    row: dict[str, Any] = {"kind": "page", "outcome": "page", "failure": None, "wire_bytes": 9_000, "host_id": 1}
    row |= {"start_s": number * 2.0, "end_s": number * 2.0 + 0.1, "delay_s": 1.0, "total_ms": 90.0}
    return row | {"first_byte_ms": 50.0 + number}  # type: ignore[return-value]  # what is counted of a Fetch


def _fleet(engine: Engine, size: int, queues: tuple[str, ...]) -> dict[str, Cell]:
    now = iter(range(0, 10_000, 10))  # each reading is a new one
    page = FleetPage(engine, queues, offer_s=10.0, monotonic=lambda: float(next(now)))
    times = [1000 * float(page.values()["tiptoe_fleet_read_seconds"]) for _ in range(READINGS)]  # type: ignore[arg-type]  # it has no labels
    cuts = statistics.quantiles(times, n=100)
    depth = page.values()["tiptoe_queue_depth_urls"]
    return {"URLs": f"{size:,}", "p50": cuts[49], "p95": cuts[94], "first": times[0], "queued, estimated": float(depth)}  # type: ignore[arg-type]  # the same
