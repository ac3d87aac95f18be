"""kombu's Redis transport for messages that nobody acknowledges.

A queue declared `no_ack` is not tracked by kombu when a message is delivered, but Celery acknowledges it all the same, and
kombu then asks Redis to remove what is not there: a new client object and a round trip a message, a quarter of the time of
a worker that visits slow hosts (kombu 5.7, celery 5.7; `python -m bench polite` with and without).
"""

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


def install() -> None:
    """From now on redis:// and rediss:// mean this transport, in this process."""
    TRANSPORT_ALIASES.update(redis="app.doorbell:Transport", rediss="app.doorbell:Transport")
