"""The processes that serve metrics, as the list that Prometheus' `http_sd` reads.

A process names its Postgres sessions after the port that it serves. So the list has who has a session now: a process
that is gone leaves it with its connection, and nothing is to be registered, renewed or cleaned up.
"""

import ipaddress
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from sqlalchemy import Engine

from app.store import db, fleet
from app.store.fleet import Serving

ANY = "*"


class _ServingAt(NamedTuple):
    role: str
    address: str
    port: str


def targets(engine: Engine) -> list[Mapping[str, object]]:
    """The list, fit to be sent as JSON. Raises ServiceError: Prometheus then keeps the list that it has."""
    with db.transaction(engine) as tx:
        return listed(fleet.serving(tx))


def listed(serving: Sequence[Serving]) -> list[Mapping[str, object]]:
    """The list of these processes. Those that listen to the loopback of another machine are left out."""
    found: dict[str, set[str]] = {}
    for each in serving:
        place = _place(each.name)
        if place.address == ANY:
            host = each.address or "127.0.0.1"
        elif each.is_near or not _is_loopback(place.address):
            host = place.address
        else:
            continue
        found.setdefault(place.role, set()).add(f"[{host}]:{place.port}" if ":" in host else f"{host}:{place.port}")
    return [{"targets": sorted(found[role]), "labels": {"role": role}} for role in sorted(found)]


def role_of(name: str) -> str:
    return _place(name).role


def _place(name: str) -> _ServingAt:
    """The parts of `fleet.session_name`."""
    words = name.split()
    address, _, port = words[-1].rpartition(":")
    return _ServingAt(words[1], address, port)


def _is_loopback(address: str) -> bool:
    return ipaddress.ip_address(address).is_loopback
