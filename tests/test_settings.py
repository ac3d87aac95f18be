"""Settings that cannot be, or that nobody has."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from app.config import Settings, load, unknown_variables, why_unknown
from app.config.constants import Constants
from app.errors import InputError


@pytest.mark.parametrize("name", ["database_url", "broker_url"])
def test_a_password_is_not_told(name: str) -> None:
    with pytest.raises(InputError) as refused:
        load(**{name: "postgresql://user:secret@host/\0"})
    assert f"TIPTOE_{name.upper()}=" in str(refused.value)
    assert "secret" not in str(refused.value)


def test_any_other_value_is() -> None:
    with pytest.raises(InputError, match="TIPTOE_CONCURRENCY=0: Input should be greater than or equal to 1"):
        load(concurrency=0)


@pytest.mark.parametrize(("deadline_s", "lease_s"), [(30, 60), (55, 60), (56, 61), (600, 605)])
def test_a_lease_outlasts_the_longest_request(deadline_s: float, lease_s: float) -> None:
    assert load(request_deadline_s=deadline_s).lease_s == lease_s


@pytest.mark.parametrize("broker_url", [None, "redis://:secret@h/0"])
def test_only_rabbitmq_has_single_active_consumers(broker_url: str | None) -> None:
    with pytest.raises(InputError, match="works with RabbitMQ only; set TIPTOE_BROKER_URL=amqp") as refused:
        load(broker_url=broker_url, single_active_consumer=True)
    assert "secret" not in str(refused.value)
    assert load(broker_url="amqps://h//", single_active_consumer=True).single_active_consumer
    assert not load(broker_url="amqp://h//").single_active_consumer


@pytest.mark.parametrize("value", ["0", "off", "False"])
def test_the_archive_is_not_switched_off_by_a_folder_of_that_name(value: str) -> None:
    with pytest.raises(InputError, match=f"TIPTOE_ARCHIVE='{value}': cannot be switched on or off; .* --no-archive"):
        load(archive=value)
    assert load(archive=f"./{value}").archive == f"./{value}"


def test_unknown_variables_are_found_in_both_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TIPTOE_CONTCAT", "x")
    (tmp_path / ".env").write_text("TIPTOE_DEFAULT_DELAY=5\nTIPTOE_CONTACT=you@example.org\nPOSTGRES_PASSWORD=x\n")
    assert unknown_variables() == ["TIPTOE_CONTCAT", "TIPTOE_DEFAULT_DELAY"]


@pytest.mark.parametrize(
    ("setting", "value", "remedy"),
    [
        ("address_gap_s", "0.001", "write at least 0.01, or 0 for no budget"),
        ("domain_gap_s", "0.009", "write at least 0.01, or 0 for no budget"),
        ("front_gaps_s", "203.0.113.0/24=0.001", "write at least 0.01, or 0 for no budget"),
        (
            "front_gaps_s",
            "203.0.113.0/24=0.1 203.0.113.9/24=0.2",
            "203.0.113.0/24 has two gaps, 0.1 and 0.2 s; give it one",
        ),
        ("front_gaps_s", "203.0.113.0/24", "has no number of seconds; write CIDR=seconds, such as 203.0.113.0/24=0.02"),
    ],
)
def test_a_gap_that_no_clock_holds_and_a_front_given_twice_are_refused(
    monkeypatch: pytest.MonkeyPatch, setting: str, value: str, remedy: str
) -> None:
    monkeypatch.setenv(f"TIPTOE_{setting.upper()}", value)
    with pytest.raises(InputError, match=re.escape(remedy)):
        load()


def test_fronts_may_hold_one_another_and_the_narrowest_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIPTOE_FRONT_GAPS_S", "203.0.0.0/8=0.5 203.0.113.0/24=0.02")
    assert [gap_s for _, gap_s in load().fronts] == [0.02, 0.5]


def test_a_constant_is_no_setting_and_tests_shorten_it_by_a_name_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".env").write_text("TIPTOE_CONSTANT_SETTLE_S=7\nTIPTOE_SETTLE_S=8\n")
    monkeypatch.setenv("TIPTOE_SETTLE_URLS", "9")
    monkeypatch.setenv("TIPTOE_CONSTANT_LINGER_S", "0.1")
    assert (load().settle_s, load().settle_urls, load().linger_s) == (2.0, 50, 0.1)
    assert unknown_variables() == ["TIPTOE_CONSTANT_SETTLE_S", "TIPTOE_SETTLE_S", "TIPTOE_SETTLE_URLS"]


def test_one_that_was_a_setting_is_named_with_what_holds_now(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIPTOE_ATTEMPTS_MAX", "5")
    monkeypatch.setenv("TIPTOE_CRAWL_DOMAIN", "crawl.example.org")
    assert load().attempts_max == 3
    assert [why_unknown(name) for name in unknown_variables()] == [
        ("is not a setting any more: a URL is tried three times", "unset it"),
        ("is not a setting any more", "write its domain into TIPTOE_CRAWL_ADDRESSES, and unset it"),
    ]
    assert why_unknown("TIPTOE_CONTCAT") == ("is not a setting", "correct its spelling, or unset it")


def test_a_worker_names_in_its_log_what_was_a_setting(tmp_path: Path) -> None:
    """Its logging is set up as a worker's is, by Celery's signal."""
    code = "import app.celery; from celery import signals; signals.setup_logging.send(sender=None)"
    env = {**os.environ, "TIPTOE_STALL_S": "5", "TIPTOE_LOG_FORMAT": "json", "TIPTOE_HOME": str(tmp_path)}
    said = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    (line,) = [line for line in (said.stdout + said.stderr).splitlines() if "settings.ignored" in line]
    assert "TIPTOE_STALL_S" in line
    assert "a process that hangs for 60 s ends itself; unset it" in line


def test_there_are_at_most_50_settings() -> None:
    assert len(set(Settings.model_fields) - set(Constants.model_fields)) <= 50


# setting, a value that is taken, and one that is too long by an octet
NAMES = [
    ("pinned_queues", "q" * 255, "q" * 256),
    ("pinned_queues", "й" * 127, "й" * 128),
    ("product_token", "T" * 100, "T" * 101),
]


@pytest.mark.parametrize(("name", "fits", "too_long"), NAMES)
def test_names_are_bounded_in_octets(name: str, fits: str, too_long: str) -> None:
    load(**{name: fits})
    with pytest.raises(InputError, match=f"TIPTOE_{name.upper()}="):
        load(**{name: too_long})
