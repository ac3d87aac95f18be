"""Decides which IP addresses may be contacted: public ones, and those that the operator allows besides.

Uses our own table of the IANA special-purpose registries (RFC 6890,
https://www.iana.org/assignments/iana-ipv4-special-registry and …/iana-ipv6-special-registry), because
`ipaddress.is_global` accepts 6to4, site-local, multicast, NAT64 of private addresses and some metadata
services. An IPv6 address that embeds the IPv4 address of the packet's real destination (v4-mapped,
v4-compatible, NAT64) is judged by the IPv4 address. IPv6 is closed by default: only 2000::/3 is assigned as
global unicast (https://www.iana.org/assignments/ipv6-address-space).

Does not resolve names and does not connect: `app.net.connection` asks here about every address before it connects.
"""

import ipaddress
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Address = ipaddress.IPv4Address | ipaddress.IPv6Address

# The first row that holds an address names it, so exceptions and narrower rows stand first.
_BLOCKED_V4 = tuple(
    (ipaddress.IPv4Network(block), name)
    for block, name in (
        ("0.0.0.0/8", "this network (RFC 791)"),
        ("10.0.0.0/8", "private use (RFC 1918)"),
        ("100.100.100.200/32", "cloud metadata (Alibaba)"),
        ("100.64.0.0/10", "shared address space (RFC 6598)"),
        ("127.0.0.0/8", "loopback (RFC 1122)"),
        ("168.63.129.16/32", "cloud metadata (Azure)"),
        ("169.254.169.254/32", "cloud metadata (link-local)"),
        ("169.254.0.0/16", "link-local (RFC 3927)"),
        ("172.16.0.0/12", "private use (RFC 1918)"),
        ("192.0.0.192/32", "cloud metadata (Oracle)"),
        ("192.0.0.0/24", "IETF protocol assignments (RFC 6890)"),
        ("192.0.2.0/24", "documentation (RFC 5737)"),
        ("192.31.196.0/24", "AS112 (RFC 7535)"),
        ("192.52.193.0/24", "AMT (RFC 7450)"),
        ("192.88.99.0/24", "6to4 relay anycast (RFC 7526)"),
        ("192.168.0.0/16", "private use (RFC 1918)"),
        ("192.175.48.0/24", "AS112 (RFC 7534)"),
        ("198.18.0.0/15", "benchmarking (RFC 2544)"),
        ("198.51.100.0/24", "documentation (RFC 5737)"),
        ("203.0.113.0/24", "documentation (RFC 5737)"),
        ("224.0.0.0/4", "multicast (RFC 5771)"),
        ("255.255.255.255/32", "limited broadcast (RFC 919)"),
        ("240.0.0.0/4", "reserved (RFC 1112)"),
    )
)
_BLOCKED_V6 = tuple(
    (ipaddress.IPv6Network(block), name)
    for block, name in (
        ("::/128", "unspecified (RFC 4291)"),
        ("::1/128", "loopback (RFC 4291)"),
        ("64:ff9b:1::/48", "local-use NAT64 (RFC 8215)"),
        ("100::/64", "discard-only (RFC 6666)"),
        ("100:0:0:1::/64", "dummy prefix (RFC 9780)"),
        ("2001::/32", "Teredo (RFC 4380)"),
        ("2001:2::/48", "benchmarking (RFC 5180)"),
        ("2001:10::/28", "ORCHID (RFC 4843)"),
        ("2001:20::/28", "ORCHIDv2 (RFC 7343)"),
        ("2001::/23", "IETF protocol assignments (RFC 2928)"),
        ("2001:db8::/32", "documentation (RFC 3849)"),
        ("2002::/16", "6to4 (RFC 3056)"),
        ("2620:4f:8000::/48", "AS112 (RFC 7534)"),
        ("3fff::/20", "documentation (RFC 9637)"),
        ("5f00::/16", "segment routing SIDs (RFC 9602)"),
        ("fd00:ec2::254/128", "cloud metadata (AWS)"),
        ("fd20:ce::254/128", "cloud metadata (Google)"),
        ("fc00::/7", "unique local (RFC 4193)"),
        ("fe80::/10", "link-local (RFC 4291)"),
        ("fec0::/10", "site-local (RFC 3879)"),
        ("ff00::/8", "multicast (RFC 4291)"),
    )
)
_GLOBAL_UNICAST = ipaddress.IPv6Network("2000::/3")
# Well-known NAT64 prefix (RFC 6052 2.1), v4-compatible (RFC 4291 2.5.5.1): the low 32 bits are IPv4.
_EMBEDDING = (ipaddress.IPv6Network("64:ff9b::/96"), ipaddress.IPv6Network("::/96"))

NO_CONTACT = "is public and no contact is set; set TIPTOE_CONTACT to the mail address or page of whoever runs the crawl"


class AddressesSorted(NamedTuple):
    """The addresses of a name.   allowed: those that may be contacted;   blocked: the others, and why"""

    allowed: list[str]
    blocked: list[tuple[str, str]]


class Guard:
    """Decides whether an address may be contacted. Thread-safe; answers are cached.

    allow   networks that may be contacted although they are not public
    """

    def __init__(self, allow: tuple[Network, ...] = ()) -> None:
        self._allow = allow
        self._remembered = lru_cache(maxsize=10_000)(self._judge)

    def allows(self, address: str) -> bool:
        return self._remembered(address) is None

    def why(self, address: str) -> str | None:
        """The registry entry that forbids the address, None when it may be contacted."""
        return self._remembered(address)

    def sort_out(self, addresses: Sequence[str], *, require_contact: bool) -> AddressesSorted:
        """Sort the addresses of a name into those that may be contacted, in their order, and the others.

        require_contact: no contact is set: public addresses are among the others (promise I1)
        """
        found = AddressesSorted([], [])
        for address in addresses:
            why = self.why(address)
            if why is None and require_contact and is_public(address):
                why = NO_CONTACT
            if why is None:
                found.allowed.append(address)
            else:
                found.blocked.append((address, why))
        return found

    def _judge(self, address: str) -> str | None:
        parsed = _parse(address)
        if parsed is None:
            return "not an IP address"
        if any(parsed in network for network in self._allow):  # differing versions are never `in`
            return None
        return _registry(parsed)


def make_guard(allow: tuple[Network, ...] = ()) -> Guard:
    """The guard of a process. `allow`: `Settings.networks`."""
    return Guard(allow)


def is_public(address: str) -> bool:
    """True for an address on the public Internet, whatever the operator allows besides."""
    parsed = _parse(address)
    return parsed is not None and _registry(parsed) is None


def destination(address: str) -> str:
    """The address that the kernel connects to: of a v4-mapped one (RFC 4291 2.5.5.2) the IPv4 address.

    Without this an address would have two names, and twice the pace. Any other is returned as it is.
    """
    parsed = _parse(address)
    return str(parsed) if isinstance(parsed, ipaddress.IPv4Address) else address


def _parse(address: str) -> Address | None:
    """The address without its zone; a v4-mapped one (RFC 4291 2.5.5.2) as the IPv4 address that the kernel connects
    to."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return None
    if isinstance(parsed, ipaddress.IPv6Address) and parsed.ipv4_mapped is not None:
        return parsed.ipv4_mapped
    return parsed


def _registry(address: Address) -> str | None:
    if isinstance(address, ipaddress.IPv4Address):
        return next((name for network, name in _BLOCKED_V4 if address in network), None)
    if (name := next((name for network, name in _BLOCKED_V6 if address in network), None)) is not None:
        return name
    if any(address in network for network in _EMBEDDING):
        return _registry(ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF))
    return None if address in _GLOBAL_UNICAST else "not global unicast (RFC 4291)"
