"""A process's cache of parsed robots.txt files."""

from collections.abc import Callable
from hashlib import sha256

from app.model import Origin
from app.policy import robots
from app.policy.tdm_robots import RobotsSignals
from app.runtime.lru import Lru


class RobotsBook:
    """Parsed robots.txt: by content for origins we visit; by origin, for a minute, for those that links point to."""

    FOREIGN_S = 60.0

    def __init__(self, token: str) -> None:
        self._token = token
        self._parsed: Lru[bytes, robots.Robots] = Lru(1_024)
        self._signals: Lru[bytes, RobotsSignals] = Lru(1_024)
        self._foreign: Lru[Origin, tuple[float, robots.Robots]] = Lru(4_096)

    def known(self, digest: bytes) -> robots.Robots | None:
        """The rules of a body that was parsed before, by its SHA-256."""
        return self._parsed.get(digest)

    def parsed(self, body: bytes) -> robots.Robots:
        digest = sha256(body).digest()
        found = self._parsed.get(digest)
        if found is None:
            found = robots.parse(body, self._token)
            self._parsed.put(digest, found)
        return found

    def signals(self, digest: bytes, body: Callable[[], bytes]) -> RobotsSignals:
        """The file's lines about text and data mining.   body: reads the file; called where it is not in the cache."""
        found = self._signals.get(digest)
        if found is None:
            found = RobotsSignals(body(), self._token)
            self._signals.put(digest, found)
        return found

    def foreign(self, origin: Origin, now: float) -> robots.Robots | None:
        """The rules of an origin that links point to: ALLOW_ALL where its file was never fetched. None: look them up,
        and call `remember`.
        """
        entry = self._foreign.get(origin)
        return entry[1] if entry and entry[0] > now else None

    def remember(self, origin: Origin, found: robots.Robots, now: float) -> None:
        self._foreign.put(origin, (now + self.FOREIGN_S, found))
