"""The resolver: literals, memory, bounds; getaddrinfo and the clock are given, never patched."""

import socket
import threading
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from app.errors import NotSent
from app.net.dns import WITNESSED_S, DnsFailed, Resolver, ResolverLimits


class Names:
    """A getaddrinfo that answers from a table and counts."""

    def __init__(self, **addresses: list[str]) -> None:
        self.addresses = addresses
        self.asked: list[str] = []

    def __call__(self, host: str, port: int | None, **_: Any) -> Sequence[tuple[Any, ...]]:
        self.asked.append(host)
        if host not in self.addresses:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (each, 0)) for each in self.addresses[host]]


class Clock:
    def __init__(self) -> None:
        self.now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


@pytest.mark.parametrize(
    ("host", "address"),
    [("127.0.0.1", "127.0.0.1"), ("[::1]", "::1"), ("::1", "::1"), ("[2001:DB8::1]", "2001:db8::1")],
)
def test_literals_are_not_looked_up(host: str, address: str) -> None:
    names = Names()
    assert Resolver(getaddrinfo=names).resolve(host, 80, 1) == [address]
    assert names.asked == []


# as a literal in a URL, and as names of a site that would hurry another one have it
@pytest.mark.parametrize("written", ["::ffff:192.0.2.7", "::ffff:c000:207", "::ffff:192.0.2.7%2"])
def test_an_address_mapped_into_ipv6_is_that_address(written: str) -> None:
    resolver = Resolver(getaddrinfo=Names(a=[written, "192.0.2.7"]))
    assert resolver.resolve("a", 80, 1) == ["192.0.2.7"]
    assert resolver.resolve(f"[{written}]", 80, 1) == ["192.0.2.7"]


def test_odd_spellings_are_looked_up_not_understood() -> None:
    names = Names(**{"0x7f.1": ["127.0.0.1"]})
    assert Resolver(getaddrinfo=names).resolve("0x7f.1", 80, 1) == ["127.0.0.1"]
    assert names.asked == ["0x7f.1"]


def test_a_name_that_was_begun_is_asked_for_once_and_what_is_known_not_at_all() -> None:
    names = Names(a=["127.0.0.1"], c=["127.0.0.3"])
    resolver = Resolver(fixed={"b": "127.0.0.2"}, getaddrinfo=names)
    resolver.resolve("c", 80, 60)
    for name in ("A", "a", "b", "c", "127.0.0.9"):
        resolver.begin(name)
    assert resolver.resolve("a", 80, 60) == ["127.0.0.1"]
    assert names.asked == ["c", "a"]


def test_answers_are_remembered_for_a_time_without_duplicates() -> None:
    names, clock = Names(a=["127.0.0.1", "127.0.0.2", "127.0.0.1"]), Clock()
    resolver = Resolver(ResolverLimits(ttl_s=300), getaddrinfo=names, clock=clock)
    assert resolver.resolve("a", 80, 1) == resolver.resolve("A", 443, 1) == ["127.0.0.1", "127.0.0.2"]
    assert names.asked == ["a"]
    clock.now_s += 301
    names.addresses["a"] = ["127.0.0.3"]
    assert resolver.resolve("a", 80, 1) == ["127.0.0.3"]


def test_refusals_are_remembered_shorter() -> None:
    names, clock = Names(), Clock()
    resolver = Resolver(ResolverLimits(negative_ttl_s=30), getaddrinfo=names, clock=clock)
    for _ in range(2):
        with pytest.raises(DnsFailed, match=r"gone\.test: Name or service not known"):
            resolver.resolve("gone.test", 80, 1)
    assert names.asked == ["gone.test"]
    clock.now_s += 31
    names.addresses["gone.test"] = ["127.0.0.1"]
    assert resolver.resolve("gone.test", 80, 1) == ["127.0.0.1"]


def test_memory_is_bounded_and_forgets_the_least_recently_used() -> None:
    names = Names(a=["127.0.0.1"], b=["127.0.0.2"], c=["127.0.0.3"])
    resolver = Resolver(ResolverLimits(max_entries=2), getaddrinfo=names)
    for host in ("a", "b", "a", "c", "a", "b"):
        resolver.resolve(host, 80, 1)
    assert names.asked == ["a", "b", "c", "b"]


@pytest.mark.parametrize("error", [UnicodeError("label too long"), OSError("no"), ValueError("embedded null")])
def test_what_getaddrinfo_raises_is_a_refusal(error: Exception) -> None:
    def broken(*_: Any, **__: Any) -> Sequence[tuple[Any, ...]]:
        raise error

    with pytest.raises(DnsFailed, match=str(error)):
        Resolver(getaddrinfo=broken).resolve("x", 80, 1)


def test_real_getaddrinfo_refuses_an_overlong_label() -> None:
    with pytest.raises(DnsFailed):
        Resolver().resolve("a" * 64 + ".invalid", 80, 1)


def test_hosts_file_names() -> None:
    assert "127.0.0.1" in Resolver().resolve("localhost", 80, 5)


def held(names: Names, release: threading.Event) -> Callable[..., Sequence[tuple[Any, ...]]]:
    """A getaddrinfo that answers when `release` is set."""

    def getaddrinfo(host: str, port: int | None, **options: Any) -> Sequence[tuple[Any, ...]]:
        release.wait(30)
        return names(host, port, **options)

    return getaddrinfo


def test_the_wait_is_bounded_and_a_late_answer_is_kept() -> None:
    names, release = Names(slow=["127.0.0.1"]), threading.Event()
    resolver = Resolver(getaddrinfo=held(names, release))
    with pytest.raises(DnsFailed, match="no answer within"):
        resolver.resolve("slow", 80, 0.01)
    release.set()
    assert resolver.resolve("slow", 80, 10) == resolver.resolve("slow", 80, 10) == ["127.0.0.1"]
    assert names.asked == ["slow"]


def test_without_patience_what_is_remembered_answers_and_a_lookup_begins_where_nothing_is() -> None:
    names = Names(a=["127.0.0.1"])
    looked_up = threading.Event()

    def getaddrinfo(*args: Any, **options: Any) -> Sequence[tuple[Any, ...]]:
        assert looked_up.wait(30)
        return names(*args, **options)

    resolver = Resolver(getaddrinfo=getaddrinfo)
    with pytest.raises(DnsFailed):
        resolver.resolve("a", 80, 0.0)
    looked_up.set()
    assert resolver.resolve("a", 80, 10) == resolver.resolve("a", 80, 0.0) == ["127.0.0.1"]
    assert names.asked == ["a"]


def test_one_lookup_in_flight_per_name() -> None:
    names, release = Names(a=["127.0.0.1"]), threading.Event()
    resolver = Resolver(getaddrinfo=held(names, release))
    answers: list[list[str]] = []
    threads = [threading.Thread(target=lambda: answers.append(resolver.resolve("a", 80, 10))) for _ in range(5)]
    for thread in threads:
        thread.start()
    release.set()
    for thread in threads:
        thread.join(30)
    assert answers == [["127.0.0.1"]] * 5
    assert names.asked == ["a"]


def test_names_in_flight_are_bounded() -> None:
    names, release = Names(), threading.Event()
    resolver = Resolver(ResolverLimits(max_entries=3, threads=2), getaddrinfo=held(names, release))
    for number in range(3):
        with pytest.raises(DnsFailed, match="no answer within"):
            resolver.resolve(f"dead{number}", 80, 0)
    with pytest.raises(DnsFailed, match="3 lookups are waiting"):
        resolver.resolve("dead3", 80, 0)
    release.set()


# --- a name server that is away ---------------------------------------------------------------------------------


class NameServer(Names):
    """Its answer for all but `except_for` is that it has none, while it is away."""

    def __init__(self, **addresses: list[str]) -> None:
        super().__init__(**addresses)
        self.is_away = False
        self.except_for: set[str] = set()

    def __call__(self, host: str, port: int | None, **options: Any) -> Sequence[tuple[Any, ...]]:
        found = super().__call__(host, port, **options) if host in self.addresses else []
        if (self.is_away and host not in self.except_for) or not found:
            raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")
        return found


@pytest.fixture
def server() -> NameServer:
    return NameServer(one=["127.0.0.1"], two=["127.0.0.2"], new=["127.0.0.3"])


@pytest.fixture
def resolver(server: NameServer) -> Resolver:
    """It knows one and two."""
    resolver = Resolver(ResolverLimits(ttl_s=0.0, negative_ttl_s=0.0), getaddrinfo=server, clock=Clock())
    assert [resolver.resolve(name, 80, 10) for name in ("one", "two")] == [["127.0.0.1"], ["127.0.0.2"]]
    return resolver


def test_where_no_name_has_an_answer_none_is_to_blame(server: NameServer, resolver: Resolver) -> None:
    server.is_away = True
    for name in ("new", "one", "new"):
        with pytest.raises(NotSent, match="the name server does not answer"):
            resolver.resolve(name, 80, 10)
    server.is_away = False
    assert resolver.resolve("new", 80, 10) == ["127.0.0.3"]


def test_a_name_without_an_answer_is_to_blame_where_another_has_one(server: NameServer, resolver: Resolver) -> None:
    server.is_away, server.except_for = True, {"one"}
    with pytest.raises(DnsFailed, match="Temporary failure"):
        resolver.resolve("new", 80, 10)


def test_a_name_is_no_witness_of_its_own(server: NameServer) -> None:
    resolver = Resolver(ResolverLimits(ttl_s=0.0), getaddrinfo=server, clock=Clock())
    resolver.resolve("one", 80, 10)
    server.is_away = True
    with pytest.raises(DnsFailed):
        resolver.resolve("one", 80, 10)


def test_a_name_that_is_not_there_is_an_answer() -> None:
    names = Names(one=["127.0.0.1"])
    resolver = Resolver(ResolverLimits(ttl_s=0.0), getaddrinfo=names, clock=Clock())
    resolver.resolve("one", 80, 10)
    with pytest.raises(DnsFailed, match="not known"):
        resolver.resolve("none", 80, 10)
    assert names.asked == ["one", "none"], "nobody else is asked for"


def test_witnesses_are_asked_once_in_a_while(server: NameServer) -> None:
    clock = Clock()
    resolver = Resolver(ResolverLimits(ttl_s=0.0), getaddrinfo=server, clock=clock)
    resolver.resolve("one", 80, 10)
    server.is_away = True
    for name in ("a", "b", "c"):
        with pytest.raises(NotSent):
            resolver.resolve(name, 80, 10)
    assert server.asked == ["one", "one"], "a, b and c have no addresses to be asked for"
    clock.now_s += WITNESSED_S
    with pytest.raises(NotSent):
        resolver.resolve("d", 80, 10)
    assert server.asked == ["one", "one", "one"]


def test_who_does_not_wait_for_a_silent_server_is_told_the_same(server: NameServer, resolver: Resolver) -> None:
    server.is_away = True
    with pytest.raises(NotSent):
        resolver.resolve("new", 80, 10)
    release = threading.Event()
    resolver._getaddrinfo = held(server, release)
    with pytest.raises(NotSent):
        resolver.resolve("other", 80, 0.01)
    release.set()
