"""A process's cache of parsed robots.txt files."""

from collections.abc import Callable
from hashlib import sha256
from weakref import ref

from app.model import Origin
from app.policy import robots
from app.policy.tdm import RobotsSignals
from app.runtime.lru import Lru

MOST_BYTES = 2 * 1024 * 1024  # of all files; parsed they take 10 to 20 times that
LEAST_BYTES = 1024  # that a file counts for, however small


class RobotsBook:
    """Parsed robots.txt: by content for origins we visit; by origin, for a minute, for those that links point to.

    The bound is one for all files: a file of 500 KiB takes up to 10 MB, and a domain may have one for each of its
    hosts.
    """

    FOREIGN_S = 60.0

    def __init__(self, token: str) -> None:
        self._token = token
        self._parsed: Lru[bytes, robots.Robots] = Lru(MOST_BYTES)
        self._signals: Lru[bytes, RobotsSignals] = Lru(MOST_BYTES)
        self._foreign: Lru[Origin, tuple[float, ref[robots.Robots]]] = Lru(4_096)

    def known(self, digest: bytes) -> robots.Robots | None:
        """The rules of a body that was parsed before, by its SHA-256."""
        return self._parsed.get(digest)

    def parsed(self, body: bytes) -> robots.Robots:
        digest = sha256(body).digest()
        found = self._parsed.get(digest)
        if found is None:
            found = robots.parse(body, self._token)
            self._parsed.put(digest, found, _weight(body))
        return found

    def signals(self, digest: bytes, body: Callable[[], bytes]) -> RobotsSignals:
        """The file's lines about text and data mining.   body: reads the file; called where it is not in the cache."""
        found = self._signals.get(digest)
        if found is None:
            file = body()
            found = RobotsSignals(file, self._token)
            self._signals.put(digest, found, LEAST_BYTES if found.is_silent else _weight(file))
        return found

    def foreign(self, origin: Origin, now: float) -> robots.Robots | None:
        """The rules of an origin that links point to: ALLOW_ALL where its file was never fetched. None: look them up,
        and call `remember`.
        """
        entry = self._foreign.get(origin)
        return entry[1]() if entry and entry[0] > now else None

    def remember(self, origin: Origin, found: robots.Robots, now: float) -> None:
        """Remember the rules of such an origin, as long as the file's place is not needed for others."""
        self._foreign.put(origin, (now + self.FOREIGN_S, ref(found)))


def _weight(file: bytes) -> int:
    return max(len(file), LEAST_BYTES)
