"""(e) A fleet: two beats and several workers, hosts of their own and hosts that share an address: violations, use of
budgets.

Half the hosts have an address of their own, the others share one, five by five, under made-up names (TIPTOE_RESOLVE).
Every host has a delay of 1 s, every address a budget of a start every half second. Judged from the origin's log alone:
per host the gap from the end of a request to the start of the next, per address the gap between two starts. The use of
the budgets is measured in the steady window, against what they allow: an address gives min(hosts / mean delay, 1 /
gap), the mean delay including the jitter.
"""

import argparse
import statistics
import time
from contextlib import ExitStack

from app.local.services import LocalServices
from bench import fleet_machines, tiptoe
from bench.polite import ADDRESS_GAP_S, DELAY_S, DELAYS, MEAN_DELAY_S, TOLERANCE_S, judged_gaps
from bench.report import Cell, save, table
from bench.tree import load
from bench.web import Line, serve, start_gaps, steady

SHARING = 5
BAR = 0.9
BEATS = 2


def main(arguments: argparse.Namespace) -> None:
    """Crawl for a while; print and save violations and use. Raises BenchError."""
    if arguments.machines:
        fleet_machines.main(arguments)
        return
    hosts = arguments.hosts or 200
    tree = load(arguments.tree, 4 * arguments.seconds)
    alone, shared = hosts // 2, hosts // 2 // SHARING
    with (
        serve(tree, hosts=alone + shared, port=arguments.port, net=23) as web,
        tiptoe.fresh_home() as home,
        ExitStack() as fleet,
    ):
        names = {f"h{n}.a{n // SHARING}.test": web.hosts[alone + n // SHARING] for n in range(shared * SHARING)}
        services = fleet.enter_context(LocalServices(home, database_url=None, broker_url=None, log=_quiet))
        settings = {
            **DELAYS,
            "TIPTOE_ADDRESS_GAP_S": f"{ADDRESS_GAP_S:g}",
            "TIPTOE_RESOLVE": " ".join(f"{name}={address}" for name, address in names.items()),
            **arguments.env,
        }
        env = fleet_machines.environment(
            home, database_url=services.database_url, broker_url=services.broker_url, settings=settings
        )
        seeds = [*web.seeds[:alone], *(f"http://{name}:{web.port}/index.html" for name in names)]
        fleet_machines.seed(env, home, seeds)
        for number in range(BEATS):
            fleet.enter_context(fleet_machines.process(env, home, f"beat{number}", "beat"))
        for number in range(arguments.processes):
            fleet.enter_context(fleet_machines.process(env, home, f"worker{number}", "worker", "--concurrency=32"))
        mark = web.mark()
        time.sleep(arguments.seconds)
        lines = web.lines(mark)
    row = _judge(lines, alone, names)
    table(
        f"fleet: {hosts} hosts, {BEATS} beats, {arguments.processes} workers (bar: use at least {BAR}, no violation)",
        [row],
    )
    save("fleet", {**row, "seconds": arguments.seconds, "env": arguments.env})


def _judge(lines: list[Line], alone: int, names: dict[str, str]) -> dict[str, Cell]:
    within, seconds = steady(lines, alone + len(names), DELAY_S)
    rate = sum(line["host"] not in names for line in within) / seconds
    shared_rate = sum(line["host"] in names for line in within) / seconds
    allowed = alone * min(1 / MEAN_DELAY_S, 1 / ADDRESS_GAP_S)
    shared_allowed = len(names) / SHARING * min(SHARING / MEAN_DELAY_S, 1 / ADDRESS_GAP_S)
    address_gaps = sorted(gap for own in start_gaps(lines).values() for gap in own)
    return {
        "use alone": round(rate / allowed, 3),
        "use shared": round(shared_rate / shared_allowed, 3),
        "use": round((rate + shared_rate) / (allowed + shared_allowed), 3),
        "requests/s": round(rate + shared_rate, 1),
        **judged_gaps(lines),
        "address violations": sum(gap < ADDRESS_GAP_S - TOLERANCE_S for gap in address_gaps),
        "least start gap": round(address_gaps[0], 3),
        "answer ms": round(1000 * statistics.mean(line["dt"] for line in within), 2),
        "window s": round(seconds, 1),
    }


def _quiet(_: str) -> None:
    """The services have nothing to say here."""
