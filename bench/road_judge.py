"""What the log of a road says of a crawler: gaps, starts, concurrency, connections that brought nothing. Pure.

The delay in force is told by the origin's own numbers: what it made each answer take is fed to the controller that
decides the delay (`app.policy.pace`). The crawler measures at least as much, so its own delay is never shorter.
"""

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass

from app.policy import pace
from bench.road_web import Log, Request

TOLERANCE_S = 0.005
RULES = pace.PaceRules()
FLOOR_ALONE = pace.PaceRules(level_max=0)
DELAY_MOST_S = 86_400.0  # TIPTOE_CONSTANT_CRAWL_DELAY_MAX_S, which ends what adapts


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    """From the end of a host's request to the arrival of the next, and the delay that was in force. Seconds."""

    host: str
    gap_s: float
    delay_s: float

    @property
    def is_short(self) -> bool:
        return self.gap_s < self.delay_s - TOLERANCE_S


def by_host(requests: Iterable[Request]) -> dict[str, list[Request]]:
    """In the order they arrived."""
    found: dict[str, list[Request]] = defaultdict(list)
    for request in requests:
        found[request.host].append(request)
    return found


def delays(requests: Iterable[Request], *, delay_s: float, rules: pace.PaceRules = RULES) -> dict[str, list[float]]:
    """By host, for each of its requests: the delay in force after it. delay_s: before anything adapts."""
    found: dict[str, list[float]] = {}
    for host, own in by_host(requests).items():
        history, found[host] = pace.History(), []
        for request in own:
            if request.status is not None:
                history = pace.after(history, rules, status=request.status, ms=int(1000 * request.imposed_s))
            found[host].append(pace.delay_in_force_s(delay_s, history, rules, floor_s=None, most_s=DELAY_MOST_S))
    return found


def pauses(requests: Sequence[Request], *, delay_s: float) -> list[Pause]:
    """All hosts'. The delay is the latency's floor at least: a level cannot be told from outside, as the crawler's
    clock may have raised it a request earlier."""
    in_force = delays(requests, delay_s=delay_s, rules=FLOOR_ALONE)
    found = []
    for host, own in by_host(requests).items():
        ends = itertools.accumulate((each.end for each in own), max)
        found += [
            Pause(host=host, gap_s=later.arrived - ended, delay_s=delay)
            for later, ended, delay in zip(own[1:], ends, in_force[host], strict=False)
        ]
    return found


def start_gaps(requests: Iterable[Request], *, together: bool = False) -> dict[str, list[float]]:
    """Per address the seconds between the arrivals of two requests; together: of all addresses as one."""
    return {
        address: [later - earlier for earlier, later in itertools.pairwise(own)]
        for address, own in _arrivals(requests, together=together).items()
    }


def short_starts(
    requests: Iterable[Request], gap_s: float, lates: Sequence[tuple[float, float]], *, together: bool = False
) -> int:
    """How many requests came too soon after the one before, by more than the origin was late itself just then."""
    return sum(
        later - earlier < gap_s - TOLERANCE_S - next((late for at, late in lates if at >= later), 0.0)
        for own in _arrivals(requests, together=together).values()
        for earlier, later in itertools.pairwise(own)
    )


def _arrivals(requests: Iterable[Request], *, together: bool) -> dict[str, list[float]]:
    """Per address the moments at which requests arrived, in order."""
    arrivals: dict[str, list[float]] = defaultdict(list)
    for request in requests:
        arrivals["all" if together else request.address].append(request.arrived)
    return {address: sorted(own) for address, own in arrivals.items()}


def met_after(requests: Sequence[Request], hosts: Set[str], moments: Iterable[float]) -> list[int]:
    """How many of these hosts were contacted so many seconds after the first request."""
    first = {each.host: each.arrived for each in reversed(requests)}
    return [sum(first[host] - requests[0].arrived <= moment for host in hosts if host in first) for moment in moments]


def most_at_once(requests: Iterable[Request]) -> int:
    """The most requests under way at one host."""
    most = 0
    for own in by_host(requests).values():
        steps = sorted([(each.arrived, 1) for each in own] + [(each.end, -1) for each in own])
        most = max(most, *itertools.accumulate(step for _, step in steps))
    return most


def unused(log: Log) -> Counter[str]:
    """Connections that brought no request, by the host that they were for; by address where it named none."""
    return Counter(each.host or each.address for each in log.connections.values() if not each.requests)


def opened(log: Log) -> Counter[str]:
    """Connections by host, as above."""
    return Counter(each.host or each.address for each in log.connections.values())


def late_ms(lates: Sequence[tuple[float, float]], begin: float, end: float) -> float:
    """The most that the origin itself was late."""
    return round(1000 * max((late for at, late in lates if begin <= at <= end), default=0.0), 1)
