"""What becomes of a host whose robots.txt is in a bad state: each in a crawl of its own, judged by the host's own
log."""

from collections.abc import Callable

import pytest

from app.crawl.state.worker import Worker
from tests.crawl.loop import run, start
from tests.hostile.judge import LONG_S, READ_AHEAD_BYTES, ROBOTS_TRIES, SHORT_S, assert_decent
from tests.hostile.origin import NETWORK, HostileOrigin
from tests.hostile.robots import LONG
from tests.store.rows import one, url

ALL = {"/", "/ok", "/x", LONG}
BUT_X = ALL - {"/x"}
NOTHING: set[str] = set()
NEVER_OVER = {"robotshang", "robotsdrip"}

# behaviour, what our database says of the file, pages asked for, requests for the file
ROBOTS = [
    ("robotsallow", "available", ALL, 1),
    ("robotsdeny", "available", NOTHING, 1),
    ("robots404", "unavailable", ALL, 1),
    ("robots403", "unavailable", ALL, 1),
    ("robots429", "unreachable", NOTHING, ROBOTS_TRIES),
    ("robots500", "unreachable", NOTHING, ROBOTS_TRIES),
    ("robots503", "unreachable", NOTHING, ROBOTS_TRIES),
    ("robotshang", "unreachable", NOTHING, ROBOTS_TRIES),
    ("robotsreset", "unreachable", NOTHING, ROBOTS_TRIES),
    ("robotsshort", "unreachable", NOTHING, ROBOTS_TRIES),
    ("robotsdrip", "unreachable", NOTHING, ROBOTS_TRIES),
    ("robotsredirect", "available", ALL, 1),
    ("robotsbom", "available", BUT_X, 1),
    ("robotslatin1", "available", BUT_X, 1),
    ("robotscr", "available", BUT_X, 1),
    ("robotsbig", "available", BUT_X, 1),
    ("robotsbigbeyond", "available", ALL, 1),  # the first 500 KiB are read
    ("robotsendless", "available", BUT_X, 1),
    ("robotsredos", "available", BUT_X, 1),
    ("robotsbinary", "available", ALL, 1),
    ("robotshtml", "available", ALL, 1),
    ("robotscrawldelaynegative", "available", BUT_X, 1),
    ("robotscrawldelaywords", "available", BUT_X, 1),
]


@pytest.mark.parametrize(("name", "availability", "asked", "tries"), ROBOTS, ids=[row[0] for row in ROBOTS])
def test_robots(
    hurry: Callable[..., Worker], origin: HostileOrigin, name: str, availability: str, asked: set[str], tries: int
) -> None:
    worker = hurry(robots_s=SHORT_S if name in NEVER_OVER else LONG_S)
    host = origin.add(name)
    start(worker, host.url())
    run(worker)
    assert_decent(worker, origin)
    assert sorted(host.pages_asked) == sorted(asked), "each once, and no other"
    assert host.targets.count("/robots.txt") == tries
    known = "SELECT availability FROM robots JOIN hosts ON hosts.id = host_id WHERE name = :name"
    assert one(worker.engine, known, name=host.address) == availability
    assert all(line.sent <= 500 * 1024 + READ_AHEAD_BYTES for line in host.log)
    if not asked:
        seed = url(worker.engine, host.url())
        assert (seed["state"], "robots.txt" in seed["cause"]) == ("refused", True)
    elif asked == BUT_X:
        assert url(worker.engine, host.url("/x"))["state"] == "refused"


def test_robots_that_redirect_in_a_circle_forbid_all(hurried: Worker, origin: HostileOrigin) -> None:
    host = origin.add("robotsloop")
    start(hurried, host.url())
    run(hurried)
    assert [target for target in host.pages_asked if not target.startswith("/robots")] == []


@pytest.mark.parametrize("value", ["864000000", "1e99", "9" * 400, "inf"])
def test_an_absurd_crawl_delay_is_capped_or_ignored_and_never_raises(
    make: Callable[..., Worker], origin: HostileOrigin, value: str
) -> None:
    worker = make(allow_networks=NETWORK, crawl_delay_max_s=600.0)
    host = origin.add("robotscrawldelay", value=value)
    start(worker, host.url())
    run(worker)
    assert sorted(host.pages_asked) == sorted(BUT_X)
    assert one(worker.engine, "SELECT crawl_delay_raw FROM robots") == value[:100]
    assert one(worker.engine, "SELECT delay_s FROM hosts") in {0.0, 600.0}
