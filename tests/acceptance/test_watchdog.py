"""A worker that answers and consumes nothing (celery#8030) ends itself, and whoever is started in its place goes on."""

import os
from pathlib import Path

import pytest

from app.admin import crawls, seeds
from app.celery import make_app
from app.config import load
from app.crawl.state.setup import make_engine
from tests.acceptance.conftest import celery, manual, until
from tests.crawl.web import Web
from workers.watchdog import EXIT_CODE

pytestmark = [pytest.mark.acceptance, pytest.mark.faults]
QUEUES = range(99)


def test_a_worker_that_stops_consuming_ends_itself(
    database_url: str, broker_url: str, tmp_path: Path, web: Web
) -> None:
    site = web.site()
    wanted = manual(site, 5)
    env = {
        **os.environ,
        "TIPTOE_DATABASE_URL": database_url,
        "TIPTOE_BROKER_URL": broker_url,
        "TIPTOE_ALLOW_NETWORKS": "127.0.0.0/8",
        "TIPTOE_DEFAULT_DELAY_S": "0",
        "TIPTOE_CONSTANT_OFFER_S": "0.5",
        "TIPTOE_CONSTANT_STALL_S": "3",
        "TIPTOE_HOME": str(tmp_path / "home"),
    }
    settings = load(database_url=database_url, broker_url=broker_url, allow_networks="127.0.0.0/8")
    engine = make_engine(settings)
    control = make_app(settings).control
    with celery(env, tmp_path, "worker", "--hostname", "w@test", "--concurrency", "4") as deaf:
        until(lambda: bool(control.ping(timeout=1)), "the worker answers")
        for queue in settings.queue_names:
            control.cancel_consumer(queue)
        until(lambda: len((control.inspect(timeout=1).active_queues() or {}).get("w@test", QUEUES)) <= 2, "it is deaf")
        with celery(env, tmp_path, "beat", "--pidfile="):
            crawl = crawls.create(engine, "deaf")
            seeds.add(engine, settings, crawl, [site.url("/")])
            until(lambda: deaf.poll() is not None, "the watchdog ends it")
            assert deaf.returncode == EXIT_CODE
            assert "watchdog.ends" in (tmp_path / "worker.log").read_text()
            assert site.log == []
            with celery(env, tmp_path, "worker", "--hostname", "w2@test", "--concurrency", "4"):
                until(lambda: crawls.find(engine, "deaf").state == "finished", "another one finishes the crawl")
    assert set(site.pages_asked) == wanted
    engine.dispose()
