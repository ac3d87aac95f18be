"""Serves a process's page to Prometheus, on a port of its own: one process, one port. Nothing is imported before."""

import ipaddress
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

import structlog

from app.metrics import process
from app.metrics.counts import Counts
from app.store import fleet

_log = structlog.get_logger()


class Served(NamedTuple):
    """A page that is served.   session_name: of the process's Postgres sessions, by which it is found"""

    address: str
    port: int
    session_name: str


def serve(listen: str, *, role: str, counts: Counts, check_archive: Callable[[], None] | None) -> Served | None:
    """Serve from now on, in a thread. None: the address is not ours, which is one line in the log and stops nothing.

    listen  address:port; a port that is taken, or 0, stands for any that is free
    role    worker or beat
    """
    from prometheus_client import start_http_server

    from app.metrics.exposition import registry

    address, port = split(listen)
    made = registry(lambda: process.values(counts, check_archive))
    for candidate in dict.fromkeys([port, 0]):
        with suppress(OSError):
            server, thread = start_http_server(candidate, addr=address, registry=made)
            _name(thread)
            bound = int(server.server_port)
            everywhere = ipaddress.ip_address(address).is_unspecified
            _log.info("metrics.served", address=address, port=bound, role=role)
            return Served(address, bound, fleet.session_name(role, "*" if everywhere else address, bound))
    _log.error(
        "metrics.not_served", address=address, port=port, remedy="give TIPTOE_METRICS an address of this machine"
    )
    return None


def split(listen: str) -> tuple[str, int]:
    """(address, port) of `address:port`, such as 127.0.0.1:0 or [::]:9190."""
    address, _, port = listen.rpartition(":")
    return address.strip("[]"), int(port)


def _name(thread: threading.Thread) -> None:
    thread.name = "metrics"
