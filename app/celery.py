"""The Celery app: broker, queues, routes, beat, pool.

`celery -A app worker`, `celery -A app beat`, `celery -A app flower`.

Messages are doorbells, without content of their own: acknowledged early (on Redis not at all: `app.celery_redis`),
never redelivered, no result, JSON only. Task events are sent only while Flower listens. No ETA, no countdown, no
`expires`: points in time are Postgres'. Every message may be lost, doubled or late. Unread ones do not pile up:
`app.celery_redis`.

Beat claims due hosts itself (`InPlace`): a claim must not wait in a queue behind visits. It compares near duplicates in
a thread of its own: they take the interpreter from a worker's visits, which are late then. Its other entries are
messages on the queue `maintenance`, which a plain worker serves too.
"""

import ipaddress
import os
import socket
import sys
import time
from typing import Any

import structlog
from celery import Celery, signals
from celery.beat import ScheduleEntry, Scheduler
from celery.utils.nodenames import default_nodename, gethostname
from kombu import Queue
from kombu.exceptions import OperationalError

from app import celery_redis, plugins
from app.config import Settings, current, unknown_variables, why_unknown
from app.errors import TiptoeError
from app.log import configure
from app.runtime.once import Once

MAINTENANCE = "maintenance"
EXTRACT = "extract"
RENDER = "render"  # no queue of a plain worker: served by `-Q render` alone
BEAT_EVERY_S = 10.0
CLOCK_SET_S = 1.0
# For tcp(7). A worker waits for messages without a timeout: only this detects a black hole between it and the broker,
# after three probes, as between it and Postgres.
KEEPALIVE = {
    getattr(socket, name): value
    for name, value in (("TCP_KEEPIDLE", 5), ("TCP_KEEPINTVL", 2), ("TCP_KEEPCNT", 3), ("TCP_USER_TIMEOUT", 10_000))
    if hasattr(socket, name)
}
_log = structlog.get_logger()


class InPlace(Scheduler):  # type: ignore[misc]  # celery is untyped
    """Beat's standard scheduler without a file.

    Entries marked `in_place` run here instead of being sent, those marked `beside` in a thread, one at a time.
    A failure (Postgres away, say) is one log line; the next tick tries again. SIGTERM ends it at any point.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._next_beat = 0.0  # monotonic seconds
        self.turned = time.monotonic()  # when the loop last turned
        self._ahead = time.time() - self.turned
        self._is_closed = False
        self._beside = Once(self._run_beside, kept_s=lambda _: 0.0)
        super().__init__(*args, **kwargs)

    def close(self) -> None:
        """Do nothing but remember that beat ends: there is no file to write, and the connection ends with the process.

        Beat's signal handler calls this, then raises SystemExit. If that interrupts a send that waits for the broker's
        answer, Celery (5.7) closes the connection under it; the resulting error replaces SystemExit, is logged, and
        beat runs for ever.
        """
        self._is_closed = True

    def tick(self, *args: Any, **kwargs: Any) -> float:
        """Run the entries that are due, or all of them after the wall clock, which Celery uses, was set back."""
        if self._is_closed:
            raise SystemExit  # the signal handler's was lost
        before, self._ahead = self._ahead, time.time() - time.monotonic()
        if abs(self._ahead - before) > CLOCK_SET_S:
            for entry in self.schedule.values():
                entry.last_run_at = entry.default_now() - entry.schedule.run_every
            self._heap = None  # celery 5.7: the next tick makes it anew; no public call does
            _log.warning("beat.clock_set", by_s=round(self._ahead - before, 1))
        return float(super().tick(*args, **kwargs))

    def apply_async(self, entry: ScheduleEntry, producer: Any = None, advance: bool = True, **kwargs: Any) -> Any:
        self.turned = time.monotonic()
        is_beside = bool(entry.options.get("beside"))
        if not (is_beside or entry.options.get("in_place")):
            return super().apply_async(entry, producer=producer, advance=advance, **kwargs)
        if advance:
            self.reserve(entry)
        if is_beside:
            self._beside.of(entry.task, wait_s=0)
            return None
        if self._run(entry.task):
            self._beat()
        return None

    def _run(self, task: str) -> bool:
        """Run a task here. Returns whether it succeeded."""
        try:
            self.app.tasks[task].run()
        except (TiptoeError, OperationalError) as error:
            _log.error("beat.failed", task=task, error=str(error))
            return False
        return True

    def _run_beside(self, task: str) -> None:
        try:
            self._run(task)
        except Exception as error:  # noqa: BLE001  # nobody waits for it
            _log.exception("beat.failed", task=task, error=str(error))

    def _beat(self) -> None:
        """Touch the file in TIPTOE_HOME that shows a recent dispatch: docker-compose.yml's health check reads its
        age."""
        now = time.monotonic()
        if now < self._next_beat:
            return
        self._next_beat = now + BEAT_EVERY_S
        mark = current().home / "run" / "beat"
        try:
            mark.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(mark, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW, 0o644)
            os.utime(descriptor)
            os.close(descriptor)
        except OSError as error:
            _log.warning("beat.unmarked", path=str(mark), error=str(error))


def make_app(settings: Settings) -> Celery:
    """The Celery app for some settings. Without a broker URL it can be built, but not used."""
    app = Celery(
        "tiptoe",
        broker=settings.broker_url or "memory://",
        amqp="app.celery_redis:AMQP",
        include=[
            "workers.dispatch",
            "workers.visit",
            "workers.maintenance",
            "workers.watchdog",
            "workers.stale",
            "workers.extract",
            "workers.render",
        ],
    )
    celery_redis.install()
    is_redis = _is_redis(settings.broker_url)
    if is_redis:
        app.steps["consumer"].add(celery_redis.LookAgain)
    app.conf.update(
        worker_pool="app.celery_redis:TaskPool",
        worker_concurrency=settings.concurrency,
        worker_prefetch_multiplier=1,
        worker_disable_prefetch=is_redis,
        worker_hijack_root_logger=False,
        task_send_sent_event=False,
        task_ignore_result=True,
        task_acks_late=False,
        task_serializer="json",
        result_serializer="json",
        accept_content=["json"],
        task_queues=_queues(settings, no_ack=is_redis),
        task_default_delivery_mode="transient",  # RabbitMQ writes nothing to its disk: a lost message is offered again
        task_default_queue=MAINTENANCE,
        task_create_missing_queues=True,
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,
        broker_channel_error_retry=True,  # a broker that refuses (a failover, READONLY) is only away for a while
        broker_transport_options=_transport(settings.broker_url),
        beat_scheduler="app.celery:InPlace",
        beat_max_loop_interval=max(settings.dispatch_tick_s, 0.05),
        beat_schedule=_schedule(settings),
        timezone="UTC",
    )
    return app


def _queues(settings: Settings, *, no_ack: bool) -> list[Queue]:
    """The queues. Only those of hosts have a single active consumer: any worker may do maintenance."""
    arguments = {"x-single-active-consumer": True} if settings.single_active_consumer else None
    hosts = [Queue(name, no_ack=no_ack, queue_arguments=arguments) for name in settings.queue_names]
    return [Queue(MAINTENANCE, no_ack=no_ack), Queue(EXTRACT, no_ack=no_ack), *hosts]


def _schedule(settings: Settings) -> dict[str, dict[str, Any]]:
    every_s = {
        "promote": 1.0,
        "finish": 1.0,
        "ring_extract": 1.0,
        "index": 2.0,
        "help_near": 2.0,
        "rounds": 10.0,
        "reread": 5.0,
        "sweep": 10.0,
        "retain": 60.0,
        "reprice": 600.0,
        "measure": 600.0,
    }
    if settings.caps_crawls:
        every_s["trim"] = 1.0
    every_s |= {janitor.name: janitor.every_s for janitor in plugins.janitors()}
    in_place = {"task": "tiptoe.dispatch", "schedule": settings.dispatch_tick_s, "options": {"in_place": True}}
    beside = {"task": "tiptoe.near", "schedule": 5.0, "options": {"beside": True}}
    return {"dispatch": in_place, "near": beside} | {
        name: {"task": f"tiptoe.{name}", "schedule": seconds, "options": expiring(settings.broker_url, 10 * seconds)}
        for name, seconds in every_s.items()
    }


def expiring(broker_url: str | None, seconds: float) -> dict[str, float]:
    """Options that make the broker drop a message after so long, by the broker's clock alone. Redis cannot."""
    return {} if _is_redis(broker_url) else {"expiration": seconds}


def _is_redis(broker_url: str | None) -> bool:
    return (broker_url or "").partition(":")[0].partition("+")[0] in {
        "redis",
        "rediss",
        "valkey",
        "valkeys",
        "sentinel",
    }


def _transport(broker_url: str | None) -> dict[str, Any]:
    """Options of the transport. On Redis sockets detect a dead peer within 20 s; other transports do so themselves."""
    if not _is_redis(broker_url):
        return {}
    return {
        "priority_steps": [0],  # no priorities: else each wait for a message names each queue four times
        "socket_keepalive": True,
        "socket_keepalive_options": KEEPALIVE,
        "socket_timeout": 30,
        "socket_connect_timeout": 5,
        "health_check_interval": 10,
    }


@signals.celeryd_init.connect
def _name_worker(instance: Any, **_: object) -> None:
    """Name a worker that was given no name by its process, so that two on one machine are two to doctor and Flower."""
    if instance.hostname == default_nodename(None):
        instance.hostname = f"w-{os.getpid()}@{gethostname()}"


@signals.import_modules.connect
def _guard_flower(**_: object) -> None:
    """Let Flower listen on loopback alone, unless it asks for a login: it shows and steers workers.

    Flower reads its options before it imports our tasks; other commands of Celery load it, and do not start it.
    """
    if (flower := sys.modules.get("flower.command")) is None or flower.options.unix_socket:
        return
    flower.options.address = address = flower.options.address or "127.0.0.1"
    if not (_is_loopback(address) or flower.options.basic_auth or flower.options.auth):
        raise SystemExit(
            f"flower --address {address}: anyone who reaches it may steer the workers; "
            "set FLOWER_BASIC_AUTH=user:password, or let it listen on 127.0.0.1"
        )


def _is_loopback(address: str) -> bool:
    try:
        return address == "localhost" or ipaddress.ip_address(address).is_loopback
    except ValueError:  # a name
        return False


@signals.setup_logging.connect
def _logging(**_: object) -> None:
    settings = current()
    configure(settings.log_format, settings.log_level)
    for name in unknown_variables():
        _log.warning("settings.ignored", variable=name, why="; ".join(why_unknown(name)))


app = make_app(current())


def queues_served(broker_url: str, timeout_s: float) -> dict[str, list[str]]:
    """{worker: queues} of the workers that answer in time.

    Raises kombu's OperationalError when the broker is out of reach.
    """
    probe = make_app(current().model_copy(update={"broker_url": broker_url}))
    found = probe.control.inspect(timeout=timeout_s).active_queues() or {}
    return {worker: [queue["name"] for queue in queues] for worker, queues in found.items()}


def known_keys(broker_url: str, timeout_s: float, workers: int) -> dict[str, dict[str, Any]]:
    """{worker: the fields of its `app.crawl.state.seen.Load`}, for so many workers or those that answer in time.

    Raises OperationalError when the broker is out of reach.
    """
    probe = make_app(current().model_copy(update={"broker_url": broker_url}))
    answers = probe.control.broadcast("known_keys", reply=True, timeout=timeout_s, limit=workers) or []
    return {worker: load for answer in answers for worker, load in answer.items() if "error" not in load}


def queues_otherwise(settings: Settings) -> list[str]:
    """Queues of these settings that exist on their broker with other arguments.

    Raises kombu's OperationalError when it is out of reach.
    """
    probe = make_app(settings)
    with probe.connection_for_write() as connection:
        connection.ensure_connection(max_retries=1, timeout=5)
        return celery_redis.declared_otherwise(connection, probe.conf.task_queues)
