"""(g) The whole frontier at two sizes: what steps of the crawl, of its upkeep and of a person's questions cost.

Each size is a database of its own (`bench.scale_load`); operations (`bench.scale_ops`) are the product's functions, and
the sizes take turns. Then the largest goes on for some minutes while somebody else's transaction stands open, so that
no row version of the crawl's can go away. Bars: p95 of the claim grows at most 1.5-fold, everything else that a crawl
waits for 2-fold, and the claim 2-fold under the open transaction; what counts everything may grow with it. Ten million
URLs take 16 GB of disk and half an hour.
"""

import argparse
import logging
import random
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

import psycopg
import structlog
from sqlalchemy import Engine, text

from app.admin import crawls
from app.admin.seeds import add
from app.beat import claim
from app.config import Settings, load
from app.local.services import start_postgres
from app.store.host_rows import Offer
from bench import scale_load, tiptoe
from bench.claim import empty_database
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
TICK_S = 0.25
LEAVE = """
UPDATE hosts SET state = 'idle', lease_token = NULL, lease_until = NULL, taken_at = NULL, next_fetch_at =
clock_timestamp()
WHERE id = ANY(:ids)"""
TAKE = """
UPDATE hosts SET state = 'taken', taken_at = clock_timestamp(), lease_until = clock_timestamp() + interval '60 seconds',
                 next_fetch_at = clock_timestamp() + interval '61 seconds'
WHERE id = ANY(:ids)"""
NO_SEEDS = ("DELETE FROM urls WHERE crawl_id <> 1", "DELETE FROM hosts WHERE name LIKE 'seed%'", "VACUUM hosts, urls")


def main(arguments: argparse.Namespace) -> None:
    """Load, measure, hold a transaction open; print and save. Raises BenchError."""
    wanted = _sizes(arguments)
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    with tiptoe.fresh_home() as home, ExitStack() as stack:
        settings = load(home=home, default_delay_s=0, address_gap_s=0, jitter=0, latency_factor=0, keep_text=True)
        server = arguments.server or _embedded(home, stack)
        million = _million(server, settings, arguments.seeds)
        engines = {size: scale_load.make(server, size, hosts, settings) for size, hosts in wanted}
        bytes_ = {size: scale_load.sizes(engine) for size, engine in engines.items()}
        frontiers = {size: Frontier(engine, settings, random.Random(2)) for size, engine in engines.items()}
        seeds = [_seeds(size, frontier) for size, frontier in frontiers.items()]
        _measure(frontiers)
        held = _held(frontiers[wanted[-1][0]], settings, arguments.minutes) if arguments.minutes else []
        for engine in engines.values():
            engine.dispose()
    rows = [_row(size, what, times) for size, each in frontiers.items() for what, times in each.times.items()]
    found = {"rows": rows, "growth": _growth(rows), "seeds": [*million, *seeds], "held": held}
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


# --- seeds ----------------------------------------------------------------------------------------------------------


def _million(server: str, settings: Settings, n: int) -> list[dict[str, Cell]]:
    """The product's own import into an empty database."""
    if not n:
        return []
    engine = empty_database(server, "bench_seeds")
    lines = (f"http://s{number % (n // SEEDS_A_HOST)}.test/{number}.html" for number in range(n))
    row = _import(engine, settings, lines, n, "an empty frontier")
    engine.dispose()
    return [row]


def _seeds(size: int, frontier: Frontier) -> dict[str, Cell]:
    """The same into a full one."""
    lines = frontier.seeds(SEEDS, SEEDS // SEEDS_A_HOST)
    row = _import(frontier.aside, frontier.settings, lines, SEEDS, f"{size:,} URLs")
    with frontier.aside.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        for statement in NO_SEEDS:
            connection.execute(text(statement))
    return row


def _import(engine: Engine, settings: Settings, lines: Iterator[str], n: int, into: str) -> dict[str, Cell]:
    crawl = crawls.create(engine, "seeds")
    began = time.monotonic()
    added = add(engine, settings, crawl, lines)
    seconds = time.monotonic() - began
    crawls.finish(engine, crawl.name)
    if added.added != n:
        raise BenchError(f"{added.added:,} seeds were added, not {n:,}: {added.bad[:1]}")
    return {"into": into, "seeds": n, "seconds": round(seconds, 1), "a second": round(n / seconds)}


# --- operations -----------------------------------------------------------------------------------------------------


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


# --- a long transaction ---------------------------------------------------------------------------------------------


def _held(frontier: Frontier, settings: Settings, minutes: float) -> list[dict[str, Cell]]:
    """Some 500 visits a second for so long, thrice: freely, held, and held but always looking from the beginning."""
    rows: list[dict[str, Cell]] = []
    for how, held, marks in (
        ("no transaction open", False, claim.ScanWindow()),
        ("one open", True, claim.ScanWindow()),
        ("one open, without marks", True, None),
    ):
        with frontier.aside.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.execute(text("VACUUM hosts"))
        with _long_transaction(frontier.aside) if held else ExitStack():
            first, last = _churn(frontier, marks, minutes)
        rows += [_spell(how, "first fifth", first), _spell(how, "last fifth", last)]
    return rows


def _churn(frontier: Frontier, marks: claim.ScanWindow | None, minutes: float) -> Sequence[list[tuple[float, float]]]:
    """Claims and visits of nothing but the host's own row. Returns the times of the claims of the first and the last
    fifth."""
    frontier.times.pop("claim", None)
    began = time.monotonic()
    fifths: list[list[tuple[float, float]]] = [[] for _ in range(5)]
    while (passed := time.monotonic() - began) < 60 * minutes:
        offers: list[Offer] = []
        act = partial(claim.dispatch, frontier.engine, frontier.settings, offers.extend, frontier.rng, marks)
        frontier.timed("held", act)
        fifths[int(5 * passed / (60 * minutes))].append(frontier.times["held"][-1])
        ids = [offer.host_id for offer in offers]
        for step in (TAKE, LEAVE):
            frontier.aside_sql(step, ids=ids)
        time.sleep(max(0.0, TICK_S - (time.monotonic() - began - passed)))
    frontier.times.pop("held")
    return fifths[0], fifths[-1]


@contextmanager
def _long_transaction(engine: Engine) -> Iterator[None]:
    """Somebody else's, with a snapshot."""
    url = engine.url.set(drivername="postgresql").render_as_string(hide_password=False)
    with psycopg.connect(url, options="-c idle_in_transaction_session_timeout=0") as other:
        other.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        other.execute("SELECT count(*) FROM crawls")
        yield


# --- telling --------------------------------------------------------------------------------------------------------


def _row(size: int, what: str, times: list[tuple[float, float]]) -> dict[str, Cell]:
    return {"URLs": f"{size:,}", "what": what, **_quantiles(times), "n": len(times)}


def _spell(how: str, when: str, times: list[tuple[float, float]]) -> dict[str, Cell]:
    return {"transaction": how, "claims": when, **_quantiles(times), "n": len(times)}


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
    table("claims while a transaction stands open (bar: twice)", found["held"])
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
