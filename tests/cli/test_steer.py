"""Commands that change something: what they say, and that it is so afterwards."""

from collections.abc import Iterator

import pytest
from sqlalchemy import Engine

from tests.cli.conftest import Tiptoe
from tests.store.rows import clean, one, sql


@pytest.fixture(autouse=True)
def engine(database_url: str) -> Iterator[Engine]:
    with clean(database_url) as engine:
        yield engine


@pytest.fixture
def docs(tiptoe: Tiptoe) -> str:
    """A crawl with one seed, nothing fetched."""
    assert tiptoe("seed", "add", "docs", "http://127.0.0.1/a").code == 0
    return "docs"


def test_a_crawl_through_its_life(tiptoe: Tiptoe, docs: str, engine: Engine) -> None:
    for verb, state in (("pause", "paused"), ("resume", "active"), ("finish", "finished"), ("start", "active")):
        ran = tiptoe("crawl", verb, docs)
        assert (ran.code, ran.err) == (0, "")
        assert state in ran.out
        assert one(engine, "SELECT state FROM crawls") == state
    assert "active, round 2" in tiptoe("crawl", "start", docs, "--again").out


@pytest.mark.parametrize("verb", ["start", "pause", "resume", "finish", "report"])
def test_a_crawl_that_is_not_there(tiptoe: Tiptoe, verb: str) -> None:
    ran = tiptoe("crawl", verb, "nix")
    assert (ran.code, ran.err) == (2, "tiptoe: crawl 'nix': there is none of this name; there are: none yet\n")


def test_no_crawl_yet(tiptoe: Tiptoe) -> None:
    assert "no crawl yet: tiptoe crawl https://example.org/" in tiptoe("crawl", "list").out
    assert tiptoe("crawl", "list", "--json").json == []


# command → a word of the answer, a condition on the host afterwards
@pytest.mark.parametrize(
    ("args", "says", "then"),
    [
        (["pause", "127.0.0.1"], "127.0.0.1: paused", "state = 'paused'"),
        (["slow", "http://127.0.0.1/x", "2.5"], "127.0.0.1: 2.5 s between requests", "delay_override_s = 2.5"),
        (["slow", "127.0.0.1", "default"], "robots.txt and the default decide", "delay_override_s IS NULL"),
        (["pin", "127.0.0.1", "big"], "visits go to queue big", "queue = 'big' AND pinned"),
        (["pin", "127.0.0.1", "default"], "visits go to queue host-", "queue LIKE 'host-%' AND NOT pinned"),
        (["release", "127.0.0.1"], "rests no more", "blocked_until IS NULL"),
        (["resume", "127.0.0.1"], "may be visited again", "state = 'idle' AND next_fetch_at IS NOT NULL"),
        (["forget", "127.0.0.1"], "robots.txt of 0 origins", "true"),
    ],
)
def test_hosts(
    tiptoe: Tiptoe,
    docs: str,
    engine: Engine,
    args: list[str],
    says: str,
    then: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TIPTOE_PINNED_QUEUES", "big")
    ran = tiptoe("host", *args)
    assert (ran.code, ran.err) == (0, "")
    assert says in ran.out
    assert one(engine, f"SELECT {then} FROM hosts") is True


def test_a_queue_that_nobody_serves(tiptoe: Tiptoe, docs: str) -> None:
    ran = tiptoe("host", "pin", "127.0.0.1", "big")
    assert ran.code == 2
    assert ran.err == "tiptoe: queue 'big': no worker serves it; set TIPTOE_PINNED_QUEUES=big for workers and beat\n"


def test_url_retry_and_forget(tiptoe: Tiptoe, docs: str, engine: Engine) -> None:
    sql(engine, "UPDATE urls SET state = 'quarantined', cause = 'x'")
    assert tiptoe("url", "retry", "http://127.0.0.1/a").out == "queued in docs\n"
    assert one(engine, "SELECT state FROM urls") == "queued"
    assert tiptoe("url", "forget", "http://127.0.0.1/a", "--crawl", docs, "--json").json == {
        "url": "http://127.0.0.1/a",
        "forgotten_in": ["docs"],
    }
    assert sql(engine, "SELECT FROM urls") == []
    assert tiptoe("url", "retry", "http://127.0.0.1/a").err == "tiptoe: http://127.0.0.1/a: no crawl knows it\n"


def test_seed_add_makes_the_crawl_with_its_scope(tiptoe: Tiptoe, engine: Engine) -> None:
    ran = tiptoe("seed", "add", "new", "http://127.0.0.1/", "http://127.0.0.2/", "--scope", "domain")
    assert (ran.code, ran.out) == (0, "new: 2 seeds added, 0 known already, 0 bad lines\n")
    assert one(engine, "SELECT scope FROM crawls") == "domain"
    assert tiptoe("seed", "add", "new", "http://127.0.0.1/", "--json").json == {
        "crawl": "new",
        "added": 0,
        "known": 1,
        "bad": 0,
    }
    again = tiptoe("seed", "add", "new", "http://127.0.0.3/", "--scope", "host")
    assert again.code == 2
    assert "has the scope domain already" in again.err


def test_seed_add_keeps_the_good_ones(tiptoe: Tiptoe) -> None:
    ran = tiptoe("seed", "add", "new", "ftp://a.test/", "http://127.0.0.1/")
    assert ran.code == 0
    assert ran.err == "tiptoe: line 1: 'ftp://a.test/': only http:// and https:// URLs can be crawled\n"
    assert "1 seeds added" in ran.out


def test_seed_add_of_nothing_good(tiptoe: Tiptoe) -> None:
    ran = tiptoe("seed", "add", "new", "nonsense")
    assert ran.code == 2
    assert "not a URL; write it in full" in ran.err


def test_seed_add_warns_of_hosts_that_cannot_be_contacted(tiptoe: Tiptoe, engine: Engine) -> None:
    """Kept all the same: a worker elsewhere may see more than this machine does."""
    ran = tiptoe("seed", "add", "new", "http://10.0.0.1/")
    assert ran.code == 0
    assert "warning: host 10.0.0.1: its address 10.0.0.1 is not public" in ran.err
    assert one(engine, "SELECT count(*) FROM urls") == 1


def test_seed_add_with_a_scope_that_is_none(tiptoe: Tiptoe) -> None:
    ran = tiptoe("seed", "add", "new", "http://127.0.0.1/", "--scope", "world")
    assert (ran.code, ran.err) == (2, "tiptoe: scope 'world': use one of: host, domain, prefix, any\n")
