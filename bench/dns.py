"""(k) Lookups of names by a fleet: with affinity of queues, without, and with answers shared by the fleet.

Hosts at 1 s delay are visited all the time, 10 s a visit, for an hour of a clock that is moved by hand. Each worker has
the resolver of app.net.dns, whose system call is counted. Without affinity a visit goes to any worker, with it to the
one that serves the host's queue; answers that are shared are one memory for all. At last, what a lookup costs in CPU.
"""

import argparse
import random
import time
from collections.abc import Callable

from app.net.dns import Resolver, ResolverLimits
from bench.report import Cell, save, table

VISIT_S, HOUR_S, PAGES_A_VISIT, TTL_S = 10, 3_600, 9, 300.0
HOSTS, COSTS = 300, 2_000
WORKERS = (2, 8, 32)


def main(arguments: argparse.Namespace) -> None:
    """Count and print."""
    hosts = arguments.hosts or HOSTS
    rows: list[dict[str, Cell]] = []
    for workers in WORKERS:
        rows += [_row(hosts, workers, "none", workers), _row(hosts, workers, "of queues", workers)]
    rows.append(_row(hosts, max(WORKERS), "answers shared", 1))
    table(f"dns: lookups in an hour, {hosts} hosts at 1 s delay, answers kept for {TTL_S:g} s", rows)
    cost_ms = round(_cost_ms(), 3)
    print(f"CPU of a lookup, of a name in /etc/hosts, with its thread: {cost_ms} ms")
    save("dns", {"rows": rows, "cpu_ms": cost_ms})


def _row(hosts: int, workers: int, affinity: str, memories: int) -> dict[str, Cell]:
    rng = random.Random(workers)
    lookups = _lookups(
        hosts, memories, (lambda _: rng.randrange(memories)) if affinity == "none" else (lambda host: host % memories)
    )
    visits = hosts * HOUR_S // VISIT_S
    return {
        "workers": workers,
        "affinity": affinity,
        "lookups": lookups,
        "a host and hour": round(lookups / hosts, 1),
        "a visit": round(lookups / visits, 3),
        "a page": round(lookups / visits / PAGES_A_VISIT, 4),
    }


def _lookups(hosts: int, memories: int, worker_of: Callable[[int], int]) -> int:
    now, asked = 0.0, 0

    def getaddrinfo(*_: object, **__: object) -> list[tuple[object, ...]]:
        nonlocal asked
        asked += 1
        return [(2, 1, 6, "", ("192.0.2.1", 0))]

    resolvers = [
        Resolver(ResolverLimits(ttl_s=TTL_S, threads=1), getaddrinfo=getaddrinfo, clock=lambda: now)
        for _ in range(memories)
    ]
    for second in range(0, HOUR_S, VISIT_S):
        now = float(second)
        for host in range(hosts):
            resolvers[worker_of(host)].resolve(f"h{host}.test", 80, 5.0)
    return asked


def _cost_ms() -> float:
    resolver = Resolver(ResolverLimits(ttl_s=0.0))
    began = time.process_time()
    for _ in range(COSTS):
        resolver.resolve("localhost", 80, 5.0)
    return (time.process_time() - began) / COSTS * 1e3
