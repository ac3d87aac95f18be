"""The turn of a host: when its next request may start, by the pace of its row and by this visit's requests."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from app.policy import backoff, pace
from app.policy.moment import Hours
from app.store.fetches import Fetch
from app.store.host_rows import HostPace

if TYPE_CHECKING:
    from app.crawl.state.worker import Worker


@dataclass(slots=True, kw_only=True)
class Turn:
    """When the host's next request may start. `app.crawl.request` changes it. Points in time are monotonic seconds.

    pace         the host's, as its row keeps it
    ready_at     no request starts before this
    spaced_at    nor before this, whatever the delay becomes: the gap after a start that came late
    last_end     end of the visit's last request, from which the delay counts; None: it has sent none
    requests     sent by the visit
    was_contacted   the host was contacted before the visit
    override_s   an operator's delay, in seconds; None: the site's own, or the default
    quiet        hours in which an operator wants no request
    logged       the log's row of the last request that was sent
    """

    pace: HostPace
    ready_at: float
    spaced_at: float = 0.0
    last_end: float | None = None
    requests: int = 0
    was_contacted: bool
    override_s: float | None
    quiet: Hours | None
    logged: Fetch | None = None

    def adapt(self, worker: "Worker", robots_delay_s: float | None) -> None:
        """Set the delay in force from what is known of the host now, and adjust the wait for the next request.

        robots_delay_s: the slowest Crawl-delay of its origins
        """
        settings, host = worker.settings, self.pace
        host.robots_delay_s = robots_delay_s
        base_s = pace.base_delay_s(
            operator_s=self.override_s,
            robots_s=robots_delay_s,
            default_s=settings.default_delay_s,
            robots_max_s=settings.crawl_delay_max_s,
        )
        before, host.delay_s = (
            host.delay_s,
            pace.delay_in_force_s(
                base_s,
                host.history,
                worker.rules.pace,
                floor_s=settings.delay_override_s,
                most_s=settings.crawl_delay_max_s,
            ),
        )
        if self.last_end is not None and host.delay_s != before:
            self.ready_at = max(self.last_end + self._jittered_s(worker), self.spaced_at)
        elif self.was_contacted:
            self.ready_at += max(host.delay_s - before, 0.0)

    def contacted(self, worker: "Worker", ended: float, spaced_at: float) -> None:
        """Record the end of a request, from which the host's delay counts.

        spaced_at: the next one starts no earlier
        """
        self.last_end = ended
        self.spaced_at = spaced_at
        self.ready_at = max(ended + self._jittered_s(worker), spaced_at)
        self.requests += 1

    def pause_s(self) -> float:
        """Seconds from the last request's end to the next: the delay with its jitter."""
        delay_s = self.pace.delay_s
        return delay_s if self.last_end is None else max(self.ready_at - self.last_end, delay_s)

    def is_probing(self, worker: "Worker") -> bool:
        """Whether the host was closed by the breaker, and its next request tests whether it answers again."""
        return backoff.is_probing(self.pace.history.statuses, worker.rules.breaker)

    def _jittered_s(self, worker: "Worker") -> float:
        return pace.with_jitter_s(self.pace.delay_s, worker.settings.jitter, worker.rng)
