"""A small web of many hosts in a process of its own, so that whatever is stopped or killed, it is not: with known
truth, an access log, and rules that a test changes while it runs.

    with Web(folder, hosts=8, pages=20) as web:
        web.hold("/page-5.html", 1.0)        # held open for a second, at every host
        ... crawl web.seeds ...
        web.lines()                          # the access log
        web.truth                            # {(host, path)} of every page that a polite crawler gets

A host's name is its address, of 127.8.0.0 to 127.55.255.255, which no other room of the tests uses. Every host has the
same pages: page n is linked from page (n - 1) / 2 of its own host or, every third one, only from that of the host
before. So who loses a link to another host, or forgets to wake it, misses pages. Every page links to /private/no.html,
which robots.txt refuses.

A web that grows (a rule's `grows`) links to pages beyond these until it is released: a crawl of it cannot end before,
however slow the machine. They are in web.truth as soon as web.lines() has seen them linked.

At the end of a road (road=ROAD) handshakes and answers take their time, every second host speaks TLS, and every eighth
server closes after each answer. What a rule holds open takes no longer for that.
"""

import itertools
import json
import os
import random
import signal
import socket
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Self

from app.local.children import spawn, stop
from bench.delays import Delays
from tests.authority import Authority
from tests.faults.waiting import PATIENCE_S, until
from tests.faults.web_server import CATCH_UP, html

ROOT = Path(__file__).parents[2]
NETWORK = "127.0.0.0/8"
ROBOTS = "User-agent: *\nDisallow: /private/\n"
FORBIDDEN = "/private/no.html"
# A fifth of a real road's, so that a handshake and an answer together leave room in the deadline of the tests'
# requests.
ROAD = Delays(median_s=0.03, p95_s=0.2, most_s=0.25)
TLS_EVERY, CLOSES_EVERY = 2, 8
_webs = itertools.count()


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A request as the web saw it. Monotonic seconds.

    start   its head was read;   wall: the same by the clock that Postgres uses
    end     just before its answer was handed to the system, so never after the client can have had it; or the client
            was
            gone. None: not over yet
    status  None: not answered
    gone    its client hung up first
    worker  which process sent it: its TIPTOE_PURPOSE
    leads   the page, host and path in one, that its answer links to because the web grows
    """

    id: int
    start: float
    wall: float
    host: str
    path: str
    connection: int
    worker: str | None
    end: float | None = None
    status: int | None = None
    gone: bool = False
    leads: str | None = None

    @property
    def is_page(self) -> bool:
        return self.path not in {"/robots.txt", "/sitemap.xml"}

    @property
    def brought(self) -> bool:
        """The client can have had the whole document."""
        return self.status in {200, 304} and not self.gone


class Web:
    """Context manager. addresses: where the hosts are, if not on loopback; names: theirs, if those are not their
    addresses.

    road: how far away they are;   authority: the file that SSL_CERT_FILE is to name, at the end of a road
    """

    def __init__(
        self,
        folder: Path,
        *,
        hosts: int,
        pages: int,
        addresses: Sequence[str] = (),
        names: Sequence[str] = (),
        road: Delays | None = None,
    ) -> None:
        number = next(_webs)
        net = f"127.{8 + os.getpid() % 47}.{os.getpid() // 47 % 32 * 8 + number % 8}"
        assert hosts <= 250, "one address a host, in one /24"
        self.addresses = tuple(addresses) or tuple(f"{net}.{1 + host}" for host in range(hosts))
        self.hosts = tuple(names) or self.addresses
        self.paths = tuple("/" if page == 0 else f"/page-{page}.html" for page in range(pages))
        self.truth = frozenset(itertools.product(self.hosts, self.paths))
        self.port = 0
        self.authority: Path | None = None
        self._road = road
        self._tls = frozenset(self.hosts[1::TLS_EVERY] if road else ())
        self._folder = folder
        self._rules: list[dict[str, object]] = []
        self._lines: dict[int, Line] = {}
        self._read = 0  # bytes of the log
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def seeds(self) -> list[str]:
        return [self.url(host, "/") for host in self.hosts]

    def url(self, host: str, path: str) -> str:
        return f"{self._scheme(host)}://{host}:{self.port}{path}"

    def rule(self, path: str = "*", *, host: str = "*", **what: object) -> None:
        """From now on: delay_s before the answer, status, headers, drop (hang up without one), adds (text at the end of
        the document), raw (a file that is the whole answer, and a 200), grows. The last that fits counts."""
        self._rules.append({"host": host, "path": path, **what})
        self._write_rules()

    def hold(self, path: str, seconds: float, *, host: str = "*") -> None:
        self.rule(path, host=host, delay_s=seconds)

    def release(self) -> None:
        """Forget all rules."""
        self._rules.clear()
        self._write_rules()

    def catch_up(self) -> None:
        """Returns when all that has reached the web by now is in its log: it reads connections in the order in which
        they have something to say."""
        with socket.create_connection((self.addresses[0], self.port), timeout=PATIENCE_S) as probe:  # it speaks no TLS
            probe.sendall(CATCH_UP + b"HTTP/1.1\r\n\r\n")
            assert probe.recv(1)

    def lines(self) -> list[Line]:
        """In the order the requests began."""
        with (self._folder / "access.jsonl").open("rb") as log:
            log.seek(self._read)
            for text in log:
                if not text.endswith(b"\n"):
                    break
                self._read += len(text)
                part = json.loads(text)
                number = part["id"]
                self._lines[number] = replace(self._lines[number], **part) if number in self._lines else Line(**part)
                if leads := part.get("leads"):
                    host, slash, path = leads.partition("/")
                    self.truth |= {(host, slash + path)}
        return list(self._lines.values())

    def pages_brought(self) -> set[tuple[str, str]]:
        return {(line.host, line.path) for line in self.lines() if line.brought and line.is_page}

    def in_flight(self) -> list[Line]:
        return [line for line in self.lines() if line.end is None]

    def __enter__(self) -> Self:
        self._folder.mkdir()
        (self._folder / "access.jsonl").touch()
        self._write_rules()
        self._start(self._folder)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is not None:
            stop(self._process, signal=signal.SIGKILL, timeout_s=5)

    def _start(self, folder: Path) -> None:
        sites = {host: dict(zip(self.paths, self._documents(at), strict=True)) for at, host in enumerate(self.hosts)}
        names = dict(zip(self.addresses, self.hosts, strict=True))
        spec = {"sites": sites, "names": names, "robots": ROBOTS, "road": self._pave(folder)}
        (folder / "sites.json").write_text(json.dumps(spec))
        said = folder / "web.log"
        self._process = spawn(
            [sys.executable, "-m", "tests.faults.web_server", str(folder)],
            env={"PYTHONPATH": str(ROOT), "PATH": os.environ["PATH"]},
            log_path=said,
            death_signal=signal.SIGKILL,
        )
        until(lambda: said.read_text().endswith("\n") or self._has_ended(), "the web listens")
        assert not self._has_ended(), said.read_text()
        self.port = int(said.read_text())

    def _pave(self, folder: Path) -> dict[str, object] | None:
        """The road as the server reads it; the same at every run."""
        if self._road is None:
            return None
        rng, authority = random.Random(len(self.hosts)), Authority(folder)
        self.authority = authority.file
        return {
            "delays": asdict(self._road),
            "usual_s": {host: (self._road.of_host(rng), self._road.of_host(rng)) for host in self.hosts},
            "tls": sorted(self._tls),
            "closes": self.hosts[3::CLOSES_EVERY],
            "certificate": str(authority.issue(*self.hosts)),
        }

    def _scheme(self, host: str) -> str:
        return "https" if host in self._tls else "http"

    def _has_ended(self) -> bool:
        return self._process is None or self._process.poll() is not None

    def _documents(self, at: int) -> list[str]:
        links: list[list[str]] = [
            [FORBIDDEN, "/", self.paths[7 * page % len(self.paths)]] for page in range(len(self.paths))
        ]
        for page in range(1, len(self.paths)):
            own = page % 3 != 2
            links[(page - 1) // 2].append(self.paths[page] if own else self._elsewhere(at + 1, page))
        return [html(f"page {page} of host {at}", targets) for page, targets in enumerate(links)]

    def _elsewhere(self, at: int, page: int) -> str:
        """A link without the port, which the server fills in."""
        host = self.hosts[at % len(self.hosts)]
        return f"{self._scheme(host)}://{host}:PORT{self.paths[page]}"

    def _write_rules(self) -> None:
        draft = self._folder / "rules.json.new"
        draft.write_text(json.dumps(self._rules))
        draft.replace(self._folder / "rules.json")
