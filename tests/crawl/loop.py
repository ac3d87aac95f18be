"""A crawl in this process: settings without delay, and a loop in place of beat and workers.

`start` makes a crawl, `run` drives it to its end, `go` is one tick of beat and the visits that it offers.
"""

import os
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from sqlalchemy import Engine, text

from app.admin.crawls import create
from app.admin.seeds import add
from app.beat import claim
from app.beat.finish import finish
from app.beat.promote import promote
from app.config import Settings, load
from app.crawl.state.worker import Worker
from app.crawl.visit.visit import VisitReport, visit
from app.model import CrawlSpec
from app.store import crawls, db
from app.store.crawls import Crawl
from app.store.host_rows import Offer
from tests.crawl.web import NETWORKS
from tests.store.rows import sql

ROUNDS = 200
_made: dict[str, Settings] = {}


def make_settings(database_url: str, **overrides: object) -> Settings:
    """No delay, short rests. Hosts are claimed 10 s ahead and visits wait out the rest, so the loop need not wait.

    They are frozen, and those of the same values, environment and folder are made once: to read them takes 10 ms."""
    variables = sorted((name, value) for name, value in os.environ.items() if name.startswith("TIPTOE_"))
    given = repr((database_url, sorted(overrides.items()), variables, os.getcwd()))
    if given not in _made:
        _made[given] = _read_settings(database_url, overrides)
    return _made[given]


def _read_settings(database_url: str, overrides: dict[str, object]) -> Settings:
    values: dict[str, object] = {
        "_env_file": None,
        "database_url": database_url,
        "allow_networks": NETWORKS,
        "default_delay_s": 0.0,
        "address_gap_s": 0.0,
        "latency_factor": 0.0,
        "adaptive_level_max": 0,
        "jitter": 0.0,
        "dispatch_tick_s": 10.0,
        "backoff_base_s": 0.01,
        "backoff_max_s": 0.02,
        "request_deadline_s": 10.0,  # a busy machine may hold an answer up for seconds
        "robots_deadline_s": overrides.get("request_deadline_s", 10.0),
        "queues": 4,
    }
    return load(**{**values, **overrides})


def start(worker: Worker, *seeds: str, name: str = "c", **wishes: object) -> Crawl:
    """A crawl with these seeds; `wishes` are fields of its CrawlSpec, without sitemaps unless they say so."""
    crawl = create(worker.engine, name, CrawlSpec(**{"sitemaps": "none", **wishes}))  # type: ignore[arg-type]
    add(worker.engine, worker.settings, crawl, seeds)
    return crawl


def go(worker: Worker, *, threads: int = 1) -> list[VisitReport]:
    """One tick of beat, and the visits that it offers."""
    offers: list[Offer] = []
    claim.dispatch(worker.engine, worker.settings, offers.extend, worker.rng)
    if threads == 1:
        return [visit(worker, offer.host_id, offer.token) for offer in offers]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(lambda offer: visit(worker, offer.host_id, offer.token), offers))


def run(worker: Worker, *, threads: int = 1, hurry: bool = True, rounds: int = ROUNDS) -> list[VisitReport]:
    """Until every crawl has ended. hurry: retries, and rests longer than we look ahead, come at once when nothing else
    does."""
    reports: list[VisitReport] = []
    for _ in range(rounds):
        made = go(worker, threads=threads)
        reports += made
        promote(worker.engine)
        finish(worker.engine)
        with db.transaction(worker.engine) as tx:
            if not any(crawl.state == "active" for crawl in crawls.every(tx)):
                return reports
        if not made and hurry:
            bring_forward(worker.engine)
    raise AssertionError(
        f"still active after {rounds} rounds: {sql(worker.engine, 'SELECT url, state, cause FROM urls')}"
    )


def bring_forward(engine: Engine) -> None:
    """As if an hour had passed: retries are due, rests are over, robots.txt that could not be had is tried again.

    Each is repeated where it meets a writer that locks the same rows in another order.
    """
    hour = "- interval '1 hour'"
    for statement in (
        f"UPDATE urls SET due_at = due_at {hour} WHERE retrying",
        f"UPDATE robots SET expires_at = expires_at {hour} WHERE availability = 'unreachable'",
        f"""UPDATE hosts SET next_fetch_at = next_fetch_at {hour}, polite_at = polite_at {hour},
                             blocked_until = blocked_until {hour}, lease_until = lease_until {hour}""",
    ):
        db.repeat(partial(_run, engine, statement))


def _run(engine: Engine, statement: str) -> None:
    with db.transaction(engine) as tx:
        tx.execute(text(statement))
