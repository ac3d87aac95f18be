"""What a rendered page costs beside the crawlers that drive a browser: scrapy-playwright, and Crawlee.

    python -m bench.rendering_peers [pages]        default 20

All open the same pages of one server on loopback, one at a time, with the same Chromium, and read the document when the
network is idle. CPU is the kernel's, of the crawler with all that it started: so many pages less one page, so that the
start of each is left out. Requests are the server's count. Of Tiptoe it is the browser's room with requests of our own;
its frontier and its archive are not in it, nor are those of the others.
"""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from statistics import median
from typing import NamedTuple

import urllib3

from app.browser.find import find
from app.browser.page import Browsers
from app.browser.process import measure
from app.browser.values import Answer, Bounds, BrowserProblem, PlainResponse, Refused, Rendering, SubRequest
from app.model.render import RenderRefusal
from bench.report import ROOT, BenchError
from tests.browser.site import respond

HOME = ROOT / "bench" / ".venv-rendering"
SCRIPT = Path(__file__).with_name("rendering_peer.py")
PATHS = ("/hydration/", "/react/")
ROUNDS = 3
LIMIT_S = 240.0
PEERS = ("tiptoe", "scrapy", "crawlee")


class _Run(NamedTuple):
    """One crawler's run: seconds by the clock, CPU seconds, most bytes held, requests."""

    wall_s: float
    cpu_s: float
    memory_bytes: int
    requests: int


def main(pages: int) -> None:
    chromium = find(None)
    if isinstance(chromium, BrowserProblem):
        sys.exit(chromium.line)
    python = _install()
    print(f"Chromium {chromium.version}; {pages} pages, medians of {ROUNDS}\n")
    print("| page | by | s | CPU s | MB, most | requests |\n| --- | --- | --- | --- | --- | --- |")
    with _served() as server:
        for path in PATHS:
            for peer in PEERS:
                own = [sys.executable, "-m", "bench.rendering_peers", "tiptoe"]
                command = own if peer == "tiptoe" else [str(python), str(SCRIPT), peer]
                command += [chromium.path, f"http://127.0.0.1:{server.server_port}{path}"]
                runs = [(_run(server, command, 1), _run(server, command, pages)) for _ in range(ROUNDS)]
                wall, cpu, asked = (
                    median((many[at] - one[at]) / (pages - 1) for one, many in runs) for at in (0, 1, 3)
                )
                most = median(many.memory_bytes for _, many in runs) / 1e6
                print(f"| `{path}` | {peer} | {wall:.2f} | {cpu:.2f} | {most:.0f} | {asked:.1f} |", flush=True)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    asked = 0


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.server.asked += 1  # type: ignore[attr-defined]  # a _Server
        answer = respond(f"http://site.test{self.path}")
        self.send_response(answer.status)
        for name, value in {**answer.headers, "content-length": str(len(answer.body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(answer.body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def _served() -> Iterator[_Server]:
    with _Server(("127.0.0.1", 0), _Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def _run(server: _Server, command: list[str], pages: int) -> _Run:
    """Run a crawler to its end, and look at its processes four times a second. Raises BenchError."""
    before, began = server.asked, time.monotonic()
    most_bytes, cpu_s = 0, 0.0
    with subprocess.Popen([*command, str(pages)], cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as child:
        while child.poll() is None:
            used = measure(os.getpid())  # all that this process started: the crawler
            most_bytes, cpu_s = max(most_bytes, used.memory_bytes), max(cpu_s, used.cpu_s)
            if time.monotonic() - began > LIMIT_S:
                child.kill()
            time.sleep(0.05)
        assert child.stderr is not None
        if child.returncode:
            raise BenchError(f"{command[-2]}: {child.stderr.read().decode(errors='replace')[-500:]}")
    return _Run(time.monotonic() - began, cpu_s, most_bytes, server.asked - before)


def _install() -> Path:
    """The peers' python, in a folder of their own. Raises BenchError."""
    python, done = HOME / "bin" / "python", HOME / "installed"
    if not done.exists():
        for command in (
            [sys.executable, "-m", "venv", str(HOME)],
            [str(python), "-m", "pip", "install", "-q", "scrapy-playwright", "crawlee[playwright]"],
        ):
            tried = subprocess.run(command, capture_output=True, text=True, check=False)
            if tried.returncode:
                raise BenchError(f"the peers could not be installed: {tried.stderr.strip()[-300:]}")
        (HOME / ".gitignore").write_text("*\n")
        done.touch()
    return python


def ours(chromium: str, url: str, pages: int) -> None:
    """Fetch each page plainly, and render it."""
    pool = urllib3.PoolManager()

    def fetched(asked: str) -> Answer:
        answer = pool.request("GET", asked, redirect=False)
        return Answer(status=answer.status, headers=dict(answer.headers), body=answer.data)

    def ask(wanted: SubRequest) -> Answer | Refused:
        return fetched(wanted.url) if wanted.method == "GET" else Refused(RenderRefusal.METHOD)

    browsers = Browsers(chromium, most=1)
    for n in range(pages):
        page = f"{url}?n={n}"
        plain = fetched(page)
        response = PlainResponse(url=page, status=plain.status, headers=plain.headers, body=plain.body)
        found = browsers.render(response, ask, Bounds(), user_agent="Tiptoe")
        assert isinstance(found, Rendering), found
    browsers.close()


if __name__ == "__main__":
    if sys.argv[1:2] == ["tiptoe"]:
        ours(sys.argv[2], sys.argv[3], int(sys.argv[4]))
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 20)
