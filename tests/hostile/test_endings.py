"""What becomes of a host that behaves badly: each in a crawl of its own, then all at once.

Judged by the origin's own access log and by SQL, never by what the crawler says of itself. The demands are those of
docs/politeness.md and docs/reasons.md. robots.txt: test_endings_robots.py.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

import pytest

from app.crawl.state.worker import Worker
from app.model import Budgets
from tests.crawl.loop import run, start
from tests.hostile.judge import HOPS, LONG_S, READ_AHEAD_BYTES, SHORT_S, TRIES, assert_decent, ending, stored
from tests.hostile.origin import BEHAVIOURS, NETWORK, HostileOrigin
from tests.hostile.redirects import FORBIDDEN
from tests.store.rows import one, sql, url

# --- pages ------------------------------------------------------------------------------------------------------

WHOLE, CUT, NONE = False, True, None

# behaviour, state, outcome, failure, tries of the seed, what is kept as a page
PAGES = [
    ("healthy", "resting", "page", None, 1, WHOLE),
    ("silent", "quarantined", "broken", "timeout", TRIES, NONE),
    ("headerdrip", "quarantined", "broken", "timeout", TRIES, NONE),
    ("bodydrip", "quarantined", "broken", "timeout", TRIES, NONE),
    ("endless", "resting", "page", None, 1, CUT),
    ("endlesschunk", "resting", "page", None, 1, CUT),
    ("endlessheaders", "quarantined", "broken", "protocol", 1, NONE),
    ("gzipbomb", "resting", "page", None, 1, CUT),
    ("short", "quarantined", "broken", "cut", TRIES, NONE),
    ("cutchunk", "quarantined", "broken", "cut", TRIES, NONE),
    ("badchunk", "quarantined", "broken", "cut", TRIES, NONE),
    ("twolength", "quarantined", "broken", "protocol", 1, NONE),
    ("badstatus", "quarantined", "broken", "protocol", 1, NONE),
    ("http09", "quarantined", "broken", "protocol", 1, NONE),
    ("garbage", "quarantined", "broken", "protocol", 1, NONE),
    ("reset", "quarantined", "broken", "reset", TRIES, NONE),
    ("resetmid", "quarantined", "broken", "cut", TRIES, NONE),
    ("gziplie", "quarantined", "broken", "protocol", 1, NONE),
    ("gzipcut", "quarantined", "broken", "cut", TRIES, NONE),
    ("spurious304", "resting", "client_error", None, 1, NONE),
    ("nocontent", "resting", "unwanted", None, 1, NONE),
    ("redirself", "quarantined", "redirect", None, 1, NONE),
    ("redirpong", "alias", "redirect", None, 1, NONE),
    ("redirgrow", "alias", "redirect", None, 1, NONE),
    ("redirhuge", "quarantined", "broken", "protocol", 1, NONE),
    ("redirbad", "quarantined", "redirect", None, 1, NONE),
    ("redirnone", "resting", "client_error", None, 1, NONE),
    ("redirloop", "alias", "redirect", None, 1, NONE),
    ("deepdom", "resting", "page", None, 1, CUT),
    ("bigattr", "resting", "page", None, 1, CUT),
    ("bigname", "resting", "page", None, 1, CUT),
    ("manyattrs", "resting", "page", None, 1, WHOLE),
    ("nul", "resting", "page", None, 1, WHOLE),
]  # fmt: skip


ROWS = [pytest.param(*row, id=row[0]) for row in PAGES]
WE_HANG_UP = {"silent", "headerdrip", "bodydrip", "endless", "endlesschunk", "endlessheaders", "redirhuge"}


@pytest.mark.parametrize(("name", "state", "outcome", "failure", "tries", "kept"), ROWS)
def test_pages(
    hurry: Callable[..., Worker],
    origin: HostileOrigin,
    name: str,
    state: str,
    outcome: str,
    failure: str | None,
    tries: int,
    kept: bool | None,
) -> None:
    worker = hurry(request_s=SHORT_S if failure == "timeout" else LONG_S)
    host = origin.add(name)
    start(worker, host.url())
    run(worker)
    assert_decent(worker, origin)
    assert ending(worker.engine, host) == (state, outcome, failure)
    assert stored(worker.engine, host) is kept
    assert host.pages_asked.count("/") == tries
    assert host.targets.count("/robots.txt") == 1
    assert "/half" not in host.targets, "links of half a page are not followed"
    assert name not in WE_HANG_UP or all(line.hung_up for line in host.log if line.target == "/")
    if state == "quarantined":
        assert url(worker.engine, host.url())["cause"]


def test_a_slow_answer_within_the_deadline_is_a_page(hurry: Callable[..., Worker], origin: HostileOrigin) -> None:
    worker = hurry(request_s=3.0)
    host = origin.add("slow", after_s=0.3)
    start(worker, host.url())
    run(worker)
    assert_decent(worker, origin)
    assert ending(worker.engine, host) == ("resting", "page", None)


def test_a_slow_answer_after_the_deadline_is_not(hurry: Callable[..., Worker], origin: HostileOrigin) -> None:
    worker = hurry(request_s=SHORT_S)
    host = origin.add("slow", after_s=SHORT_S * 3)
    start(worker, host.url())
    run(worker)
    assert_decent(worker, origin)
    assert ending(worker.engine, host) == ("quarantined", "broken", "timeout")


def test_a_page_that_is_reset_among_good_ones_is_tried_as_often_as_any(hurried: Worker, origin: HostileOrigin) -> None:
    host = origin.add("resetamong", pages=300)
    start(hurried, host.url())
    run(hurried)
    assert_decent(hurried, origin)
    assert url(hurried.engine, host.url("/reset"))["state"] == "quarantined"
    assert host.pages_asked.count("/reset") <= TRIES


# --- redirects --------------------------------------------------------------------------------------------------

# behaviour, what is asked for in all
REDIRECTS = [
    ("redirself", ["/"]),
    ("redirpong", ["/", "/pong"]),
    ("redirgrow", ["/" + "x" * 150 * number for number in range(HOPS + 1)]),
    ("redirloop", ["/", *(f"/{number}" for number in range(1, HOPS + 1))]),
]


@pytest.mark.parametrize(("name", "asked"), REDIRECTS, ids=[row[0] for row in REDIRECTS])
def test_redirects_end_after_ten_hops(hurried: Worker, origin: HostileOrigin, name: str, asked: list[str]) -> None:
    host = origin.add(name)
    start(hurried, host.url())
    run(hurried)
    assert_decent(hurried, origin)
    assert host.pages_asked == asked


def test_redirects_that_outgrow_a_url_end_there(hurried: Worker, origin: HostileOrigin) -> None:
    host = origin.add("redirgrow", by=900)
    start(hurried, host.url())
    run(hurried)
    assert_decent(hurried, origin)
    assert [len(target) for target in host.pages_asked] == [1, 901, 1801]
    last = url(hurried.engine, host.url(host.pages_asked[-1]))
    assert (last["state"], "redirects to no URL of ours" in last["cause"]) == ("quarantined", True)


dialled: list[str] | None = None


def _note(event: str, arguments: tuple[object, ...]) -> None:
    if event == "socket.connect" and dialled is not None:
        address = arguments[1]
        dialled.append(str(address[0]) if isinstance(address, tuple) else str(address))


sys.addaudithook(_note)  # for the rest of the process; it notes while somebody listens


@contextmanager
def dialling() -> Iterator[list[str]]:
    """Every address that Python connects to meanwhile."""
    global dialled
    dialled = []
    try:
        yield dialled
    finally:
        dialled = None


def test_nobody_is_dialled_but_who_may_be(hurried: Worker, origin: HostileOrigin) -> None:
    host = origin.add("redirssrf")
    with dialling() as addresses:
        start(hurried, host.url(), scope="any")
        run(hurried)
    assert set(addresses) == {host.address}
    assert_decent(hurried, origin)
    assert sorted(host.pages_asked) == sorted(["/", *(f"/to/{number}" for number in range(len(FORBIDDEN)))])
    ended = sql(hurried.engine, "SELECT state, alias_of, cause FROM urls WHERE url LIKE '%/to/%'")
    assert {row["state"] for row in ended} == {"alias", "quarantined"}
    others = sql(hurried.engine, "SELECT * FROM urls WHERE url NOT LIKE :ours", ours=host.url("%"))
    assert len(others) >= 10
    for row in others:
        assert row["state"] in {"quarantined", "refused"}, row
        assert row["cause"], row
    logged = sql(hurried.engine, "SELECT outcome, failure FROM fetches WHERE url NOT LIKE :ours", ours=host.url("%"))
    assert {(row["outcome"], row["failure"]) for row in logged} == {("blocked_address", "address")}


def test_seeds_that_may_not_be_dialled_are_not(hurried: Worker, origin: HostileOrigin) -> None:
    web = [each for each in FORBIDDEN if urlsplit(each).scheme in {"http", "https"}]
    with dialling() as addresses:
        start(hurried, *web)
        run(hurried)
    assert addresses == []
    rows = sql(hurried.engine, "SELECT state, cause FROM urls")
    assert len(rows) >= 10
    assert {row["state"] for row in rows} <= {"quarantined", "refused"}
    assert all(row["cause"] for row in rows)


# --- traps ------------------------------------------------------------------------------------------------------


# behaviour, budget, most pages asked for
ENDLESS_SPACES = [
    ("calendar", {"max_pages": 9}, 9),
    ("depth", {"max_pages": 9}, 9),
    ("sessions", {"max_pages": 9}, 9),
    ("calendar", {"max_depth": 1}, 31),  # two months and 28 days
    ("depth", {"max_depth": 6}, 7),
    ("sessions", {"max_depth": 1}, 11),
]


@pytest.mark.parametrize(("name", "budget", "asked"), ENDLESS_SPACES)
def test_a_space_without_end_ends_at_the_budget(
    hurried: Worker, origin: HostileOrigin, name: str, budget: dict[str, int], asked: int
) -> None:
    host = origin.add(name)
    start(hurried, host.url(), budgets=Budgets(**budget))
    run(hurried)
    assert origin.quiet()
    assert one(hurried.engine, "SELECT state FROM crawls") == "finished"
    assert len(host.pages_asked) <= asked
    assert len(host.pages_asked) == len(set(host.pages_asked))


def test_a_million_links_are_read_to_the_cap(make: Callable[..., Worker], origin: HostileOrigin) -> None:
    worker = make(allow_networks=NETWORK, max_links=200)
    host = origin.add("millionlinks")
    start(worker, host.url(), budgets=Budgets(max_pages=3))
    run(worker)
    assert origin.quiet()
    assert one(worker.engine, "SELECT count(*) FROM urls") == 201
    assert host.log[1].hung_up
    assert host.log[1].sent <= worker.settings.max_body_bytes + READ_AHEAD_BYTES


@pytest.mark.parametrize("name", ["bigattr", "bigname", "nul"])
def test_links_after_an_absurd_tag_are_found(make: Callable[..., Worker], origin: HostileOrigin, name: str) -> None:
    worker = make(allow_networks=NETWORK)
    host = origin.add(name)
    start(worker, host.url())
    run(worker)
    assert "/after" in host.pages_asked


# --- all of them ------------------------------------------------------------------------------------------------


@pytest.mark.faults
def test_all_at_once_do_not_keep_us_from_a_healthy_host(hurry: Callable[..., Worker], origin: HostileOrigin) -> None:
    worker = hurry(request_s=1.5, robots_s=1.5)
    bad = [origin.add(row[0]) for row in PAGES if row[0] != "healthy"]
    bad += [origin.add(name) for name in BEHAVIOURS if name.startswith("robots") and name != "robotscrawldelay"]
    well = origin.add("healthy", pages=20)
    start(worker, well.url(), *(host.url() for host in bad))
    run(worker, threads=16)
    assert_decent(worker, origin)
    assert sorted(well.pages_asked) == sorted(["/", *(f"/{number}" for number in range(1, 20))])
    for host, row in zip(bad, [row for row in PAGES if row[0] != "healthy"], strict=False):
        assert ending(worker.engine, host) == row[1:4], host.name
