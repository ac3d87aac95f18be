"""The hostile origin begins, logs and ends as it says, seen by plain sockets and http.client."""

import http.client
import threading
import time

import pytest

from tests.hostile.client import LOOK_S, ask, connect, get, listen, raw, soon
from tests.hostile.origin import BEHAVIOURS, HostileOrigin

LATE_S = 1.0
CLOCK_S = 0.01  # of the kernel's clock, in milliseconds


def test_no_behaviour_answers_before_it_is_asked(origin: HostileOrigin) -> None:
    with connect(origin.add("healthy")) as sock:
        assert listen(sock, is_silent=True) == (b"", "quiet")


@pytest.mark.parametrize("name", BEHAVIOURS)
def test_every_behaviour_begins_and_ends(name: str) -> None:
    with HostileOrigin(name) as origin, connect(origin.hosts[name]) as sock:
        ask(sock)
        listen(sock, limit=1, is_silent=name == "silent")
        assert soon(lambda: bool(origin.log(name)))
        asked = [line.target for line in origin.log(name)]
    assert asked == ["/"]
    assert not any(thread.name == "hostile origin" for thread in threading.enumerate())


@pytest.mark.parametrize("name", [name for name, behaviour in BEHAVIOURS.items() if not behaviour.robots])
def test_a_host_that_is_not_about_robots_has_none(origin: HostileOrigin, name: str) -> None:
    assert get(origin.add(name), "/robots.txt")[0] == 404


def test_every_host_has_an_address_of_its_own(origin: HostileOrigin) -> None:
    hosts = [origin.add("slow", after_s=5.0) for _ in range(100)]
    assert len({host.address for host in hosts}) == 100
    assert [host.name for host in hosts[:3]] == ["slow", "slow-2", "slow-3"]
    before = threading.active_count()
    socks = [connect(host) for host in hosts]
    for sock in socks:
        ask(sock)
    assert soon(lambda: all(host.log for host in hosts))
    assert threading.active_count() == before
    for sock in socks:
        sock.close()
    assert origin.quiet()
    assert all(host.log[0].hung_up for host in hosts)


def test_what_the_access_log_says(origin: HostileOrigin) -> None:
    host = origin.add("healthy", pages=3)
    began = time.monotonic()
    connection = http.client.HTTPConnection(host.address, host.port)
    sizes = []
    for target in ("/", "/1?q=2"):
        connection.request("GET", target, headers={"X-Test": "yes"})
        response = connection.getresponse()
        sizes.append(len(response.read()))
    connection.close()
    get(host, "/none")
    assert origin.quiet()
    lines = origin.log("healthy")
    assert [(line.host, line.target, line.path) for line in lines] == [
        ("healthy", "/", "/"),
        ("healthy", "/1?q=2", "/1"),
        ("healthy", "/none", "/none"),
    ]
    assert [(line.connection, line.nth) for line in lines] == [(1, 1), (1, 2), (2, 1)]
    assert [line.headers.get("x-test") for line in lines] == ["yes", "yes", None]
    assert not any(line.hung_up for line in lines)
    assert all(0 < line.sent - size < 200 for line, size in zip(lines, sizes, strict=False))
    assert all(line.end is not None and began <= line.start <= line.end for line in lines)
    assert host.connections == 2


def test_the_log_knows_when_the_client_hung_up(origin: HostileOrigin) -> None:
    host = origin.add("silent")
    with connect(host) as sock:
        ask(sock)
        assert listen(sock, is_silent=True) == (b"", "quiet")
        (line,) = host.log
        assert line.end is None
        assert not origin.quiet(within_s=0.0)
        leaving = time.monotonic()
    gone = time.monotonic()
    assert origin.quiet()
    assert (line.hung_up, line.sent) == (True, 0)
    assert line.end is not None
    assert line.took_s >= LOOK_S - CLOCK_S
    assert leaving - CLOCK_S <= line.end <= gone + LATE_S / 2


def test_a_hang_up_that_a_busy_machine_lets_us_notice_late_is_logged_when_it_was(origin: HostileOrigin) -> None:
    host = origin.add("silent")
    with connect(host) as sock:
        ask(sock)
        assert soon(lambda: bool(host.log))
        (peer,) = host.peers
        busy = threading.Event()
        peer.task.get_loop().call_soon_threadsafe(busy.wait, LATE_S)
    gone = time.monotonic()
    assert origin.quiet()
    (line,) = host.log
    assert line.end is not None
    assert line.end < gone + LATE_S / 2


def test_a_request_that_the_end_of_the_origin_cuts_off_was_not_hung_up_on() -> None:
    with HostileOrigin("silent") as origin:
        sock = connect(origin.hosts["silent"])
        ask(sock)
        assert soon(lambda: bool(origin.log("silent")))
    sock.close()
    (line,) = origin.log("silent")
    assert (line.end is not None, line.hung_up) == (True, False)


def test_what_a_behaviour_raises_is_raised_at_the_end() -> None:
    origin = HostileOrigin("redirloop")
    with pytest.raises(ValueError, match="invalid literal"), origin:
        assert raw(origin.hosts["redirloop"], "/word") == (b"", "closed")


def test_down_ends_connections_and_refuses_new_ones_until_up(origin: HostileOrigin) -> None:
    host = origin.add("outage")
    with connect(host) as sock:
        ask(sock)
        assert b"200 OK" in listen(sock)[0]
        origin.down("outage")
        assert listen(sock)[1] in {"closed", "reset"}
    with pytest.raises(ConnectionRefusedError):
        connect(host)
    port = host.port
    origin.up("outage")
    assert (get(host)[0], host.port) == (200, port)
