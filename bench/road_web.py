"""A web at the end of a road: sites with handshake and answer delays, played by `bench.road_origin`, and its log.

    with road(sites, pages=tree.for_host(HOST)) as web:
        ... crawl web.seeds with web.settings ...
        log = web.log()                      # connections and requests, as the origin saw them

Names below .test have their addresses from TIPTOE_RESOLVE; certificates are signed by an authority made for the run.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bench.delays import Delays
from bench.report import ROOT, BenchError
from bench.road_site import HOST, Site
from tests.authority import Authority

NAMES = "*.road.test"  # of all sites that speak TLS: one certificate, with the addresses of those without a name
ROBOTS = "User-agent: *\nDisallow: /private/\n"
KEEP_S = 60.0
LINKS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """As the origin saw it. Monotonic seconds; None: never.

    host       the name asked for, or that of its first request;   imposed_s: what its handshake was made to take
    requests   how many it brought
    """

    accepted: float
    address: str
    shaken: float | None = None
    closed: float | None = None
    host: str | None = None
    imposed_s: float = 0.0
    requests: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """As the origin saw it. Monotonic seconds.

    arrived     its head was read
    end         just before its answer was handed over; or the client was gone (status None)
    imposed_s   what its answer was made to take, a plain connection's handshake included
    is_first    of its connection
    """

    arrived: float
    end: float
    host: str
    address: str
    path: str
    status: int | None
    tls: bool
    imposed_s: float
    connection: int
    is_first: bool

    @property
    def is_page(self) -> bool:
        return self.status == 200 and self.path != "/robots.txt"


@dataclass(frozen=True, slots=True, kw_only=True)
class Log:
    """Requests in the order they arrived. lates: (monotonic second, how late the origin was at most since the one
    before)."""

    connections: Mapping[int, Connection]
    requests: Sequence[Request]
    lates: Sequence[tuple[float, float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Road:
    """A running origin. schemes: of the hosts that are seeds."""

    folder: Path
    sites: Sequence[Site]
    schemes: Mapping[str, str]
    port: int
    authority: Path
    pid: int

    @property
    def seeds(self) -> list[str]:
        return [f"{scheme}://{name}:{self.port}/index.html" for name, scheme in self.schemes.items()]

    @property
    def settings(self) -> dict[str, str]:
        """The environment in which Tiptoe finds and trusts these sites."""
        places = " ".join(f"{site.name}={site.address}" for site in self.sites if site.name != site.address)
        return {"TIPTOE_RESOLVE": places, "SSL_CERT_FILE": str(self.authority)}

    def has_heard(self) -> float | None:
        """The moment of the first connection."""
        with (self.folder / "log.jsonl").open() as file:
            return next((json.loads(line)["t"] for line in file if line.startswith('{"what": "accept"')), None)

    @staticmethod
    def now() -> float:
        """The origin's clock."""
        return time.monotonic()

    def log(self) -> Log:
        """What the origin has written so far."""
        return read_log(self.folder / "log.jsonl")


def read_log(path: Path) -> Log:
    """Whole lines of a log."""
    connections: dict[int, dict[str, Any]] = {}
    requests: list[Request] = []
    lates: list[tuple[float, float]] = []
    for line in path.read_text().splitlines(keepends=True):
        if not line.endswith("\n"):
            break
        part = json.loads(line)
        match part["what"]:
            case "accept":
                connections[part["conn"]] = {"accepted": part["t"], "address": part["address"], "requests": 0}
            case "shake":
                connections[part["conn"]] |= {
                    "shaken": part["t"],
                    "host": part["host"],
                    "imposed_s": part["imposed_s"],
                }
            case "close":
                connections[part["conn"]]["closed"] = part["t"]
            case "late":
                lates.append((part["t"], part["late_s"]))
            case "request":
                own = connections[part["conn"]]
                own["requests"] += 1
                own.setdefault("host", part["host"])
                requests.append(_request(part, is_first=own["requests"] == 1))
    return Log(
        connections={number: Connection(**own) for number, own in connections.items()},
        requests=sorted(requests, key=lambda request: request.arrived),
        lates=lates,
    )


def _request(part: Mapping[str, Any], *, is_first: bool) -> Request:
    return Request(
        arrived=part["t"],
        end=part["end"],
        host=part["host"],
        address=part["address"],
        path=part["path"],
        status=part["status"],
        tls=part["tls"],
        imposed_s=part["imposed_s"],
        connection=part["conn"],
        is_first=is_first,
    )


def plain_pages(count: int) -> list[tuple[str, bytes]]:
    """Small pages, each with links to LINKS others; every one is found from index.html."""
    names = ["index.html", *(f"page-{n}.html" for n in range(1, count))]
    words = "A few words of text that a reader would not mind. " * 8
    pages = []
    for number, name in enumerate(names):
        targets = [names[at] for at in range(LINKS * number + 1, LINKS * number + LINKS + 1) if at < count]
        links = "".join(f'<p><a href="{target}">{target}</a></p>' for target in ("index.html", *targets))
        text = f"<title>{name}</title><p>Page {number} of {HOST.decode()}. {words}</p>{links}"
        pages.append((name, f"<!doctype html><html><head></head><body>{text}</body></html>".encode()))
    return pages


@contextmanager
def road(
    sites: Sequence[Site],
    *,
    pages: Iterable[tuple[str, bytes]],
    schemes: Mapping[str, str],
    seed: int = 0,
    keep_s: float = KEEP_S,
) -> Iterator[Road]:
    """Serve the pages at every site, those of HOST/NAME at that one. schemes: {name: http or https} of what is to be
    crawled; a name of it that is no site has no server. Raises BenchError."""
    folder = Path(tempfile.mkdtemp(prefix="tiptoe-bench-road-"))
    folder.chmod(0o711)
    try:
        (folder / "pages").mkdir()
        for name, body in pages:
            (folder / "pages" / name).parent.mkdir(exist_ok=True)
            (folder / "pages" / name).write_bytes(body)
        authority = Authority(folder)
        addressed = {site.address for site in sites if site.name == site.address and schemes.get(site.name) == "https"}
        spec = {
            "sites": [asdict(site) for site in sites],
            "certificate": str(authority.issue(NAMES, *sorted(addressed))),
            "robots": ROBOTS,
            "most_s": Delays().most_s,
            "keep_s": keep_s,
            "seed": seed,
        }
        (folder / "sites.json").write_text(json.dumps(spec))
        (folder / "log.jsonl").touch()
        with _process(folder) as (process, port):
            yield Road(
                folder=folder, sites=sites, schemes=schemes, port=port, authority=authority.file, pid=process.pid
            )
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def _process(folder: Path) -> Iterator[tuple[subprocess.Popen[str], int]]:
    with (folder / "origin.log").open("w") as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", "bench.road_origin", str(folder)],
            cwd=ROOT,
            env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            start_new_session=True,
        )
    try:
        said = process.stdout.readline() if process.stdout else ""
        if not said.strip().isdigit():
            raise BenchError(f"the origin did not start: {(folder / 'origin.log').read_text()[-500:]}")
        yield process, int(said)
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(10)
        finally:
            process.kill()
