"""What the web's access log says: INV1 to INV6 of docs/reliability.md as far as they can be told from outside. Pure."""

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tests.faults.web import FORBIDDEN, Line

TOLERANCE_S = 0.005


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """Monotonic seconds: from begin to end it was there; a kill is over at once.

    waiting   hosts that had something queued when it began
    is_total  nobody could crawl until its end
    """

    name: str
    begin: float
    end: float
    waiting: frozenset[str]
    is_total: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """Figures of a log.

    missed        pages of the truth that nobody can have got
    repeats       requests beyond the first of each URL, but for robots.txt;  most_lines: of one URL
    gap_min_s     the least time from the end of a request to the start of the next, of one host
    gaps_short    how many were shorter than the delay;  concurrent: the most requests at once to a host
    robots_most   requests for one host's robots.txt
    recovered_s   the longest that a waiting host was left alone after a fault;  resumed_s: the crawl, after a total one
    """

    requests: int
    missed: int
    repeats: int
    most_lines: int
    gap_min_s: float
    gaps_short: int
    concurrent: int
    disallowed: int
    before_robots: int
    robots_most: int
    recovered_s: float
    resumed_s: float


def see(
    lines: Sequence[Line],
    *,
    truth: Iterable[tuple[str, str]],
    delay_s: float,
    faults: Sequence[Fault] = (),
    exempt: frozenset[int] = frozenset(),
) -> Seen:
    """exempt: requests that were in flight when their worker was stopped."""
    hosts: dict[str, list[Line]] = defaultdict(list)
    for line in sorted(lines, key=lambda line: line.start):
        hosts[line.host].append(line)
    asked = Counter((line.host, line.path) for line in lines if line.path != "/robots.txt")
    gaps = [gap for own in hosts.values() for gap in _gaps(own, exempt)]
    return Seen(
        requests=len(lines),
        missed=len(set(truth) - {(line.host, line.path) for line in lines if line.brought}),
        repeats=asked.total() - len(asked),
        most_lines=max(asked.values(), default=0),
        gap_min_s=min(gaps, default=0.0),
        gaps_short=sum(gap < delay_s - TOLERANCE_S for gap in gaps),
        concurrent=max((_concurrent(own, exempt) for own in hosts.values()), default=0),
        disallowed=sum(line.path == FORBIDDEN for line in lines),
        before_robots=sum(_before_robots(own) for own in hosts.values()),
        robots_most=max((sum(line.path == "/robots.txt" for line in own) for own in hosts.values()), default=0),
        recovered_s=max((_recovered_s(hosts, faults)), default=0.0),
        resumed_s=max(_resumed_s(lines, faults), default=0.0),
    )


def told(line: Line) -> str:
    """For a failure's message."""
    end = "never" if line.end is None else f"{line.end:.3f}"
    return f"{line.host}{line.path} by {line.worker} {line.start:.3f} to {end}{' (hung up)' if line.gone else ''}"


def short_pairs(lines: Sequence[Line], delay_s: float, exempt: frozenset[int]) -> list[str]:
    """The gaps that are too short, with the requests on both sides."""
    hosts: dict[str, list[Line]] = defaultdict(list)
    for line in sorted(lines, key=lambda line: line.start):
        hosts[line.host].append(line)
    return [
        f"{gap:.3f} s: {told(earlier)} | {told(later)}"
        for own in hosts.values()
        for (earlier, later), gap in zip(itertools.pairwise(own), _gaps(own, exempt), strict=True)
        if gap < delay_s - TOLERANCE_S
    ]


def gaps_after(lines: Sequence[Line], moment: float, within_s: float) -> list[float]:
    """Gaps of all hosts whose later request starts so soon after the moment."""
    hosts: dict[str, list[Line]] = defaultdict(list)
    for line in sorted(lines, key=lambda line: line.start):
        hosts[line.host].append(line)
    return [
        later.start - (earlier.end or later.start)
        for own in hosts.values()
        for earlier, later in itertools.pairwise(own)
        if moment <= later.start <= moment + within_s
    ]


def _gaps(own: Sequence[Line], exempt: frozenset[int]) -> list[float]:
    """From the end of all that went before to the start of the next. A request that never ended is one for ever."""
    gaps, ended = [], float("-inf")
    for line in own:
        gaps.append(line.start - ended)
        if line.id not in exempt:
            ended = max(ended, float("inf") if line.end is None else line.end)
    return gaps[1:]


def _concurrent(own: Sequence[Line], exempt: frozenset[int]) -> int:
    steps = []
    for line in own:
        if line.id not in exempt:
            steps += [(line.start, 1), (float("inf") if line.end is None else line.end, -1)]
    most = now = 0
    for _, step in sorted(steps):  # an end before a start of the same moment
        now += step
        most = max(most, now)
    return most


def _before_robots(own: Sequence[Line]) -> int:
    answered = min(
        (line.end for line in own if line.path == "/robots.txt" and line.end is not None and not line.gone),
        default=float("inf"),
    )
    return sum(line.path != "/robots.txt" and line.start < answered for line in own)


def _recovered_s(hosts: Mapping[str, Sequence[Line]], faults: Sequence[Fault]) -> list[float]:
    """For each fault and each host that had work: until its next request, unless another fault came between."""
    found = []
    for at, fault in enumerate(faults):
        for host in fault.waiting:
            start = min((line.start for line in hosts.get(host, ()) if line.start > fault.end), default=None)
            later = [other for other in faults[at + 1 :] if host in other.waiting and start and other.begin < start]
            if start is not None and not later:
                found.append(start - fault.end)
    return found


def _resumed_s(lines: Sequence[Line], faults: Sequence[Fault]) -> list[float]:
    starts = [(fault, min((line.start for line in lines if line.start > fault.end), default=None)) for fault in faults]
    return [start - fault.end for fault, start in starts if fault.is_total and start is not None]
