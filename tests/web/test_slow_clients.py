"""Clients without a login that take time or memory: others are served meanwhile, and they are closed."""

import socket
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from http.client import HTTPConnection
from urllib.parse import urlsplit

import pytest
import requests
from sqlalchemy import Engine

from app.local import dashboard
from app.metrics.serve import serve_pages
from app.runtime.slow_clients import HEAD_BYTES, WAITING_MOST, SlowClients
from app.web.guard import FIELDS_MOST, LOGIN_BYTES
from app.web.serve import WebConnection
from tests.faults.waiting import until
from tests.web.served import Browser, served, settings_of, token_of
from tests.web.test_attacks import PASSWORD, USERS, login

MANY = 300
HALF_A_HEAD = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Half: "
POST = b"POST %b HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/x-www-form-urlencoded\r\n"
# what each of many sends, and nothing after it
SLOW = {
    "nothing": b"",
    "half a head": HALF_A_HEAD,
    "half a body": POST % b"/login" + b"Content-Length: 900\r\n\r\nname=a",
    "a body that is refused": POST % b"/act/crawl.make" + b"Content-Length: 900000\r\n\r\nname=a",
    "half a second head": b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" + HALF_A_HEAD,
}
UNREAD = b"GET /static/vendor/htmx-2.0.11.min.js HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" * 200  # 10 MB of answers


@pytest.fixture(scope="module")
def _closed(crawled: Engine, database_url: str) -> Iterator[Browser]:
    patient: SlowClients[WebConnection] = SlowClients(head_s=600.0, body_s=600.0)  # numbers are shown, not times
    with served(crawled, settings_of(database_url, web_users=USERS), clients=patient) as browser:
        yield browser


@pytest.fixture
def guarded(_closed: Browser) -> Browser:
    return _closed.anew()


@contextmanager
def connected(url: str, octets: bytes, n: int = MANY, source: str = "127.0.0.1") -> Iterator[list[socket.socket]]:
    """So many connections that have sent this."""
    place = urlsplit(url)
    with ExitStack() as stack:
        made = []
        for _ in range(n):
            made.append(stack.enter_context(closing(socket.socket())))
            made[-1].bind((source, 0))
            made[-1].connect((place.hostname, place.port))
            made[-1].sendall(octets)
        yield made


def is_closed(connection: socket.socket) -> bool:
    """Whether the server has closed it. What it answered before is read."""
    connection.setblocking(False)
    try:
        while connection.recv(65_536):
            pass
    except BlockingIOError:
        return False
    except ConnectionResetError:
        return True
    return True


def open_of(connections: list[socket.socket]) -> int:
    return sum(not is_closed(each) for each in connections)


@pytest.mark.parametrize("octets", SLOW.values(), ids=SLOW.keys())
def test_many_that_are_waited_for_are_few_and_others_are_served(guarded: Browser, octets: bytes) -> None:
    with connected(guarded.url, octets) as many:
        assert guarded.get("/healthz").status_code == 200
        until(lambda: open_of(many) <= WAITING_MOST, "all but 64 are closed")
        assert login(guarded, "anna").get("/").status_code == 200
        assert not any(is_closed(each) for each in many[-WAITING_MOST // 2 :]), "the oldest are closed first"


@pytest.mark.parametrize("octets", [HALF_A_HEAD, SLOW["half a second head"]], ids=["first", "second"])
@pytest.mark.parametrize("sources", [["127.0.0.1"], [f"127.0.{n}.{n}" for n in range(1, 100)]], ids=["one", "many"])
def test_while_half_heads_stand_each_whole_request_is_answered(
    guarded: Browser, sources: list[str], octets: bytes
) -> None:
    """Whether they come from one address or from many, by a new connection and by one that is kept alive."""
    place = urlsplit(guarded.url)
    with ExitStack() as stack, closing(HTTPConnection(place.netloc, timeout=30)) as kept:
        assert answer_of(kept) == 200
        in_use = kept.sock
        many = []
        for n in range(MANY):
            many += stack.enter_context(connected(guarded.url, octets, n=1, source=sources[n % len(sources)]))
            if n % 10 == 0:
                with closing(HTTPConnection(place.netloc, timeout=30)) as new:
                    assert answer_of(new) == 200
        until(lambda: open_of(many) <= WAITING_MOST, "all but 64 are closed")
        assert answer_of(kept) == 200
        assert kept.sock is in_use, "the connection of before was not closed"
        assert open_of(many) == WAITING_MOST, "no place was taken by what is kept alive"


@pytest.mark.parametrize("sources", [["127.0.0.1"], [f"127.0.{n}.{n}" for n in range(1, 100)]], ids=["one", "many"])
def test_a_request_that_arrived_before_half_heads_is_answered(
    crawled: Engine, database_url: str, sources: list[str]
) -> None:
    """The server looks at all of them at once, and its oldest is a request that it has not read."""
    settings = settings_of(database_url, web_users=USERS)
    listening = dashboard.bound(settings)
    listening.listen(2 * MANY)
    url = f"http://127.0.0.1:{listening.getsockname()[1]}"
    with ExitStack() as stack:
        (whole,) = stack.enter_context(connected(url, b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", n=1))
        for n in range(MANY):
            stack.enter_context(connected(url, HALF_A_HEAD, n=1, source=sources[n % len(sources)]))
        stack.enter_context(served(crawled, settings, bound=listening))
        whole.settimeout(30)
        assert whole.recv(15) == b"HTTP/1.1 200 OK"


def answer_of(connection: HTTPConnection) -> int:
    connection.request("GET", "/healthz")
    answer = connection.getresponse()
    answer.read()
    return answer.status


def test_another_address_keeps_its_place(guarded: Browser) -> None:
    with (
        connected(guarded.url, HALF_A_HEAD, n=1, source="127.0.0.2") as (other,),
        connected(guarded.url, HALF_A_HEAD) as many,
    ):
        until(lambda: open_of(many) < WAITING_MOST, "all but 63 are closed")
        other.setblocking(True)
        other.sendall(b"it\r\n\r\n")
        assert other.recv(12) == b"HTTP/1.1 401"


@pytest.mark.parametrize("octets", [*SLOW.values(), UNREAD], ids=[*SLOW.keys(), "answers that nobody reads"])
def test_nobody_is_waited_for_longer_than_that(crawled: Engine, database_url: str, octets: bytes) -> None:
    short: SlowClients[WebConnection] = SlowClients(head_s=0.3, body_s=0.3)
    with (
        served(crawled, settings_of(database_url, web_users=USERS), clients=short) as browser,
        connected(browser.url, octets, n=3) as some,
    ):
        sent = set(some)
        until(lambda: all(is_hung_up(each) for each in sent), "it was closed though nobody asked")
        assert browser.get("/healthz").status_code == 200


def is_hung_up(connection: socket.socket) -> bool:
    """Whether the server has closed it, by a try to send: no answer is read."""
    try:
        connection.settimeout(0.2)
        connection.send(b"x")
    except TimeoutError:
        return False
    except OSError:
        return True
    return False


# --- forms -------------------------------------------------------------------------------------------------------

# path, body → status, for somebody without a login
FORMS = [
    ("/login", b"a&" * 500_000, 413),
    ("/login", b"a=b&" * (FIELDS_MOST + 1), 413),
    ("/login", b"name=" + b"%41" * 300_000, 413),
    ("/login", b"name=" + b"x" * LOGIN_BYTES, 413),
    ("/login", b"name=" + b"x" * (LOGIN_BYTES - 100), 403),
    ("/act/crawl.make", b"a&" * 500_000, 401),
]


@pytest.mark.parametrize(("path", "body", "status"), FORMS)
def test_a_form_is_bounded_before_it_is_parsed(guarded: Browser, path: str, body: bytes, status: int) -> None:
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    answer = guarded.session.post(f"{guarded.url}{path}", data=body, headers=headers, timeout=30)
    assert answer.status_code == status
    assert guarded.get("/healthz").status_code == 200


def test_a_form_of_many_fields_is_refused_to_users_too(guarded: Browser) -> None:
    login(guarded, "anna")
    assert guarded.send("/act/crawl.make", {f"f{n}": "" for n in range(FIELDS_MOST + 1)}).status_code == 413


def test_a_request_in_chunks_is_not_read(guarded: Browser) -> None:
    """A chunk of one octet takes h11 as long as a head: 1 MB of them held everybody up for seconds."""
    token = token_of(guarded.get("/").text)
    form = f"token={token}&name=anna&password={PASSWORD}".encode()
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    for path in ("/login", "/healthz", "/static/app.css"):
        answer = requests.post(f"{guarded.url}{path}", data=iter([form]), headers=headers, timeout=30)
        assert answer.status_code == 400


# --- the port of metrics -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("octets", [b"", b"GET /healthz HT", HALF_A_HEAD])
def test_the_port_of_metrics_closes_the_oldest_too(octets: bytes) -> None:
    place = serve_pages("127.0.0.1:0", {}, role="worker")
    assert place is not None
    url = f"http://{place[0]}:{place[1]}"
    with connected(url, octets) as many:
        assert requests.get(f"{url}/healthz", timeout=30).text == "ok\n"
        until(lambda: open_of(many) <= WAITING_MOST, "all but 64 are closed")


def test_the_port_of_metrics_waits_for_nobody_longer_than_that() -> None:
    made: list[str] = []
    place = serve_pages(
        "127.0.0.1:0",
        {"/metrics": lambda: (made.append("page") or "text/plain", b"")},
        role="worker",
        clients=SlowClients(head_s=0.3),
    )
    assert place is not None
    with connected(f"http://{place[0]}:{place[1]}", b"GET /metrics HTTP/1.1\r\nHost: x\r\nX-Half: ", n=3) as some:
        until(lambda: open_of(some) == 0, "it was closed though nobody asked")
    assert made == [], "half a head is none"


LARGE = {
    "lines": b"".join(b"X-%d: %b\r\n" % (n, b"x" * 1_000) for n in range(90)),
    "one line": b"X: " + b"x" * HEAD_BYTES + b"\r\n",
    "folded": b"X: x\r\n" + (b" " + b"x" * 30_000 + b"\r\n") * 3,
}


@pytest.mark.parametrize("lines", LARGE.values(), ids=LARGE.keys())
def test_the_port_of_metrics_reads_no_head_beyond_its_bound(lines: bytes) -> None:
    """Which is for the whole head, and not for each of its lines: many heads at once would take all memory."""
    place = serve_pages("127.0.0.1:0", {}, role="worker")
    assert place is not None
    assert answered(place, lines[: HEAD_BYTES // 2] + b"\r\n").startswith(b"HTTP/1.0 200 OK")
    assert answered(place, lines) == b""


def answered(place: tuple[str, int], lines: bytes) -> bytes:
    """What comes back; nothing, where the connection was closed."""
    with closing(socket.create_connection(place, timeout=30)) as connection, suppress(ConnectionError):
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n" + lines + b"\r\n")
        return b"".join(iter(lambda: connection.recv(65_536), b""))
    return b""
