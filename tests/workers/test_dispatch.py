"""Offers on their way to their queues."""

import json
from collections.abc import Iterator
from uuid import uuid4

import pytest
import redis
from kombu.exceptions import OperationalError

from app.celery import make_app
from app.config import load
from app.store.host_rows import Offer
from workers.dispatch import Doorbells

OFFERS = [Offer(n, f"host{n}.test", f"host-0{n % 2}", uuid4(), None) for n in range(5)]


@pytest.fixture
def doorbells(broker_url: str) -> Iterator[Doorbells]:
    settings = load(broker_url=broker_url, queues=2)
    app = make_app(settings)
    yield Doorbells(app, settings)
    app.close()


@pytest.fixture
def client(broker_url: str) -> Iterator["redis.Redis"]:
    with redis.Redis.from_url(broker_url) as client:
        yield client


def rung(client: "redis.Redis") -> list[str]:
    """Hosts' names, by queue, in the order of their messages."""
    messages = [json.loads(each) for queue in ("host-00", "host-01") for each in client.lrange(queue, 0, -1)[::-1]]
    return [message["headers"]["argsrepr"] for message in messages]


EXPECTED = [f"(host{n}.test)" for n in (0, 2, 4, 1, 3)]


def test_each_host_is_rung_on_its_queue(doorbells: Doorbells, client: "redis.Redis") -> None:
    doorbells.offer(OFFERS)
    assert rung(client) == EXPECTED


def test_a_connection_that_went_stale_loses_none(doorbells: Doorbells, client: "redis.Redis") -> None:
    doorbells.offer(OFFERS)
    client.delete("host-00", "host-01")
    client.client_kill_filter(_type="normal", skipme=True)
    doorbells.offer(OFFERS)
    assert rung(client) == EXPECTED


def test_where_the_broker_keeps_time_messages_expire_with_their_offers() -> None:
    settings = load(broker_url="memory://", queues=2, offer_s=7.0)
    app = make_app(settings)
    Doorbells(app, settings).offer(OFFERS[:1])
    with app.connection_for_read() as connection:
        message = connection.default_channel.basic_get("host-00")
    assert message.properties["expiration"] == "7000"
    assert message.headers["expires"] is None


def test_what_waits_on_every_queue_is_told(doorbells: Doorbells, client: "redis.Redis") -> None:
    doorbells.offer(OFFERS)
    client.lpush("maintenance", *range(99))
    assert doorbells.unread(["host-00", "host-01"], 32) == {"host-00": 3, "host-01": 2, "maintenance": 64}


def test_a_broker_that_is_away_is_told() -> None:
    settings = load(broker_url="redis://127.0.0.1:1/0")
    with pytest.raises(OperationalError):
        Doorbells(make_app(settings), settings).offer(OFFERS)
