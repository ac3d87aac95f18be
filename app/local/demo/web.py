"""Serves the hosts of the demo, each at an address of loopback of its own, all on one port."""

import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from app.errors import ServiceError
from app.local.demo.sites import DemoSite, sites
from app.local.running import free_port

ADDRESSES = "127.0.77.{}"  # of each host its own; where the system has but 127.0.0.1 (macOS), all share that
ONLY = "127.0.0.1"


@dataclass(slots=True, kw_only=True)
class DemoWeb:
    """The hosts that are served.

    addresses  of each, by name
    asked      requests that each received, by name: its own count, to compare with the crawler's
    """

    port: int
    sites: list[DemoSite]
    addresses: Mapping[str, str]
    asked: Counter[str] = field(default_factory=Counter)
    lock: threading.Lock = field(default_factory=threading.Lock)
    ended: threading.Event = field(default_factory=threading.Event)


@contextmanager
def serve() -> Iterator[DemoWeb]:
    """Serve them. Raises ServiceError where nothing can be listened on."""
    port = free_port(None)
    made = sites(port)
    with ExitStack() as servers:
        addresses = {site.name: ADDRESSES.format(number) for number, site in enumerate(made, 1)}
        web = DemoWeb(port=port, sites=made, addresses=addresses)
        try:
            listening = [_server(web, address) for address in addresses.values()]
        except OSError:
            web.addresses = dict.fromkeys(addresses, ONLY)
            listening = [_only_server(web)]
        for server in listening:
            servers.callback(server.server_close)
            servers.callback(server.shutdown)
            threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        servers.callback(web.ended.set)
        yield web


def _only_server(web: DemoWeb) -> ThreadingHTTPServer:
    try:
        return _server(web, ONLY)
    except OSError as error:
        raise ServiceError(f"{ONLY}:{web.port}", f"cannot be listened on ({error.strerror}); try again") from error


def _server(web: DemoWeb, address: str) -> ThreadingHTTPServer:
    by_name = {site.name: site for site in web.sites}

    class DemoHandler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            site = by_name.get((self.headers["Host"] or "").partition(":")[0])
            if site is None:
                self.send_error(421)
                return
            with web.lock:
                web.asked[site.name] += 1
            found = site.answer(self.path)
            web.ended.wait(found.wait_s)
            body = found.body.encode()
            self.send_response(found.status)
            self.send_header("Content-Type", found.content_type)
            self.send_header("Content-Length", str(len(body)))
            if found.retry_after_s is not None:
                self.send_header("Retry-After", str(found.retry_after_s))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing: the live view has the terminal."""

    server = ThreadingHTTPServer((address, web.port), DemoHandler)
    server.daemon_threads = True
    return server
