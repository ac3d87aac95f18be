"""The Celery app as a fleet gets it."""

import pytest

from app.celery import InPlace, make_app
from app.config import load

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
    assert names == ["maintenance", "host-00", "host-01", "host-02", "big-site"]


def test_beat_claims_itself_and_sends_the_rest() -> None:
    app = make_app(load(broker_url="redis://127.0.0.1:1/0"))
    schedule = app.conf.beat_schedule
    assert app.conf.beat_scheduler == f"{InPlace.__module__}:{InPlace.__name__}"
    assert {name for name, entry in schedule.items() if entry.get("options", {}).get("in_place")} == {"dispatch"}
    assert set(schedule) == {"dispatch", "promote", "finish", "sweep"}
