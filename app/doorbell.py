"""What Celery does not do for doorbells by itself: leave out the acknowledgement, look again, come back soon.

**No acknowledgement.** A queue declared `no_ack` is not tracked by kombu when a message is delivered, but Celery
acknowledges it all the same, and kombu then asks Redis to remove what is not there: a new client object and a round trip a
message, a quarter of the time of a worker that visits slow hosts (kombu 5.7, celery 5.7; `python -m bench polite`).

**Looking again.** With `worker_disable_prefetch` a worker whose threads are all busy stops consuming, and nothing tells
its event loop that a thread is free: it looks again at its next timer, up to a second later. `LookAgain` is a timer.

**Coming back.** A broker that is away is tried again after 2, 4, 6 … 30 s: one that was away for some minutes is found up to
half a minute after it is back, and the crawl stands still for so long. Here 5 s are the most.
"""

from typing import Any

from celery import bootsteps
from celery.app import amqp
from kombu import connection
from kombu.transport import TRANSPORT_ALIASES, redis


class QoS(redis.QoS):
    """Acknowledges only what was tracked."""

    def ack(self, delivery_tag: str) -> None:
        if delivery_tag in self._delivered:
            super().ack(delivery_tag)


class Channel(redis.Channel):
    QoS = QoS


class Transport(redis.Transport):
    Channel = Channel


class Connection(connection.Connection):
    def _ensure_connection(
        self,
        errback: Any = None,
        max_retries: int | None = None,
        interval_start: float = 1.0,
        interval_step: float = 1.0,
        interval_max: float = 5.0,
        *args: Any,
        **options: Any,
    ) -> Any:
        """Theirs, but for the intervals; who sends messages names its own."""
        return super()._ensure_connection(
            errback, max_retries, interval_start, interval_step, interval_max, *args, **options
        )


class AMQP(amqp.AMQP):  # type: ignore[misc]  # celery is untyped
    Connection = Connection


def install() -> None:
    """From now on redis:// and rediss:// mean this transport, in this process."""
    TRANSPORT_ALIASES.update(redis="app.doorbell:Transport", rediss="app.doorbell:Transport")


class LookAgain(bootsteps.StartStopStep):  # type: ignore[misc]  # celery is untyped
    """Wakes the consumer's event loop so often that no thread stays idle for long."""

    requires = ("celery.worker.consumer.tasks:Tasks",)
    EVERY_S = 0.05

    def start(self, parent: Any) -> None:
        self._timer = parent.timer.call_repeatedly(self.EVERY_S, _nothing)

    def stop(self, parent: Any) -> None:
        self._timer.cancel()


def _nothing() -> None:
    """Being woken is all."""
