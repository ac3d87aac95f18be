"""docker-compose.yml in real containers: up from nothing, every service killed in turn, down and up again, and one
crawl through all of it, judged from the origin's own log.

Skipped, with the reason, where there is no container engine or an image is missing (CONTRIBUTING.md).
"""

import urllib.error
import urllib.request
from base64 import b64encode
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from app.config import load
from tests.containers.engine import Engine, Network, NotHere, find_engine
from tests.containers.stack import OURS, PASSWORD, STARTED, Stack
from tests.faults.judge import Cost, judge
from tests.faults.kit import CRAWL, SLOTS
from tests.faults.log_judge import Fault, see, short_pairs
from tests.faults.pace import RESUMED_S, SETTINGS, Pace, at_most_s, quick_or_long
from tests.faults.waiting import until
from tests.faults.web import Line, Web

pytestmark = [pytest.mark.acceptance, pytest.mark.faults]
HOSTS, PAGES, DELAY_S, WORKERS = 8, quick_or_long(40, 160), 0.5, 3
KILLED = ("worker", "beat", "postgres", "redis", "flower", "web")
HELD_S = 0.8  # each page, until the last fault: so requests are torn off
STOPS_ALL = {"postgres", "redis"}
ADDED_MIB_MOST = 200  # by our image to the one it is built on
TORN_OFF = 3  # times that visits are: by two deaths of workers, and by one of Postgres
END_S = 300.0
CHOSEN = {
    **SETTINGS,
    "allow_networks": Network.subnet,
    "default_delay_s": DELAY_S,
    "concurrency": SLOTS,
    "contact": "tests@example.org",
}


@pytest.fixture
def engine() -> Engine:
    try:
        return find_engine()
    except NotHere as reason:
        pytest.skip(str(reason))


@pytest.fixture
def network(engine: Engine) -> Iterator[Network]:
    try:
        with Network(engine) as made:
            yield made
    except NotHere as reason:
        pytest.skip(str(reason))


@pytest.fixture
def web(network: Network, tmp_path: Path) -> Iterator[Web]:
    with Web(tmp_path / "web", hosts=HOSTS, pages=PAGES, addresses=network.web(HOSTS)) as made:
        yield made


@pytest.fixture
def stack(engine: Engine, network: Network, web: Web, tmp_path: Path) -> Iterator[Stack]:
    folder = tmp_path / "tiptoe"
    folder.mkdir()
    with Stack(folder, engine, engine.build(), CHOSEN, WORKERS) as made:
        yield made


def test_a_crawl_goes_on_whatever_is_killed(engine: Engine, web: Web, stack: Stack) -> None:
    stack.up("--wait")
    assert_as_promised(engine, stack)
    web.rule("*", delay_s=HELD_S, grows=True)  # so the crawl outlasts all faults, however slow the machine
    web.rule("/robots.txt", delay_s=0)
    stack.tiptoe("seed", "add", CRAWL, *web.seeds)
    more_requests(web)
    with stack.fault("a worker's processes are killed from within"):
        crash(engine, stack)
    for service in KILLED:
        more_requests(web)
        with stack.fault(f"docker kill of {service}", total=service in STOPS_ALL):
            engine.docker("kill", stack.containers(service)[0])
            stack.up()
    more_requests(web)
    with stack.fault("down and up, until every host is asked again", total=True):
        stack.down()
        stack.up()
        more_requests(web)  # five processes start at once: on a slow machine longer than INV6 allows after a fault
    web.release()
    until(stack.is_finished, "the crawl ends", END_S)
    until(lambda: set(stack.health().values()) == {"healthy"}, "all are healthy again", END_S)
    assert f"{CRAWL} " in stack.tiptoe("status")
    assert_nothing_lost(stack, web)


def more_requests(web: Web) -> None:
    """Wait until every host was asked again, whatever happened before."""
    asked = len(web.lines())

    def is_enough() -> bool:
        assert web.pages_brought() < web.truth, "the crawl has ended: nothing is left to interrupt"
        fresh = web.lines()[asked:]
        return len(fresh) >= 2 * HOSTS and len({line.host for line in fresh}) == HOSTS

    until(is_enough, "every host is asked again")


def crash(engine: Engine, stack: Stack) -> None:
    """Kill all processes of a worker's container but the first, which ends then: the restart policy must start it
    again."""
    victim = stack.containers("worker")[0]
    engine.docker("exec", victim, "sh", "-c", "kill -9 -1 || true")
    until(lambda: stack.inspect(victim)["RestartCount"] == 1, "it is started again")


def assert_as_promised(engine: Engine, stack: Stack) -> None:
    """Healthy, small, not root, Flower asks for its password, and the dashboard answers."""
    health = stack.health()
    assert len(health) == len({*STARTED, "postgres", "redis"} - {"worker"}) + WORKERS
    assert set(health.values()) == {"healthy"}
    ours = [container for service in OURS if service != "migrate" for container in stack.containers(service)]
    assert {engine.docker("exec", container, "id", "-u") for container in ours} == {"10001"}
    added = (engine.image_bytes(stack.inspect(ours[0])["Image"]) - engine.image_bytes(engine.bases["python"])) / 2**20
    print(f"our image adds {added:.0f} MiB")
    assert added < ADDED_MIB_MOST
    assert "warning" not in engine.docker("exec", ours[0], "celery", "-A", "app", "--help").lower(), "plugins load"
    assert status(stack.flower_port, "/workers") == 401
    assert status(stack.flower_port, "/workers", user=f"tiptoe:{PASSWORD}") == 200
    assert [status(stack.web_port, path) for path in ("/", "/readyz", "/metrics")] == [200, 200, 200]


def status(port: int, path: str, user: str | None = None) -> int:
    headers = {"Authorization": f"Basic {b64encode(user.encode()).decode()}"} if user else {}
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


def assert_nothing_lost(stack: Stack, web: Web) -> None:
    """INV1 to INV8 of docs/reliability.md."""
    pace, lines = Pace.of(load(**CHOSEN)), web.lines()
    cost = Cost(
        kills=TORN_OFF,
        slots=HOSTS,
        batch=pace.batch,
        recovered_s=at_most_s(pace.recovered_s),
        resumed_s=at_most_s(RESUMED_S),
    )
    seen = see(lines, truth=web.truth, delay_s=DELAY_S, faults=stack.faults)
    found = judge(seen, stack.sql, web, lines, cost, lease_s=pace.lease_s)
    print(found.figures, *(told(fault, web, lines) for fault in stack.faults), sep="\n")
    assert not found.broken, "\n".join([*found.broken, *short_pairs(lines, DELAY_S, frozenset())])


def told(fault: Fault, web: Web, lines: Sequence[Line]) -> str:
    alone = see(lines, truth=web.truth, delay_s=DELAY_S, faults=[fault])
    before = sum(line.start < fault.begin for line in lines)
    lasted = f"after {before} requests, for {fault.end - fault.begin:.1f} s"
    return (
        f"{fault.name}: {lasted}; then {alone.recovered_s:.1f} s to each waiting host, {alone.resumed_s:.1f} s to any"
    )
