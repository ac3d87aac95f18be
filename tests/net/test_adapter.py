"""The guarded adapter on a `requests.Session`, against real origins: it works as requests' own, and cannot be
misled."""

import ipaddress
import re
import socket
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import requests
import responses
from urllib3.util import Retry

from app.model.fetch import Failure
from app.net.adapter import AddressRefused, GuardedAdapter
from app.net.connection import Dialler
from app.net.dns import Resolver, ResolverLimits
from app.net.exchange import Broken
from tests.authority import Authority
from tests.net.hostile import HostileServer, Peer, once, page, raw
from tests.net.senders import dialler_to

POLITENESS = Path(__file__).parents[2] / "docs" / "politeness.md"
PUBLIC = "http://public.example/"


@contextmanager
def session_over(adapter: GuardedAdapter) -> Iterator[requests.Session]:
    with requests.Session() as session:
        session.trust_env = False
        session.mount("http://", adapter)
        session.mount("https://", adapter)
        yield session


@pytest.fixture
def session() -> Iterator[requests.Session]:
    """That may talk to loopback."""
    with session_over(GuardedAdapter(dialler_to())) as session:
        yield session


def only(site: HostileServer, names: dict[str, list[str]] | None = None) -> Dialler:
    """May talk to this site and to no other; names resolve as told, one answer after another."""

    def getaddrinfo(host: str, *_: Any, **__: Any) -> list[tuple[Any, ...]]:
        answers = (names or {})[host]
        return [(0, 0, 0, "", (answers.pop(0) if len(answers) > 1 else answers[0], 0))]

    resolver = Resolver(ResolverLimits(ttl_s=0), getaddrinfo=getaddrinfo)
    return dialler_to((ipaddress.ip_network(site.address),), resolver=resolver)


# --- as requests' own ---------------------------------------------------------------------------------------


def test_a_session_gets_pages_over_one_connection(site: HostileServer, session: requests.Session) -> None:
    site.answers["/a"] = page(b"<p>caf\xe9", b"Set-Cookie: a=1; Path=/", b"Set-Cookie: b=2; Path=/")
    site.answers["/b"] = page(b"", status=b"404 Not Found")
    one = session.get(site.url("/a"), timeout=30)
    assert (one.status_code, one.reason, one.text, one.headers["content-type"]) == (200, "OK", "<p>café", "text/html")
    assert dict(session.cookies) == {"a": "1", "b": "2"}
    with pytest.raises(requests.HTTPError, match="404"):
        session.get(site.url("/b"), timeout=30).raise_for_status()
    assert b"Cookie: a=1; b=2" in site.heads[1]
    assert f"Host: {site.address}:{site.port}".encode() in site.heads[0]
    assert site.connections == 1


def test_a_body_is_sent_and_redirects_are_followed(site: HostileServer, session: requests.Session) -> None:
    form = b"name=value\r\n\r\n"

    def takes(peer: Peer) -> bool:
        if not site.heads[-1].endswith(form):  # it came in a piece of its own
            assert peer.sock.recv(100) == form
        peer.send(raw(b"HTTP/1.1 303 See Other\nLocation: /done\nContent-Length: 0"))
        return True

    site.answers["/form"] = takes
    site.answers["/done"] = page(b"thanks")
    answer = session.post(site.url("/form"), data=form, timeout=30)
    assert (answer.text, [each.status_code for each in answer.history]) == ("thanks", [303])
    assert [head.split(b" ")[0] for head in site.heads] == [b"POST", b"GET"]


def test_a_body_is_streamed_and_decoded(site: HostileServer, session: requests.Session) -> None:
    chunks = b"".join(b"5\r\nhello\r\n" for _ in range(1000)) + b"0\r\n\r\n"
    site.answers["/"] = raw(b"HTTP/1.1 200 OK\nTransfer-Encoding: chunked", chunks)
    with session.get(site.url("/"), stream=True, timeout=30) as answer:
        assert b"".join(answer.iter_content(100)) == b"hello" * 1000


def test_tls_is_verified_by_the_authorities_given(authority: Authority) -> None:
    with HostileServer(authority.context("good.test")) as site:
        site.answers["/"] = page(b"secret")
        with session_over(GuardedAdapter(only(site, {"good.test": [site.address]}))) as session:
            with pytest.raises(requests.exceptions.SSLError):
                session.get(site.url("/", "good.test"), timeout=30)
            assert session.get(site.url("/", "good.test"), timeout=30, verify=str(authority.file)).text == "secret"


# --- nobody else is reached ---------------------------------------------------------------------------------


@pytest.mark.parametrize("host", ["127.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "localhost", "2130706433"])
def test_a_private_address_is_refused(host: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener, session_over(GuardedAdapter()) as session:
        listener.settimeout(0)
        with pytest.raises(AddressRefused, match="loopback"):
            session.get(f"http://{host}:{listener.getsockname()[1]}/", timeout=30)
        with pytest.raises(BlockingIOError):
            listener.accept()


@pytest.mark.parametrize("status", [b"301 M", b"302 F", b"303 S", b"307 T", b"308 P"])
def test_so_is_one_that_a_redirect_leads_to(site: HostileServer, status: bytes) -> None:
    with HostileServer() as inner, session_over(GuardedAdapter(only(site))) as session:
        site.answers["/"] = raw(b"HTTP/1.1 %b\nLocation: %b\nContent-Length: 0" % (status, inner.url("/").encode()))
        with pytest.raises(AddressRefused, match=inner.address):
            session.get(site.url("/"), timeout=30)
        assert (site.connections, inner.connections) == (1, 0)


def test_a_name_that_moves_to_a_private_address_is_refused_when_it_is_used(site: HostileServer) -> None:
    with HostileServer() as inner:
        names = {"rebound.test": [site.address, inner.address]}
        with session_over(GuardedAdapter(only(site, names))) as session:
            site.answers["/"] = once(page(b"first"))
            assert session.get(site.url("/", "rebound.test"), timeout=30).text == "first"
            assert site.hung_up.acquire(timeout=30)
            with pytest.raises(AddressRefused):
                session.get(site.url("/", "rebound.test"), timeout=30)
            assert (site.connections, inner.connections) == (1, 0)


def test_there_is_no_way_round_by_the_manager_or_by_the_pool(site: HostileServer) -> None:
    site.answers["/"] = page()
    manager = GuardedAdapter().poolmanager
    for ask in (
        lambda: manager.request("GET", site.url("/"), timeout=30),
        lambda: manager.connection_from_url(site.url("/")).request("GET", "/", timeout=30),
        lambda: manager.connection_from_host(site.address, site.port, pool_kwargs={"cert_reqs": "CERT_NONE"}).urlopen(
            "GET", "/", timeout=10
        ),
    ):
        with pytest.raises(Broken, match="loopback"):
            ask()
    assert site.connections == 0


# what is asked for, what it is refused with
REFUSED: list[tuple[dict[str, Any], type[Exception]]] = [
    ({"proxies": {"http": "http://127.0.0.1:9", "https": "http://127.0.0.1:9"}}, requests.exceptions.ProxyError),
    ({"proxies": {"all": "socks5://127.0.0.1:9"}}, requests.exceptions.ProxyError),
    ({"verify": False}, requests.exceptions.SSLError),
    ({"cert": "/etc/own.pem"}, requests.exceptions.SSLError),
]


@pytest.mark.parametrize(("given", "error"), REFUSED)
def test_what_takes_the_connection_out_of_its_hands_is_refused(
    site: HostileServer, session: requests.Session, given: dict[str, Any], error: type[Exception]
) -> None:
    url = f"https://{site.address}:{site.port}/"
    with pytest.raises(error):
        session.get(url, timeout=30, **given)
    assert site.connections == 0


def test_so_is_a_proxy_of_the_environment(site: HostileServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    with session_over(GuardedAdapter(dialler_to())) as session:
        session.trust_env = True
        with pytest.raises(requests.exceptions.ProxyError, match="trust_env"):
            session.get(site.url("/"), timeout=30)


# --- what goes wrong, in the words of requests --------------------------------------------------------------


def drips(peer: Peer) -> None:
    """For 4 s, and then it is whole."""
    peer.send(b"HTTP/1.1 200 OK\r\nContent-Length: 200\r\n\r\n")
    peer.drip(b"x" * 200)


def test_a_timeout_bounds_the_whole_response(site: HostileServer, session: requests.Session) -> None:
    site.answers["/"] = drips
    with pytest.raises(requests.ConnectionError, match="timed out"):
        session.get(site.url("/"), timeout=(30, 0.5))


# answer, the seconds that it may take, what a Session raises
BROKEN: list[tuple[Any, float, type[Exception]]] = [
    (lambda peer: peer.hang(), 0.5, requests.ReadTimeout),
    (lambda peer: peer.reset(), 30, requests.ConnectionError),
    (once(b"<html>no HTTP"), 30, requests.ConnectionError),
    (raw(b"HTTP/1.1 200 OK" + b"\nA: b" * 50_000), 30, requests.ConnectionError),
    (raw(b"HTTP/1.1 200 OK\nContent-Length: 5, 6", b"hello!"), 30, requests.ConnectionError),
]


@pytest.mark.parametrize(
    ("answer", "within_s", "error"), BROKEN, ids=["hangs", "resets", "no HTTP", "endless fields", "two lengths"]
)
def test_broken_answers(
    site: HostileServer, session: requests.Session, answer: Any, within_s: float, error: type[Exception]
) -> None:
    site.answers["/"] = answer
    with pytest.raises(error):
        session.get(site.url("/"), timeout=(30, within_s))


def test_nobody_listens_and_no_name_is_found(session: requests.Session) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(requests.ConnectionError, match="refused"):
        session.get(f"http://127.0.0.1:{port}/", timeout=30)
    with pytest.raises(requests.ConnectionError, match="resolve"):
        session.get(f"http://{'a' * 64}.invalid/", timeout=30)


def test_a_connection_is_tried_again_where_that_is_asked_for(site: HostileServer) -> None:
    """Each try is dialled, and so judged, by itself."""
    names = {"moves.test": ["127.0.0.1", "127.0.0.1", site.address]}
    site.answers["/"] = page(b"third")
    both = dialler_to((ipaddress.ip_network("127.0.0.0/8"),), resolver=only(site, names).resolver)
    with session_over(GuardedAdapter(both, max_retries=Retry(connect=2, backoff_factor=0))) as session:
        assert session.get(site.url("/", "moves.test"), timeout=30).text == "third"


# --- a pure edge: `responses` stands where requests' own adapter would send ---------------------------------

# what requests' adapter ends with, what ours ends with
ENDS: list[tuple[Exception, type[Exception], str]] = [
    (Broken(Failure.ADDRESS, "x.example is 10.0.0.1: private use"), AddressRefused, "private use"),
    (requests.ConnectTimeout("late"), requests.ConnectTimeout, "late"),
    (requests.exceptions.SSLError("unknown authority"), requests.exceptions.SSLError, "unknown"),
    (ValueError("a bug"), ValueError, "a bug"),
]


@pytest.mark.parametrize(("end", "error", "words"), ENDS)
def test_only_a_refused_address_is_renamed(end: Exception, error: type[Exception], words: str) -> None:
    with responses.RequestsMock() as web, session_over(GuardedAdapter()) as session:
        web.get(PUBLIC, body=end)
        with pytest.raises(error, match=words) as raised:
            session.get(PUBLIC)
    assert type(raised.value) is error


def test_a_refused_redirect_names_the_request_that_was_refused() -> None:
    with responses.RequestsMock() as web, session_over(GuardedAdapter()) as session:
        web.get(PUBLIC, status=302, headers={"Location": "http://10.0.0.1/"})
        web.get("http://10.0.0.1/", body=Broken(Failure.ADDRESS, "private"))
        with pytest.raises(AddressRefused) as refused:
            session.get(PUBLIC)
    assert refused.value.request is not None
    assert refused.value.request.url == "http://10.0.0.1/"


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ({"body": "hello"}, "200 5\n"),
        ({"body": Broken(Failure.ADDRESS, "example.org is 10.0.0.1")}, "not asked: example.org is 10.0.0.1\n"),
    ],
)
def test_the_script_in_the_docs_runs(answer: dict[str, Any], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    (script,) = re.findall(r"```python\n(.*?)```", POLITENESS.read_text(), re.DOTALL)
    with responses.RequestsMock() as web:
        web.get("https://example.org/", **answer)
        exec(compile(textwrap.dedent(script), str(POLITENESS), "exec"), {})
        assert isinstance(web.calls[0].request, requests.PreparedRequest)
    assert capsys.readouterr().out == said
