"""Estimates of which hosts are at their cap through links from other hosts, as far as this process knows.

A host's own visits keep the estimate on its row. Links from other hosts' pages would lock that row at every settle, so
each process adds them up and updates the row when there are many. Each process is off by at most a 64th of the cap.
"""

import sys
import threading
from collections.abc import Iterable
from dataclasses import dataclass, field

MOST = 50_000  # hosts; a process that links to more drops its counts, and their own visits count again
ROW_UPDATES = 64  # updates of the row on the way to the cap


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The limit for a host at its cap.

    floor  links with this score or a lower one are not admitted
    until  monotonic second after which the host is checked again at its next link
    """

    floor: float
    until: float


@dataclass(slots=True, kw_only=True)
class FullHosts:
    """Counts links to hosts, and keeps the verdicts. Thread-safe.

    cap: URLs that a host may have waiting; None: any number
    """

    cap: int | None = None
    _added: dict[int, int] = field(default_factory=dict)
    _verdicts: dict[int, Verdict] = field(default_factory=dict)
    _stale: set[int] = field(default_factory=set)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def is_empty(self) -> bool:
        return not self._verdicts

    @property
    def quantum(self) -> int:
        """Links to a host that its row is updated for at once; that many are admitted without a check."""
        return sys.maxsize if self.cap is None else max(self.cap // ROW_UPDATES, 1)

    def floor(self, host_id: int, now: float) -> float | None:
        """The score that links to a host must exceed; None: it is not known to be full. An expired verdict holds until
        the next `due` has the host checked.
        """
        verdict = self._verdicts.get(host_id)
        if verdict is None:
            return None
        if verdict.until <= now:
            with self._lock:
                self._stale.add(host_id)
        return verdict.floor

    def due(self, new: Iterable[tuple[int, int]]) -> dict[int, int]:
        """Count further links: (host, how many). Returns the hosts to check now, and the links to add to their rows."""
        if self.cap is None:
            return {}
        quantum = self.quantum
        found: dict[int, int] = {}
        with self._lock:
            if len(self._added) > MOST:
                self._added.clear()
            for host_id, n in new:
                n += self._added.get(host_id, 0)
                if n >= quantum:
                    found[host_id] = n
                    self._added.pop(host_id, None)
                else:
                    self._added[host_id] = n
            for host_id in self._stale:
                found[host_id] = found.get(host_id, 0) + self._added.pop(host_id, 0)
            self._stale.clear()
        return found

    def judge(self, host_id: int, verdict: Verdict | None) -> None:
        """Set a host's verdict. None: it has room."""
        with self._lock:
            self._verdicts.pop(host_id, None)
            if verdict is not None and len(self._verdicts) < MOST:
                self._verdicts[host_id] = verdict
