"""Chooses the connections that a server closes while it waits for clients: late ones, and the oldest beyond a number.

A client that sends half a request, or reads no answer, costs a descriptor and sometimes a thread, and nobody knows it
yet. So at most `most` are waited for. Beyond that the address with the most of them loses its oldest: a single address
that opens hundreds takes no place from others. A server that refuses beyond a number would refuse everybody.
"""

from collections import defaultdict, deque
from collections.abc import Hashable, Sequence
from heapq import heapify, heapreplace
from typing import Final, Generic, NamedTuple, TypeVar

WAITING_MOST: Final = 64
CROWD_TIMES: Final = 4
YOUNG_S: Final = 0.5  # what a client sent at once may not have been read before
HEAD_S: Final = 10.0
BODY_S: Final = 30.0  # of a form of 1 MB, over a slow line; and of an answer that nobody reads

_Connection = TypeVar("_Connection", bound=Hashable)


class _Wait(NamedTuple):
    peer: str
    since: float
    until: float


class SlowClients(Generic[_Connection]):
    """The connections of one server that wait for their clients. Times are monotonic seconds.

    Each method takes one step on a dict, so threads may share it.
    """

    def __init__(self, *, most: int = WAITING_MOST, head_s: float = HEAD_S, body_s: float = BODY_S) -> None:
        self.head_s, self.body_s = head_s, body_s
        self._most = most
        self._waits: dict[_Connection, _Wait] = {}  # the oldest first

    @property
    def is_crowded(self) -> bool:
        """Whether they are so many that not even the young may stay, nor should the server's next look be awaited."""
        return len(self._waits) > CROWD_TIMES * self._most

    def wait(self, connection: _Connection, peer: str, now: float, seconds: float) -> None:
        """Wait for this one from now on, for so long at most."""
        self.forget(connection)
        self._waits[connection] = _Wait(peer, now, now + seconds)

    def forget(self, connection: _Connection) -> bool:
        """Wait for it no longer: its request is whole, or it is closed. Returns whether it was waited for."""
        return self._waits.pop(connection, None) is not None

    def due(self, now: float) -> list[_Connection]:
        """Those to close, which are forgotten: those that had their time, and those beyond the number."""
        found = [each for each, wait in list(self._waits.items()) if wait.until <= now]
        for each in found:
            self.forget(each)
        since = now if self.is_crowded else now - YOUNG_S
        beyond = self._beyond([(each, wait) for each, wait in list(self._waits.items()) if wait.since <= since])
        for each in beyond:
            self.forget(each)
        return [*found, *beyond]

    def _beyond(self, waits: Sequence[tuple[_Connection, _Wait]]) -> list[_Connection]:
        """The oldest of the address that has most of these, again and again until the rest of all is few enough."""
        of_peer: dict[str, deque[tuple[int, _Connection]]] = defaultdict(deque)
        for age, (each, wait) in enumerate(waits):
            of_peer[wait.peer].append((age, each))
        busiest = [(-len(of), of[0][0], peer) for peer, of in of_peer.items()]
        heapify(busiest)
        found = []
        for _ in range(min(len(self._waits) - self._most, len(waits))):
            of = of_peer[busiest[0][2]]
            found.append(of.popleft()[1])
            heapreplace(busiest, (-len(of), of[0][0] if of else 0, busiest[0][2]))
        return found
