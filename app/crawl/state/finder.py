"""Finders of links: visits, and handlers that read archived pages outside of any visit. Both use the same door.

`app.crawl.frontier` judges links by these parts of a visit, and needs nothing else of it.
"""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from app.crawl.state.batch import Batch
from app.crawl.state.origins import HostOrigins
from app.crawl.state.picked import Picked
from app.crawl.state.worker import Worker


class Finder(Protocol):
    """The parts that admission needs.

    picked         scopes, worth and floors of the crawls
    batch          where refusals are noted
    origins        whose robots.txt is at hand
    host, host_id  the visited host, whose rows nobody else writes
    hold           see that the right to it outlasts the work on so many links more
    """

    @property
    def worker(self) -> Worker: ...
    @property
    def picked(self) -> Picked: ...
    @property
    def batch(self) -> Batch: ...
    @property
    def origins(self) -> HostOrigins: ...
    @property
    def host(self) -> str: ...
    @property
    def host_id(self) -> int: ...
    def now(self) -> float: ...
    def database_now(self) -> datetime: ...
    def hold(self, links: int) -> None: ...


@dataclass(slots=True, kw_only=True)
class Outside:
    """A finder that visits no host: to it every link leads elsewhere.   moment: the database's time when it began"""

    worker: Worker
    moment: datetime
    picked: Picked = field(default_factory=lambda: Picked(unfetched=0, unfetched_on_row=0))
    batch: Batch = field(default_factory=lambda: Batch(started=0.0))
    origins: HostOrigins = field(default_factory=HostOrigins)

    @property
    def host(self) -> str:
        return ""

    @property
    def host_id(self) -> int:
        return 0

    def now(self) -> float:
        return self.worker.monotonic()

    def database_now(self) -> datetime:
        return self.moment

    def hold(self, links: int) -> None:
        """Outside of any visit there is no lease."""
