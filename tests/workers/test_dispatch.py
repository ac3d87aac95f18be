"""Offers on their way to their queues."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from uuid import uuid4

import pytest
import redis
from celery import Celery
from kombu import Producer
from kombu.exceptions import OperationalError

from app.celery import make_app
from app.config import load
from app.store.host_rows import Offer
from workers import dispatch

OFFERS = [Offer(n, f"host{n}.test", f"host-0{n % 2}", uuid4(), None) for n in range(5)]


@pytest.fixture
def app(broker_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Celery]:
    app = make_app(load(broker_url=broker_url, queues=2))
    monkeypatch.setattr(dispatch, "app", app)
    yield app
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


def test_each_host_is_rung_on_its_queue(app: Celery, client: "redis.Redis") -> None:
    dispatch.offer(OFFERS)
    assert rung(client) == EXPECTED


def test_a_connection_that_went_stale_loses_none(app: Celery, client: "redis.Redis") -> None:
    dispatch.offer(OFFERS)
    client.delete("host-00", "host-01")
    client.client_kill_filter(_type="normal", skipme=True)
    dispatch.offer(OFFERS)
    assert rung(client) == EXPECTED


def test_a_batch_that_fails_goes_out_one_by_one(
    app: Celery, client: "redis.Redis", monkeypatch: pytest.MonkeyPatch
) -> None:
    @contextmanager
    def broken(producer: Producer) -> Iterator[None]:
        yield
        raise redis.exceptions.ConnectionError("gone before anything went out")

    with monkeypatch.context() as patch:
        patch.setattr(Producer, "batch", broken)
        patch.setattr(dispatch, "_ring", ring_the_second_time(dispatch._ring))
        dispatch.offer(OFFERS)
    assert rung(client) == EXPECTED


def ring_the_second_time(ring: Callable[..., None]) -> Callable[..., None]:
    """A batch keeps its messages back until it ends: the first ones never went out."""
    calls: list[int] = []

    def again(producer: Producer, offers: Sequence[Offer]) -> None:
        calls.append(1)
        if len(calls) > 1:
            ring(producer, offers)

    return again


def test_where_the_broker_keeps_time_messages_expire_with_their_offers(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = load(broker_url="memory://", queues=2, offer_s=7.0)
    app = make_app(settings)
    monkeypatch.setattr(dispatch, "app", app)
    monkeypatch.setattr(dispatch, "current", lambda: settings)
    dispatch.offer(OFFERS[:1])
    with app.connection_for_read() as connection:
        message = connection.default_channel.basic_get("host-00")
    assert message.properties["expiration"] == "7000"
    assert message.headers["expires"] is None


def test_what_waits_on_every_queue_is_told(app: Celery, client: "redis.Redis") -> None:
    dispatch.offer(OFFERS)
    client.lpush("maintenance", *range(99))
    assert dispatch.unread(["host-00", "host-01"], 32) == {"host-00": 3, "host-01": 2, "maintenance": 64}


def test_a_broker_that_is_away_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dispatch, "app", make_app(load(broker_url="redis://127.0.0.1:1/0")))
    with pytest.raises(OperationalError):
        dispatch.offer(OFFERS)
