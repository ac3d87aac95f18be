"""Which addresses the sender contacts, and when names end."""

import ipaddress
import itertools
import socket
import threading
from collections.abc import Sequence
from typing import Any

import pytest

from app.model.fetch import Failure, Request
from app.net.address import Network, make_guard
from app.net.connection import Dialler
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
    ("several.test", ["10.0.0.1", "169.254.169.254"], "private"),
    ("mapped.test", ["::ffff:10.0.0.1"], "private"),
    ("odd.test", ["nonsense"], "not an IP address"),
]


@pytest.mark.parametrize(("host", "addresses", "named"), BLOCKED)
def test_blocked_addresses_are_not_contacted(host: str, addresses: list[str], named: str) -> None:
    reply = sender_of({host: addresses}).send(Request(url=f"http://{host}/", deadline_s=30))
    assert (reply.failure, reply.address, reply.connect_ms) == (Failure.ADDRESS, None, None)
    assert named in reply.detail


@pytest.mark.parametrize("url", ["http://8.8.8.8/", "https://public.test/", "http://several.test/"])
def test_without_a_contact_no_public_address_is_contacted(url: str) -> None:
    names = {"public.test": ["2606:4700:4700::1111"], "several.test": ["8.8.8.8", "10.0.0.1"]}
    reply = sender_of(names, allow=LOOPBACK, contact=False).send(Request(url=url, deadline_s=30))
    assert (reply.failure, reply.connect_ms) == (Failure.ADDRESS, None)
    assert "TIPTOE_CONTACT" in reply.detail


MIXED = [
    ["10.0.0.1", "SITE"],
    ["SITE", "10.0.0.1"],
    ["169.254.169.254", "::1", "SITE", "::ffff:10.0.0.1"],
    ["8.8.8.8", "SITE"],  # public, and no contact is set
    ["nonsense", "SITE"],
    [*(f"10.0.0.{n}" for n in range(1, 9)), "SITE"],  # more than are tried
]


@pytest.mark.parametrize("addresses", MIXED)
def test_of_several_addresses_those_that_may_not_be_contacted_are_dropped(
    site: HostileServer, addresses: list[str]
) -> None:
    site.answers["/"] = page()
    noted: list[tuple[str, Sequence[str]]] = []
    sender = mixed_sender([site.address if each == "SITE" else each for each in addresses], noted)
    reply = sender.send(Request(url=site.url("/", "mixed.test")))
    assert (reply.status, reply.address) == (200, site.address)
    dropped = [each.removeprefix("::ffff:") for each in addresses if each != "SITE"]  # as the kernel connects to it
    assert noted == [("mixed.test", dropped)]
    sender.close_idle(0.0)
    assert sender.where(site.url("/", "mixed.test"), None, 5.0).addresses == (site.address,)
    assert len(noted) == 1, "only a connection is noted"


def test_a_failed_connection_leads_to_no_address_that_was_dropped(site: HostileServer) -> None:
    """The site's own address refuses; at another of its addresses somebody listens whom we do not contact."""
    noted: list[tuple[str, Sequence[str]]] = []
    with socket.create_server(("127.77.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        sender = mixed_sender([site.address, "127.77.0.1"], noted, allow=(ipaddress.ip_network(f"{site.address}/32"),))
        reply = sender.send(Request(url=f"http://mixed.test:{port}/", deadline_s=30))
        listener.setblocking(False)
        with pytest.raises(BlockingIOError):
            listener.accept()
    assert reply.failure is Failure.REFUSED
    assert site.address in reply.detail
    assert noted == [("mixed.test", ["127.77.0.1"])]


def mixed_sender(
    addresses: list[str], noted: list[tuple[str, Sequence[str]]], allow: Sequence[Network] = LOOPBACK
) -> Replying:
    resolver = Resolver(getaddrinfo=lambda *_, **__: [(0, 0, 0, "", (address, 0)) for address in addresses])
    dialler = Dialler(
        resolver,
        make_guard(tuple(allow)),
        require_contact=True,
        on_mixed=lambda host, blocked: noted.append((host, blocked)),
    )
    return loopback_sender(dialler=dialler)


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
        assert site.hung_up.acquire(timeout=30)
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
