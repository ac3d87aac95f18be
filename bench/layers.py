"""(g) Where a page's CPU time goes: by process, in a worker by step and by layer; and what it takes of messages and
SQL.

Two runs: *fast*, hosts without a delay and nothing kept (the lean crawl of `crawl`), and *polite*, hosts at 1 s delay,
defaults. Plain beat and two workers that clock themselves (`bench.clock`: 1 µs a call, so some 50 µs of a polite page
and 10 of a fast one), the servers count (`bench.counts`).
"""

import argparse
import json
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from bench import counts, cpu, plain, tiptoe
from bench.counts import Cost
from bench.report import BenchError, Cell, save, table
from bench.tree import load
from bench.web import Web, serve

CLOCKED = ("-m", "bench.clock")
WORKERS = 2
TIMEOUT_S = 180.0
PAGES_PER_MESSAGE = 20  # bar: hosts that allow it
FAST = {
    "TIPTOE_DEFAULT_DELAY_S": "0",
    "TIPTOE_ADDRESS_GAP_S": "0",
    "TIPTOE_LATENCY_FACTOR": "0",
    "TIPTOE_KEEP_TEXT": "0",
}
Spent = dict[tuple[str, str], float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One of the two runs. pages: per host, None: whole tree.   concurrency: threads of a worker, None: the default."""

    name: str
    hosts: int
    pages: int
    net: int
    settings: dict[str, str]
    concurrency: str | None = None


def main(arguments: argparse.Namespace) -> None:
    """Both runs; print and save. Raises BenchError."""
    kinds = (
        Kind(name="fast", hosts=120, pages=160, net=24, settings=FAST, concurrency=tiptoe.THREADS),
        Kind(name="polite", hosts=arguments.hosts or 200, pages=4 * arguments.seconds, net=26, settings={}),
    )
    for kind in kinds:
        cost, spent = _run(kind, arguments)
        per_page = cost.per_page()
        bars = _bars(per_page) if kind.name == "fast" else []
        by_layer, by_step = _rows(spent, cost, 1), _rows(spent, cost, 0)
        table(f"layers, {kind.name}: {cost.pages:,} pages, {cost.pages / cost.seconds:,.0f}/s; per page", [per_page])
        table("of 20 pages", bars) if bars else None
        table("CPU by process", cost.cpu_rows())
        table("CPU of the workers by layer", by_layer)
        table("CPU of the workers by step of a visit", by_step)
        table("SQL statements", cost.statement_rows())
        save(
            "layers",
            {
                "kind": kind.name,
                "pages": cost.pages,
                "per_page": per_page,
                "bars": bars,
                "processes": cost.cpu_rows(),
                "layers": by_layer,
                "steps": by_step,
                "statements": cost.statement_rows(),
                "env": arguments.env,
            },
        )


def _run(kind: Kind, arguments: argparse.Namespace) -> tuple[Cost, Spent]:
    tree = load(arguments.tree, kind.pages)
    with (
        serve(tree, hosts=kind.hosts, port=arguments.port, net=kind.net) as web,
        tiptoe.fresh_home() as home,
        counts.metered(home) as meter,
        ExitStack() as fleet,
    ):
        env = plain.environment(
            home,
            database_url=meter.database_url,
            broker_url=meter.broker_url,
            settings=kind.settings | dict(setting.split("=", 1) for setting in arguments.env),
        )
        plain.seed(env, home, web.seeds)
        mark = web.mark()
        fleet.enter_context(plain.process(env, home, "beat", "beat"))
        for n in range(WORKERS):
            words = ["worker", *(("--concurrency", kind.concurrency) if kind.concurrency else ())]
            program = (*CLOCKED, str(home / "clock"))
            fleet.enter_context(plain.process(env, home, f"worker{n}", *words, program=program))
        _watch(web, mark, meter, None if kind.name == "fast" else arguments.seconds)
        lines = web.lines(mark)
        # Fast hosts come one after the other, polite ones all at once.
        begin, end = (lines[0]["t"], lines[-1]["t"]) if kind.name == "fast" else counts.steady(len(web.hosts), lines)
        cost = meter.cost(lines, begin, end)
        return cost, spent_in(sorted(home.glob("clock.*.jsonl")), cost)


def _watch(web: Web, mark: int, meter: Callable[[], None], seconds: float | None) -> None:
    """Read the counters until the seconds have passed, or else until every page was fetched."""
    begin = time.monotonic()
    wanted = web.expected
    while True:
        time.sleep(0.25)
        meter()
        passed = time.monotonic() - begin
        if seconds is not None and passed > seconds:
            return
        if seconds is None and len(web.lines(mark)) >= wanted:
            return
        if passed > TIMEOUT_S:
            raise BenchError(f"not done after {passed:.0f} s")


def spent_in(files: Sequence[Path], cost: Cost) -> Spent:
    """CPU seconds of all workers by (step, layer) in the window of the cost. Raises BenchError."""
    if len(files) < WORKERS:
        raise BenchError(f"{len(files)} of {WORKERS} workers have told their clocks")
    total: Spent = defaultdict(float)
    for file in files:
        told = [json.loads(line) for line in file.read_text().splitlines() if line.endswith("}")]
        marks: dict[tuple[str, str], list[tuple[float, float]]] = {}
        for line in told:
            for step, layer, spent in line["spent"]:
                marks.setdefault((step, layer), [(told[0]["at"], 0.0)]).append((line["at"], spent))
        for key, own in marks.items():
            total[key] += cpu.between(own, cost.begin + cost.seconds) - cpu.between(own, cost.begin)
    return total


def _rows(spent: Spent, cost: Cost, which: int) -> list[dict[str, Cell]]:
    """Sums by step (0) or by layer (1), the most first."""
    total: dict[str, float] = defaultdict(float)
    for key, seconds in spent.items():
        total[key[which]] += seconds
    everything = sum(total.values())
    return [
        {("step", "layer")[which]: name, "ms/page": cost.ms(used), "share": round(used / everything, 3)}
        for name, used in sorted(total.items(), key=lambda item: -item[1])
    ]


def _bars(per_page: dict[str, Cell]) -> list[dict[str, Cell]]:
    return [
        {"of 20 pages": name, "n": round(PAGES_PER_MESSAGE * float(per_page[name] or 0), 3), "bar": 1.0}
        for name in ("messages", "settles")
    ]
