"""An origin's robots.txt and tdmrep.json as a visit holds them."""

from dataclasses import dataclass

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
