"""A local web of many hosts: one nginx with one worker in a temporary folder, gone with the benchmark.

Hosts are loopback addresses (127.0.20.1, …), so that no name needs resolving and /etc/hosts stays as it
is. Each has its own robots.txt (everything but /private/, no Crawl-delay) and its own copy of the tree.
The access log is the one measure of every crawler: one JSON object per line, `t` the end of the
response, `dt` its duration.
"""

import itertools
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict
from urllib.request import ProxyHandler, build_opener

from bench.report import BenchError
from bench.tree import START, Tree

STEADY_S = 5.0
ROBOTS = "User-agent: *\nDisallow: /private/\n"


class Line(TypedDict):
    """A line of the access log, as far as it is read here. Seconds."""

    t: float
    dt: float
    host: str
    addr: str
    uri: str
    status: int
    conn: int


# The log's format is that of the acceptance origin, so that its judge reads it too.
_CONF = """\
worker_processes 1; daemon off; pid nginx.pid; error_log error.log warn; worker_rlimit_nofile 65536; {user}
events {{ worker_connections 8192; multi_accept on; }}
http {{
  types {{ text/html html; text/plain txt; }} default_type application/octet-stream; charset utf-8;
  sendfile on; tcp_nopush on; keepalive_timeout 60; keepalive_requests 1000000; server_tokens off; etag on;
  gzip off;
  client_body_temp_path tmp; proxy_temp_path tmp;
  fastcgi_temp_path tmp; uwsgi_temp_path tmp; scgi_temp_path tmp;
  log_format judge escape=json
    '{{"t":$msec,"dt":$request_time,'
    '"host":"$host","addr":"$server_addr","peer":"$remote_addr:$remote_port",'
    '"conn":$connection,"req":$connection_requests,"method":"$request_method",'
    '"uri":"$request_uri","proto":"$server_protocol","status":$status,'
    '"bytes":$body_bytes_sent,"ua":"$http_user_agent",'
    '"inm":"$http_if_none_match","ims":"$http_if_modified_since",'
    '"ae":"$http_accept_encoding","from":"$http_from",'
    '"sig":"$http_signature_input","ref":"$http_referer",'
    '"done":"$request_completion"}}';
  access_log access.jsonl judge;
  server {{
    {listens}
    root hosts/$server_addr;
    location /private/ {{ return 200 "trap: a polite crawler is never here\\n"; }}
  }}
}}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Visit:
    """What one crawler did, by the origin's log. Seconds: first request's start to the last one's end."""

    requests: int
    pages: int
    seconds: float
    missed: int
    repeats: int
    errors: int
    private: int

    @property
    def rate(self) -> float:
        """Pages per second."""
        return self.pages / self.seconds if self.seconds else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Web:
    """A running web: its hosts (addresses), its port and where its log is."""

    folder: Path
    hosts: tuple[str, ...]
    port: int
    tree: Tree

    @property
    def seeds(self) -> list[str]:
        """One URL per host."""
        return [f"http://{host}:{self.port}/{START}" for host in self.hosts]

    @property
    def expected(self) -> int:
        """Pages a whole crawl fetches."""
        return len(self.hosts) * len(self.tree.reachable)

    @property
    def log(self) -> Path:
        return self.folder / "access.jsonl"

    def mark(self) -> int:
        """The log's length, to read from there later."""
        return self.log.stat().st_size

    def lines(self, since: int) -> list[Line]:
        """Whole lines of the log after the mark."""
        with self.log.open("rb") as file:
            file.seek(since)
            return [json.loads(line) for line in file if line.endswith(b"\n")]

    def visit(self, since: int) -> Visit:
        """What was crawled since the mark. Raises BenchError when nothing was."""
        lines = self.lines(since)
        if not lines:
            raise BenchError("the crawler sent no request")
        pages = Counter(
            (line["host"], line["uri"]) for line in lines if line["status"] == 200 and line["uri"] != "/robots.txt"
        )
        wanted = {(host, f"/{page}") for host in self.hosts for page in self.tree.reachable}
        return Visit(
            requests=len(lines),
            pages=pages.total(),
            seconds=max(line["t"] for line in lines) - min(line["t"] - line["dt"] for line in lines),
            missed=len(wanted - pages.keys()),
            repeats=pages.total() - len(pages),
            errors=sum(line["status"] >= 400 for line in lines),
            private=sum(line["uri"].startswith("/private/") for line in lines),
        )


def steady(lines: list[Line], hosts: int, delay_s: float) -> tuple[list[Line], float]:
    """The requests from when every host has been contacted to one delay before the last, and the seconds of it. Raises
    BenchError."""
    first = {line["host"]: line["t"] for line in sorted(lines, key=lambda line: -line["t"])}
    if len(first) < hosts:
        raise BenchError(f"only {len(first)} of {hosts} hosts were contacted; more --seconds")
    begin, end = max(first.values()), max(line["t"] for line in lines) - delay_s
    if end - begin < STEADY_S:
        raise BenchError(f"a steady window of {end - begin:.1f} s is too short; more --seconds")
    return [line for line in lines if begin < line["t"] <= end], end - begin


def start_gaps(lines: list[Line]) -> dict[str, list[float]]:
    """Per address the seconds from the start of each request to the start of the next."""
    by_address: dict[str, list[float]] = defaultdict(list)
    for line in lines:
        by_address[line["addr"]].append(line["t"] - line["dt"])
    return {
        address: [after - before for before, after in itertools.pairwise(sorted(starts))]
        for address, starts in by_address.items()
    }


def gaps(lines: list[Line]) -> dict[str, list[float]]:
    """Per host the seconds from the end of each request to the start of the next, by starts."""
    by_host: dict[str, list[Line]] = defaultdict(list)
    for line in lines:
        by_host[line["host"]].append(line)
    result = {}
    for host, own in by_host.items():
        own.sort(key=lambda line: line["t"] - line["dt"])
        result[host] = [(after["t"] - after["dt"]) - before["t"] for before, after in itertools.pairwise(own)]
    return result


@contextmanager
def serve(tree: Tree, *, hosts: int, port: int, net: int = 20, at: Sequence[str] = ()) -> Iterator[Web]:
    """Serve the tree on these addresses of ours (D: 127.0.<net>.1 and up). Raises BenchError without nginx or with a
    busy port."""
    nginx = shutil.which("nginx", path=os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin")
    if nginx is None:
        raise BenchError("nginx is not on PATH; apt-get install nginx")
    addresses = tuple(at) or tuple(f"127.0.{net + n // 250}.{n % 250 + 1}" for n in range(hosts))
    folder = Path(tempfile.mkdtemp(prefix="tiptoe-bench-web-"))
    try:
        for number, address in enumerate(addresses):
            _write(folder / "hosts" / address, tree, f"h{number:03d}.bench.test")
        listens = "\n    ".join(f"listen {address}:{port} backlog=1024;" for address in addresses)
        user = "user root;" if os.geteuid() == 0 else ""
        (folder / "nginx.conf").write_text(_CONF.format(listens=listens, user=user))
        # Ahead of the crawler, with which it shares the cores here and nowhere else: its log is the clock.
        ahead = ["nice", "-n", "-10"] if os.geteuid() == 0 else []
        command = [
            *ahead,
            nginx,
            "-p",
            str(folder),
            "-c",
            str(folder / "nginx.conf"),
            "-e",
            str(folder / "error.log"),
        ]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True)
        try:
            _wait(process, addresses[-1], port, folder / "access.jsonl")
            yield Web(folder=folder, hosts=addresses, port=port, tree=tree)
        finally:
            process.terminate()
            process.wait(10)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _write(folder: Path, tree: Tree, name: str) -> None:
    folder.mkdir(parents=True)
    (folder / "robots.txt").write_text(ROBOTS)
    for page, body in tree.for_host(name):
        (folder / page).write_bytes(body)


def _wait(process: subprocess.Popen[bytes], address: str, port: int, log: Path) -> None:
    """Until nginx answers and its log shows it. A busy port is retried for 2.5 s before nginx gives up; meanwhile its
    other addresses accept connections already, hence a whole request."""
    direct = build_opener(ProxyHandler({}))
    for _ in range(100):
        if process.poll() is not None:
            said = process.stderr.read().decode().strip() if process.stderr else ""
            raise BenchError(f"nginx did not start (another port: --port): {said.splitlines()[0] if said else '?'}")
        try:
            direct.open(f"http://{address}:{port}/robots.txt", timeout=1).close()
        except OSError:
            time.sleep(0.1)
        else:
            while not log.stat().st_size:
                time.sleep(0.01)
            return
    raise BenchError(f"nginx does not answer on {address}:{port}")
