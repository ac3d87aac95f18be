"""A host's origins as its visit knows them: their robots.txt and tdmrep.json, and which of them are out of reach."""

from dataclasses import dataclass, field
from typing import Any

from app.crawl.state.lease import Lease
from app.crawl.state.robots_file import RobotsFile, Tdmrep
from app.crawl.state.turn import Turn
from app.model import Origin, RestReason
from app.policy import pace


@dataclass(slots=True, kw_only=True)
class HostOrigins:
    """The origins of the visited host. `app.crawl.robots` changes it.

    robots      each origin's robots.txt
    tdmrep      each origin's tdmrep.json, in crawls that honour opt-outs
    discovered  (crawl, origin) whose sitemaps were put up for admission by this visit
    notes       of the features about them, by their names
    """

    robots: dict[Origin, RobotsFile] = field(default_factory=dict)
    tdmrep: dict[Origin, Tdmrep] = field(default_factory=dict)
    discovered: set[tuple[int, Origin]] = field(default_factory=set)
    notes: dict[str, Any] = field(default_factory=dict)

    def crawl_delay_s(self) -> float | None:
        """The slowest Crawl-delay that any of them asks for; None: none asks."""
        return pace.slowest(file.crawl_delay_s for file in self.robots.values())

    def out_of_reach(self, lease: Lease, turn: Turn) -> dict[Origin, tuple[float, RestReason]]:
        """Origins from which no page may be fetched for now: until when at the earliest, and why.

        An origin whose robots.txt is due to be asked for again is not among them: its next URL leads to that.
        """
        now = lease.now()
        known = {origin: shut(file, lease, turn) for origin, file in self.robots.items() if file.fresh_until > now}
        return {origin: why for origin, why in known.items() if why is not None}


def shut(file: RobotsFile, lease: Lease, turn: Turn) -> tuple[float, RestReason] | None:
    """Until when, and why, no page may be fetched under this file. None: one may be, at the host's next turn."""
    if file.rules is None:
        return file.fresh_until, RestReason.ROBOTS_OUT_OF_REACH
    at, hours = max(lease.now(), turn.ready_at), file.rules.visit_time
    away_s = hours.until_start_s(lease.database_time(at)) if hours else 0.0
    return (at + away_s, RestReason.VISIT_TIME) if away_s else None
