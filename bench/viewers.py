"""The dashboard over a large frontier: how long its pages take, and what its viewers cost Postgres and the crawl.

The frontier is `bench.scale_load`'s, with a year of crawling beside it; its hosts rest. A polite crawl of the bench's
web runs in the same database, beside `tiptoe web`. Its rate while 50 browsers look is compared with its rate before
and after. Each browser has a stream, and opens the next page of the list below every ten seconds. Latencies are those
of whole answers. What the viewers cost Postgres is the CPU time of the dashboard's own backends (/proc). Ten million
URLs take 16 GB of disk and some ten minutes: `--urls 10000000`.
"""

import argparse
import itertools
import os
import random
import socket
import statistics
import subprocess
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path

import requests
from requests.cookies import RequestsCookieJar
from sqlalchemy import Engine, text

from app.config import load
from app.local.services import start_postgres
from bench import cpu, scale_load, tiptoe
from bench.children import group, is_running, tail
from bench.report import ROOT, BenchError, Cell, save, table
from bench.tree import load as load_tree
from bench.web import Line, Web, serve

VIEWERS, EVERY_S = 50, 10.0
HANDS = 10  # threads that open pages for all viewers
PAGE_BAR_MS, CPU_BAR, RATE_BAR = 200.0, 0.05, 0.97
WARM_UP_S, START_S = 30.0, 60.0
URLS_A_HOST = 50
PAGES = (
    *("/", "/crawls", "/crawl?name=large", "/crawl?name=bench", "/crawl/counted?name=large"),
    *("/refused?crawl=large", "/hosts", "/hosts?sort=contact", "/hosts?crawl=bench", "/host?name=h7.test"),
    *("/host?name=big.test", "/url?u=http://h7.test/a/page/of/usual/length/7.html", "/live", "/errors"),
    *("/errors?crawl=bench", "/proof?host=h7.test", "/search?crawl=bench&q=postgres+index", "/items"),
    *("/traps", "/duplicates", "/fleet", "/orders"),
)
_AT_REST = """
UPDATE hosts SET next_fetch_at = clock_timestamp() + interval '100 days' WHERE next_fetch_at IS NOT NULL"""
_BACKENDS = "SELECT pid FROM pg_stat_activity WHERE application_name LIKE 'tiptoe web%'"


def main(arguments: argparse.Namespace) -> None:
    """Fill, crawl with and without viewers, print and save. Raises BenchError."""
    size = arguments.urls if isinstance(arguments.urls, int) else arguments.urls[-1]
    tree = load_tree(arguments.tree, 4 * arguments.seconds if arguments.pages is None else arguments.pages)
    with tiptoe.fresh_home() as home, tiptoe.fresh_home() as crawl_home, ExitStack() as stack:
        running = start_postgres(home, lambda line: print(f"  {line}"))
        stack.callback(running.release)
        engine = scale_load.make(running.url, size, size // URLS_A_HOST, load(home=home))
        stack.callback(engine.dispose)
        with engine.begin() as tx:
            tx.execute(text(_AT_REST))
            tx.execute(text("UPDATE crawls SET name = 'large'"))
        url = engine.url.render_as_string(hide_password=False)
        web = stack.enter_context(serve(tree, hosts=arguments.hosts or 200, port=arguments.port, net=21))
        viewers = Viewers(*stack.enter_context(_dashboard(url, crawl_home)))
        phases = Phases(engine, viewers, arguments.seconds)
        lines = _crawl(web, crawl_home, url, phases)
    pages, costs = viewers.rows(), [phases.cost(lines)]
    table(f"{size:,} URLs, {VIEWERS} viewers: milliseconds a page (bar: p95 {PAGE_BAR_MS:g})", pages)
    table(f"what they cost (bars: {CPU_BAR:g} of a core, {RATE_BAR:g} of the rate)", costs)
    save("viewers", {"urls": size, "pages": pages, "costs": costs})


@contextmanager
def _dashboard(database_url: str, home: Path) -> Iterator[tuple[str, RequestsCookieJar]]:
    """`tiptoe web`. Yields its address, and the cookies of who opened it; raises BenchError."""
    with closing(socket.create_server(("127.0.0.1", 0))) as free:
        listen = f"127.0.0.1:{free.getsockname()[1]}"
    clean = {name: value for name, value in os.environ.items() if not name.startswith("TIPTOE_")}
    ours = {"TIPTOE_HOME": str(home), "TIPTOE_DATABASE_URL": database_url, "TIPTOE_WEB_LISTEN": listen}
    log = home.with_suffix(".web.log")
    with group([str(tiptoe.COMMAND), "web"], log=log, env={**clean, **ours}, cwd=ROOT) as child:
        end = time.monotonic() + START_S
        while not _answers(f"http://{listen}/readyz"):
            if not is_running(child) or time.monotonic() > end:
                raise BenchError(f"tiptoe web does not serve: {tail(log)}")
            time.sleep(0.1)
        opens = subprocess.run([str(tiptoe.COMMAND), "web"], env={**clean, **ours}, stdout=subprocess.PIPE, check=True)
        with requests.Session() as person:
            person.get(opens.stdout.decode().strip(), timeout=START_S)
        yield f"http://{listen}", person.cookies
    log.unlink()


def _answers(url: str) -> bool:
    with suppress(requests.RequestException):
        return requests.get(url, timeout=START_S).ok
    return False


def _crawl(web: Web, home: Path, database_url: str, phases: "Phases") -> list[Line]:
    """A polite crawl for as long as the phases take; the origin's log of it."""
    mark, length_s = web.mark(), WARM_UP_S + 3 * phases.each_s + 10
    try:
        tiptoe.crawl(
            web,
            home,
            env={"TIPTOE_DATABASE_URL": database_url, "TIPTOE_DEFAULT_DELAY_S": "1"},
            arguments=("--max-seconds", str(length_s)),
            timeout_s=length_s + 180.0,
            tick=lambda: phases.tick(is_begun=web.mark() > mark),
        )
    finally:
        phases.viewers.stop()
    return web.lines(mark)


class Viewers:
    """Browsers of the dashboard at this address, in threads.   times: of openings, in milliseconds, by page"""

    def __init__(self, address: str, cookies: RequestsCookieJar) -> None:
        self._address, self._cookies = address, cookies
        self.times: dict[str, list[float]] = defaultdict(list)
        self.events = 0
        self._gone = threading.Event()
        self._threads: list[threading.Thread] = []
        self._failures: list[str] = []

    def start(self) -> None:
        """Let all of them look."""
        self._threads = [threading.Thread(target=self._watch) for _ in range(VIEWERS)]
        self._threads += [threading.Thread(target=self._open, args=(n, random.Random(n))) for n in range(HANDS)]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """Send them home, and wait until they are."""
        self._gone.set()
        for thread in self._threads:
            thread.join()

    def rows(self) -> list[dict[str, Cell]]:
        """A row for each page, the slowest first. Raises BenchError: one was not shown."""
        if self._failures:
            raise BenchError(f"{len(self._failures)} pages were not shown: {self._failures[0]}")
        rows: list[dict[str, Cell]] = [
            {"page": page, "p50": statistics.median(of), "p95": _p95(of), "n": len(of)}
            for page, of in self.times.items()
            if len(of) > 1
        ]
        return sorted(rows, key=lambda row: -float(row["p95"] or 0))

    def _watch(self) -> None:
        """Read the stream as a browser does."""
        with requests.get(f"{self._address}/stream", cookies=self._cookies, stream=True, timeout=START_S) as answer:
            for line in answer.iter_lines():
                self.events += line.startswith(b"data")
                if self._gone.is_set():
                    return

    def _open(self, hand: int, rng: random.Random) -> None:
        """Open one page after another, every hand another one. Their times are drawn: people come independently."""
        self._gone.wait(rng.expovariate(VIEWERS / EVERY_S / HANDS))
        with requests.Session() as session:
            for page in itertools.islice(itertools.cycle(PAGES), hand * len(PAGES) // HANDS, None):
                began = time.perf_counter()
                try:
                    answer = session.get(f"{self._address}{page}", cookies=self._cookies, timeout=START_S)
                except requests.RequestException as error:
                    self._failures.append(f"{page}: {error}")
                    return
                took_s = time.perf_counter() - began
                if not answer.ok:
                    self._failures.append(f"{page}: {answer.status_code}")
                self.times[page].append(1000 * took_s)
                if self._gone.wait(max(0.0, rng.expovariate(VIEWERS / EVERY_S / HANDS) - took_s)):
                    return


class Phases:
    """After the warm-up nobody looks, then the viewers do, then nobody: `each_s` seconds each. Call `tick` often."""

    def __init__(self, engine: Engine, viewers: Viewers, each_s: int) -> None:
        self.viewers, self.each_s = viewers, each_s
        self._engine = engine
        self._warm_at = self._from_at = self._until_at = 0.0
        self._spent_s = self._web_s = 0.0
        self._seen: dict[int, float] = {}

    def tick(self, *, is_begun: bool) -> None:
        """Begin or end a phase if it is time. While somebody looks, count what the dashboard's backends spend."""
        now = time.time()
        if not self._warm_at:
            self._warm_at = now + WARM_UP_S if is_begun else 0.0
        elif not self._from_at and now >= self._warm_at + self.each_s:
            self._count()
            self._spent_s, self._from_at = 0.0, now
            self._web_s = -cpu.seconds()[cpu.DASHBOARD]
            self.viewers.start()
        elif self._from_at and not self._until_at:
            self._count()
            if now >= self._from_at + self.each_s:
                self._until_at = now
                self._web_s += cpu.seconds()[cpu.DASHBOARD]
                self.viewers.stop()

    def cost(self, lines: list[Line]) -> dict[str, Cell]:
        """A row: the crawl's requests/s in the three phases, their ratio, and the backends' share of a core."""
        if not self._until_at:
            raise BenchError("the crawl ended before its viewers did")
        end = self._until_at + self.each_s
        before = _rate(lines, self._warm_at, self._from_at)
        watched = _rate(lines, self._from_at, self._until_at)
        after = _rate(lines, self._until_at, end)
        return {
            "requests/s before": before,
            "watched": watched,
            "after": after,
            "ratio": round(2 * watched / (before + after), 3),
            "Postgres, of a core": round(self._spent_s / (self._until_at - self._from_at), 4),
            "web, of a core": round(self._web_s / (self._until_at - self._from_at), 4),
            "events": self.viewers.events,
            "pages opened": sum(map(len, self.viewers.times.values())),
        }

    def _count(self) -> None:
        with self._engine.connect() as connection:
            pids = connection.execute(text(_BACKENDS)).scalars().all()
        for pid in pids:
            with suppress(OSError):
                spent_s = cpu.read_stat(Path(f"/proc/{pid}/stat").read_text())[1]
                self._spent_s += spent_s - self._seen.get(pid, 0.0)
                self._seen[pid] = spent_s


def _p95(times: list[float]) -> float:
    """The 95th percentile of times that were measured; one between two is drawn between them, none beyond the last."""
    return statistics.quantiles(times, n=20, method="inclusive")[-1]


def _rate(lines: list[Line], begin: float, end: float) -> float:
    return sum(begin <= line["t"] < end for line in lines) / (end - begin)
