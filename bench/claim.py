"""(b) Latency of the dispatcher's claim and of a visit's pick as the frontier grows: p95 must not grow with it.

Each size is a database of its own on an embedded Postgres: one crawl, 50 URLs a host, half of them queued and half
resting, every host due (the worst backlog). Timed as the product calls them, commit included: `claim`, a whole
`dispatch` with room for all offers; `pick`, taking one offer up and picking a batch of URLs. What is claimed is
given back untimed, due again. The sizes take turns, so that what else the machine does hits all alike. 10 M URLs
take about 10 GB of disk and some minutes to make, so they must be asked for.
"""

import argparse
import logging
import random
import statistics
import time
from collections import defaultdict
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial

import structlog
from sqlalchemy import Engine, text
from sqlalchemy.engine import make_url

from app.beat import claim
from app.config import Settings, load
from app.local.services import start_postgres
from app.store import db, hosts, migrate, urls
from app.store.host_rows import Offer
from bench import tiptoe
from bench.report import BenchError, Cell, save, table

BAR = 1.5  # p95 at the largest size over p95 at the smallest
URLS_A_HOST = 50
TICKS = 400
WARM_UP = 40
PICKS_A_TICK = 2

_CRAWL = "INSERT INTO crawls (name, scope) VALUES ('bench', 'any')"
_HOSTS = """
INSERT INTO hosts (name, domain, queue, delay_s, next_fetch_at)
SELECT 'h' || n || '.test', 'h' || n || '.test', (CAST(:queues AS text[]))[1 + n % cardinality(CAST(:queues AS
text[]))],
       0, clock_timestamp() - random() * interval '1 hour'
FROM generate_series(1, :hosts) AS n"""
_URLS = """
INSERT INTO urls (host_id, crawl_id, key, url, state, lane, score, depth, due_at)
SELECT h.id, c.id, sha256(convert_to(made, 'UTF8')), made, CASE WHEN n % 2 = 0 THEN 'queued' ELSE 'resting' END,
       n / 2 % 4, random(), 1, CASE WHEN n % 2 = 1 THEN clock_timestamp() + random() * interval '30 days' END
FROM crawls AS c, hosts AS h, generate_series(1, :each) AS n,
     LATERAL (SELECT 'http://' || h.name || '/a/page/of/usual/length/' || n || '.html' AS made) AS a"""
GIVE_BACK = """
UPDATE hosts
SET state = 'idle', lease_token = NULL, lease_until = NULL, taken_at = NULL,
    next_fetch_at = clock_timestamp() - random() * interval '1 hour'
WHERE id = ANY(:ids)"""


def main(arguments: argparse.Namespace) -> None:
    """Measure each size; print and save latencies and the growth of p95. Raises BenchError."""
    sizes = sorted(arguments.sizes)
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.INFO))  # as the product does
    times: dict[tuple[int, str], list[float]] = defaultdict(list)
    with tiptoe.fresh_home() as home, ExitStack() as stack:
        settings, rng = load(home=home), random.Random(2)
        running = start_postgres(home, lambda line: print(f"  {line}"))
        stack.callback(running.release)
        engines = {size: make_database(running.url, size, settings) for size in sizes}
        for engine in engines.values():
            stack.callback(engine.dispose)
        for tick in range(WARM_UP + TICKS):
            for size, engine in engines.items():
                for what, values in _tick(engine, settings, rng).items():
                    times[size, what] += values if tick >= WARM_UP else []
    rows = [_row(size, what, values) for (size, what), values in times.items()]
    table(f"claim: milliseconds, all hosts due (bar: p95 grows at most {BAR:g}-fold)", rows)
    growth = [_growth(rows, what) for what in ("claim", "pick")] if len(sizes) > 1 else []
    table("p95, largest over smallest", growth)
    save("claim", {"sizes": sizes, "rows": rows, "growth": growth})


def empty_database(server: str, name: str) -> Engine:
    """A new one of that name with the schema."""
    admin = db.connect(server, pool_size=1)
    with admin.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text(f"CREATE DATABASE {name}"))
    admin.dispose()
    url = make_url(server).set(database=name).render_as_string(hide_password=False)
    migrate.upgrade(url)
    return db.connect(url, pool_size=2)


def make_database(server: str, size: int, settings: Settings, each: int = URLS_A_HOST) -> Engine:
    """A database of that size, named for it. each: URLs a host."""
    engine = empty_database(server, f"bench_{size}")
    began = time.monotonic()
    _fill(engine, size, settings, each)
    print(f"  {size:,} URLs made in {time.monotonic() - began:.0f} s", flush=True)
    return engine


def _fill(engine: Engine, size: int, settings: Settings, each: int) -> None:
    with engine.begin() as tx:
        tx.execute(text(_CRAWL))
        tx.execute(text(_HOSTS), {"queues": list(settings.queue_names), "hosts": size // each})
        tx.execute(text(_URLS), {"each": each})
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(text("VACUUM ANALYZE hosts, urls"))
        made = connection.execute(text("SELECT count(*) FROM urls")).scalar_one()
        connection.execute(text("CHECKPOINT"))
    if made != size // each * each:
        raise BenchError(f"{made:,} URLs were made, not {size:,}")


def _tick(engine: Engine, settings: Settings, rng: random.Random) -> dict[str, list[float]]:
    """One claim and a few picks of what it claimed, in milliseconds."""
    offers: list[Offer] = []
    claimed = timed(partial(claim.dispatch, engine, settings, offers.extend, rng))
    if len(offers) < settings.offers_max:
        raise BenchError(f"{len(offers)} hosts claimed of {settings.offers_max}, though all are due")
    picked = [timed(partial(_pick, engine, settings, offer)) for offer in offers[:PICKS_A_TICK]]
    with engine.begin() as tx:
        tx.execute(text(GIVE_BACK), {"ids": [offer.host_id for offer in offers]})
    return {"claim": [claimed], "pick": picked}


def _pick(engine: Engine, settings: Settings, offer: Offer) -> None:
    with db.transaction(engine) as tx:
        taken = hosts.take_up(tx, host_id=offer.host_id, token=offer.token, worker="bench", lease_s=settings.lease_s)
        found = urls.pick(tx, [{"host_id": offer.host_id, "n": settings.settle_urls, "out_of_reach": []}])
    if taken is None or not found:
        raise BenchError("an offer could not be taken up, or its host had no queued URL")


def timed(act: Callable[[], object]) -> float:
    began = time.perf_counter()
    act()
    return 1000 * (time.perf_counter() - began)


def _row(size: int, what: str, values: list[float]) -> dict[str, Cell]:
    cuts = statistics.quantiles(values, n=100)
    return {"URLs": f"{size:,}", "what": what, "p50": cuts[49], "p95": cuts[94], "p99": cuts[98], "n": len(values)}


def _growth(rows: list[dict[str, Cell]], what: str) -> dict[str, Cell]:
    p95 = [float(row["p95"] or 0) for row in rows if row["what"] == what]
    return {"what": what, "growth": round(p95[-1] / p95[0], 2), "bar": BAR}
