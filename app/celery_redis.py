"""Fits Celery to our messages: no acknowledgement, notice of a free thread, quick reconnects, no stale messages.

**No acknowledgement.** A queue declared `no_ack` is not tracked by kombu when a message is delivered, but Celery
acknowledges it all the same, and kombu then asks Redis to remove what is not there: a new client object and a round
trip a message, a quarter of the time of a worker that visits slow hosts (kombu 5.7, celery 5.7; `python -m bench
polite`).

**A free thread.** With `worker_disable_prefetch` a worker stops consuming while all its threads are busy, and nothing
notifies its event loop that one is free again: it checks at its next timer, up to a second later. `TaskPool` notices,
and `LookAgain` wakes the loop.

**Reconnecting.** Celery retries a broker that is away after 2, 4, 6 … 30 s: after some minutes' absence it is found up
to half a minute late, and the crawl stands still for so long. Here the longest wait is 5 s.

**Stale messages.** Without workers each offer leaves a message that outlives it, and a worker needs a millisecond for
each. Celery's `expires` is no remedy: it is a moment by the sender's clock, which a receiver compares with its own. No
clock is needed: a queue has a bounded number of offers standing, so of more messages than that the oldest are stale.
`unread` counts the messages before each claim, a full queue gets none, and Redis itself drops those beyond twice the
bound. Before a worker reads its first one (`workers.stale`) all but the newest are dropped; as many stay as offers
stand in Postgres. A broker that speaks AMQP expires messages by its own clock alone, when their offer is over. So a
queue holds no more messages than standing offers, and counting them, 1.3 ms a queue on RabbitMQ 3.10, would find
nothing to drop.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import structlog
from celery import bootsteps
from celery.app import amqp
from celery.concurrency import thread
from kombu import Queue, connection
from kombu.exceptions import OperationalError
from kombu.transport import TRANSPORT_ALIASES, redis

from app.errors import ServiceError

_log = structlog.get_logger()
NOT_FOUND, PRECONDITION_FAILED = 404, 406  # AMQP 0-9-1 section 1.2: reply codes


class QoS(redis.QoS):
    """Acknowledges only tracked messages."""

    def ack(self, delivery_tag: str) -> None:
        if delivery_tag in self._delivered:  # kombu 5.7 has no public word for what is tracked
            super().ack(delivery_tag)


class Channel(redis.Channel):
    QoS = QoS


class Transport(redis.Transport):
    Channel = Channel


class Connection(connection.Connection):
    def _ensure_connection(  # kombu 5.7 itself calls this one, and not its public name
        self,
        errback: Any = None,
        max_retries: int | None = None,
        interval_start: float = 1.0,
        interval_step: float = 1.0,
        interval_max: float = 5.0,
        *args: Any,
        **options: Any,
    ) -> Any:
        """kombu's method with our intervals; a sender of messages passes its own."""
        return super()._ensure_connection(
            errback, max_retries, interval_start, interval_step, interval_max, *args, **options
        )


class AMQP(amqp.AMQP):  # type: ignore[misc]  # celery is untyped
    Connection = Connection


def unread(connection: Any, queues: Sequence[str], most: int) -> Mapping[str, int]:
    """The number of messages in each queue; empty where the broker is not Redis. Raises ServiceError.

    most  messages that a queue may hold; of more than twice as many the oldest are dropped
    """
    return keep(connection, dict.fromkeys(queues, 2 * most))


def keep(connection: Any, newest: Mapping[str, int]) -> Mapping[str, int]:
    """Drop all but so many of the newest messages of each queue. Returns how many are left, like `unread`.

    connection  kombu's, which may be stale: the second try uses a new one
    """
    broken = (*connection.connection_errors, *connection.channel_errors)
    try:
        try:
            return _keep(connection, newest)
        except connection.connection_errors:
            return _keep(connection, newest)
    except (*broken, OperationalError) as error:
        raise ServiceError("the broker", str(error) or type(error).__name__) from error


def _keep(connection: Any, newest: Mapping[str, int]) -> Mapping[str, int]:
    connection.ensure_connection(max_retries=1, interval_start=0)  # else it would try for ever
    channel = connection.default_channel
    if not isinstance(channel, redis.Channel):
        return {}
    with channel.conn_or_acquire() as client:
        sizes = _each(client, [("LLEN", queue) for queue in newest])
        found = dict(zip(newest, sizes, strict=True))
        over = {queue: size - newest[queue] for queue, size in found.items() if size > newest[queue]}
        _each(
            client, [("LTRIM", queue, 0, -1 - stale) for queue, stale in over.items()]
        )  # new messages are pushed on the left
    if over:
        _log.info("doorbells.dropped", queues=len(over), messages=sum(over.values()))
    return {queue: min(size, newest[queue]) for queue, size in found.items()}


def _each(client: Any, commands: Sequence[tuple[Any, ...]]) -> list[Any]:
    """Run all commands in one round trip. Returns their answers."""
    if not commands:
        return []
    with client.pipeline(transaction=False) as pipe:
        for command in commands:
            pipe.execute_command(*command)
        return list(pipe.execute())


def declared_otherwise(connection: Any, queues: Sequence[Queue]) -> list[str]:
    """Queues that RabbitMQ has with other arguments: workers cannot read them, nor dispatch send to them.

    It makes no queue. Empty where the broker does not speak AMQP: queues have no arguments there. Raises ServiceError
    for any other refusal.
    """
    return [queue.name for queue in queues if _is_otherwise(connection, queue)]


def _is_otherwise(connection: Any, queue: Queue) -> bool:
    """Whether RabbitMQ's queue differs: AMQP compares when a queue is declared again. An error closes the channel."""
    if connection.transport.driver_type != "amqp":
        return False
    with connection.channel() as channel:
        try:
            queue(channel).queue_declare(passive=True)
            queue(channel).queue_declare()
        except connection.channel_errors as error:
            if error.reply_code not in (NOT_FOUND, PRECONDITION_FAILED):
                raise ServiceError("the broker", str(error)) from error
            return bool(error.reply_code == PRECONDITION_FAILED)
    return False


def install() -> None:
    """Make redis:// and rediss:// mean this transport, in this process."""
    TRANSPORT_ALIASES.update(redis="app.celery_redis:Transport", rediss="app.celery_redis:Transport")


class TaskPool(thread.TaskPool):  # type: ignore[misc]  # celery is untyped
    """Celery's threads. Calls `on_free`, in any of them, when one becomes free after none was."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.on_free: Callable[[], object] = _nothing
        self._lock = threading.Lock()
        self._in_hand = 0

    def on_apply(self, *args: Any, **kwargs: Any) -> Any:
        with self._lock:
            self._in_hand += 1
        try:
            applied = super().on_apply(*args, **kwargs)
        except BaseException:
            self._ended()
            raise
        applied.f.add_done_callback(self._ended)  # Celery has counted it as done by then
        return applied

    def _ended(self, _: object = None) -> None:
        with self._lock:
            was_full = self._in_hand >= self.limit
            self._in_hand -= 1
        if was_full:
            self.on_free()


class LookAgain(bootsteps.StartStopStep):  # type: ignore[misc]  # celery is untyped
    """Wakes the consumer's event loop when a thread is free. Other pools report to the loop themselves."""

    requires = ("celery.worker.consumer.tasks:Tasks",)

    def start(self, parent: Any) -> None:
        if isinstance(parent.pool, TaskPool) and parent.hub is not None:
            parent.pool.on_free = partial(parent.hub.call_soon, _nothing)

    def stop(self, parent: Any) -> None:
        if isinstance(parent.pool, TaskPool):
            parent.pool.on_free = _nothing


def _nothing() -> None:
    """Do nothing: the wake-up is the purpose."""
