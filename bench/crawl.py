"""(a) A whole crawl of the same web by two Tiptoe worker processes, two Scrapy processes and two bare loops.

All run in the same minutes on the same web, interleaved; every one must fetch every page once. Pages/s
are counted at the origin from its first to its last request. Everything shares this machine: nginx, and
for Tiptoe also Postgres and the broker. Delay 0 and no address budget: this measures what the software
costs, not how it should be used.
"""

import argparse
import json
import statistics
from collections import defaultdict

from bench import bare, scrapy_run, tiptoe
from bench.report import BenchError, Cell, save, table
from bench.tree import load
from bench.web import Visit, Web, serve

CRAWLERS = ("scrapy", "bare", "lean", "full", "scrapy-extractor")
DEFAULT = CRAWLERS[:4]
TIMEOUT_S = 180.0
# tiptoe's bars, from the acceptance list: (numerator, denominator, at least)
BARS = (
    ("lean", "scrapy", 2.5),
    ("lean", "bare", 0.35),
    ("full", "scrapy", 1.5),
    ("full", "bare", None),
    ("lean", "scrapy-extractor", None),
    ("full", "scrapy-extractor", None),
)


def main(arguments: argparse.Namespace) -> None:
    """Run the crawlers in rounds; print and save figures and ratios. Raises BenchError."""
    names = tuple((arguments.only or ",".join(DEFAULT)).split(","))
    if unknown := set(names) - set(CRAWLERS):
        raise BenchError(f"no crawler named {unknown.pop()}; there are {', '.join(CRAWLERS)}")
    tree = load(arguments.tree, 160 if arguments.pages is None else arguments.pages)
    rows: list[dict[str, Cell]] = []
    rates: dict[str, list[float]] = defaultdict(list)
    failures: dict[str, str] = {}
    with serve(tree, hosts=arguments.hosts or 40, port=arguments.port) as web:
        for number in range(arguments.rounds):
            for name in names if number % 2 == 0 else reversed(names):
                if name in failures:
                    continue
                try:
                    visit = _run(name, web, arguments)
                except BenchError as error:
                    failures[name] = str(error)
                    print(f"  {name}: {error}", flush=True)
                    continue
                rows.append(_row(name, number + 1, visit))
                if visit.missed or visit.repeats or visit.errors or visit.private:
                    rates.pop(name, None)
                    failures[name] = "not every page once (see the table): its rate cannot be compared"
                    continue
                rates[name].append(visit.rate)
                print(f"  round {number + 1}, {name}: {visit.rate:,.0f} pages/s", flush=True)
        title = (
            f"crawl: {len(web.hosts)} hosts × {len(tree.reachable)} pages of {tree.source}, delay 0, no address budget"
        )
        table(title, rows)
        ratios = _ratios(rates)
        table("ratios of medians", ratios)
        setting = {
            "hosts": len(web.hosts),
            "pages_per_host": len(tree.reachable),
            "tree": tree.source,
            "scrapy": arguments.scrapy,
        }
        version = scrapy_run.version() if rates.keys() & {"scrapy", "scrapy-extractor"} else None
        save(
            "crawl",
            {
                **setting,
                "scrapy_version": version,
                "env": arguments.env,
                "rows": rows,
                "ratios": ratios,
                "failures": failures,
            },
        )
    if failures:
        raise BenchError("; ".join(f"{name}: {why}" for name, why in failures.items()))


def _run(name: str, web: Web, arguments: argparse.Namespace) -> Visit:
    mark = web.mark()
    match name:
        case "scrapy" | "scrapy-extractor":
            overrides = {key: json.loads(value) for key, value in (item.split("=", 1) for item in arguments.scrapy)}
            links = "extractor" if name.endswith("extractor") else "xpath"
            scrapy_run.run(web.seeds, TIMEOUT_S, links=links, overrides=overrides)
        case "bare":
            bare.run(web.seeds, TIMEOUT_S)
        case _:
            env = {
                "TIPTOE_DEFAULT_DELAY_S": "0",
                "TIPTOE_ADDRESS_GAP_S": "0",
                "TIPTOE_LATENCY_FACTOR": "0",
                "TIPTOE_KEEP_TEXT": "0" if name == "lean" else "1",
                "TIPTOE_CONCURRENCY": tiptoe.THREADS,
            }
            with tiptoe.fresh_home() as home:
                env |= dict(setting.split("=", 1) for setting in arguments.env)
                result = tiptoe.crawl(web, home, env=env, arguments=("--sitemaps", "none"), timeout_s=TIMEOUT_S)
            if result.left_running:
                print(f"  {name}: left {result.left_running} processes running", flush=True)
    return web.visit(mark)


def _row(name: str, number: int, visit: Visit) -> dict[str, Cell]:
    return {
        "crawler": name,
        "round": number,
        "pages/s": visit.rate,
        "pages": visit.pages,
        "seconds": visit.seconds,
        "missed": visit.missed,
        "repeats": visit.repeats,
        "errors": visit.errors,
    }


def _ratios(rates: dict[str, list[float]]) -> list[dict[str, Cell]]:
    medians = {name: statistics.median(values) for name, values in rates.items()}
    return [
        {"ratio": f"{ours}/{theirs}", "value": round(medians[ours] / medians[theirs], 3), "bar": bar}
        for ours, theirs, bar in BARS
        if ours in medians and theirs in medians
    ]
