"""A fleet with its web and its Prometheus, whose processes a test starts, kills and looks at."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Engine

from app.admin import crawls, seeds
from app.config import Settings, load
from app.crawl.state.setup import make_engine
from app.model.crawl import CrawlSpec
from tests.acceptance.conftest import celery, until
from tests.acceptance.test_fleet import free_port
from tests.crawl.web import Site
from tests.metrics.prometheus import Prometheus, run_prometheus


class Watched:
    """A fleet, its Prometheus and its sites."""

    def __init__(self, folder: Path, env: dict[str, str], settings: Settings, engine: Engine) -> None:
        self.folder, self.env, self.settings, self.engine = folder, env, settings, engine
        self.stack = ExitStack()
        self.web: subprocess.Popen[bytes]
        self.prometheus: Prometheus

    def celery(self, *arguments: str, within: tuple[str, ...] = (), **env: str) -> subprocess.Popen[bytes]:
        return self.stack.enter_context(celery({**self.env, **env}, self.folder, *arguments, within=within))

    def worker(self, name: str, *, within: tuple[str, ...] = (), **env: str) -> subprocess.Popen[bytes]:
        return self.celery("worker", "--hostname", f"{name}@test", "--concurrency", "8", within=within, **env)

    def renderer(self, name: str) -> subprocess.Popen[bytes]:
        """It crawls nothing, whoever else is gone. A page has the time that it has by default."""
        return self.celery("worker", "--hostname", f"{name}@test", "-Q", "render", TIPTOE_CONSTANT_LEASE_S="60")

    def beat(self) -> subprocess.Popen[bytes]:
        return self.celery("beat", "--pidfile=")

    def serve(self, **env: str) -> None:
        self.web = self.stack.enter_context(tiptoe_web({**self.env, **env}, self.folder))

    def crawl(self, name: str, sites: list[Site], **spec: Any) -> None:
        crawl = crawls.create(self.engine, name, CrawlSpec(**spec))
        seeds.add(self.engine, self.settings, crawl, [site.url("/") for site in sites])

    def until_finished(self, name: str) -> None:
        until(lambda: crawls.find(self.engine, name).state == "finished", f"{name} ends")

    def until_firing(self, *names: str) -> None:
        until(lambda: set(names) <= self.prometheus.firing(), f"{names} fire; they do: {self.prometheus.firing()}")

    def until_quiet(self, *names: str) -> None:
        until(lambda: not set(names) & self.prometheus.firing(), f"{names} clear")


@contextmanager
def tiptoe_web(env: dict[str, str], folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    with (folder / "web.log").open("ab") as log:
        process = subprocess.Popen([sys.executable, "-m", "app.web"], env=env, stdout=log, stderr=log)
        try:
            yield process
        finally:
            process.terminate()
            process.wait(30)


@contextmanager
def watch(folder: Path, database_url: str, broker_url: str) -> Iterator[Watched]:
    """A fleet whose processes write to the folder: as yet `tiptoe web` alone, and Prometheus."""
    port = free_port()
    own = {
        "TIPTOE_DATABASE_URL": database_url,
        "TIPTOE_BROKER_URL": broker_url,
        "TIPTOE_ALLOW_NETWORKS": "127.0.0.0/8",
        "TIPTOE_DEFAULT_DELAY_S": "0.1",
        "TIPTOE_CONSTANT_BACKOFF_BASE_S": "0.1",
        "TIPTOE_CONSTANT_BACKOFF_MAX_S": "0.2",
        "TIPTOE_CONSTANT_BREAKER_BASE_S": "0.2",
        "TIPTOE_CONSTANT_BREAKER_MAX_S": "0.2",
        "TIPTOE_CONSTANT_ADAPTIVE_LEVEL_MAX": "0",
        "TIPTOE_CONSTANT_LATENCY_FACTOR": "0",
        "TIPTOE_CONSTANT_ATTEMPTS_MAX": "1",
        "TIPTOE_CONSTANT_OFFER_S": "2",
        "TIPTOE_REQUEST_DEADLINE_S": "10",
        "TIPTOE_CONSTANT_LEASE_S": "20",  # so soon after its worker was killed a host is visited again
        "TIPTOE_HOME": str(folder / "home"),
        "TIPTOE_METRICS": "127.0.0.1:0",
        "TIPTOE_WEB_LISTEN": f"127.0.0.1:{port}",
    }
    env = {**os.environ, **own}
    settings = load(database_url=database_url, allow_networks="127.0.0.0/8", default_delay_s=0.1)
    made = Watched(folder, env, settings, make_engine(settings))
    with made.stack:
        made.serve()
        made.prometheus = made.stack.enter_context(run_prometheus(folder, f"127.0.0.1:{port}"))
        yield made
    made.engine.dispose()
