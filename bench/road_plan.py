"""The web at the end of the road, drawn from a seed, and what its budgets allow. Pure.

Of all hosts half speak TLS, a tenth of the servers close after each answer (half of them without saying so), 3 % are
dead (refused or silent), 5 % share addresses five by five, 1 % have a name that resolves slowly and 1 % one that does
not. How long handshakes and answers take: `bench.delays`.
"""

import math
import random
import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bench.delays import Delays
from bench.road_judge import RULES, by_host, delays
from bench.road_site import Site
from bench.road_web import Log, Request

DELAYS = Delays()
TLS, CLOSES, DEAD, SHARING, SLOW_NAMES, NO_NAMES = 0.5, 0.1, 0.03, 0.05, 0.01, 0.01
GROUP = 5
NET = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Hosts by name.

    sites      those that have a server;   schemes: of all, http or https
    addresses  what a name server says;    ill: names that it is slow or fails for, as tests.faults.nameserver calls it
    live       hosts that can be crawled
    """

    sites: Sequence[Site]
    schemes: Mapping[str, str]
    addresses: Mapping[str, str]
    ill: Mapping[str, str]
    live: frozenset[str]

    @property
    def by_address(self) -> dict[str, list[Site]]:
        """Live sites."""
        found: dict[str, list[Site]] = defaultdict(list)
        for site in self.sites:
            if site.name in self.live:
                found[site.address].append(site)
        return found


def draw(hosts: int, seed: int) -> Plan:
    """A web of so many hosts, the same for a seed."""
    rng = random.Random(seed)
    names = [f"h{number:04d}.road.test" for number in range(hosts)]
    lot = iter(rng.sample(names, hosts))

    def some(share: float) -> list[str]:
        return [next(lot) for _ in range(round(share * hosts))]

    dead, unnamed, slow_named, sharing = some(DEAD), some(NO_NAMES), some(SLOW_NAMES), some(SHARING)
    refused, silent = set(dead[::2]), set(dead[1::2])
    groups = {name: f"127.0.{NET - 1}.{1 + at // GROUP}" for at, name in enumerate(sharing)}
    addresses = {name: groups.get(name, _address(number)) for number, name in enumerate(names)}
    tls = set(rng.sample(names, round(TLS * hosts)))
    closing = rng.sample(names, round(CLOSES * hosts))
    closes = {name: "told" if at % 2 else "untold" for at, name in enumerate(closing)}
    sites = [
        Site(
            name=name,
            address=addresses[name],
            handshake_s=DELAYS.of_host(rng),
            answer_s=DELAYS.of_host(rng),
            spread=DELAYS.spread,
            closes=closes.get(name, ""),
            silent=name in silent,
        )
        for name in names
    ]
    return Plan(
        sites=[site for site in sites if site.name not in refused],
        schemes={name: "https" if name in tls else "http" for name in names},
        addresses={name: address for name, address in addresses.items() if name not in unnamed},
        ill=dict.fromkeys(slow_named, "slow") | dict.fromkeys(unnamed, "SERVFAIL"),
        live=frozenset(names) - set(dead) - set(unnamed),
    )


def _address(number: int) -> str:
    return f"127.0.{NET + number // 250}.{number % 250 + 1}"


def allowed(
    plan: Plan, log: Log, *, begin: float, end: float, delay_s: float, jitter: float, address_gap_s: float
) -> float:
    """Requests a second that the budgets allow: each host 1 / (delay in force + exchange), all that share an address
    together at most 1 / its gap. Delays and exchanges are those of the requests that arrived between begin and end."""
    made = by_host(log.requests)
    in_force = delays(log.requests, delay_s=delay_s)
    total = 0.0
    for sites in plan.by_address.values():
        own = 0.0
        for site in sites:
            within = [
                (request, delay)
                for request, delay in zip(made.get(site.name, ()), in_force.get(site.name, ()), strict=True)
                if begin <= request.arrived <= end and request.status is not None
            ]
            exchange_s, mean_s = _usual(site, delay_s)
            if within:
                exchange_s = statistics.mean(_took_s(site, request, log) for request, _ in within)
                mean_s = statistics.mean(delay for _, delay in within)
            own += 1 / (mean_s * (1 + jitter / 2) + exchange_s)
        total += min(own, 1 / address_gap_s)
    return total


def _took_s(site: Site, request: Request, log: Log) -> float:
    """What the origin made it take; where it closes, with the handshake (a plain connection's is in its first
    answer)."""
    handshake_s = log.connections[request.connection].imposed_s if site.closes else 0.0
    return request.imposed_s + handshake_s


def _usual(site: Site, delay_s: float) -> tuple[float, float]:
    """Mean exchange and delay of a host that was not asked."""
    over = math.exp(site.spread**2 / 2)
    exchange_s = (site.answer_s + (site.handshake_s if site.closes else 0.0)) * over
    return exchange_s, max(delay_s, RULES.latency_factor * exchange_s)
