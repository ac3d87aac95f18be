"""Logs are for people; no crawl depends on them."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests import log_events
from tests.steering import steering

FULL = Path("/dev/full")  # every write is refused with ENOSPC
CODE = """
import logging
import structlog
from app.log import configure
configure("{format}", "DEBUG")
log = structlog.get_logger()
for _ in range(1_000):
    log.info("visit.left", host="a.test", words="x" * 100)
    logging.getLogger("library").error("words")
print("went on")
"""


@pytest.mark.skipif(not FULL.exists(), reason="no /dev/full on this system")
@pytest.mark.parametrize("log_format", ["json", "console"])
def test_a_log_that_cannot_be_written_to_holds_nobody_up(log_format: str) -> None:
    with FULL.open("w") as full:
        done = subprocess.run(
            [sys.executable, "-c", CODE.format(format=log_format)],
            stdout=subprocess.PIPE,
            stderr=full,
            text=True,
            check=False,
            cwd=Path(__file__).parents[1],
        )
    assert done.stdout == "went on\n"


EVIL = """
import logging
import structlog
from app.log import configure
configure("console", "INFO")
structlog.get_logger().info("fetched", location="/\\x1b[2J\\x9b\\u202e")
logging.getLogger("library").warning("/\\x1b]0;x\\x07 %s", "\\x9b")
"""


def test_what_a_site_wrote_steers_no_terminal() -> None:
    done = subprocess.run([sys.executable, "-c", EVIL], capture_output=True, text=True, check=True)
    assert "fetched" in done.stderr
    assert "]0;x" in done.stderr
    assert steering(done.stderr) == []


def test_every_event_is_documented_as_the_code_logs_it() -> None:
    """A row of docs/logs.md: event, level, fields. Meanings are the page's own."""
    page = (Path(__file__).parents[1] / "docs" / "logs.md").read_text()
    told = {
        event: (level, set(re.findall(r"`(.+?)`", fields)))
        for event, level, fields in re.findall(r"^\| `([^`]+)` \| ([a-z/]+) \| (.*?) \| ", page, re.MULTILINE)
    }
    assert told == log_events.table()


def test_an_event_is_named_by_who_and_what() -> None:
    names = [call for call in log_events.calls() if call.event != "{what}.failed"]
    assert len(names) > 60
    assert [call for call in names if not re.fullmatch(r"[a-z_]+\.[a-z_]+", call.event)] == []
    assert [call for call in names if {"event", "level", "timestamp"} & set(call.fields)] == []
