"""Serves pages to Prometheus, on a port of a process's own: one process, one port. Nothing is imported before.

    /metrics   the figures
    /healthz   ok, as long as a thread of the process answers

It asks for no login: it listens to loopback unless told otherwise (TIPTOE_METRICS). So it waits for few heads, and not
for long (`app.runtime.slow_clients`): each costs a thread.
"""

import ipaddress
import socket
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

import structlog

from app.errors import ArchiveStopped, TiptoeError
from app.metrics.counts import Counts
from app.metrics.exposition import Value
from app.metrics.machine import memory
from app.runtime.slow_clients import BoundedHandler, BoundedServer, SlowClients
from app.store import fleet

# The figures of a worker or of beat.


InHand = Callable[[], tuple[int, int]]  # visits in hand, and as many as there may be


def values(counts: Counts, check_archive: Callable[[], None] | None, in_hand: InHand) -> Mapping[str, Value]:
    """The figures now.   check_archive: raises ArchiveStopped while it cannot be written; None: there is none"""
    room = memory()
    with counts.lock:
        found: dict[str, Value] = {
            "tiptoe_fetches_total": dict(counts.fetches),
            "tiptoe_fetch_failures_total": dict(counts.failures),
            "tiptoe_pages_total": counts.pages,
            "tiptoe_received_bytes_total": counts.received_bytes,
            "tiptoe_fetch_seconds": counts.fetch_s.copy(),
            "tiptoe_first_byte_seconds": counts.first_byte_s.copy(),
            "tiptoe_politeness_violations_total": dict(counts.violations),
            "tiptoe_fenced_fetches_total": counts.fenced,
            "tiptoe_mixed_names_total": counts.mixed_names,
            "tiptoe_visits_ended_total": dict(counts.visits),
            "tiptoe_renders_total": dict(counts.renders),
            "tiptoe_render_seconds": counts.render_s.copy(),
            "tiptoe_render_requests_total": dict(counts.render_requests),
            "tiptoe_render_refused_total": dict(counts.render_refused),
            "tiptoe_settle_seconds": counts.settle_s.copy(),
            "tiptoe_dispatch_seconds": counts.dispatch_s.copy(),
            "tiptoe_hosts_dispatched_total": counts.dispatched,
            "tiptoe_dispatch_last_success_timestamp_seconds": counts.dispatched_at or 0.0,
        }
    found["tiptoe_visits_in_hand"], found["tiptoe_visits_in_hand_most"] = in_hand()
    if check_archive is not None:
        found["tiptoe_archive_stopped"] = float(_is_stopped(check_archive))
    if room is not None:
        found |= {"tiptoe_memory_limit_bytes": room.limit, "tiptoe_memory_available_bytes": room.available}
    return found


def _is_stopped(check: Callable[[], None]) -> bool:
    try:
        check()
    except ArchiveStopped:
        return True
    return False


_log = structlog.get_logger()
Page = tuple[str, bytes]  # content type, body


class Served(NamedTuple):
    """A process that is served.   session_name: of its Postgres sessions, by which it is found"""

    address: str
    port: int
    session_name: str


def serve(
    listen: str, *, role: str, counts: Counts, check_archive: Callable[[], None] | None, in_hand: InHand
) -> Served | None:
    """Serve a worker's or beat's figures from now on. None: the address is not ours, which stops nothing.

    listen  address:port; a port that is taken, or 0, stands for any that is free
    """
    from app.metrics.exposition import CONTENT_TYPE, page, registry

    made = registry(lambda: values(counts, check_archive, in_hand))
    found = serve_pages(listen, {"/metrics": lambda: (CONTENT_TYPE, page(made))}, role=role)
    if found is None:
        return None
    address, port = found
    everywhere = ipaddress.ip_address(address).is_unspecified
    return Served(address, port, fleet.session_name(role, "*" if everywhere else address, port))


def serve_pages(
    listen: str,
    pages: Mapping[str, Callable[[], Page]],
    *,
    role: str,
    clients: SlowClients[socket.socket] | None = None,
) -> tuple[str, int] | None:
    """Serve pages by their paths from now on, in threads. Returns where; None, and a line in the log: nowhere."""
    address, port = split(listen)
    all_pages = {"/healthz": _ok, **pages}
    kind = _V6 if ":" in address else _PageServer
    for candidate in dict.fromkeys([port, 0]):
        with suppress(OSError):
            server = make_server(address, candidate, lambda e, start: _answer(all_pages, e, start), kind, _PageHandler)
            server.clients = clients or server.clients
            threading.Thread(target=server.serve_forever, name="metrics", daemon=True).start()
            _log.info("metrics.served", address=address, port=server.server_port, role=role)
            return address, server.server_port
    _log.error("metrics.not_served", address=address, port=port, remedy="set TIPTOE_METRICS to an address of this host")
    return None


def split(listen: str) -> tuple[str, int]:
    """(address, port) of `address:port`, such as 127.0.0.1:0 or [::]:9190."""
    address, _, port = listen.rpartition(":")
    return address.strip("[]"), int(port)


class _PageServer(BoundedServer, WSGIServer):
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of a client that went, or was too slow."""
        if not isinstance(sys.exception(), OSError):
            _log.exception("metrics.failed", path="")


class _V6(_PageServer):
    address_family = socket.AF_INET6


class _PageHandler(BoundedHandler, WSGIRequestHandler):
    pass


def _ok() -> Page:
    return "text/plain; charset=utf-8", b"ok\n"


def _answer(pages: Mapping[str, Callable[[], Page]], environ: Mapping[str, Any], start: Any) -> Sequence[bytes]:
    page = pages.get(environ["PATH_INFO"])
    if page is None or environ["REQUEST_METHOD"] not in {"GET", "HEAD"}:
        start("404 Not Found", [("Content-Length", "0")])
        return []
    try:
        kind, body = page()
    except TiptoeError as error:  # Postgres is away, say
        _log.warning("metrics.not_read", path=environ["PATH_INFO"], error=str(error))
        start("503 Service Unavailable", [("Content-Length", "0")])
        return []
    except Exception:  # noqa: BLE001  # a page that fails must not end the process, nor be silent
        _log.exception("metrics.failed", path=environ["PATH_INFO"])
        start("503 Service Unavailable", [("Content-Length", "0")])
        return []
    start("200 OK", [("Content-Type", kind), ("Content-Length", str(len(body)))])
    return [] if environ["REQUEST_METHOD"] == "HEAD" else [body]
