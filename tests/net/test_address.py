"""The block table, row by row, and against Python's own opinion."""

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.net.address import is_public, make_guard

# address, the registry entry that blocks it (a part of its name), None: public
ROWS = [
    ("0.0.0.0", "this network"),
    ("0.1.2.3", "this network"),
    ("10.0.0.1", "private"),
    ("10.255.255.255", "private"),
    ("11.0.0.0", None),
    ("100.63.255.255", None),
    ("100.64.0.0", "shared"),
    ("100.100.100.200", "metadata"),
    ("100.127.255.255", "shared"),
    ("100.128.0.0", None),
    ("127.0.0.1", "loopback"),
    ("127.255.255.255", "loopback"),
    ("168.63.129.16", "metadata"),
    ("168.63.129.17", None),
    ("169.254.169.254", "metadata"),
    ("169.254.170.2", "link-local"),
    ("172.15.255.255", None),
    ("172.16.0.0", "private"),
    ("172.31.255.255", "private"),
    ("172.32.0.0", None),
    ("192.0.0.1", "protocol assignments"),
    ("192.0.0.8", "protocol assignments"),
    ("192.0.0.9", "protocol assignments"),
    ("192.0.0.192", "metadata"),
    ("192.0.1.0", None),
    ("192.0.2.7", "documentation"),
    ("192.31.196.1", "AS112"),
    ("192.52.193.1", "AMT"),
    ("192.88.99.1", "6to4"),
    ("192.168.1.1", "private"),
    ("192.169.0.0", None),
    ("192.175.48.6", "AS112"),
    ("198.17.255.255", None),
    ("198.18.0.1", "benchmarking"),
    ("198.19.255.255", "benchmarking"),
    ("198.51.100.9", "documentation"),
    ("203.0.113.9", "documentation"),
    ("223.255.255.255", None),
    ("224.0.0.1", "multicast"),
    ("239.255.255.255", "multicast"),
    ("240.0.0.1", "reserved"),
    ("255.255.255.255", "broadcast"),
    ("8.8.8.8", None),
    ("::", "unspecified"),
    ("::1", "loopback"),
    ("::ffff:127.0.0.1", "loopback"),
    ("::ffff:7f00:1", "loopback"),
    ("::ffff:169.254.169.254", "metadata"),
    ("::ffff:8.8.8.8", None),
    ("::127.0.0.1", "loopback"),
    ("::a00:1", "private"),
    ("::ffff:0:127.0.0.1", "not global unicast"),
    ("64:ff9b::8.8.8.8", None),
    ("64:ff9b::10.0.0.1", "private"),
    ("64:ff9b::a9fe:a9fe", "metadata"),
    ("64:ff9b:1::8.8.8.8", "local-use NAT64"),
    ("100::1", "discard"),
    ("2001::1", "Teredo"),
    ("2001:2::1", "benchmarking"),
    ("2001:10::1", "ORCHID"),
    ("2001:20::1", "ORCHIDv2"),
    ("2001:1::1", "protocol assignments"),
    ("2001:200::1", None),
    ("2001:db8::1", "documentation"),
    ("2002:7f00:1::", "6to4"),
    ("2002:808:808::", "6to4"),
    ("2606:4700:4700::1111", None),
    ("2620:4f:8000::1", "AS112"),
    ("3fff::1", "documentation"),
    ("3fff:1000::1", None),
    ("4000::1", "not global unicast"),
    ("5f00::1", "segment routing"),
    ("fc00::1", "unique local"),
    ("fd00:ec2::254", "metadata"),
    ("fd20:ce::254", "metadata"),
    ("fdff::1", "unique local"),
    ("fe80::1", "link-local"),
    ("fe80::1%eth0", "link-local"),
    ("fec0::1", "site-local"),
    ("ff02::1", "multicast"),
    ("", "not an IP address"),
    ("example.com", "not an IP address"),
    ("127.1", "not an IP address"),
    ("0x7f000001", "not an IP address"),
    ("2130706433", "not an IP address"),
    ("[::1]", "not an IP address"),
]

# Where `ipaddress.is_global` (Python 3.11) says public and our table does not.
DIFFERS = {
    "168.63.129.16",  # reachable from within Azure only, and answers with secrets there
    *("192.0.0.8", "192.0.0.9", "192.0.0.192", "192.31.196.1", "192.52.193.1", "192.88.99.1", "192.175.48.6"),
    *("224.0.0.1", "239.255.255.255", "ff02::1", "fec0::1"),
    *("::127.0.0.1", "::a00:1", "::ffff:0:127.0.0.1"),
    *("64:ff9b::10.0.0.1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::8.8.8.8", "2002:7f00:1::", "2002:808:808::"),
    *("2620:4f:8000::1", "3fff::1", "4000::1", "5f00::1"),
    *("2001:1::1", "2001:20::1"),  # Python 3.11.2 and older
}


@pytest.mark.parametrize(("address", "blocked_by"), ROWS)
def test_table(address: str, blocked_by: str | None) -> None:
    why = make_guard().why(address)
    assert (why is None) == (blocked_by is None), why
    assert blocked_by is None or blocked_by in str(why)
    assert is_public(address) == (blocked_by is None) == make_guard().allows(address)


def test_ours_is_stricter_than_ipaddress_exactly_where_listed() -> None:
    parsable = [address for address, _ in ROWS if ":" in address or address.count(".") == 3]
    addresses = [address for address in parsable if "[" not in address]
    known = {address for address in addresses if ipaddress.ip_address(address).is_global and not is_public(address)}
    later_python_agrees = DIFFERS - known
    assert known <= DIFFERS
    assert all(not ipaddress.ip_address(address).is_global for address in later_python_agrees)


@given(st.ip_addresses())
def test_what_ipaddress_blocks_is_blocked(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> None:
    assert address.is_global or not is_public(str(address))


@given(st.ip_addresses(v=4))
def test_an_embedded_address_is_judged_like_itself(address: ipaddress.IPv4Address) -> None:
    guard = make_guard()
    assert guard.allows(str(address)) == guard.allows(f"::ffff:{address}") == guard.allows(f"64:ff9b::{address}")


def test_allowed_networks() -> None:
    guard = make_guard((ipaddress.ip_network("127.0.0.0/8"), ipaddress.ip_network("fd00::/8")))
    assert guard.allows("127.0.0.9")
    assert guard.allows("::ffff:127.0.0.9")  # the kernel talks to 127.0.0.9
    assert guard.allows("fd12::1")
    assert guard.allows("8.8.8.8")
    assert not guard.allows("10.0.0.1")
    assert not guard.allows("::1")
    assert not guard.allows("64:ff9b::127.0.0.9")  # the gateway's loopback is not ours
    assert not is_public("127.0.0.9")
