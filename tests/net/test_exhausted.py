"""No file descriptor is left: no host is blamed for it, none is asked, and idle connections give way."""

import errno
import socket
from collections.abc import Sequence
from typing import Any

import pytest

from app.errors import ServiceError
from app.model.fetch import Request
from app.net.dns import DnsFailed, Resolver
from app.net.sockets import is_exhausted, is_ours
from tests.descriptors import few_descriptors
from tests.net.hostile import HostileServer, page
from tests.net.senders import Replying

# errno, whether it is ours
ERRORS = [
    (errno.EMFILE, True),
    (errno.ENFILE, True),
    (errno.ENOBUFS, True),
    (errno.ENOMEM, True),
    (errno.ECONNREFUSED, False),
    (errno.EHOSTUNREACH, False),
    (errno.EADDRNOTAVAIL, False),  # no IPv6 here
    (socket.EAI_NONAME, False),
]


@pytest.mark.parametrize(("number", "ours"), ERRORS)
def test_whose_an_error_is(number: int, ours: bool) -> None:
    assert is_ours(OSError(number, "words")) is ours


def test_it_is_told_by_asking_for_a_socket() -> None:
    assert not is_exhausted()
    with few_descriptors(0):
        assert is_exhausted()


def test_a_request_is_not_sent_and_no_failure_of_its_host(site: HostileServer, sender: Replying) -> None:
    site.answers["/"] = page()
    with few_descriptors(0), pytest.raises(ServiceError, match="Too many open files"):
        sender.send(Request(url=site.url("/")))
    assert site.connections == 0
    assert sender.send(Request(url=site.url("/"))).status == 200


def test_a_connection_that_is_kept_alive_still_serves(site: HostileServer, sender: Replying) -> None:
    site.answers["/"] = page()
    assert sender.send(Request(url=site.url("/"))).status == 200
    with few_descriptors(0):
        assert sender.send(Request(url=site.url("/"))).status == 200
    assert site.connections == 1


def test_connections_that_nobody_uses_give_way(site: HostileServer, sender: Replying) -> None:
    site.answers["/"] = page()
    with HostileServer() as other:
        other.answers["/"] = page()
        assert sender.send(Request(url=site.url("/"))).status == 200
        with few_descriptors(0):
            with pytest.raises(ServiceError):
                sender.send(Request(url=other.url("/")))
            assert sender.close_idle() == 0, "it is closed already"


def refuse(host: str, port: int | None, **_: Any) -> Sequence[tuple[Any, ...]]:
    """What getaddrinfo says when it gets no socket."""
    raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")


def test_a_name_that_nobody_was_asked_about_is_no_failure_and_is_not_remembered() -> None:
    resolver = Resolver(getaddrinfo=refuse)
    with few_descriptors(0), pytest.raises(ServiceError, match="name resolution"):
        resolver.resolve("name.test", 80, 5.0)
    with pytest.raises(DnsFailed):
        resolver.resolve("name.test", 80, 5.0)
