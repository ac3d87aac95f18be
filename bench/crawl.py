"""(a) A whole crawl of the same web by two processes each of Tiptoe, Scrapy, Crawlee with its SQL storage, and a bare
loop.

All run in the same minutes on the same web, interleaved; every one must fetch every page once, but Crawlee, which
is stopped after four minutes. Pages/s are counted at the origin from its first to its last request. Everything shares
this machine: nginx, for Tiptoe also Postgres and the broker, for Crawlee Postgres. Delay 0 and no address budget:
this measures what the software costs, not how it should be used.
"""

import argparse
import math
import statistics
from collections import defaultdict

from bench import bare, cpu, crawlee_run, scrapy_run, tiptoe
from bench.report import BenchError, Cell, save, table
from bench.tree import load
from bench.web import Visit, Web, serve

CRAWLERS = ("scrapy", "bare", "lean", "full", "no-near", "crawlee")
# Its run is a tenth as long as the longest: more of them, around the others, so that one slow minute does not decide.
DEFAULT = ("lean", "scrapy", "bare", "lean", "full", "crawlee", "lean")
TIMEOUT_S = 180.0
# tiptoe's bars, from the acceptance list: (numerator, denominator, at least)
BARS = (
    ("lean", "scrapy", 2.5),
    ("lean", "bare", 0.45),
    ("full", "scrapy", 1.5),
    ("full", "bare", None),
    ("no-near", "scrapy", 1.5),
    ("lean", "crawlee", 8.0),
    ("full", "crawlee", None),
)


def main(arguments: argparse.Namespace) -> None:
    """Run the crawlers in rounds; print and save figures and ratios. Raises BenchError."""
    names = tuple((arguments.only or ",".join(DEFAULT)).split(","))
    if unknown := set(names) - set(CRAWLERS):
        raise BenchError(f"no crawler named {unknown.pop()}; there are {', '.join(CRAWLERS)}")
    tree = load(arguments.tree, 160 if arguments.pages is None else arguments.pages)
    rows: list[dict[str, Cell]] = []
    rates: dict[str, list[float]] = defaultdict(list)
    costs: dict[str, list[float]] = defaultdict(list)
    failures: dict[str, str] = {}
    with serve(tree, hosts=arguments.hosts or 100, port=arguments.port) as web:
        for number in range(arguments.rounds or 2):
            for name in names if number % 2 == 0 else reversed(names):
                if name in failures:
                    continue
                try:
                    visit, whole, cpu_s = _run(name, web, arguments)
                except BenchError as error:
                    failures[name] = str(error)
                    print(f"  {name}: {error}", flush=True)
                    continue
                rows.append(_row(name, number + 1, visit, cpu_s))
                if (whole and visit.missed) or visit.repeats or visit.errors or visit.private:
                    rates.pop(name, None)
                    failures[name] = "not every page once (see the table): its rate cannot be compared"
                    continue
                rates[name].append(visit.rate)
                costs[name].append(cpu_s / visit.pages)
                print(f"  round {number + 1}, {name}: {visit.rate:,.0f} pages/s", flush=True)
        title = (
            f"crawl: {len(web.hosts)} hosts × {len(tree.reachable)} pages of {tree.source}, delay 0, no address budget"
        )
        table(title, rows)
        ratios = _ratios(rates, costs)
        table("ratios of medians", ratios)
        setting = {
            "hosts": len(web.hosts),
            "pages_per_host": len(tree.reachable),
            "tree": tree.source,
        }
        save(
            "crawl",
            {
                **setting,
                "scrapy_version": scrapy_run.version() if "scrapy" in rates else None,
                "crawlee_version": crawlee_run.version() if "crawlee" in rates else None,
                "env": arguments.env,
                "rows": rows,
                "ratios": ratios,
                "failures": failures,
            },
        )
    if failures:
        raise BenchError("; ".join(f"{name}: {why}" for name, why in failures.items()))


def _run(name: str, web: Web, arguments: argparse.Namespace) -> tuple[Visit, bool, float]:
    """What it did, whether it came to its end, and its CPU seconds from the first request to its own end: pages may be
    compared after the last request."""
    mark = web.mark()
    with cpu.Watch() as watch:
        whole = _crawl(name, web, arguments)
    lines = web.lines(mark)
    used = watch.used(lines[0]["t"], math.inf) if lines else 0.0
    return web.visit(mark), whole, used


def _crawl(name: str, web: Web, arguments: argparse.Namespace) -> bool:
    """Until it is done (True) or stopped."""
    match name:
        case "scrapy":
            scrapy_run.run(web.seeds, TIMEOUT_S, links="xpath", overrides={})
        case "bare":
            bare.run(web.seeds, TIMEOUT_S)
        case "crawlee":
            return crawlee_run.run(web.seeds, overrides={})
        case _:
            env = tiptoe.unhurried(is_lean=name == "lean") | arguments.env
            with tiptoe.fresh_home() as home:
                options = ("--sitemaps", "none", *(["--no-near-duplicates"] if name == "no-near" else []))
                result = tiptoe.crawl(web, home, env=env, arguments=options, timeout_s=TIMEOUT_S)
            if result.left_running:
                print(f"  {name}: left {result.left_running} processes running", flush=True)
    return True


def _row(name: str, number: int, visit: Visit, cpu_s: float) -> dict[str, Cell]:
    return {
        "crawler": name,
        "round": number,
        "pages/s": visit.rate,
        "cpu ms": round(1000 * cpu_s / visit.pages, 3) if visit.pages else None,
        "pages": visit.pages,
        "seconds": visit.seconds,
        "missed": visit.missed,
        "repeats": visit.repeats,
        "errors": visit.errors,
    }


def _ratios(rates: dict[str, list[float]], costs: dict[str, list[float]]) -> list[dict[str, Cell]]:
    """Of pages/s, and for what it is worth where others use the machine too, the inverse of CPU time a page."""
    rate = {name: statistics.median(values) for name, values in rates.items()}
    cost = {name: statistics.median(values) for name, values in costs.items()}
    return [
        {
            "ratio": f"{ours}/{theirs}",
            "value": round(rate[ours] / rate[theirs], 3),
            "bar": bar,
            "by cpu": round(cost[theirs] / cost[ours], 3),
        }
        for ours, theirs, bar in BARS
        if ours in rate and theirs in rate
    ]
