"""What `bench road` and `bench shared` judge with: the origin's delays, its log, and what is made of them."""

import random
import socket
import ssl
import statistics
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from bench import road_judge, road_plan, shared_address
from bench.delays import Delays, taken_s
from bench.report import BenchError
from bench.road_site import Site
from bench.road_web import Connection, Log, Request, Road, plain_pages, read_log, road

KEEPS, CLOSES, UNTOLD, PLAIN = (f"{name}.road.test" for name in ("keeps", "closes", "untold", "plain"))
HANDSHAKE_S, ANSWER_S = 0.2, 0.1


def test_delays_have_the_median_and_the_percentile_that_they_say() -> None:
    delays, rng = Delays(), random.Random(5)
    drawn = sorted(delays.of_exchange(delays.of_host(rng), rng) for _ in range(20_000))
    assert statistics.median(drawn) == pytest.approx(0.15, rel=0.05)
    assert drawn[int(0.95 * len(drawn))] == pytest.approx(1.0, rel=0.08)
    assert drawn[-1] <= delays.most_s


def test_without_spread_every_exchange_takes_the_usual_time() -> None:
    assert {taken_s(0.3, 0.0, 5.0, random.Random(1)) for _ in range(3)} == {0.3}


@pytest.fixture(scope="module")
def web() -> Iterator[Road]:
    sites = [
        Site(name=KEEPS, address="127.0.59.1", handshake_s=HANDSHAKE_S, answer_s=ANSWER_S),
        Site(name=CLOSES, address="127.0.59.1", handshake_s=HANDSHAKE_S, closes="told"),
        Site(name=UNTOLD, address="127.0.59.1", closes="untold"),
        Site(name=PLAIN, address="127.0.59.2", handshake_s=HANDSHAKE_S, answer_s=ANSWER_S),
    ]
    with road(sites, pages=plain_pages(20), schemes={KEEPS: "https", PLAIN: "http"}) as web:
        yield web


def _ask(connection: socket.socket, host: str, path: str = "/index.html") -> bytes:
    """A whole answer."""
    connection.sendall(f"GET {path} HTTP/1.1\r\nHost: {host}:80\r\n\r\n".encode())
    octets = b""
    while b"\r\n\r\n" not in octets:
        octets += _more(connection)
    head, _, body = octets.partition(b"\r\n\r\n")
    length = int(head.partition(b"Content-Length: ")[2].partition(b"\r\n")[0])
    while len(body) < length:
        body += _more(connection)
    return head + b"\r\n\r\n" + body


def _more(connection: socket.socket) -> bytes:
    octets = connection.recv(65_536)
    assert octets, "the origin closed before its answer was whole"
    return octets


def _secure(web: Road, host: str) -> ssl.SSLSocket:
    context = ssl.create_default_context(cafile=str(web.authority))
    plain = socket.create_connection(("127.0.59.1", web.port), timeout=10)
    return context.wrap_socket(plain, server_hostname=host)


def _until_closed(web: Road, host: str) -> tuple[Log, Connection]:
    """The log once it has the end of a connection for this host."""
    deadline = time.monotonic() + 30
    while True:
        log = web.log()
        for connection in log.connections.values():
            if connection.host == host and connection.closed is not None:
                return log, connection
        assert time.monotonic() < deadline, f"no closed connection of {host} in the log"


def test_a_handshake_and_an_answer_take_their_time(web: Road) -> None:
    with _secure(web, KEEPS) as connection:
        first, second = _ask(connection, KEEPS), _ask(connection, KEEPS, "/page-7.html")
    log, seen = _until_closed(web, KEEPS)
    own = [request for request in log.requests if request.host == KEEPS]
    assert seen.shaken is not None
    assert seen.shaken - seen.accepted >= HANDSHAKE_S
    assert (seen.requests, seen.imposed_s) == (2, HANDSHAKE_S)
    assert [(each.path, each.status, each.tls, each.is_first) for each in own] == [
        ("/index.html", 200, True, True),
        ("/page-7.html", 200, True, False),
    ]
    assert all(each.end - each.arrived >= ANSWER_S == each.imposed_s for each in own)
    assert KEEPS.encode() in first
    assert b"Connection" not in second


def test_a_plain_connection_s_first_answer_takes_the_handshake_s_time_too(web: Road) -> None:
    with socket.create_connection(("127.0.59.2", web.port), timeout=10) as connection:
        _ask(connection, PLAIN)
        _ask(connection, PLAIN)
    log, _ = _until_closed(web, PLAIN)
    own = [request for request in log.requests if request.host == PLAIN]
    assert [each.imposed_s for each in own] == pytest.approx([HANDSHAKE_S + ANSWER_S, ANSWER_S])
    assert [each.tls for each in own] == [False, False]


@pytest.mark.parametrize(("host", "says"), [(CLOSES, True), (UNTOLD, False)])
def test_a_server_closes_after_its_answer_and_says_so_or_not(web: Road, host: str, says: bool) -> None:
    with _secure(web, host) as connection:
        answer = _ask(connection, host)
        assert connection.recv(1) == b""
    assert (b"Connection: close" in answer) is says
    assert _until_closed(web, host)[1].requests == 1


def test_a_connection_that_brought_nothing_is_counted_for_the_name_it_asked_for(web: Road) -> None:
    unused = "unused.road.test"  # nobody's, so its handshake is not answered at all
    with socket.create_connection(("127.0.59.2", web.port), timeout=10) as connection:
        connection.sendall(f"GET / HTTP/1.1\r\nHost: {unused}\r\n\r\n".encode())
        assert connection.recv(1) == b""
    _secure(web, UNTOLD).close()
    deadline = time.monotonic() + 30
    while not (found := road_judge.unused(web.log()))[UNTOLD]:
        assert time.monotonic() < deadline
    assert found[UNTOLD] == 1
    assert road_judge.opened(web.log())[UNTOLD] >= 1


def _request(
    host: str, arrived: float, end: float, *, address: str = "a", imposed_s: float = 0.0, status: int = 200
) -> Request:
    return Request(
        arrived=arrived,
        end=end,
        host=host,
        address=address,
        path="/a.html",
        status=status,
        tls=False,
        imposed_s=imposed_s,
        connection=1,
        is_first=False,
    )


# requests (arrived, end, imposed) of one host at 1 s delay, gaps that are too short
@pytest.mark.parametrize(
    ("made", "short"),
    [
        ([(0.0, 0.1, 0.1), (1.1, 1.2, 0.1), (2.21, 2.3, 0.1)], 0),
        ([(0.0, 0.1, 0.1), (1.096, 1.2, 0.1)], 0),  # within the tolerance
        ([(0.0, 0.1, 0.1), (1.09, 1.2, 0.1)], 1),
        ([(0.0, 1.0, 1.0), (2.5, 3.0, 0.5)], 1),  # an answer of 1 s: the delay is 2 s
        ([(0.0, 1.0, 1.0), (3.0, 3.0, 0.0), (4.6, 4.6, 0.0)], 0),  # and then 1.6 s
        ([(0.0, 1.0, 1.0), (3.0, 3.0, 0.0), (4.5, 4.5, 0.0)], 1),
        ([(0.0, 5.0, 0.1), (1.2, 1.3, 0.1), (5.9, 6.0, 0.1)], 2),  # from the end of all that went before
    ],
)
def test_a_pause_counts_from_the_end_and_the_latency_sets_its_floor(
    made: Sequence[tuple[float, float, float]], short: int
) -> None:
    requests = [_request("h", arrived, end, imposed_s=imposed_s) for arrived, end, imposed_s in made]
    other = [_request("other", arrived + 0.01, end + 0.01) for arrived, end, _ in made]
    judged = road_judge.pauses(sorted(requests + other, key=lambda each: each.arrived), delay_s=1.0)
    assert sum(each.is_short for each in judged if each.host == "h") == short


def test_starts_are_told_apart_by_address_or_taken_together() -> None:
    requests = [_request("x", 0.0, 0.1), _request("y", 0.6, 0.7), _request("z", 0.7, 0.8, address="b")]
    assert road_judge.start_gaps(requests) == {"a": [0.6], "b": []}
    assert road_judge.start_gaps(requests, together=True)["all"] == pytest.approx([0.6, 0.1])
    on_time, late_then, late_before = [(1e9, 0.0)], [(1e9, 0.2)], [(-1e9, 0.2), (1e9, 0.0)]
    for lates, n in ((on_time, 1), (late_then, 0), (late_before, 1)):
        assert road_judge.short_starts(requests, 0.3, lates, together=True) == n


def test_requests_under_way_at_once_are_of_one_host() -> None:
    two = [_request("x", 0.0, 1.0), _request("y", 0.1, 1.1), _request("x", 0.5, 1.5), _request("x", 1.5, 2.0)]
    assert road_judge.most_at_once(two) == 2
    assert road_judge.most_at_once(two[:2]) == 1


def test_a_log_is_read_up_to_its_last_whole_line(tmp_path: Path) -> None:
    file = tmp_path / "log.jsonl"
    file.write_text('{"what": "accept", "conn": 1, "t": 1.0, "address": "a"}\n{"what": "close", "co')
    assert read_log(file).connections == {1: Connection(accepted=1.0, address="a")}


def test_the_web_is_drawn_as_it_says() -> None:
    plan = road_plan.draw(2_000, 13)
    sites = {site.name: site for site in plan.sites}
    assert plan == road_plan.draw(2_000, 13)
    assert len(plan.schemes) == 2_000
    assert Counter(plan.schemes.values()) == {"http": 1_000, "https": 1_000}
    assert len(plan.schemes) - len(sites) + sum(site.silent for site in plan.sites) == 60
    assert sum(site.silent for site in plan.sites) == 30
    assert Counter(plan.ill.values()) == {"slow": 20, "SERVFAIL": 20}
    assert Counter(len(own) for own in plan.by_address.values()) == {5: 20, 1: len(plan.live) - 100}
    assert sum(bool(site.closes) for site in plan.sites) == pytest.approx(200, abs=15)
    assert {name: sites[name].address for name in plan.live} == {name: plan.addresses[name] for name in plan.live}


def _log(requests: Sequence[Request], handshake_s: float = 0.0) -> Log:
    return Log(
        connections={1: Connection(accepted=0.0, address="a", imposed_s=handshake_s)}, requests=requests, lates=[]
    )


# sites, requests, what the budgets allow a second
ALONE = Site(name="x", address="a")
TWO = (ALONE, Site(name="y", address="a"))
FIVE = tuple(Site(name=name, address="a") for name in "vwxyz")


@pytest.mark.parametrize(
    ("sites", "made", "handshake_s", "rate"),
    [
        ((ALONE,), [_request("x", 1.0, 1.0)], 0.0, 1 / 1.05),
        ((ALONE,), [_request("x", 1.0, 1.4, imposed_s=0.4)], 9.0, 1 / 1.45),
        ((ALONE,), [_request("x", 1.0, 2.0, imposed_s=1.0)], 0.0, 1 / 3.1),  # twice its latency
        ((Site(name="x", address="a", closes="told"),), [_request("x", 1.0, 1.0)], 0.3, 1 / 1.35),
        ((Site(name="x", address="a", answer_s=0.3),), [], 0.0, 1 / 1.35),  # never asked
        ((Site(name="x", address="a", silent=True),), [], 0.0, 0.0),
        (TWO, [], 0.0, 2 / 1.05),
        (FIVE, [], 0.0, 2.0),
    ],
)
def test_budgets_allow_what_delays_exchanges_and_addresses_leave(
    sites: tuple[Site, ...], made: list[Request], handshake_s: float, rate: float
) -> None:
    names = frozenset(site.name for site in sites)
    plan = road_plan.Plan(
        sites=sites,
        schemes=dict.fromkeys(names, "http"),
        addresses={},
        ill={},
        live=frozenset(site.name for site in sites if not site.silent),
    )
    found = road_plan.allowed(
        plan, _log(made, handshake_s), begin=0.0, end=9.0, delay_s=1.0, jitter=0.1, address_gap_s=0.5
    )
    assert found == pytest.approx(rate)


# name, hosts, handshake, whether servers close, requests a second that are allowed
@pytest.mark.parametrize(
    ("name", "hosts", "handshake_s", "closes", "allowed"),
    [
        ("5x60", 5, 0.06, "", 2.0),
        ("2x300", 2, 0.3, "", 2 / 1.05),
        ("2x300c", 2, 0.3, "told", 2 / 1.35),
        ("front", 500, 0.0, "", 50.0),
    ],
)
def test_a_scene_is_known_by_its_name(name: str, hosts: int, handshake_s: float, closes: str, allowed: float) -> None:
    found = shared_address.scene(name)
    assert {(site.handshake_s, site.closes) for site in found.sites} == {(handshake_s, closes)}
    assert (len(found.sites), found.allowed) == (hosts, pytest.approx(allowed))


def test_a_scene_that_is_none_is_named() -> None:
    with pytest.raises(BenchError, match="'5x'"):
        shared_address.scene("5x")


def test_a_scene_is_judged_within_its_seconds() -> None:
    scene = shared_address.shared(2, 0.06, seconds=10.0)
    made = [
        _request("n0.road.test", 0.5, 0.6),
        _request("n1.road.test", 0.9, 1.0),
        _request("n0.road.test", 11.0, 11.1),
    ]
    seen = shared_address.judge(scene, _log(made))
    assert (seen.rate, seen.requests, seen.short) == (0.2, {"n0.road.test": 1, "n1.road.test": 1}, 1)
    assert seen.used == pytest.approx(0.2 / (2 / 1.05))
    with pytest.raises(BenchError, match="nobody connected"):
        shared_address.judge(scene, Log(connections={}, requests=[], lates=[]))
