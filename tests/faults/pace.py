"""How the fault tests run: short or long, by which settings, and the times that they are judged by."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from app.config import Settings
from tests.faults.waiting import PATIENCE_S
from tests.faults.web import NETWORK

IS_LONG = os.environ.get("FAULTS") == "long"
SLACK_S, RESUMED_S = 5.0, 10.0  # docs/reliability.md, INV6
IMPATIENCE_S = 300.0 if IS_LONG else PATIENCE_S

SETTINGS: Mapping[str, object] = {
    "request_deadline_s": 1.5,
    "robots_deadline_s": 1.5,
    "lease_s": 7.0,
    "offer_s": 3.0,
    "backoff_base_s": 1.0,
    "jitter": 0.0,
    "address_gap_s": 0.0,
    "latency_factor": 0.0,
    "allow_networks": NETWORK,
    "log_format": "json",
    "log_level": "DEBUG",
}


def quick_or_long(quick: Any, long: Any) -> Any:
    """What a test takes by default, and under FAULTS=long."""
    return long if IS_LONG else quick


def at_most_s(bound_s: float) -> float:
    """A bound of time: as it is in the long form, which has the machine to itself. In the quick form, which shares it,
    ten times that, which tells a hang from a delay."""
    return bound_s if IS_LONG else 10 * bound_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """What INV3 and INV6 are reckoned with, from the settings in force. Seconds, but for batch: URLs."""

    delay_s: float
    lease_s: float
    tick_s: float
    batch: int

    @classmethod
    def of(cls, settings: Settings) -> "Pace":
        most = settings.settle_s / max(settings.default_delay_s, 0.001) + 1
        return cls(
            delay_s=settings.default_delay_s,
            lease_s=settings.lease_s,
            tick_s=settings.dispatch_tick_s,
            batch=min(settings.settle_urls, int(most)),
        )

    @property
    def recovered_s(self) -> float:
        return self.lease_s + self.tick_s + self.delay_s + SLACK_S
