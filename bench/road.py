"""(h) The road: 2,000 hosts at 1 s delay, as far away as real ones, against what budgets and cores allow, and beside
Scrapy.

The origin makes handshakes and answers take their time (`bench.road_plan` draws the web, `bench.road_origin` plays it);
names are asked of a name server. Two worker processes, everything else at its defaults. Judged by the origin's log
alone, in the steady window: from when 95 % of the hosts that live were contacted, but from the run's half at the
latest, to its end.

    budgets   Σ 1 / (delay in force × (1 + jitter / 2) + exchange), an address at most 2/s (`bench.road_plan.allowed`)
    cores     (cores - the shares of the origin and the bench) / (CPU time of a page of `bench polite`, run just before)

`bench polite` has as many hosts there as fill the cores, as the road does. The origin's and the bench's shares are
taken off since no crawler has a web, its name server and the counting of its statements on its cores; what others use
of the machine is not: it is shown.
"""

import argparse
import math
import os
import random
import statistics
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from bench import counts, cpu, polite, road_judge, road_plan, scrapy_run, tiptoe
from bench.polite import ADDRESS_GAP_S, DELAY_S, JITTER
from bench.report import ROOT, BenchError, Cell, save, table
from bench.road_plan import Plan
from bench.road_site import HOST
from bench.road_web import Log, Road, road
from bench.tree import Tree, load
from bench.web import Line
from tests.faults.nameserver import NameServer

LOOK_S = 5.0


@dataclass(slots=True)
class Sizes:
    """Call it now and then: the most that processes of these words held. mib: of one, resident; threads, sockets: of
    one."""

    words: Sequence[bytes]
    mib: dict[int, float] = field(default_factory=dict)
    threads: int = 0
    sockets: int = 0
    busy: list[tuple[float, float]] = field(default_factory=list)  # Unix seconds, CPU seconds of the whole machine
    own: list[tuple[float, float]] = field(default_factory=list)  # the same of this process: name server and counters
    looked: float = 0.0

    def cores(self, begin: float, end: float) -> tuple[float, float]:
        """Cores that the whole machine used between two moments (Unix seconds), and of these this process."""
        machine, own = ((cpu.between(marks, end) - cpu.between(marks, begin)) for marks in (self.busy, self.own))
        return machine / (end - begin), own / (end - begin)

    def __call__(self) -> None:
        """Look if it is time."""
        if time.monotonic() - self.looked < LOOK_S:
            return
        self.looked = time.monotonic()
        self.busy.append((time.time(), _machine_s()))
        self.own.append((time.time(), time.process_time()))
        for folder in Path("/proc").glob("[0-9]*"):
            with suppress(OSError, StopIteration):
                if all(word in (folder / "cmdline").read_bytes() for word in self.words):
                    self._look_at(folder)

    def _look_at(self, folder: Path) -> None:
        fields = dict(line.split(":", 1) for line in (folder / "status").read_text().splitlines())
        pid, mib = int(folder.name), int(fields["VmRSS"].split()[0]) / 1024
        self.mib[pid] = max(self.mib.get(pid, 0.0), mib)
        self.threads = max(self.threads, int(fields["Threads"]))
        links = [os.readlink(each) for each in (folder / "fd").iterdir()]
        self.sockets = max(self.sockets, sum(link.startswith("socket:") for link in links))


def _machine_s() -> float:
    """CPU seconds that all processes of this machine have used: proc(5), the first line of /proc/stat."""
    user, nice, system, _, _, irq, softirq, *_ = map(int, Path("/proc/stat").read_text().splitlines()[0].split()[1:])
    return (user + nice + system + irq + softirq) / cpu.TICKS


HOSTS, SEED = 2_000, 13
BAR, SCRAPY_BAR = 0.9, 1.2
POLITE_SECONDS = 60
POLITE_HOSTS = {"full": 225, "lean": 350}  # for each core: more than it can serve at a request a second
STEADY_S = 10.0
MET_S = (10.0, 20.0, 45.0)
STUB = ROOT / "tests" / "faults" / "stub"
# As its documentation says for broad crawls, and the same delay: a request a second of each host, one at a time.
SCRAPY: dict[str, object] = {
    "CONCURRENT_REQUESTS": 2_000,
    "CONCURRENT_REQUESTS_PER_DOMAIN": 1,
    "DOWNLOAD_DELAY": DELAY_S,
    "RANDOMIZE_DOWNLOAD_DELAY": False,
    "SCHEDULER_PRIORITY_QUEUE": "scrapy.pqueues.DownloaderAwarePriorityQueue",
    "REACTOR_THREADPOOL_MAXSIZE": 32,
    "DOWNLOAD_TIMEOUT": 30,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A crawler on the road. pages_s: a second, in the steady window.   allowed_s: by the budgets.

    page_s      CPU seconds of a page
    away_cores  what the web and the bench used of this machine meanwhile
    """

    row: dict[str, Cell]
    pages_s: float
    allowed_s: float
    page_s: float
    away_cores: float


def main(arguments: argparse.Namespace) -> None:
    """Crawl with Tiptoe, and with Scrapy; print and save shares and violations. Raises BenchError."""
    plan = road_plan.draw(arguments.hosts or HOSTS, SEED)
    tree = load(arguments.tree, 2 * arguments.seconds)
    hosts = POLITE_HOSTS["lean" if arguments.lean else "full"] * (os.cpu_count() or 1)
    _, cost = polite.measure(
        tree, hosts=hosts, seconds=POLITE_SECONDS, port=arguments.port, is_lean=arguments.lean, env={}
    )
    page_s = cost.crawler_cpu / cost.pages
    rate = cost.pages / cost.seconds
    print(f"  polite, {hosts} hosts: {1000 * page_s:.2f} ms of CPU a page, {rate:.0f} pages/s", flush=True)
    run = crawl(plan, tree, seconds=arguments.seconds, env=_settings(arguments))
    rows = [{"threads": arguments.threads, **_shares(run, page_s)}]
    result: dict[str, object] = {"polite cpu ms": 1000 * page_s, "rows": rows}
    title = f"road: {len(plan.schemes)} hosts at {DELAY_S:g} s, two processes (bars: share {BAR}, violations 0)"
    table(title, rows)
    if not arguments.no_scrapy:
        other = scrapy(plan, tree, seconds=arguments.seconds)
        ratio = run.pages_s / other.pages_s if other.pages_s else None
        table(f"two Scrapy processes (bar: × {SCRAPY_BAR})", [{"× scrapy": ratio, **other.row}])
        result |= {"scrapy": other.row, "ratio": ratio, "scrapy_version": scrapy_run.version()}
    save("road", {**result, "hosts": len(plan.schemes), "seconds": arguments.seconds, "env": arguments.env})


def _settings(arguments: argparse.Namespace) -> dict[str, str]:
    kept = "0" if arguments.lean else "1"
    return {"TIPTOE_CONCURRENCY": str(arguments.threads), "TIPTOE_KEEP_TEXT": kept, **arguments.env}


def crawl(plan: Plan, tree: Tree, *, seconds: int, env: dict[str, str]) -> Run:
    """One crawl with Tiptoe. Raises BenchError."""
    with _laid(plan, tree) as (web, names), tiptoe.fresh_home() as home, counts.metered(home) as meter:
        sizes = Sizes(words=(b"celery", b"worker"))

        def tick() -> None:
            meter()
            sizes()

        tiptoe.crawl(
            web,
            home,
            env={**_named(web, names), **env},
            arguments=("--max-seconds", str(seconds), "--sitemaps", "none"),
            timeout_s=seconds + 180.0,
            tick=tick,
        )
        log = web.log()
        begin, end = _steady(plan, log)
        cost = meter.cost(_lines(log), begin + _offset(), end + _offset())
        allowed_s = _allowed(plan, log, begin, end)
        origin_cores = cost.cpu[cpu.ORIGIN] / cost.seconds
        busy_cores, bench_cores = sizes.cores(begin + _offset(), end + _offset())
        ours_cores = sum(cost.cpu.values()) / cost.seconds + bench_cores
        row = {
            **_row(plan, log, begin, end, sizes),
            "cpu ms": cost.ms(cost.crawler_cpu),
            "postgres ms": cost.ms(cost.cpu.get("postgres", 0.0)),
            "origin cores": round(origin_cores, 3),
            "bench cores": round(bench_cores, 3),
            "other cores": round(max(busy_cores - ours_cores, 0.0), 3),
        }
        table("per page, everything counted", [cost.per_page()])
        table("CPU by process", cost.cpu_rows())
        return Run(
            row=row,
            pages_s=_pages_s(log, begin, end),
            allowed_s=allowed_s,
            page_s=cost.crawler_cpu / cost.pages,
            away_cores=origin_cores + bench_cores,
        )


class _Enough(Exception):
    """Scrapy has had its time. It would first send what stands in its slots, for a minute."""


def scrapy(plan: Plan, tree: Tree, *, seconds: int, links: str = "xpath") -> Run:
    """One crawl with two Scrapy processes, as long and with the same delays; links: as in `scrapy_run`. Raises
    BenchError."""
    sizes, logs = Sizes(words=(b"scrapy_spider.py",)), []
    with _laid(plan, tree) as (web, names), cpu.Watch() as watch:

        def tick() -> None:
            sizes()
            began = web.has_heard()
            if began is not None and web.now() > began + seconds:
                logs.append(web.log())
                raise _Enough

        with suppress(_Enough):
            env = _named(web, names)
            scrapy_run.run(web.seeds, seconds + 120.0, links=links, overrides=SCRAPY, env=env, tick=tick)
        log = logs[0] if logs else web.log()
    begin, end = _steady(plan, log)
    pages = sum(each.is_page for each in log.requests if begin <= each.arrived <= end)
    used_s = watch.used(begin + _offset(), end + _offset())
    page_s = used_s / max(pages, 1)
    row = {**_row(plan, log, begin, end, sizes), "cpu ms": round(1000 * page_s, 2)}
    return Run(
        row=row,
        pages_s=_pages_s(log, begin, end),
        allowed_s=_allowed(plan, log, begin, end),
        page_s=page_s,
        away_cores=0.0,
    )


@contextmanager
def _laid(plan: Plan, tree: Tree) -> Iterator[tuple[Road, NameServer]]:
    """The origin and the name server."""
    server = NameServer(plan.addresses, random.Random(SEED), address="127.0.0.1", port=0)
    server.ill.update(plan.ill)
    with server, road(plan.sites, pages=tree.for_host(HOST.decode()), schemes=plan.schemes, seed=SEED) as web:
        yield web, server


def _named(web: Road, names: NameServer) -> dict[str, str]:
    """The environment in which names are asked of our server, by Scrapy and Tiptoe alike."""
    return {
        "SSL_CERT_FILE": str(web.authority),
        "NAME_SERVER": "{}:{}".format(*names.place),
        "PYTHONPATH": os.pathsep.join([str(STUB), str(ROOT)]),
    }


def _steady(plan: Plan, log: Log) -> tuple[float, float]:
    """Monotonic seconds. Raises BenchError."""
    if not log.requests:
        raise BenchError("the crawler sent no request")
    first = {request.host: request.arrived for request in reversed(log.requests)}
    met = sorted(first[host] for host in plan.live if host in first)
    nearly = math.ceil(counts.NEARLY * len(plan.live))
    started, end = log.requests[0].arrived, log.requests[-1].arrived
    half = started + (end - started) / 2
    begin = min(met[nearly - 1], half) if len(met) >= nearly else half
    if end - begin < STEADY_S:
        raise BenchError(f"a steady window of {end - begin:.1f} s is too short; more --seconds")
    return begin, end


def _allowed(plan: Plan, log: Log, begin: float, end: float) -> float:
    return road_plan.allowed(
        plan, log, begin=begin, end=end, delay_s=DELAY_S, jitter=JITTER, address_gap_s=ADDRESS_GAP_S
    )


def _pages_s(log: Log, begin: float, end: float) -> float:
    return sum(each.is_page for each in log.requests if begin <= each.arrived <= end) / (end - begin)


def _row(plan: Plan, log: Log, begin: float, end: float, sizes: Sizes) -> dict[str, Cell]:
    """What the origin saw, of the whole run; rates and the answers' time of the steady window."""
    pauses = road_judge.pauses(log.requests, delay_s=DELAY_S)
    starts = [gap for own in road_judge.start_gaps(log.requests).values() for gap in own]
    steady = [each for each in log.requests if begin <= each.arrived <= end]
    unused = road_judge.unused(log)
    return {
        "pages/s": round(_pages_s(log, begin, end), 1),
        "requests/s": round(len(steady) / (end - begin), 1),
        "hosts": f"{len({each.host for each in log.requests} & plan.live):,} of {len(plan.live):,}",
        "after 10, 20, 45 s": ", ".join(str(n) for n in road_judge.met_after(log.requests, plan.live, MET_S)),
        "violations": sum(each.is_short for each in pauses),
        "of them below 1 s": sum(each.gap_s < DELAY_S - road_judge.TOLERANCE_S for each in pauses),
        "least gap": round(min((each.gap_s for each in pauses), default=0.0), 3),
        "address violations": sum(gap < ADDRESS_GAP_S - road_judge.TOLERANCE_S for gap in starts),
        "least start gap": round(min(starts, default=0.0), 3),
        "at once": road_judge.most_at_once(log.requests),
        "connections": len(log.connections),
        "unused": unused.total(),
        "unused/host": max((unused[host] for host in plan.live), default=0),
        "answer ms": round(1000 * statistics.mean(each.imposed_s for each in steady), 1),
        "origin late ms": road_judge.late_ms(log.lates, begin, end),
        "MiB a process": round(max(sizes.mib.values(), default=0.0), 1),
        "OS threads": sizes.threads,
        "sockets": sizes.sockets,
        "window from s": round(begin - log.requests[0].arrived, 1),
        "window s": round(end - begin, 1),
    }


def _shares(run: Run, page_s: float) -> dict[str, Cell]:
    """The allowances, and the share of the smaller one that was reached."""
    cores = ((os.cpu_count() or 1) - run.away_cores) / page_s
    return {
        "share": round(run.pages_s / min(run.allowed_s, cores), 3),
        "of budgets/s": round(run.allowed_s, 1),
        "of cores/s": round(cores, 1),
        **run.row,
    }


def _lines(log: Log) -> list[Line]:
    """As bench.counts reads them, in Unix seconds."""
    offset = _offset()
    return [
        {
            "t": each.end + offset,
            "dt": each.end - each.arrived,
            "host": each.host,
            "addr": each.address,
            "uri": each.path,
            "status": each.status or 0,
            "conn": each.connection,
        }
        for each in log.requests
    ]


def _offset() -> float:
    """From the origin's clock to Unix seconds."""
    return time.time() - time.monotonic()
