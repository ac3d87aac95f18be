"""The fleet's figures, from Postgres: `tiptoe web` shows them at /metrics.

However many ask, Postgres is read once in GOOD_S. While it is away the page says so, and leaves its figures out. It
waits no longer than Prometheus does: a name or an address that nobody answers for takes its time to fail, and a page
that comes too late says that `tiptoe web` is away.

The processes that serve metrics, as the list that Prometheus' `http_sd` reads.

A process names its Postgres sessions after the port that it serves. So the list has who has a session now: a process
that is gone leaves it with its connection, and nothing is to be registered, renewed or cleaned up.
"""

import ipaddress
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from sqlalchemy import Engine

from app.errors import ServiceError
from app.metrics import exposition
from app.metrics.exposition import Value
from app.metrics.machine import memory
from app.model.reasons import HostWait
from app.runtime.once import Once
from app.store import db, fleet
from app.store.fleet import FleetWatch, Serving

GOOD_S = 5.0
HOST_STATES = {
    HostWait.DUE: "due",
    HostWait.OFFERED: "offered",
    HostWait.VISITED: "visited",
    HostWait.DELAY: "waiting",
    HostWait.RESTING: "resting",
    HostWait.PAUSED: "paused",
    HostWait.NOTHING: "quiet",
}
BACKLOGS = ("handlers", "near_duplicates", "search")  # queues of features that serve the whole fleet
ANY = "*"


class FleetPage:
    """The page of a web process. Threads share it.

    offer_s  seconds that an offer stands
    waits_s  for Postgres: Prometheus waits for 10 s if nobody tells it otherwise
    """

    def __init__(
        self,
        watch: FleetWatch,
        *,
        offer_s: float,
        monotonic: Callable[[], float] = time.monotonic,
        waits_s: float = 4.0,
    ) -> None:
        self._watch, self._offer_s, self._waits_s = watch, offer_s, waits_s
        self._once = Once(self._read, kept_s=lambda _: GOOD_S, monotonic=monotonic)
        self._registry = exposition.registry(self.values)

    def page(self) -> bytes:
        """The page as Prometheus reads it: `exposition.CONTENT_TYPE`. Never raises for a service."""
        return exposition.page(self._registry)

    def values(self) -> Mapping[str, Value]:
        """The figures, at most GOOD_S old; without Postgres' where it takes longer than `waits_s`."""
        made = self._once.of("", wait_s=self._waits_s)
        return _without_postgres() if made is None else made.value

    def _read(self, _: str) -> Mapping[str, Value]:
        began = time.monotonic()
        try:
            found = self._ask()
        except ServiceError:
            return _without_postgres()
        took_s = time.monotonic() - began
        return {**_without_postgres(), **found, "tiptoe_postgres_up": 1.0, "tiptoe_fleet_read_seconds": took_s}

    def _ask(self) -> dict[str, Value]:
        now = self._watch.now(most=0)
        lanes = now.sampled.lanes
        waits = {HOST_STATES[HostWait.of(row["because"])]: 0.0 for row in now.all_waits}
        for row in now.all_waits:
            waits[HOST_STATES[HostWait.of(row["because"])]] += row["hosts"]
        roles = Counter(role_of(each.name) for each in now.serving)
        stopped = sum(node.stopped_because is not None for node in now.nodes)
        without = sum(each.problem is not None for each in now.browsers)
        free = {"tiptoe_archive_free_bytes": min(node.free_bytes for node in now.nodes)} if now.nodes else {}
        judged = now.sampled.judged
        return {
            "tiptoe_frontier_urls": {(lane,): lanes[lane].queued if lane in lanes else 0.0 for lane in range(4)},
            "tiptoe_queue_depth_urls": sum(depth.due for depth in lanes.values()),
            "tiptoe_hosts": {state: waits.get(state, 0.0) for state in HOST_STATES.values()},
            "tiptoe_leases": now.visited,
            "tiptoe_dispatch_lag_seconds": now.unserved.lag_s(self._offer_s),
            "tiptoe_recent_violations": {"gap": judged.gap, "concurrent": judged.concurrent},
            "tiptoe_recent_requests_judged": judged.judged,
            "tiptoe_crawls": {state: now.states.get(state, 0) for state in ("active", "paused", "finished")},
            "tiptoe_archive_nodes": {"stopped": stopped, "writing": len(now.nodes) - stopped},
            "tiptoe_backlog_pages": {(queue,): now.sampled.backlog.get(queue, 0) for queue in BACKLOGS},
            "tiptoe_renders_due": now.sampled.renders,
            "tiptoe_render_workers": {"without_browser": without, "ready": len(now.browsers) - without},
            "tiptoe_processes_serving": {role: roles[role] for role in ("worker", "render", "beat")},
            **free,
        }


def _without_postgres() -> dict[str, Value]:
    found: dict[str, Value] = {"tiptoe_postgres_up": 0.0}
    if (room := memory()) is not None:
        found |= {"tiptoe_memory_limit_bytes": room.limit, "tiptoe_memory_available_bytes": room.available}
    return found


class _ServingAt(NamedTuple):
    role: str
    address: str
    port: str


def targets(engine: Engine) -> list[Mapping[str, object]]:
    """The list, fit to be sent as JSON. Raises ServiceError: Prometheus then keeps the list that it has."""
    with db.transaction(engine) as tx:
        return listed(fleet.serving(tx))


def listed(serving: Sequence[Serving]) -> list[Mapping[str, object]]:
    """The list of these processes. Those that listen to the loopback of another machine are left out."""
    found: dict[str, set[str]] = {}
    for each in serving:
        place = _place(each.name)
        if place.address == ANY:
            host = each.address or "127.0.0.1"
        elif each.is_near or not _is_loopback(place.address):
            host = place.address
        else:
            continue
        found.setdefault(place.role, set()).add(f"[{host}]:{place.port}" if ":" in host else f"{host}:{place.port}")
    return [{"targets": sorted(found[role]), "labels": {"role": role}} for role in sorted(found)]


def role_of(name: str) -> str:
    return _place(name).role


def _place(name: str) -> _ServingAt:
    """The parts of `fleet.session_name`."""
    words = name.split()
    address, _, port = words[-1].rpartition(":")
    return _ServingAt(words[1], address, port)


def _is_loopback(address: str) -> bool:
    return ipaddress.ip_address(address).is_loopback
