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
    assert (ran.code, ran.err) == (2, "tiptoe: crawl nix: does not exist; there are: none yet\n")


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
        (["pin", "127.0.0.1", "big"], "visits use queue big", "queue = 'big' AND pinned"),
        (["pin", "127.0.0.1", "default"], "visits use queue host-", "queue LIKE 'host-%' AND NOT pinned"),
        (["release", "127.0.0.1"], "its rest is over", "blocked_until IS NULL"),
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


@pytest.mark.parametrize(("seconds", "says"), [("30", "30 s between requests"), ("default", "from the next visit on")])
def test_a_delay_that_is_doubled_is_told_so(tiptoe: Tiptoe, docs: str, engine: Engine, seconds: str, says: str) -> None:
    sql(engine, "UPDATE hosts SET adaptive_level = 2")
    assert (
        f"{says}, doubled 2 times for now by how the host answers" in tiptoe("host", "slow", "127.0.0.1", seconds).out
    )


def test_host_show_tells_what_operators_did(tiptoe: Tiptoe, docs: str) -> None:
    assert "what operators did" not in tiptoe("host", "show", "127.0.0.1").out
    tiptoe("host", "slow", "127.0.0.1", "2.5")
    tiptoe("host", "release", "127.0.0.1")
    shown = tiptoe("host", "show", "127.0.0.1").out.partition("what operators did\n")[2].splitlines()
    assert [line.split()[2:] for line in shown] == [["detail"], ["released"], ["slowed", "2.5", "s"]]
    assert [row["event"] for row in tiptoe("host", "show", "127.0.0.1", "--json").json["events"]] == [
        "released",
        "slowed",
    ]


# command → what it says, a condition on the host afterwards
@pytest.mark.parametrize(
    ("args", "says", "then"),
    [
        (
            ["quiet", "127.0.0.1", "08:00-18:00"],
            "127.0.0.1: no contact from 08:00-18:00 UTC",
            "quiet_hours = '08:00-18:00'",
        ),
        (
            ["quiet", "http://127.0.0.1/x", "2200-0630"],
            "no contact from 22:00-06:30 UTC",
            "quiet_hours = '22:00-06:30'",
        ),
        (["quiet", "127.0.0.1", "default"], "127.0.0.1: no quiet hours of its own", "quiet_hours IS NULL"),
    ],
)
def test_quiet_hours_of_a_host(
    tiptoe: Tiptoe, docs: str, engine: Engine, args: list[str], says: str, then: str
) -> None:
    ran = tiptoe("host", *args)
    assert (ran.code, ran.err) == (0, "")
    assert says in ran.out
    assert one(engine, f"SELECT {then} FROM hosts") is True


# command → what it says, the row of the domain afterwards: delay_override_s, quiet_hours
@pytest.mark.parametrize(
    ("args", "says", "kept"),
    [
        (["slow", "www.shop.test", "2.5", "--domain"], "shop.test and its hosts (2 known): 2.5 s between", (2.5, None)),
        (["slow", "https://new.shop.test/", "0", "--domain"], "shop.test and its hosts (2 known): 0 s", (0.0, None)),
        (["slow", "shop.test", "default", "--domain"], "robots.txt and the default decide", (None, None)),
        (["quiet", "a.shop.test", "22:00-06:00", "--domain"], "no contact from 22:00-06:00 UTC", (None, "22:00-06:00")),
        (
            ["quiet", "shop.test", "default", "--domain"],
            "shop.test and its hosts (2 known): no quiet hours",
            (None, None),
        ),
        (["quiet", "far.test", "22:00-06:00", "--domain"], "far.test and its hosts (0 known)", (None, "22:00-06:00")),
    ],
)
def test_what_is_said_of_a_domain(
    tiptoe: Tiptoe, engine: Engine, args: list[str], says: str, kept: tuple[float | None, str | None]
) -> None:
    assert tiptoe("seed", "add", "docs", "http://www.shop.test/", "http://a.shop.test/").code == 0
    ran = tiptoe("host", *args)
    assert (ran.code, ran.err) == (0, "")
    assert says in ran.out
    (row,) = sql(engine, "SELECT delay_override_s, quiet_hours FROM domains")
    assert tuple(row.values()) == kept
    assert one(engine, "SELECT count(*) FROM hosts WHERE quiet_hours IS NOT NULL OR delay_override_s IS NOT NULL") == 0


def test_host_show_tells_of_its_domain(tiptoe: Tiptoe) -> None:
    assert tiptoe("seed", "add", "docs", "http://www.shop.test/").code == 0
    assert "all of shop.test" not in tiptoe("host", "show", "www.shop.test").out
    tiptoe("host", "slow", "www.shop.test", "30", "--domain")
    tiptoe("host", "quiet", "www.shop.test", "22:00-06:00", "--domain")
    shown = tiptoe("host", "show", "www.shop.test").out
    assert "all of shop.test" in shown
    page = tiptoe("host", "show", "www.shop.test", "--json").json
    assert page["domain"] == {"name": "shop.test", "delay_override_s": 30.0, "quiet_hours": "22:00-06:00"}
    assert [(row["event"], row["detail"]) for row in page["events"]] == [
        ("quiet", "domain: 22:00-06:00"),
        ("slowed", "domain: 30 s"),
    ]


# command → what is wrong, and what would do
BAD_INPUT = [
    (
        ["quiet", "127.0.0.1", "8-18"],
        "hours '8-18': are not a window; write one in UTC, such as 08:00-18:00 or 22:00-06:30",
    ),
    (
        ["quiet", "127.0.0.1", "24:00-06:00"],
        "hours '24:00-06:00': are not a window; write one in UTC, such as 08:00-18:00",
    ),
    (
        ["quiet", "127.0.0.1", "never", "--domain"],
        "hours 'never': are not a window; write one in UTC, such as 08:00-18:00",
    ),
    (["quiet", "nobody.test", "08:00-18:00"], "host nobody.test: no crawl has met it; `tiptoe host list` names"),
    (["quiet", "a b", "08:00-18:00"], "host 'a b': write a hostname, such as example.org"),
    (
        ["quiet", "127.0.0.1", "08:00-18:00", "--domain"],
        "host 127.0.0.1: belongs to no registrable domain; leave --domain out",
    ),
    (
        ["slow", "127.0.0.1", "3", "--domain"],
        "host 127.0.0.1: belongs to no registrable domain; leave --domain out",
    ),
    (
        ["slow", "localhost", "3", "--domain"],
        "host localhost: belongs to no registrable domain; leave --domain out",
    ),
    (["slow", "co.uk", "3", "--domain"], "host co.uk: belongs to no registrable domain; leave --domain out"),
    (
        ["slow", "shop.test", "soon", "--domain"],
        "delay 'soon': is not a number of seconds; write one, such as 5 or 0.5, or default",
    ),
    (["slow", "shop.test", "86401", "--domain"], "delay of 86401 s: use 0 to 86400 seconds, or default"),
    (["slow", "shop.test", "nan", "--domain"], "delay of nan s: use 0 to 86400 seconds, or default"),
    (["slow", "shop.test", "inf"], "delay of inf s: use 0 to 86400 seconds, or default"),
    (
        ["slow", "127.0.0.1", "soon"],
        "delay 'soon': is not a number of seconds; write one, such as 5 or 0.5, or default",
    ),
]


@pytest.mark.parametrize(
    ("args", "err"),
    BAD_INPUT,
)
def test_bad_input_is_refused_in_one_line_with_its_remedy(
    tiptoe: Tiptoe, docs: str, engine: Engine, args: list[str], err: str
) -> None:
    ran = tiptoe("host", *args)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"tiptoe: {err}")
    assert ran.err.count("\n") == 1
    assert sql(engine, "SELECT FROM domains") == sql(engine, "SELECT FROM host_events") == []


@pytest.mark.parametrize("args", [["quiet", "127.0.0.1"], ["quiet"], ["slow", "127.0.0.1", "-5"]])
def test_arguments_that_are_missing_or_look_like_options(tiptoe: Tiptoe, docs: str, args: list[str]) -> None:
    assert tiptoe("host", *args).code == 2


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
    assert "already has the scope domain" in again.err


def test_seed_add_keeps_the_good_ones(tiptoe: Tiptoe) -> None:
    ran = tiptoe("seed", "add", "new", "ftp://a.test/", "http://127.0.0.1/")
    assert ran.code == 0
    assert ran.err == "tiptoe: line 1: 'ftp://a.test/': only http:// and https:// URLs can be crawled\n"
    assert "1 seed added" in ran.out


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
