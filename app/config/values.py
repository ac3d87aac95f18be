"""Checks of the settings' values. Each returns what it was given, or raises ValueError with the remedy."""

import errno
import ipaddress
import re
from pathlib import Path
from typing import Annotated

from pydantic import BeforeValidator
from pydantic_settings import NoDecode

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
MAY_BE_EMPTY = (
    "contact",
    "info_url",
    "purpose",
    "accept_language",
    "signing_key",
    "credentials_file",
    "signature_agent",
    "database_url",
    "broker_url",
    "delay_override_s",
    "frontier_max_per_host",
    "frontier_max_per_crawl",
    "frontier_max",
)
QUEUE_BYTES_MOST = 255
GAP_LEAST_S = 0.01  # what a machine under load keeps between two requests
IN_DICTIONARY = "sig1="  # before an origin that Signature-Agent is to name in a dictionary
ANYONE = "anyone"  # a user of the dashboard: everybody


def split(value: object) -> object:
    """Split a list of the environment at commas and spaces."""
    return value.replace(",", " ").split() if isinstance(value, str) else value


Words = Annotated[tuple[str, ...], NoDecode, BeforeValidator(split)]


def ports(values: tuple[str, ...]) -> tuple[str, ...]:
    for value in values:
        if value != "browsers" and not (value.isascii() and value.isdigit() and int(value) < 65_536):
            raise ValueError(f"{value} is not a port; write numbers from 0 to 65535, or browsers for their list")
    return values


def networks(values: tuple[str, ...]) -> tuple[str, ...]:
    for value in values:
        try:
            ipaddress.ip_network(value, strict=False)
        except ValueError as error:
            raise ValueError(f"{value!r} is not a network; write CIDR such as 127.0.0.0/8") from error
    return values


def resolve(values: tuple[str, ...]) -> tuple[str, ...]:
    for value in values:
        name, equals, address = value.partition("=")
        try:
            ipaddress.ip_address(address)
        except ValueError as error:
            raise ValueError(f"{value!r} names no address; write staging.example.org=192.0.2.7") from error
        if not name or not equals:
            raise ValueError(f"{value!r} has no name; write staging.example.org=192.0.2.7")
    return values


def gap(seconds: float) -> float:
    """Check a gap between two starts of a fleet: at least as long as its machines' clocks can keep."""
    if 0 < seconds < GAP_LEAST_S:
        raise ValueError(
            f"{seconds:g} s is a shorter gap than clocks can keep; write at least {GAP_LEAST_S:g}, or 0 for no budget"
        )
    return seconds


def queues(names: tuple[str, ...]) -> tuple[str, ...]:
    """Check names of queues: AMQP has them in at most 255 octets (0-9-1, 4.2.5.3)."""
    for name in names:
        if not name.isprintable() or len(name.encode()) > QUEUE_BYTES_MOST:
            raise ValueError(
                f"{name!r} is no name of a queue; use printable characters, at most {QUEUE_BYTES_MOST} octets"
            )
    return names


def fronts(values: tuple[str, ...]) -> tuple[str, ...]:
    gaps: dict[Network, str] = {}
    for value in values:
        cidr, equals, seconds = value.partition("=")
        networks((cidr,))
        if not equals or not re.fullmatch(r"[0-9]+(\.[0-9]*)?|\.[0-9]+", seconds):
            raise ValueError(f"{value!r} has no number of seconds; write CIDR=seconds, such as 203.0.113.0/24=0.02")
        gap(float(seconds))
        network = ipaddress.ip_network(cidr, strict=False)
        if gaps.setdefault(network, seconds) != seconds:
            raise ValueError(f"{network} has two gaps, {gaps[network]} and {seconds} s; give it one")
    return values


def parsed_fronts(pairs: tuple[str, ...]) -> tuple[tuple[Network, float], ...]:
    """(network, seconds) of `CIDR=seconds`; the narrowest network first."""
    split_up = [value.partition("=") for value in pairs]
    parsed = [(ipaddress.ip_network(cidr, strict=False), float(seconds)) for cidr, _, seconds in split_up]
    return tuple(sorted(parsed, key=lambda front: -front[0].prefixlen))


def printable(value: str | None) -> str | None:
    """Check a header's value: RFC 9110 section 5.5 without obs-text and tabs."""
    if value is not None and not re.fullmatch(r"[!-~](?:[ -~]{0,198}[!-~])?", value):
        raise ValueError("write 1 to 200 printable ASCII characters, no space at the ends")
    return value


def origin(value: str | None) -> str | None:
    """Check the origin of a key directory: scheme, host and port, no more; after `sig1=` in a dictionary."""
    if value is None:
        return None
    origin = value.lower().removesuffix("/")
    if not re.fullmatch(rf"({IN_DICTIONARY})?https://[a-z0-9-]+(\.[a-z0-9-]+)*(:[0-9]{{1,5}})?", origin):
        raise ValueError("write https:// and a host, without a path, such as https://bot.example.org")
    return origin.removesuffix(":443")


def is_network(value: str) -> bool:
    try:
        ipaddress.ip_network(value, strict=False)
    except ValueError:
        return False
    return True


def addresses(values: tuple[str, ...]) -> tuple[str, ...]:
    """Check networks, and at most one domain of their names."""
    found = tuple(value if is_network(value) else value.lower().strip(".") for value in values)
    names = [value for value in found if not is_network(value)]
    for name in names:
        if not re.fullmatch(r"([a-z0-9-]+\.)+[a-z][a-z0-9-]*", name):
            raise ValueError(
                f"{name!r} is neither a network nor a domain; write CIDR such as 198.51.100.0/28, "
                "and the domain of the addresses' names, such as crawl.example.org"
            )
    if len(names) > 1:
        raise ValueError(f"{names[0]} and {names[1]} are two domains; write the one of the addresses' names")
    return found


def directory_of(value: str | None, key: object, *, is_known: bool) -> str | None:
    """Check that the key's directory has a key. is_known: the key is valid, or is not set."""
    if key is not None and value is None:
        raise ValueError(
            f"TIPTOE_SIGNING_KEY={str(key)!r} needs this setting; set it to the https origin that shows the public key"
        )
    if key is None and value is not None and is_known:
        raise ValueError("needs TIPTOE_SIGNING_KEY: a file from `tiptoe botauth keygen`; or unset both")
    return value


def of_rabbitmq(value: bool, broker_url: str | None) -> bool:
    if value and not (broker_url or "").startswith(("amqp:", "amqps:", "pyamqp:")):
        raise ValueError("works with RabbitMQ only; set TIPTOE_BROKER_URL=amqp://…, or unset it")
    return value


def is_utf8(value: str) -> bool:
    return not any("\ud800" <= each <= "\udfff" for each in value)


def languages(value: str | None) -> str | None:
    """An Accept-Language (RFC 9110 section 12.5.4)."""
    if value is not None and not all(
        re.fullmatch(r"\s*(?:\*|[A-Za-z]{1,8}(?:-[A-Za-z0-9]{1,8})*)(?:\s*;\s*q=[01](?:\.[0-9]{0,3})?)?\s*", each)
        for each in value.split(",")
    ):
        raise ValueError("write languages as de,en;q=0.8, or * for any")
    return value


def one_each(values: tuple[str, ...]) -> tuple[str, ...]:
    if len(set(values)) < len(values):
        raise ValueError("names a module or file twice; write each once")
    return values


def path_of_a_folder(value: Path) -> Path:
    """Check a path that may lead nowhere yet. Raises ValueError for one that never can."""
    try:
        value.stat()
    except OSError as error:
        if error.errno in {errno.ENAMETOOLONG, errno.ELOOP}:
            raise ValueError(f"cannot be a folder ({error.strerror}); name another") from None
    return value


def folder_or_store(value: object) -> object:
    """Check the place of the archive; an empty one is none."""
    if isinstance(value, str) and "://" in value and not re.fullmatch(r"s3://[a-z0-9][a-z0-9.-]+(/[^?#]*)?", value):
        raise ValueError("write a folder, or s3://bucket/prefix")
    # A folder of such a name is written ./0
    if isinstance(value, str) and value.strip().lower() in {"0", "1", "true", "false", "yes", "no", "on", "off"}:
        raise ValueError("cannot be switched on or off; write a folder, or crawl with --no-archive")
    return value or None


def optional_place(value: str | None) -> str | None:
    if not value:
        return None
    address, _, port = value.rpartition(":")
    try:
        ipaddress.ip_address(address.strip("[]"))
        if not port.isascii() or not 0 <= int(port) <= 65_535:
            raise ValueError
    except ValueError:
        raise ValueError("write address:port, such as 127.0.0.1:0 (any free port) or 0.0.0.0:9190") from None
    return value


def place(value: str) -> str:
    host, colon, port = value.rpartition(":")
    if not colon or not port.isdigit() or int(port) > 65_535:
        raise ValueError("write an address and a port, such as 127.0.0.1:8800 or [::1]:8800")
    try:
        ipaddress.ip_address(host.strip("[]"))
    except ValueError as error:
        raise ValueError(f"{host!r} is not an address; write 127.0.0.1:{port}, or 0.0.0.0:{port} for all") from error
    return value


def users(values: tuple[str, ...]) -> tuple[str, ...]:
    for value in values:
        if not re.fullmatch(r"[A-Za-z0-9._@-]{1,64}:(read|steer)(:scrypt\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+)?", value):
            raise ValueError(
                f"{value.partition(':')[0]!r} is not NAME:read or NAME:steer with its password's hash; "
                "`tiptoe web --new-user NAME` makes one"
            )
        if value.startswith(f"{ANYONE}:") and value != f"{ANYONE}:read":
            raise ValueError(f"{ANYONE} may only read; write {ANYONE}:read")
    return values


def proxy(value: str | None) -> str | None:
    if not value:
        return None
    header, _, network = value.partition("=")
    try:
        ipaddress.ip_network(network)
    except ValueError as error:
        raise ValueError(f"{network!r} is not the proxy's network; write X-Forwarded-User=10.0.0.7/32") from error
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9-]{0,63}", header):
        raise ValueError(f"{header!r} is not a header's name; write X-Forwarded-User=10.0.0.7/32")
    return value
