"""`tiptoe audit`: what it shows, and how it ends."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from sqlalchemy import Engine

from app.cli import status
from tests.cli.conftest import Tiptoe
from tests.crawl.planted import Log
from tests.store.rows import clean, make_crawl

ADDRESS: dict[str, Any] = {"address_budget": "192.0.2.7", "address_gap_s": 0.5}


@pytest.fixture(autouse=True)
def engine(database_url: str) -> Iterator[Engine]:
    with clean(database_url) as engine:
        yield engine


@pytest.fixture
def log(engine: Engine) -> Log:
    """A polite host of the crawl `docs`."""
    log = Log(engine)
    log.page(log.host("a.test"), 2.0, crawl_id=make_crawl(engine, "docs"), **ADDRESS)
    return log


def test_a_polite_log(tiptoe: Tiptoe, log: Log) -> None:
    ran = tiptoe("audit")
    assert (ran.code, ran.err) == (0, "")
    lines = ran.out.splitlines()
    assert re.split(" {2,}", lines[0]) == [
        "host",
        "requests",
        "for robots",
        "gap s",
        "delay s",
        "margin s",
        "most at once",
    ]
    assert lines[1].split() == ["a.test", "2", "1", "1.9", "1", "0.9", "1"]
    assert "addresses that hosts share" in ran.out
    assert [line.split() for line in lines if line.startswith("192.0.2.7")] == [["192.0.2.7", "1", "1", "0.5", "1"]]
    assert lines[-1] == "1 request for URLs, 1 for robots.txt or tdmrep.json, 1 host: no violation"


def test_violations_end_with_1_and_come_first(tiptoe: Tiptoe, log: Log) -> None:
    b = log.host("b.test", robots="User-agent: *\nDisallow: /private\n")
    log.page(b, 0.5)
    log.page(b, 2.1, "/private", **ADDRESS)
    ran = tiptoe("audit")
    assert ran.code == 1
    lines = ran.out.splitlines()
    kinds = {"too soon", "at once", "before robots", "disallowed"}
    assert kinds & set(re.split(" {2,}", lines[0])) == {"too soon", "disallowed"}, "those that are not 0 in every row"
    assert lines[1].startswith("b.test")
    assert lines[-1] == (
        "3 requests for URLs, 2 for robots.txt or tdmrep.json, 2 hosts: "
        "3 VIOLATIONS (1 gap too short, 1 disallowed request, 1 start too soon at an address)"
    )
    assert tiptoe("audit", "docs").code == 1, "b.test came too close to it at their address"


def test_a_log_in_disorder_ends_with_1(tiptoe: Tiptoe, log: Log) -> None:
    b = log.host("b.test")
    log.page(b, 9.0, visit=log.visit(b, 10.0, ends=20.0))
    ran = tiptoe("audit")
    assert ran.code == 1
    assert ran.out.splitlines()[-1].endswith(
        "no violation; but the log is out of order at 1 line and PROVES NOTHING there"
    )
    assert tiptoe("audit", "docs").code == 0


def test_what_no_row_tells_of_is_named_and_no_violation(tiptoe: Tiptoe, log: Log) -> None:
    log.visit(log.host("b.test"), 10.0, ends=None, ending="lost")
    ran = tiptoe("audit")
    assert ran.code == 0
    assert "1 visit of 1 host may have made up to one batch of requests each that no row shows" in ran.out


def test_json_has_everything(tiptoe: Tiptoe, log: Log) -> None:
    log.visit(log.host("b.test"), 10.0, ends=None, ending="lost")
    document = tiptoe("audit", "--json").json
    assert set(document) == {
        "crawl",
        "fetches",
        "violations",
        "disorder",
        "hosts",
        "addresses",
        "unaccounted",
        "verdict",
    }
    assert set(document["hosts"][0]) == set(status.HOST_COLUMNS)
    assert set(document["addresses"][0]) == set(status.ADDRESS_COLUMNS)
    assert document["unaccounted"] == [{"host": "b.test", "visits": 1, "seconds": 100.0}]


def test_only_the_worst_are_shown(tiptoe: Tiptoe, engine: Engine) -> None:
    log = Log(engine)
    for number in range(status.AUDITED + 2):
        log.page(log.host(f"c{number}.test"), 10.0 + number, address_budget=f"192.0.2.{number}", address_gap_s=0.5)
    ran = tiptoe("audit")
    assert "… and 2 further hosts" in ran.out
    assert "… and 2 further addresses" in ran.out
    assert len(tiptoe("audit", "--json").json["hosts"]) == status.AUDITED + 2


def test_an_empty_log(tiptoe: Tiptoe) -> None:
    ran = tiptoe("audit")
    assert ran.code == 0
    assert ran.out.splitlines()[-1] == "0 requests for URLs, 0 for robots.txt or tdmrep.json, 0 hosts: no violation"
    assert "addresses" not in ran.out
