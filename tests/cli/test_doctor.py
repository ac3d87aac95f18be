"""`tiptoe doctor` reaches for the services itself: those that answer, and those that do not."""

import pytest
from kombu import Connection, Queue

from app import config
from tests.cli.conftest import Ran, Tiptoe


def grades(ran: Ran) -> dict[str, str]:
    return {check["name"]: check["grade"] for check in ran.json}


def test_in_order(tiptoe: Tiptoe, broker_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIPTOE_BROKER_URL", broker_url)
    ran = tiptoe("doctor", "--json")
    assert ran.code == 0
    names = (
        "settings",
        "contact",
        "home",
        "broker",
        "database",
        "schema",
        "workers",
        "queues",
        "beat",
        "frontier",
        "archive",
    )
    assert grades(ran) == dict.fromkeys(names, "ok")
    assert next(check["finding"] for check in ran.json if check["name"] == "broker") == "redis answers"


def test_as_a_table(tiptoe: Tiptoe) -> None:
    said = tiptoe("doctor").out.splitlines()
    assert said[0].split() == ["check", "grade", "found", "remedy"]
    assert said[1].split() == ["settings", "ok", "valid"]


def test_an_embedded_broker_that_does_not_run_is_no_fault(tiptoe: Tiptoe) -> None:
    assert grades(tiptoe("doctor", "--json"))["broker"] == "ok"


# variable → which check fails; the others are made as far as they can be
@pytest.mark.parametrize(
    ("name", "value", "fails"),
    [
        ("TIPTOE_QUEUES", "0", {"settings"}),
        ("TIPTOE_BROKER_URL", "redis://:secret@127.0.0.1:1/0", {"broker"}),
        ("TIPTOE_BROKER_URL", "nonsense://x", {"broker"}),
        ("TIPTOE_DATABASE_URL", "postgresql://u:secret@127.0.0.1:1/x", {"database"}),
        ("TIPTOE_DATABASE_URL", "mysql://x/y", {"database"}),
        ("TIPTOE_CONTACT", "nobody", {"contact"}),
    ],
)
def test_what_is_wrong_is_named(
    tiptoe: Tiptoe, monkeypatch: pytest.MonkeyPatch, name: str, value: str, fails: set[str]
) -> None:
    monkeypatch.setenv(name, value)
    ran = tiptoe("doctor", "--json")
    assert ran.code == 1
    assert {check for check, grade in grades(ran).items() if grade == "fail"} == fails
    assert all(check["remedy"] for check in ran.json if check["grade"] == "fail")
    assert "secret" not in ran.out + ran.err


def test_a_misspelt_variable(tiptoe: Tiptoe, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIPTOE_CONTCAT", "x")
    ran = tiptoe("doctor", "--json")
    assert ran.code == 0
    assert "TIPTOE_CONTCAT is not a setting" in [check["finding"] for check in ran.json]


def test_queues_that_rabbitmq_has_otherwise(tiptoe: Tiptoe, rabbitmq_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
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
    config.current.cache_clear()
    ran = tiptoe("doctor", "--json")
    config.current.cache_clear()
    return next(check for check in ran.json if check["name"] == "broker")
