"""Hosts that share an address, at a distance: how much of what their budgets allow is used, judged at the origin.

`python -m bench shared` runs each scene with `tiptoe crawl` at its default settings, on loopback: https names on one
address, whose handshake takes its time, with servers that keep connections and servers that close after each answer;
and 500 hosts in one network that TIPTOE_FRONT_GAPS_S gives a gap of 20 ms. `--scenes 5x60,2x300c,front` picks some:
names × milliseconds; c: servers that close.
"""

import argparse
import re
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from bench import road_judge, tiptoe
from bench.polite import ADDRESS_GAP_S, DELAY_S, JITTER
from bench.report import BenchError, Cell, save, table
from bench.road_site import Site
from bench.road_web import Log, Request, Road, plain_pages, road

BAR, FRONT_BAR = 0.8, 0.9
ADDRESS, FRONT = "127.0.58.1", "127.0.60.0/23"
FRONT_GAP_S, FRONT_HOSTS, FRONT_SECONDS = 0.02, 500, 30.0
SECONDS = 45.0
STARTS_S = 60.0  # until the first connection, on a busy machine
PAGES = 400
SCENES = ("5x60", "5x60c", "2x25", "2x60", "2x150", "2x300", "2x60c", "5x300c", "front")
_SCENE = re.compile(r"(\d+)x(\d+)(c?)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Scene:
    """Sites and how they are crawled. network: its gap_s holds for all addresses together; else for each.

    allowed   requests a second
    """

    name: str
    sites: tuple[Site, ...]
    scheme: str
    seconds: float
    gap_s: float
    network: str = ""
    bar: float = BAR

    @property
    def allowed(self) -> float:
        """The smaller of what the shared budget and the hosts' own delays allow."""
        return min(1 / self.gap_s, sum(1 / (DELAY_S * (1 + JITTER / 2) + _exchange_s(site)) for site in self.sites))

    @property
    def settings(self) -> dict[str, str]:
        return {"TIPTOE_FRONT_GAPS_S": f"{self.network}={self.gap_s:g}"} if self.network else {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What the origin saw in a scene's window. rate: requests a second.

    least_gap_s     between the arrivals of two requests at the address, or in the network;   short: how many fell below
                    the gap, by more than the origin was late itself just then
    host_violations gaps of a host below its delay;   unused: the most connections of a host that brought no request
    """

    scene: Scene
    requests: Counter[str]
    connections: Counter[str]
    unused: Counter[str]
    rate: float
    least_gap_s: float
    short: int
    least_pause_s: float
    host_violations: int
    at_once: int
    late_ms: float

    @property
    def used(self) -> float:
        """Of what is allowed."""
        return self.rate / self.scene.allowed

    @property
    def row(self) -> dict[str, Cell]:
        """For the table."""
        return {
            "scene": self.scene.name,
            "hosts served": f"{len(self.requests)} of {len(self.scene.sites)}",
            "requests": self.requests.total(),
            "connections": self.connections.total(),
            "unused": self.unused.total(),
            "unused/host": max(self.unused.values(), default=0),
            "requests/s": round(self.rate, 3),
            "allowed/s": round(self.scene.allowed, 3),
            "used": round(self.used, 3),
            "bar": self.scene.bar,
            "least gap": round(self.least_gap_s, 4),
            "short": self.short,
            "least pause": round(self.least_pause_s, 3),
            "violations": self.host_violations,
            "at once": self.at_once,
            "origin late ms": self.late_ms,
        }


def main(arguments: argparse.Namespace) -> None:
    """Run the scenes; print and save what each used. Raises BenchError."""
    names = tuple((arguments.scenes or ",".join(SCENES)).split(","))
    rows = []
    for name in names:
        seen = play(scene(name), env=arguments.env)
        rows.append(seen.row)
        table(f"{name}: {seen.scene.scheme}, {seen.scene.seconds:g} s", hosts_table(seen))
    table(f"hosts that share an address (bars: used at least {BAR}, front {FRONT_BAR}; short and violations 0)", rows)
    save("shared", {"rows": rows, "env": arguments.env})


def scene(name: str) -> Scene:
    """By its name: front, or names × milliseconds. Raises BenchError."""
    if name == "front":
        return front()
    found = _SCENE.fullmatch(name)
    if found is None:
        raise BenchError(f"no scene named {name!r}; write front, or e.g. 5x60, or 5x60c for servers that close")
    return shared(int(found[1]), int(found[2]) / 1000, closes="told" if found[3] else "")


def shared(names: int, handshake_s: float, *, closes: str = "", seconds: float = SECONDS) -> Scene:
    """So many https names on one address. closes: as in Site."""
    sites = tuple(
        Site(name=f"n{number}.road.test", address=ADDRESS, handshake_s=handshake_s, closes=closes)
        for number in range(names)
    )
    return Scene(
        name=f"{names}x{1000 * handshake_s:.0f}{'c' if closes else ''}",
        sites=sites,
        scheme="https",
        seconds=seconds,
        gap_s=ADDRESS_GAP_S,
    )


def front(
    hosts: int = FRONT_HOSTS,
    *,
    gap_s: float = FRONT_GAP_S,
    scheme: str = "http",
    handshake_s: float = 0.0,
    seconds: float = FRONT_SECONDS,
) -> Scene:
    """So many hosts, each at an address of its own, in a network with one gap."""
    sites = tuple(
        Site(
            name=f"f{number}.road.test",
            address=f"127.0.{60 + number // 250}.{number % 250 + 1}",
            handshake_s=handshake_s,
        )
        for number in range(hosts)
    )
    return Scene(name="front", sites=sites, scheme=scheme, seconds=seconds, gap_s=gap_s, network=FRONT, bar=FRONT_BAR)


def play(scene: Scene, *, env: dict[str, str] | None = None) -> Seen:
    """Crawl the scene's sites for its seconds, from the first connection on. Raises BenchError."""
    schemes = {site.name: scene.scheme for site in scene.sites}
    with road(scene.sites, pages=plain_pages(PAGES), schemes=schemes) as web, tiptoe.fresh_home() as home:
        settings = {**web.settings, **scene.settings, **(env or {})}
        with suppress(_Enough):
            tiptoe.crawl(
                web,
                home,
                env=settings,
                # It is stopped before that, unless whoever runs us is killed.
                arguments=("--sitemaps", "none", "--max-seconds", str(scene.seconds + STARTS_S)),
                timeout_s=STARTS_S + scene.seconds + 60,
                tick=lambda: _stop_after(web, scene.seconds),
            )
        return judge(scene, web.log())


class _Enough(Exception):
    """The scene's time is over."""


def _stop_after(web: Road, seconds: float) -> None:
    began = web.has_heard()
    if began is not None and web.now() > began + seconds + 1:
        raise _Enough


def judge(scene: Scene, log: Log) -> Seen:
    """Of the scene's seconds, from the first connection on. Raises BenchError without one."""
    if not log.connections:
        raise BenchError(f"{scene.name}: nobody connected; is Tiptoe's stack up?")
    begin = min(each.accepted for each in log.connections.values())
    end = begin + scene.seconds
    requests: Sequence[Request] = [each for each in log.requests if each.arrived <= end]
    within = Log(
        connections={number: each for number, each in log.connections.items() if each.accepted <= end},
        requests=requests,
        lates=log.lates,
    )
    starts = [gap for own in road_judge.start_gaps(requests, together=bool(scene.network)).values() for gap in own]
    pauses = road_judge.pauses(requests, delay_s=DELAY_S)
    return Seen(
        scene=scene,
        requests=Counter(each.host for each in requests),
        connections=road_judge.opened(within),
        unused=road_judge.unused(within),
        rate=len(requests) / scene.seconds,
        least_gap_s=min(starts, default=0.0),
        short=road_judge.short_starts(requests, scene.gap_s, log.lates, together=bool(scene.network)),
        least_pause_s=min((each.gap_s for each in pauses), default=0.0),
        host_violations=sum(each.is_short for each in pauses),
        at_once=road_judge.most_at_once(requests),
        late_ms=road_judge.late_ms(log.lates, begin, end),
    )


def hosts_table(seen: Seen) -> list[dict[str, Cell]]:
    """A row per host; of many hosts the five with the fewest requests and the five with the most connections."""
    names = [site.name for site in seen.scene.sites]
    if len(names) > 10:
        fewest = sorted(names, key=lambda name: seen.requests[name])[:5]
        names = fewest + [name for name, _ in seen.connections.most_common(5) if name not in fewest]
    return [
        {
            "host": name,
            "requests": seen.requests[name],
            "connections": seen.connections[name],
            "unused": seen.unused[name],
        }
        for name in names
    ]


def _exchange_s(site: Site) -> float:
    return site.answer_s + (site.handshake_s if site.closes else 0.0)
