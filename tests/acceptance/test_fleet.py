"""The same crawl by `celery -A app beat`, two workers and Flower, against services of their own."""

import json
import os
import re
import socket
import urllib.error
import urllib.request
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from celery import Celery

from app.admin import crawls, seeds
from app.celery import MAINTENANCE, known_keys
from app.config import load
from app.crawl.state.seen import Load
from app.crawl.state.setup import make_engine
from app.store import crawls as crawl_rows
from app.store import db, fetches
from tests.acceptance.conftest import celery, manual, until
from tests.crawl.web import Web

pytestmark = pytest.mark.acceptance


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def flower_says(port: int, path: str) -> dict[str, Any]:
    """What Flower's interface answers; nothing while it is not up yet."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/{path}", timeout=5) as answer:
            return dict(json.load(answer))
    except (urllib.error.URLError, ConnectionError):
        return {}


def flower_tasks(port: int, name: str) -> list[dict[str, str]]:
    return list(flower_says(port, f"tasks?taskname={name}").values())


def test_a_fleet_of_plain_celery_processes(database_url: str, broker_url: str, tmp_path: Path, web: Web) -> None:
    """Two beats and two plain workers: still one visitor per host, each page once; Flower names hosts."""
    sites = [web.site() for _ in range(5)]
    wanted = {site.host: manual(site, 12) for site in sites}
    port = free_port()
    env = {
        **os.environ,
        "TIPTOE_DATABASE_URL": database_url,
        "TIPTOE_BROKER_URL": broker_url,
        "TIPTOE_ALLOW_NETWORKS": "127.0.0.0/8",
        "TIPTOE_DEFAULT_DELAY_S": "0.1",
        "TIPTOE_ADDRESS_GAP_S": "0.1",
        "TIPTOE_HOME": str(tmp_path / "home"),
        "FLOWER_UNAUTHENTICATED_API": "1",
    }
    settings = load(database_url=database_url, allow_networks="127.0.0.0/8", default_delay_s=0.1)
    engine = make_engine(settings)
    with ExitStack() as fleet:
        fleet.enter_context(celery(env, tmp_path, "flower", f"--port={port}"))
        for _ in range(2):
            fleet.enter_context(celery(env, tmp_path, "worker", "--concurrency", "8"))
        # Flower asks workers for their events 5 s after it began: a crawl of three seconds would be over
        until(lambda: heard(port, broker_url) == 2, "Flower hears both workers")
        for _ in range(2):
            fleet.enter_context(celery(env, tmp_path, "beat", "--pidfile="))
        crawl = crawls.create(engine, "fleet")
        seeds.add(engine, settings, crawl, [site.url("/") for site in sites])
        until(lambda: crawls.find(engine, "fleet").state == "finished", "the crawl ends")
        until(lambda: bool(flower_tasks(port, "tiptoe.visit")), "Flower has seen visits")
        shown = flower_tasks(port, "tiptoe.visit")
        assert not flower_tasks(port, "tiptoe.promote"), "the clockwork's tasks hide the visits"
        loads = {worker: Load(**fields) for worker, fields in known_keys(broker_url, 10.0, 2).items()}

    assert len(loads) == 2
    assert all(re.fullmatch(rf"w-\d+@{re.escape(socket.gethostname())}", name) for name in loads)
    assert sum(load.used for load in loads.values()) >= 60
    assert {site.host: set(site.pages_asked) for site in sites} == wanted
    assert all(len(site.pages_asked) == 12 for site in sites)
    assert min(gap for site in sites for gap in site.gaps()) >= 0.1 - 0.005
    assert {task["args"] for task in shown} <= {f"({host})" for host in wanted}
    with db.transaction(engine) as tx:
        assert crawl_rows.totals(tx, crawl.id).pages == 60
        assert sum(int(row["gap_violations"]) for row in fetches.audit(tx, fetches.hosts_of_crawl(tx, crawl.id))) == 0
    engine.dispose()


def heard(port: int, broker_url: str) -> int:
    """The number of workers of which Flower has seen a task: one of Celery's own, of which this sends one more."""
    with Celery(broker=broker_url) as app:
        app.send_task("celery.accumulate", queue=MAINTENANCE)
    return len({task["worker"] for task in flower_tasks(port, "celery.accumulate")})
