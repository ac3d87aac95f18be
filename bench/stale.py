"""(j) Stale doorbells: how long a new worker is held up by 100,000 messages whose offers are over. Bar: 5 s.

Real messages, spread over the host queues, of offers that nobody holds; one worker, started without beat, so that it
alone clears them. Counted from its start until it answers and its queues are empty; once without the messages, once
with them.
"""

import argparse
import time
from collections.abc import Callable
from contextlib import ExitStack
from uuid import uuid4

import redis

from app.celery import make_app
from app.config import Settings, load
from app.local.services import LocalServices
from app.store import migrate
from bench import plain, tiptoe
from bench.report import BenchError, Cell, save, table

MESSAGES = 100_000
BAR_S = 5.0
PATIENCE_S = 60.0
POLL_S = 0.01


def main(arguments: argparse.Namespace) -> None:
    """Start a worker with and without stale messages; print and save the seconds. Raises BenchError."""
    rows = [_start(messages) for messages in (0, MESSAGES)]
    table(f"stale: the start of a new worker (bar: {BAR_S:g} s more)", rows)
    save("stale", {"rows": rows})


def _start(messages: int) -> dict[str, Cell]:
    with tiptoe.fresh_home() as home, ExitStack() as fleet:
        services = fleet.enter_context(LocalServices(home, database_url=None, broker_url=None, log=lambda line: None))
        migrate.upgrade(services.database_url)
        client = fleet.enter_context(redis.Redis.from_url(services.broker_url))
        settings = load(database_url=services.database_url, broker_url=services.broker_url)
        _fill(client, settings, messages)
        env = plain.environment(home, database_url=services.database_url, broker_url=services.broker_url, settings={})
        log, control = home / "worker.log", make_app(settings).control
        began = time.monotonic()
        fleet.enter_context(plain.process(env, home, "worker", "worker"))
        _await(lambda: bool(control.ping(timeout=0.1)), "the worker answers")
        _await(lambda: not any(client.llen(queue) for queue in settings.queue_names), "the queues are empty")
        seconds = time.monotonic() - began
        dropped = "doorbells.dropped" in log.read_text(errors="replace")
    return {
        "messages": messages,
        "most dropped at once": "yes" if dropped else "no",
        "at work after, s": round(seconds, 2),
    }


def _fill(client: "redis.Redis", settings: Settings, messages: int) -> None:
    """A message as dispatch sends it, again and again under tokens of nobody."""
    queues = settings.queue_names
    with make_app(settings) as app:
        app.send_task("tiptoe.visit", args=(1, str(uuid4())), queue=queues[0], argsrepr="(stale.test)", kwargsrepr="{}")
    sample = bytes(client.lpop(queues[0]) or b"")  # type: ignore[arg-type]  # redis types it for both of its clients
    with client.pipeline(transaction=False) as pipe:
        for number in range(messages):
            pipe.lpush(queues[number % len(queues)], sample)
            if number % 10_000 == 9_999:
                pipe.execute()
        pipe.execute()


def _await(is_so: Callable[[], bool], what: str) -> None:
    until = time.monotonic() + PATIENCE_S
    while not is_so():
        if time.monotonic() > until:
            raise BenchError(f"after {PATIENCE_S:g} s still not: {what}")
        time.sleep(POLL_S)
