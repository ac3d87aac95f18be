"""A host's origins as its visit knows them: their robots.txt and tdmrep.json, and which of them are out of reach."""

from dataclasses import dataclass, field
from typing import Any

from app.crawl.state.lease import Lease
from app.crawl.state.turn import Turn
from app.model import Origin, RestReason
from app.policy import pace
from app.policy.robots import Availability, Robots, Standing
from app.policy.tdm import NO_SIGNALS, RobotsSignals


@dataclass(slots=True, kw_only=True)
class RobotsFile:
    """An origin's robots.txt as the visit holds it. Points in time are monotonic seconds.

    rules                            the rules in force (app.crawl.robots.obtain decides); None: complete disallow
    signals                          its lines about text and data mining, where its rules are in force
    availability, status, failures   of the last attempt, and how many failed in a row
    asked, fresh_until               the last attempt, and when the next is due
    unreachable_from                 the first failure after the last success
    answered                         the origin has, once, whatever the status
    body_sha256, etag, last_modified, crawl_delay_s   of the file, or of its last good copy
    too_costly                       URLs of the visit that its patterns were too much work for
    """

    rules: Robots | None = None
    signals: RobotsSignals = NO_SIGNALS
    availability: Availability
    status: int | None
    failures: int
    asked: float
    fresh_until: float
    unreachable_from: float | None
    answered: bool
    body_sha256: bytes | None
    etag: str | None
    last_modified: str | None
    crawl_delay_s: float | None
    too_costly: int = 0

    def standing(self, moment: float) -> Standing:
        away_s = None if self.unreachable_from is None else moment - self.unreachable_from
        return Standing(self.availability, away_s, self.body_sha256 is not None, self.status is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tdmrep:
    """An origin's /.well-known/tdmrep.json as the visit holds it.

    body    empty where there is no file, and where that is unknown
    ask_at  monotonic second from which it is asked for again, before the next page
    """

    body: bytes
    ask_at: float


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
