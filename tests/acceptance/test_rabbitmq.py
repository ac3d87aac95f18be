"""A crawl through RabbitMQ: each host queue has one worker at a time, and the other one takes over (promise F6); and
the broker itself may die."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest
from kombu import Connection
from sqlalchemy import Engine, text

from app.admin import crawls, seeds
from app.celery import known_keys
from app.config import load
from app.crawl.state.setup import make_engine
from app.store import db, fetches
from tests import rabbitmq
from tests.acceptance.conftest import celery, manual, until
from tests.crawl.web import Web
from tests.local.served import processes_in

pytestmark = pytest.mark.acceptance
DELAY_S = 0.1
PAGES = 60  # of each site, where the broker dies


def environment(database_url: str, rabbitmq_url: str, home: Path) -> dict[str, str]:
    return {
        **os.environ,
        "TIPTOE_DATABASE_URL": database_url,
        "TIPTOE_BROKER_URL": rabbitmq_url,
        "TIPTOE_SINGLE_ACTIVE_CONSUMER": "true",
        "TIPTOE_ALLOW_NETWORKS": "127.0.0.0/8",
        "TIPTOE_DEFAULT_DELAY_S": str(DELAY_S),
        "TIPTOE_CONSTANT_LINGER_S": "0",
        "TIPTOE_CONSTANT_VISIT_MAX_S": "0.3",  # several visits to each host
        "TIPTOE_QUEUES": "4",
        "TIPTOE_HOME": str(home),
    }


def workers_of(engine: Engine, crawl: str) -> dict[str, set[str]]:
    """{queue: workers that visited for this crawl}."""
    query = """
        SELECT v.queue, v.worker FROM visits AS v JOIN fetches AS f ON f.visit_id = v.id JOIN crawls AS c ON c.id =
        f.crawl_id
        WHERE c.name = :crawl
    """
    found: dict[str, set[str]] = {}
    with db.transaction(engine) as tx:
        for row in tx.execute(text(query), {"crawl": crawl}):
            found.setdefault(row.queue, set()).add(row.worker)
    return found


def consumers(url: str) -> set[int]:
    """How many consumers each host queue has; 0 for one that is not there yet."""
    with Connection(url) as connection:
        channel = connection.default_channel
        return {channel.queue_declare(f"host-{n:02d}", passive=True).consumer_count for n in range(4)}


def test_one_worker_a_queue_and_the_other_when_it_is_gone(
    database_url: str, rabbitmq_url: str, tmp_path: Path, web: Web
) -> None:
    sites = [web.site() for _ in range(5)]
    wanted = {site.host: manual(site, 12) for site in sites}
    roots = [site.url("/") for site in sites]
    env = environment(database_url, rabbitmq_url, tmp_path / "home")
    settings = load(database_url=database_url, allow_networks="127.0.0.0/8", default_delay_s=DELAY_S, queues=4)
    engine = make_engine(settings)
    with ExitStack() as fleet:
        fleet.enter_context(celery(env, tmp_path, "beat", "--pidfile="))
        for number in (1, 2):
            fleet.enter_context(celery(env, tmp_path, "worker", "--hostname", f"w{number}@test", "--concurrency", "8"))
        until(lambda: has_both(rabbitmq_url), "both workers listen to each queue")
        seeds.add(engine, settings, crawls.create(engine, "first"), roots)
        until(lambda: crawls.find(engine, "first").state == "finished", "the first crawl ends")
        first = workers_of(engine, "first")
        gone = first[min(first)].copy().pop()
        os.kill(int(gone.rpartition(":")[2]), signal.SIGKILL)
        seeds.add(engine, settings, crawls.create(engine, "second"), roots)
        until(lambda: crawls.find(engine, "second").state == "finished", "the second crawl ends")
        second = workers_of(engine, "second")
        assert len(known_keys(rabbitmq_url, 10.0, 1)) == 1

    assert all(len(workers) == 1 for workers in first.values()), first
    assert set.union(*second.values()) != {gone}
    assert all(len(workers) == 1 and gone not in workers for workers in second.values()), (gone, second)
    assert {site.host: set(site.pages_asked) for site in sites} == wanted
    assert all(len(site.pages_asked) == 2 * 12 for site in sites)
    assert min(gap for site in sites for gap in site.gaps()) >= DELAY_S - 0.005
    assert gap_violations(engine) == 0
    with db.transaction(engine) as tx:
        visits = tx.execute(text("SELECT queue, count(*) AS n FROM visits GROUP BY queue")).all()
    assert all(row.n >= 4 for row in visits), "with fewer, two workers in turn could look like one"
    engine.dispose()


@pytest.mark.parametrize("is_wiped", [False, True], ids=["as-it-was", "empty"])
def test_a_broker_that_dies_and_comes_back(
    make_database: Callable[[], str], reachable_tmp: Path, tmp_path: Path, web: Web, is_wiped: bool
) -> None:
    sites = [web.site() for _ in range(5)]
    wanted = {site.host: manual(site, PAGES) for site in sites}
    database_url, folder = make_database(), reachable_tmp / f"rabbitmq-{is_wiped}"
    settings = load(database_url=database_url, allow_networks="127.0.0.0/8", default_delay_s=DELAY_S, queues=4)
    engine = make_engine(settings)
    folder.mkdir()
    with rabbitmq.run(folder) as node, ExitStack() as fleet:
        env = environment(database_url, node.url, tmp_path / "home")
        fleet.enter_context(celery(env, tmp_path, "beat", "--pidfile="))
        for number in (1, 2):
            fleet.enter_context(celery(env, tmp_path, "worker", "--hostname", f"w{number}@test", "--concurrency", "8"))
        until(lambda: has_both(node.url), "both workers listen to each queue")
        seeds.add(engine, settings, crawls.create(engine, "docs"), [site.url("/") for site in sites])
        until(lambda: min(len(site.pages_asked) for site in sites) >= 5, "each site is asked")
        node.kill()
        until(lambda: taken(engine) == 0, "visits that run go on, and end")
        asked = sum(len(site.pages_asked) for site in sites)
        if is_wiped:
            shutil.rmtree(node.data)
        node.start()
        until(lambda: has_both(node.url), "both workers are back")
        until(lambda: crawls.find(engine, "docs").state == "finished", "the crawl ends")

    assert asked < len(sites) * PAGES, "without a broker nothing is begun"
    assert {site.host: set(site.pages_asked) for site in sites} == wanted
    assert all(len(site.pages_asked) == PAGES for site in sites), "nothing is fetched twice"
    assert min(gap for site in sites for gap in site.gaps()) >= DELAY_S - 0.005
    assert gap_violations(engine) == 0
    engine.dispose()


def taken(engine: Engine) -> int:
    with db.transaction(engine) as tx:
        return int(tx.execute(text("SELECT count(*) FROM hosts WHERE state = 'taken'")).scalar_one())


def gap_violations(engine: Engine) -> int:
    with db.transaction(engine) as tx:
        hosts = tx.execute(text("SELECT id FROM hosts")).scalars().all()
        return sum(int(row["gap_violations"]) for row in fetches.audit(tx, hosts))


def has_both(url: str) -> bool:
    with Connection(url) as connection:
        try:
            return consumers(url) == {2}
        except connection.channel_errors:
            return False  # a queue is not there yet


OWNER = """
import sys
from pathlib import Path
from tests import rabbitmq
with rabbitmq.run(Path(sys.argv[1])) as node:
    print("runs", flush=True)
    sys.stdin.read()
"""


def test_it_does_not_outlive_tests_that_are_killed(reachable_tmp: Path) -> None:
    if rabbitmq.script() is None:
        pytest.skip("RabbitMQ is not installed")
    folder = reachable_tmp / "rabbitmq-killed"
    folder.mkdir()
    with subprocess.Popen(
        [sys.executable, "-c", OWNER, str(folder)],
        cwd=Path(__file__).parents[2],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as owner:
        assert owner.stdout is not None
        assert owner.stdout.readline() == "runs\n"
        assert len(processes_in(folder)) >= 2, "the node and the name server"
        owner.kill()
    until(lambda: not processes_in(folder), "nothing is left")
