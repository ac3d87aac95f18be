"""Commands' orders in `operator_log`: one row each, with who, what, and what came of it."""

import os
import pwd
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine

from tests.cli.conftest import Tiptoe
from tests.store.rows import clean, sql

URL = "http://127.0.0.1/a?b=1"


@pytest.fixture(autouse=True)
def engine(database_url: str) -> Iterator[Engine]:
    with clean(database_url) as engine:
        yield engine


@pytest.fixture
def docs(tiptoe: Tiptoe, engine: Engine) -> str:
    """A crawl with one seed, nothing fetched, and an empty log."""
    assert tiptoe("seed", "add", "docs", URL, "http://a.shop.test/").code == 0
    sql(engine, "UPDATE urls SET state = 'quarantined', cause = 'attempts' WHERE url LIKE 'http://a.shop.test/%'")
    sql(engine, "DELETE FROM operator_log")
    return "docs"


def log(engine: Engine) -> list[dict[str, Any]]:
    return sql(engine, "SELECT * FROM operator_log ORDER BY id")


# command → act, subject, detail, outcome
DONE = [
    ("seed add new http://127.0.0.2/ --scope domain", ("crawl.seeds", "new",
     "seeds=http://127.0.0.2/; scope=domain", "1 seed added, 0 known already, 0 bad lines")),
    ("seed import new seeds.txt --max-pages 5", ("crawl.seeds", "new",
     "seeds=seeds.txt; max_pages=5", "1 seed added, 0 known already, 1 bad line")),
    ("crawl pause docs", ("crawl.pause", "docs", None, "paused")),
    ("crawl finish docs", ("crawl.finish", "docs", None, "finished")),
    ("crawl start docs --again", ("crawl.start", "docs", "again=on", "active, round 2")),
    ("crawl edit docs --max-pages 50 --exclude /x --search", ("crawl.edit", "docs",
     "exclude=/x; search=on; max_pages=50", "changed; it is active")),
    ("crawl retry-failed docs", ("crawl.retry_failed", "docs", None, "1 URL queued again")),
    ("crawl delete docs --yes", ("crawl.delete", "docs", None, "deleted")),
    ("host pause http://127.0.0.1/x", ("host.pause", "127.0.0.1", None, "paused")),
    ("host resume 127.0.0.1", ("host.resume", "127.0.0.1", None, "may be visited again")),
    ("host slow 127.0.0.1 2.5", ("host.slow", "127.0.0.1", "delay=2.5", "127.0.0.1: 2.5 s between requests")),
    ("host slow a.shop.test 3 --domain", ("host.slow", "a.shop.test", "delay=3; domain=on",
     "shop.test and its hosts (1 known): 3 s between requests")),
    ("host quiet 127.0.0.1 08:00-18:00", ("host.quiet", "127.0.0.1", "hours=08:00-18:00",
     "127.0.0.1: no contact from 08:00-18:00 UTC")),
    ("host pin 127.0.0.1 host-03", ("host.pin", "127.0.0.1", "queue=host-03",
     "its visits use queue host-03 from the next offer on")),
    ("host release 127.0.0.1", ("host.release", "127.0.0.1", None, "its rest is over")),
    ("host forget 127.0.0.1", ("host.forget", "127.0.0.1", None,
     "robots.txt of 0 origins will be fetched again at the next visit")),
    ("host parameters 127.0.0.1 --drop b --force", ("host.drop_parameters", "127.0.0.1", "names=b; force=on",
     "b dropped: 0 URLs folded into others, 1 URL shortened; nothing is fetched again")),
    (f"url retry {URL}#x --crawl docs", ("url.retry", URL, "crawl=docs", "queued in docs")),
    (f"url retry {URL} --force", ("url.retry", URL, "force=on", "queued in docs")),
    (f"url forget {URL}", ("url.forget", URL, None, "forgotten in docs")),
    ("extract retry", ("extract.retry", "", None, "0 pages due again")),
    ("archive prune --days 3 --yes", ("archive.prune", "", "days=3",
     "0 segments deleted, 0 bytes; 0 captures copied forward")),
]  # fmt: skip


@pytest.mark.parametrize(("command", "row"), DONE)
def test_an_order_by_a_command_leaves_one_row(
    tiptoe: Tiptoe, docs: str, engine: Engine, command: str, row: tuple[str | None, ...]
) -> None:
    Path("seeds.txt").write_text("http://127.0.0.2/\nnonsense\n", encoding="utf-8")  # in the test's own folder
    ran = tiptoe(*command.split())
    assert ran.code == 0, ran.err
    (noted,) = log(engine)
    assert (noted["who"], noted["face"]) == (pwd.getpwuid(os.getuid()).pw_name, "command")
    assert tuple(noted[name] for name in ("act", "subject", "detail", "outcome")) == row
    assert not noted["failed"]
    assert noted["at"] <= noted["ended_at"]


# command, act, subject, outcome
FAILED = [
    ("crawl finish nope", "crawl.finish", "nope", "crawl nope: does not exist"),
    ("host release nobody.test", "host.release", "nobody.test", "host nobody.test: no crawl has met it"),
    ("url retry http://nobody.test/", "url.retry", "http://nobody.test/", "no crawl knows it"),
    ("seed add new http://user:secret@127.0.0.1/", "crawl.seeds", "new", "0 seeds added, 0 known already, 1 bad line"),
]


@pytest.mark.parametrize(("command", "act", "subject", "outcome"), FAILED)
def test_an_order_that_failed_is_noted_as_such(
    tiptoe: Tiptoe, docs: str, engine: Engine, command: str, act: str, subject: str, outcome: str
) -> None:
    assert tiptoe(*command.split()).code == 2
    (noted,) = log(engine)
    assert (noted["act"], noted["subject"], noted["failed"]) == (act, subject, True)
    assert outcome in noted["outcome"]
    assert "secret" not in str(noted)


# What looks, or is not understood, is no order.
LOOKS = [
    "crawl list",
    "crawl report docs",
    "crawl delete docs",
    "host show 127.0.0.1",
    "host parameters 127.0.0.1",
    "host slow 127.0.0.1 soon",
    "host pause a%20b",
    "seed list docs",
    f"url why {URL}",
    "url retry nonsense",
]


@pytest.mark.parametrize("command", LOOKS)
def test_what_looks_leaves_none(tiptoe: Tiptoe, docs: str, engine: Engine, command: str) -> None:
    tiptoe(*command.split())
    assert log(engine) == []


def test_a_subject_that_no_index_holds_is_cut(tiptoe: Tiptoe, docs: str, engine: Engine) -> None:
    name = "".join(chr(0x4E00 + at * 7919 % 20_000) for at in range(3_000))  # nothing that Postgres could compress
    ran = tiptoe("crawl", "pause", name)
    assert (ran.code, ran.err.count("\n")) == (2, 1)
    (noted,) = log(engine)
    assert noted["failed"]
    assert name.startswith(noted["subject"])
