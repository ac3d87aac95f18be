"""A site of a road, as its origin plays it."""

from dataclasses import dataclass

HOST = b"@@HOST@@"  # in a page: its host's name goes here, so that no two hosts have the same page


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """A host as the origin plays it. Seconds.

    handshake_s, answer_s   what each usually takes;   spread: as in bench.delays
    closes   "": it keeps connections; "told": it says so and closes after each answer; "untold": it closes without a
             word
    silent   it accepts and never answers;   coding: of its pages, gzip, br or zstd, where the client accepts it
    """

    name: str
    address: str
    handshake_s: float = 0.0
    answer_s: float = 0.0
    spread: float = 0.0
    closes: str = ""
    silent: bool = False
    coding: str = ""
