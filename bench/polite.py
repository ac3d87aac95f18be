"""(c) Polite efficiency: 200 hosts at 1 s delay, default settings, requests/s against Σ 1/delay, and violations.

The gap counts from the end of a request to the start of the next, so Σ 1/delay is only reached by an origin
that answers in no time; the mean delay includes the jitter. Counted in the steady window: from when every
host has been contacted (its robots.txt included) to one delay before the last request. A violation is a gap
shorter than the delay by more than 5 ms (the origin's clock has milliseconds).

What a page costs then, counted by the servers and the kernel (`bench.counts`): CPU time of the workers, beat, Postgres,
the broker, their keepers and the command; messages, visits, transactions and statements.
"""

import argparse
import statistics
from collections.abc import Mapping

from bench import counts, tiptoe
from bench.report import Cell, save, table
from bench.tree import Tree, load
from bench.web import Line, gaps, serve, steady

DELAY_S, JITTER, ADDRESS_GAP_S = 1.0, 0.1, 0.5  # the defaults
TOLERANCE_S = 0.005
BAR = 0.98
CPU_BAR_MS, LEAN_BAR_MS = 5.0, 3.5
MEAN_DELAY_S = DELAY_S * (1 + JITTER / 2)
DELAYS = {"TIPTOE_DEFAULT_DELAY_S": f"{DELAY_S:g}", "TIPTOE_CONSTANT_JITTER": f"{JITTER:g}"}


def main(arguments: argparse.Namespace) -> None:
    """Crawl for a minute; print and save efficiency and violations. Raises BenchError."""
    tree = load(arguments.tree, 4 * arguments.seconds if arguments.pages is None else arguments.pages)
    hosts = arguments.hosts or 200
    row, cost = measure(
        tree, hosts=hosts, seconds=arguments.seconds, port=arguments.port, is_lean=arguments.lean, env=arguments.env
    )
    table(f"polite: {hosts} hosts at {DELAY_S:g} s (bar: efficiency at least {BAR}, no violation)", [row])
    bar_ms = LEAN_BAR_MS if arguments.lean else CPU_BAR_MS
    table(f"per page, everything counted (bar: {bar_ms:g} ms of CPU)", [cost.per_page()])
    table("CPU by process", cost.cpu_rows())
    costs = {"per_page": cost.per_page(), "processes": cost.cpu_rows(), "statements": cost.statement_rows()}
    save("polite", {**row, **costs, "seconds": arguments.seconds, "lean": arguments.lean, "env": arguments.env})


def measure(
    tree: Tree, *, hosts: int, seconds: int, port: int, is_lean: bool, env: Mapping[str, str]
) -> tuple[dict[str, Cell], counts.Cost]:
    """One crawl: efficiency and violations, and what a page costs. Raises BenchError."""
    settings = {**DELAYS, "TIPTOE_KEEP_TEXT": "0" if is_lean else "1", **env}
    with (
        serve(tree, hosts=hosts, port=port, net=21) as web,
        tiptoe.fresh_home() as home,
        counts.metered(home) as meter,
    ):
        limit = ("--max-seconds", str(seconds))
        mark = web.mark()
        tiptoe.crawl(web, home, env=settings, arguments=limit, timeout_s=seconds + 120.0, tick=meter)
        lines = web.lines(mark)
        cost = meter.cost(lines, *counts.steady(len(web.hosts), lines))
    return _judge(lines, hosts), cost


def _judge(lines: list[Line], hosts: int) -> dict[str, Cell]:
    within, seconds = steady(lines, hosts, DELAY_S)
    rate = len(within) / seconds
    return {
        "requests/s": rate,
        "of": round(hosts / MEAN_DELAY_S, 1),
        "efficiency": round(rate * MEAN_DELAY_S / hosts, 4),
        **judged_gaps(lines),
        "answer ms": round(1000 * statistics.mean(line["dt"] for line in within), 2),
        "window s": round(seconds, 1),
    }


def judged_gaps(lines: list[Line]) -> dict[str, Cell]:
    """Gaps of hosts, by the origin's log."""
    found = sorted(gap for own in gaps(lines).values() for gap in own)
    return {
        "violations": sum(gap < DELAY_S - TOLERANCE_S for gap in found),
        "least gap": round(found[0], 3) if found else 0.0,
        "median gap": round(statistics.median(found), 3) if found else 0.0,
    }
