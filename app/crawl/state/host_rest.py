"""The rest of a host, and why a visit sends it nothing now."""

from dataclasses import dataclass

from app.model import Rest, RestReason, VisitEnding


@dataclass(slots=True, kw_only=True)
class HostRest:
    """Reasons to leave the host alone, and until when. Points in time are monotonic seconds.

    until       the host rests until then; None: it does not
    why         it rests
    is_blocked  an answer made it rest, or its address refused: no request is sent, and the rest outlives the lease
    wait_until  nothing queued may be fetched before, for the reason in `waiting`; the host does not rest
    """

    until: float | None = None
    why: Rest | None = None
    is_blocked: bool = False
    wait_until: float | None = None
    waiting: RestReason | None = None

    def prolong(self, until: float, why: Rest) -> None:
        """Let the host rest until then: the visit leaves. The longest of several rests counts."""
        if self.until is None or until > self.until:
            self.until, self.why = until, why

    def wait(self, until: float, why: RestReason) -> None:
        """Wait until then for something that may be fetched."""
        self.wait_until, self.waiting = until, why

    def left_s(self, now: float) -> float | None:
        """Seconds that the host still rests; None: it does not."""
        return None if self.until is None else self.until - now

    def wait_s(self, now: float) -> float | None:
        """Seconds until something queued may be fetched; None: nothing is known to be in the way."""
        return None if self.wait_until is None else max(self.wait_until - now, 0.0)

    @property
    def why_away(self) -> VisitEnding:
        """The ending of a visit that may send nothing now."""
        return VisitEnding.DELAY if self.why is None else VisitEnding.RESTS

    @property
    def reason(self) -> Rest | None:
        """The reason that its row gets: its rest, or else what its origins wait for."""
        return self.why or (Rest(self.waiting) if self.waiting is not None else None)

    def detail_of(self, ending: VisitEnding) -> str | None:
        """Details of the ending, for a person."""
        if ending is VisitEnding.RESTS and self.why is not None:
            return self.why.words
        return self.waiting if ending is VisitEnding.WAITS else None
