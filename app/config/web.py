"""Settings of the dashboard: where it listens, and who may look and steer."""

import ipaddress
import re
from typing import Annotated

from pydantic import AfterValidator, BaseModel, Field

from app.config.values import Words

ANYONE = "anyone"
ROLES = ("read", "steer")
_USER = re.compile(r"[A-Za-z0-9._@-]{1,64}:(read|steer)(:scrypt\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+)?")
_HEADER = re.compile(r"[A-Za-z][A-Za-z0-9-]{0,63}")


def _place(value: str) -> str:
    host, colon, port = value.rpartition(":")
    if not colon or not port.isdigit() or int(port) > 65_535:
        raise ValueError("write an address and a port, such as 127.0.0.1:8800 or [::1]:8800")
    try:
        ipaddress.ip_address(host.strip("[]"))
    except ValueError as error:
        raise ValueError(f"{host!r} is not an address; write 127.0.0.1:{port}, or 0.0.0.0:{port} for all") from error
    return value


def _users(values: tuple[str, ...]) -> tuple[str, ...]:
    for value in values:
        if not _USER.fullmatch(value):
            raise ValueError(
                f"{value.partition(':')[0]!r} is not NAME:read or NAME:steer with its password's hash; "
                "`tiptoe web --new-user NAME` makes one"
            )
        if value.startswith(f"{ANYONE}:") and value != f"{ANYONE}:read":
            raise ValueError(f"{ANYONE} may only read; write {ANYONE}:read")
    return values


def _proxy(value: str | None) -> str | None:
    if not value:
        return None
    header, _, network = value.partition("=")
    try:
        ipaddress.ip_network(network)
    except ValueError as error:
        raise ValueError(f"{network!r} is not the proxy's network; write X-Forwarded-User=10.0.0.7/32") from error
    if not _HEADER.fullmatch(header):
        raise ValueError(f"{header!r} is not a header's name; write X-Forwarded-User=10.0.0.7/32")
    return value


class WebSettings(BaseModel):
    """A group of `app.config.settings.Settings`."""

    web_listen: Annotated[str, AfterValidator(_place)] = Field(
        "127.0.0.1:8800",
        description="Address and port of the dashboard. Anywhere but on loopback it wants users or a proxy; there, without them, the token of the URL that `tiptoe web` prints.",
    )
    web_users: Annotated[Words, AfterValidator(_users)] = Field(
        (),
        description="Users of the dashboard, NAME:ROLE:HASH, where the role is read or steer; `tiptoe web --new-user NAME` makes one. anyone:read lets everybody look.",
    )
    web_proxy: Annotated[str | None, AfterValidator(_proxy)] = Field(
        None,
        description="Header in which a proxy names the user who logged in there, and the proxy's network: X-Forwarded-User=10.0.0.7/32. Users that web_users does not name may read.",
    )
    web_hosts: Words = Field(
        (),
        description="Names under which the dashboard is reached, such as crawl.example.org; others are refused, but loopback and its own address.",
    )
