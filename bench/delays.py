"""How long a road makes a handshake or an answer take: lognormal, with near hosts and far ones. Pure, standard library
only.

    delays = Delays()                        # median 150 ms, 95th percentile 1 s, over all hosts and exchanges
    usual_s = delays.of_host(rng)            # once for a host: it is near or far
    delays.of_exchange(usual_s, rng)         # for each handshake or answer of it

Three quarters of the variance (of the logarithm) lie between hosts, the rest between two exchanges of one host.
"""

import math
import random
from dataclasses import dataclass

Z95 = 1.6449  # of the normal distribution
BETWEEN_HOSTS = 0.75


@dataclass(frozen=True, slots=True, kw_only=True)
class Delays:
    """Seconds. most_s: no exchange takes longer."""

    median_s: float = 0.15
    p95_s: float = 1.0
    most_s: float = 5.0

    @property
    def sigma(self) -> float:
        """Of the logarithm, over all."""
        return math.log(self.p95_s / self.median_s) / Z95

    @property
    def spread(self) -> float:
        """Of the logarithm, over the exchanges of one host."""
        return self.sigma * math.sqrt(1 - BETWEEN_HOSTS)

    def of_host(self, rng: random.Random) -> float:
        """What is usual for one host: the median of its exchanges."""
        return min(self.median_s * math.exp(rng.gauss(0.0, self.sigma * math.sqrt(BETWEEN_HOSTS))), self.most_s)

    def of_exchange(self, usual_s: float, rng: random.Random) -> float:
        """One handshake or answer of a host."""
        return taken_s(usual_s, self.spread, self.most_s, rng)


def taken_s(usual_s: float, spread: float, most_s: float, rng: random.Random) -> float:
    """The usual time and chance's share in it. spread: of the logarithm; 0: none."""
    return min(usual_s * math.exp(rng.gauss(0.0, spread)) if spread else usual_s, most_s)
