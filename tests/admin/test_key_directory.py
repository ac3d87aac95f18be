"""The directory as it is served: signed for our authority, whatever a reader asks for."""

import http.client
import socket
import threading
from collections.abc import Iterator
from contextlib import closing, suppress

import pytest
from http_message_signatures import InvalidSignature

from app.admin.key_directory import KeyDirectory
from app.errors import InputError
from app.net.signature import DIRECTORY_PATH, DIRECTORY_TYPE, directory_body
from app.runtime.slow_clients import HEAD_BYTES, SlowClients
from tests.faults.waiting import until
from tests.net.signed import OWN_KEY, TEST_KEY, Answered, Asked, verify
from tests.web.test_slow_clients import is_hung_up

AGENT = "https://bot.example.org"
TAG = "http-message-signatures-directory"


@pytest.fixture(params=["127.0.0.1", "::1"])
def served(request: pytest.FixtureRequest) -> Iterator[KeyDirectory]:
    try:
        server = KeyDirectory([OWN_KEY, TEST_KEY], AGENT, host=request.param, port=0)
    except InputError:
        pytest.skip(f"nobody can listen at {request.param} here")
    with server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield server
        server.shutdown()


def ask(
    served: KeyDirectory, method: str = "GET", path: str = DIRECTORY_PATH, host: str | None = None
) -> tuple[http.client.HTTPResponse, bytes]:
    """The answer and its body."""
    connection = http.client.HTTPConnection(str(served.server_address[0]), served.server_address[1], timeout=30)
    connection.request(method, path, headers={"Host": host} if host else {})
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer, body


@pytest.mark.parametrize("host", ["bot.example.org", "evil.example", "bot.example.org:80"])
def test_signed_for_our_authority_whoever_asks(served: KeyDirectory, host: str) -> None:
    answer, body = ask(served, host=host)
    assert (answer.status, body) == (200, directory_body([OWN_KEY.public_key(), TEST_KEY.public_key()]))
    assert answer.headers["Content-Type"] == DIRECTORY_TYPE
    message = Answered(dict(answer.headers.items()), Asked(AGENT + DIRECTORY_PATH, {}))
    assert len(verify(message, OWN_KEY, TEST_KEY, tag=TAG, body=body)) == 2
    if host == "evil.example":
        as_theirs = Answered(message.headers, Asked(f"https://{host}{DIRECTORY_PATH}", {}))
        with pytest.raises(InvalidSignature):
            verify(as_theirs, OWN_KEY, TEST_KEY, tag=TAG)


def test_signed_for_its_own_address_to_try_it_out(served: KeyDirectory) -> None:
    answer, body = ask(served)
    host, port = str(served.server_address[0]), served.server_address[1]
    url = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
    message = Answered(dict(answer.headers.items()), Asked(url + DIRECTORY_PATH, {}))
    assert verify(message, OWN_KEY, TEST_KEY, tag=TAG, body=body)


def test_a_head_has_no_body(served: KeyDirectory) -> None:
    answer, body = ask(served, "HEAD")
    assert (answer.status, body) == (200, b"")
    assert int(answer.headers["Content-Length"]) > 100


@pytest.mark.parametrize(("method", "path", "status"), [("GET", "/", 404), ("GET", "/a/../b", 404), ("POST", "/", 501)])
def test_nothing_else_is_there(served: KeyDirectory, method: str, path: str, status: int) -> None:
    answer, _ = ask(served, method, path)
    assert answer.status == status
    assert "Signature" not in answer.headers


def test_nothing_of_a_reader_is_logged(served: KeyDirectory, capfd: pytest.CaptureFixture[str]) -> None:
    ask(served)
    ask(served, "GET", "/nowhere")
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    "lines", [b"X: " + b"x" * HEAD_BYTES, (b"X: " + b"x" * 1_000 + b"\r\n") * 90], ids=["one", "many"]
)
def test_a_head_beyond_its_bound_is_not_read(
    served: KeyDirectory, lines: bytes, capfd: pytest.CaptureFixture[str]
) -> None:
    address = served.server_address
    place = str(address[0]), address[1]
    with closing(socket.create_connection(place, timeout=30)) as connection, suppress(ConnectionError):
        connection.sendall(b"GET / HTTP/1.1\r\n" + lines + b"\r\n\r\n")
        assert connection.recv(1) == b""
    assert ask(served)[0].status == 200
    assert capfd.readouterr() == ("", "")


def test_half_a_head_is_not_waited_for(served: KeyDirectory) -> None:
    served.clients = SlowClients(head_s=0.1)
    address = served.server_address
    with closing(socket.create_connection((str(address[0]), address[1]), timeout=30)) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nX-Half: ")
        until(lambda: is_hung_up(connection), "it was closed though an octet came now and then")
    assert ask(served)[0].status == 200


@pytest.mark.parametrize("host", ["192.0.2.1", "2001:db8::1"])
def test_where_nobody_can_listen(host: str) -> None:
    with pytest.raises(InputError, match=f"--host {host} --port 0: cannot listen there"):
        KeyDirectory([OWN_KEY], AGENT, host=host, port=0)


def test_a_port_that_is_taken() -> None:
    with KeyDirectory([OWN_KEY], AGENT, host="127.0.0.1", port=0) as first:
        port = first.server_address[1]
        with pytest.raises(InputError, match=f"--port {port}"):
            KeyDirectory([OWN_KEY], AGENT, host="127.0.0.1", port=port)
