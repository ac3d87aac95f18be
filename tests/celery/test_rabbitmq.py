"""Doorbells on a real RabbitMQ: queues of one active consumer, messages that expire, and what a worker cannot read."""

from collections.abc import Iterator
from uuid import uuid4

import pytest
from celery import Celery
from kombu import Connection, Queue, pools
from kombu.exceptions import OperationalError

from app import celery_redis, config
from app.celery import EXTRACT, MAINTENANCE, make_app, queues_otherwise
from app.config import Settings, load
from app.store.host_rows import Offer
from tests.cli.conftest import Tiptoe, tiptoe
from workers.dispatch import Doorbells

__all__ = ["tiptoe"]

OFFERS = [Offer(n, f"host{n}.test", f"host-0{n % 2}", uuid4(), None) for n in range(5)]


@pytest.fixture
def settings(rabbitmq_url: str) -> Settings:
    return load(broker_url=rabbitmq_url, queues=2, offer_s=60)


@pytest.fixture
def app(settings: Settings) -> Iterator[Celery]:
    app = make_app(settings)
    app.conf.broker_transport_options = {"confirm_publish": True}  # so that a message is there when it was sent
    yield app
    app.close()
    pools.reset()  # its connections know the queues as declared, which are deleted after each test


def taken(url: str, queue: str) -> list[dict[str, object]]:
    """Host, time to live in ms and delivery mode of the messages of a queue, which are gone then."""
    with Connection(url) as connection:
        channel = connection.channel()
        found = []
        while (message := channel.basic_get(queue, no_ack=True)) is not None:
            kept = message.properties
            found.append(
                {
                    "host": kept["application_headers"]["argsrepr"],
                    "ms": kept["expiration"],
                    "mode": kept["delivery_mode"],
                }
            )
        return found


def test_each_host_is_rung_on_its_queue_for_as_long_as_its_offer(
    app: Celery, settings: Settings, rabbitmq_url: str
) -> None:
    Doorbells(app, settings).offer(OFFERS)
    found = taken(rabbitmq_url, "host-00")
    assert [each["host"] for each in found] == ["(host0.test)", "(host2.test)", "(host4.test)"]
    assert {each["mode"] for each in found} == {1}, "nothing is written to the disk"
    assert {each["ms"] for each in found} == {"60000"}, "TIPTOE_CONSTANT_OFFER_S"


def test_what_waits_is_not_counted_and_nothing_is_cut_off(app: Celery, settings: Settings, rabbitmq_url: str) -> None:
    Doorbells(app, settings).offer(OFFERS)
    with app.connection_for_write() as connection:
        assert celery_redis.unread(connection, ["host-00", "host-01", MAINTENANCE], 0) == {}
        assert celery_redis.keep(connection, {"host-00": 0}) == {}
    assert len(taken(rabbitmq_url, "host-00")) == 3


def test_janitors_messages_go_to_their_queue_alone(app: Celery, settings: Settings, rabbitmq_url: str) -> None:
    Doorbells(app, settings).offer(OFFERS)
    with app.producer_pool.acquire(block=True) as producer:
        app.send_task("tiptoe.promote", producer=producer)
        sizes = {
            name: producer.channel.queue_declare(name, passive=True).message_count for name in (MAINTENANCE, "host-01")
        }
    assert sizes == {MAINTENANCE: 1, "host-01": 2}


def reads(url: str, queue: Queue, got: list[str]) -> Connection:
    """A consumer of its own connection, as of another worker; `drain_events` gives it what has come."""
    connection = Connection(url)
    consumer = connection.Consumer([queue], callbacks=[lambda body, message: got.append(body)], no_ack=True)
    consumer.consume()
    return connection


def drain(connection: Connection, got: list[str], n: int) -> None:
    """Until so many have come."""
    while len(got) < n:
        connection.drain_events(timeout=30)


# single active consumer → messages of six that the first of two consumers of a host's queue gets
@pytest.mark.parametrize(("is_single", "n"), [(True, 6), (False, 3)])
def test_one_consumer_at_a_time_and_the_next_when_it_is_gone(rabbitmq_url: str, is_single: bool, n: int) -> None:
    conf = make_app(load(broker_url=rabbitmq_url, queues=1, single_active_consumer=is_single)).conf
    queue = next(queue for queue in conf.task_queues if queue.name == "host-00")
    first_got: list[str] = []
    second_got: list[str] = []
    first, second = reads(rabbitmq_url, queue, first_got), reads(rabbitmq_url, queue, second_got)
    with Connection(rabbitmq_url) as sender:
        producer = sender.Producer()
        for number in range(6):
            producer.publish(str(number), routing_key="host-00")
        drain(first, first_got, n)
        drain(second, second_got, 6 - n)
        assert (len(first_got), len(second_got)) == (n, 6 - n)
        first.close()
        producer.publish("7", routing_key="host-00")
        drain(second, second_got, 7 - n)
    assert second_got[-1] == "7"
    second.close()


def test_maintenance_is_for_any_worker(rabbitmq_url: str) -> None:
    queues = make_app(load(broker_url=rabbitmq_url, single_active_consumer=True, pinned_queues="big")).conf.task_queues
    single = {queue.name for queue in queues if queue.queue_arguments}
    assert single == {queue.name for queue in queues} - {MAINTENANCE, EXTRACT}


def test_queues_made_with_another_setting_are_named(app: Celery, settings: Settings, rabbitmq_url: str) -> None:
    Doorbells(app, settings).offer(OFFERS)
    assert queues_otherwise(settings) == []
    changed = settings.model_copy(update={"single_active_consumer": True})
    assert queues_otherwise(changed) == ["host-00", "host-01"]
    with Connection(rabbitmq_url) as connection:
        for name in ("host-00", "host-01"):
            connection.default_channel.queue_delete(name)
    assert queues_otherwise(changed) == [], "looking makes none"


def test_other_brokers_have_no_such_queues(broker_url: str) -> None:
    assert queues_otherwise(load(broker_url=broker_url)) == []


def test_a_broker_that_is_away(rabbitmq_url: str) -> None:
    with pytest.raises(OperationalError):
        queues_otherwise(load(broker_url="amqp://guest:guest@127.0.0.1:1//"))


def test_doctor_names_queues_that_rabbitmq_has_otherwise(
    tiptoe: Tiptoe, rabbitmq_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Workers cannot read them: RabbitMQ refuses to declare a queue again with other arguments."""
    monkeypatch.setenv("TIPTOE_BROKER_URL", rabbitmq_url)
    with Connection(rabbitmq_url) as connection:
        for n in range(12):
            Queue(f"host-{n:02d}", channel=connection.default_channel).declare()
    assert broker_check(tiptoe) == {"name": "broker", "grade": "ok", "finding": "amqp answers", "remedy": ""}
    monkeypatch.setenv("TIPTOE_SINGLE_ACTIVE_CONSUMER", "true")
    found = broker_check(tiptoe)
    assert (found["grade"], found["finding"].endswith("host-08, host-09 and 2 more")) == ("fail", True)
    assert "rabbitmqctl delete_queue" in found["remedy"]


def broker_check(tiptoe: Tiptoe) -> dict[str, str]:
    """With the settings read anew, as in a process of its own."""
    config.current.clear()
    ran = tiptoe("doctor", "--json")
    config.current.clear()
    return next(check for check in ran.json if check["name"] == "broker")
