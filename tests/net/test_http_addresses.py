"""Which addresses the sender contacts, and when names end."""

import ipaddress
import itertools
import socket
import threading
from typing import Any

import pytest

from app.model.fetch import Failure, Request
from app.net.dns import Resolver, ResolverLimits
from tests.net.broken import sender_of
from tests.net.hostile import LOOPBACK, HostileServer, once, page
from tests.net.senders import Replying, dialler_to, loopback_sender

# host in the URL, what it resolves to, what the detail names
BLOCKED = [
    ("127.0.0.1", [], "loopback"),
    ("[::1]", [], "loopback"),
    ("[::ffff:127.0.0.1]", [], "loopback"),
    ("[64:ff9b::7f00:1]", [], "loopback"),
    ("169.254.169.254", [], "metadata"),
    ("inner.test", ["10.0.0.1"], "private"),
    ("meta.test", ["169.254.169.254"], "metadata"),
    ("half.test", ["8.8.8.8", "127.0.0.1"], "loopback"),
    ("mapped.test", ["::ffff:10.0.0.1"], "private"),
    ("odd.test", ["nonsense"], "not an IP address"),
]


@pytest.mark.parametrize(("host", "addresses", "named"), BLOCKED)
def test_blocked_addresses_are_not_contacted(host: str, addresses: list[str], named: str) -> None:
    reply = sender_of({host: addresses}).send(Request(url=f"http://{host}/", deadline_s=5))
    assert (reply.failure, reply.address, reply.connect_ms) == (Failure.ADDRESS, None, None)
    assert named in reply.detail


@pytest.mark.parametrize("url", ["http://8.8.8.8/", "https://public.test/", "http://half.test/"])
def test_without_a_contact_no_public_address_is_contacted(url: str) -> None:
    names = {"public.test": ["2606:4700:4700::1111"], "half.test": ["127.0.0.1", "8.8.8.8"]}
    reply = sender_of(names, allow=LOOPBACK, contact=False).send(Request(url=url, deadline_s=5))
    assert (reply.failure, reply.connect_ms) == (Failure.ADDRESS, None)
    assert "TIPTOE_CONTACT" in reply.detail


def test_without_a_contact_private_addresses_may_be_contacted(site: HostileServer) -> None:
    site.answers["/"] = page()
    sender = sender_of({"site.test": [site.address]}, allow=LOOPBACK, contact=False)
    reply = sender.send(Request(url=site.url("/", "site.test")))
    assert (reply.status, reply.address) == (200, site.address)
    assert f"Host: site.test:{site.port}".encode() in site.heads[0]


def test_rebinding_the_address_that_was_judged_is_the_one_that_is_dialled(site: HostileServer) -> None:
    """The name points to the site when asked first, to another address of this machine ever after."""
    with HostileServer() as other:
        answers = itertools.chain([site.address], itertools.repeat(other.address))

        def getaddrinfo(*_: Any, **__: Any) -> list[tuple[Any, ...]]:
            return [(0, 0, 0, "", (next(answers), 0))]

        resolver = Resolver(ResolverLimits(ttl_s=0), getaddrinfo=getaddrinfo)
        sender = loopback_sender(dialler=dialler_to((ipaddress.ip_network(site.address),), resolver=resolver))
        site.answers["/"] = once(page())
        assert sender.send(Request(url=site.url("/", "rebound.test"))).address == site.address
        assert site.hung_up.acquire(timeout=5)
        reply = sender.send(Request(url=site.url("/", "rebound.test")))
        assert reply.failure is Failure.ADDRESS
        assert (site.connections, other.connections) == (1, 0)


def test_the_next_address_is_tried(site: HostileServer) -> None:
    site.answers["/"] = page()
    sender = sender_of({"two.test": ["127.0.0.1", site.address]}, allow=LOOPBACK)
    reply = sender.send(Request(url=site.url("/", "two.test")))
    assert (reply.status, reply.address) == (200, site.address)


def test_names_that_do_not_resolve(sender: Replying) -> None:
    reply = sender.send(Request(url=f"http://{'a' * 64}.invalid/"))
    assert (reply.failure, reply.address, reply.connect_ms) == (Failure.DNS, None, None)
    assert reply.dns_ms is not None
    assert reply.failure is not None
    assert reply.failure.before_contact


def test_slow_names_end_at_the_deadline(site: HostileServer) -> None:
    def never(*_: Any, **__: Any) -> list[tuple[Any, ...]]:
        silent_name.wait(10)
        return []

    silent_name = threading.Event()
    resolver = Resolver(getaddrinfo=never)
    sender = loopback_sender(dialler=dialler_to((), resolver=resolver))
    reply = sender.send(Request(url="http://slow.test/", deadline_s=0.05))
    silent_name.set()
    assert reply.failure is Failure.DNS
    assert "no answer within" in reply.detail


def test_who_asks_where_a_name_is_says_how_long_it_waits() -> None:
    waited: list[float] = []

    class Patient(Resolver):
        def resolve(self, host: str, port: int, timeout_s: float) -> list[str]:
            waited.append(timeout_s)
            return ["127.0.0.1"]

    sender = loopback_sender(dialler=dialler_to(resolver=Patient()))
    for timeout_s in (0.0, 3.0):
        assert sender.where("http://a.test/", None, timeout_s).addresses == ("127.0.0.1",)
    assert waited == [0.0, 3.0]


@pytest.mark.parametrize("first", ["127.0.0.1", "10.0.0.1"], ids=["refuses", "forbidden"])
def test_a_name_whose_address_cannot_be_contacted_is_looked_up_anew(site: HostileServer, first: str) -> None:
    """The site has moved, or a name server lied for a moment: what is remembered would stand for minutes."""
    answers = itertools.chain([first], itertools.repeat(site.address))

    def getaddrinfo(*_: Any, **__: Any) -> list[tuple[Any, ...]]:
        return [(0, 0, 0, "", (next(answers), 0))]

    sender = loopback_sender(dialler=dialler_to(LOOPBACK, resolver=Resolver(getaddrinfo=getaddrinfo)))
    site.answers["/"] = page()
    replies = [sender.send(Request(url=site.url("/", "moved.test"))) for _ in range(3)]
    assert [reply.status for reply in replies] == [None, 200, 200]
    assert replies[0].failure is not None
    assert replies[0].failure.before_contact


def test_a_name_that_does_not_resolve_is_not_looked_up_anew_at_once() -> None:
    asked: list[str] = []

    def getaddrinfo(host: str, *_: Any, **__: Any) -> list[tuple[Any, ...]]:
        asked.append(host)
        raise socket.gaierror(socket.EAI_NONAME, "unknown")

    sender = loopback_sender(dialler=dialler_to(LOOPBACK, resolver=Resolver(getaddrinfo=getaddrinfo)))
    for _ in range(2):
        assert sender.send(Request(url="http://no.test/")).failure is Failure.DNS
    assert asked == ["no.test"]
