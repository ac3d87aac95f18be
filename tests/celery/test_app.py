"""The Celery app as a fleet gets it."""

import socket
import threading
from queue import Queue

import pytest
from kombu.exceptions import OperationalError

from app.celery import InPlace, make_app
from app.config import load
from app.errors import ServiceError
from app.plugins import janitors

PATIENCE_S = 60.0
CORE = {
    "dispatch",
    "promote",
    "finish",
    "ring_extract",
    "index",
    "near",
    "help_near",
    "sweep",
    "retain",
    "reprice",
    "reread",
    "measure",
    "rounds",
}
# broker URL, are messages acknowledged?
BROKERS = [
    ("redis://127.0.0.1:1/0", False),
    ("rediss://127.0.0.1:1/0", False),
    ("amqp://127.0.0.1:1//", True),
]


@pytest.mark.parametrize(("url", "acknowledged"), BROKERS)
def test_messages_are_doorbells(url: str, acknowledged: bool) -> None:
    conf = make_app(load(broker_url=url)).conf
    assert (conf.task_acks_late, conf.task_ignore_result, conf.accept_content) == (False, True, ["json"])
    assert {queue.no_ack for queue in conf.task_queues} == {not acknowledged}


def test_a_plain_worker_serves_every_queue() -> None:
    settings = load(broker_url="redis://127.0.0.1:1/0", queues=3, pinned_queues="big-site")
    names = [queue.name for queue in make_app(settings).conf.task_queues]
    assert names == ["maintenance", "extract", "host-00", "host-01", "host-02", "big-site"]


def test_beat_claims_itself_and_sends_the_rest() -> None:
    app = make_app(load(broker_url="redis://127.0.0.1:1/0"))
    schedule = app.conf.beat_schedule
    assert app.conf.beat_scheduler == f"{InPlace.__module__}:{InPlace.__name__}"
    assert {name for name, entry in schedule.items() if entry.get("options", {}).get("in_place")} == {"dispatch"}
    assert {name for name, entry in schedule.items() if entry.get("options", {}).get("beside")} == {"near"}
    assert set(schedule) == CORE | {janitor.name for janitor in janitors()}


def test_what_beat_computes_beside_its_loop_holds_up_neither_the_loop_nor_another_run() -> None:
    app = make_app(load(broker_url="redis://127.0.0.1:1/0"))
    began: Queue[threading.Thread] = Queue()
    may_end = Queue[None]()

    @app.task(name="slow")
    def slow() -> None:
        began.put(threading.current_thread())
        may_end.get(timeout=PATIENCE_S)
        raise ServiceError("Postgres", "start it")

    beat = InPlace(app=app, lazy=True)
    entry = beat.Entry(app=app, name="slow", task="slow", schedule=1.0, options={"beside": True})
    for _ in range(2):  # the second run follows the first, which failed
        beat.apply_async(entry)
        running = began.get(timeout=PATIENCE_S)
        assert running is not threading.current_thread()
        beat.apply_async(entry)
        may_end.put(None)
        running.join(PATIENCE_S)
        assert began.empty()


# broker URL, message of, seconds after which the broker drops it
EXPIRING = [
    ("redis://127.0.0.1:1/0", "promote", None),
    ("amqp://127.0.0.1:1//", "promote", 10),
    ("amqp://127.0.0.1:1//", "retain", 600),
]


@pytest.mark.parametrize(("url", "name", "seconds"), EXPIRING)
def test_messages_that_nobody_reads_expire_by_the_clock_of_the_broker(
    url: str, name: str, seconds: float | None
) -> None:
    """Not by `expires`, which compares the sender's clock with the reader's."""
    entry = make_app(load(broker_url=url)).conf.beat_schedule[name]
    assert entry["options"].get("expiration") == seconds
    assert "expires" not in entry["options"]


@pytest.mark.parametrize("cap", ["frontier_max_per_crawl", "frontier_max"])
def test_crawls_are_looked_at_where_they_have_a_cap(cap: str) -> None:
    app = make_app(load(broker_url="redis://127.0.0.1:1/0", **{cap: 1_000}))
    entry = app.conf.beat_schedule["trim"]
    assert (entry["task"], entry["schedule"]) == ("tiptoe.trim", 1.0)
    from workers import maintenance

    assert maintenance.trim.name == entry["task"]


def test_a_broker_that_is_away_is_tried_again_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kombu.utils.functional.sleep", lambda seconds: None)
    waits: list[float] = []
    app = make_app(load(broker_url="redis://127.0.0.1:1/0"))
    with pytest.raises(OperationalError), app.connection_for_read() as connection:
        connection.ensure_connection(lambda error, seconds: waits.append(seconds), max_retries=8)
    assert waits == [1, 2, 3, 4, 5, 5, 5, 5]


def test_a_message_that_met_a_dead_connection_is_sent_over_the_next(broker_url: str) -> None:
    """kombu's own retry names its intervals by their places."""
    calls: list[str] = []
    with make_app(load(broker_url=broker_url)).connection_for_write() as connection:

        def send() -> str:
            calls.append("sent")
            if len(calls) == 1:
                raise connection.connection_errors[0]("gone")
            return "done"

        assert connection.ensure(connection.Producer(), send, max_retries=3, interval_start=0)() == "done"
    assert len(calls) == 2


# of tcp(7), its value
SOCKET = [("SO_KEEPALIVE", 1), ("TCP_KEEPIDLE", 5), ("TCP_KEEPINTVL", 2), ("TCP_USER_TIMEOUT", 10_000)]


@pytest.mark.parametrize(("option", "value"), SOCKET)
def test_a_worker_notices_that_redis_is_gone(broker_url: str, option: str, value: int) -> None:
    """It waits for messages without a timeout: only its socket can tell."""
    if not hasattr(socket, option):
        pytest.skip(f"this system has no {option}")
    level = socket.SOL_SOCKET if option.startswith("SO_") else socket.IPPROTO_TCP
    with make_app(load(broker_url=broker_url)).connection_for_read() as connection:
        pooled = connection.default_channel.client.connection_pool.get_connection()
        pooled.connect()
        assert pooled._sock.getsockopt(level, getattr(socket, option)) == value
        pooled.disconnect()
