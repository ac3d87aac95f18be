"""Hosts that share an address, and what its origin saw of them."""

import itertools
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import replace

from app.crawl.state.line import Draw, Line, Lines, Start, StartLot
from app.crawl.state.worker import Worker
from app.store import budgets
from tests.crawl.web import Answer, Hit, Site, Web, html

GAP_S = 0.15
LATE_S = 60.0
ROAD_S = 0.03  # from our clock to the origin's: a thread of a busy machine


class Shared:
    """So many names on one address. What is asked for at each is in `asked`, with its path."""

    def __init__(self, web: Web, names: Sequence[str], pages: int) -> None:
        self.site = web.site()
        self.names = list(names)
        self.paths = ["/", *(f"/{number}" for number in range(1, pages))]
        self._fill(self.site)

    def _fill(self, site: Site) -> None:
        site.pages |= dict.fromkeys(self.paths, self._answer)

    def _answer(self, hit: Hit) -> Answer:
        text = f"{hit.headers['Host']} has words of its own at {hit.path}."
        return html(*self.paths, text=text)

    @property
    def resolve(self) -> str:
        return " ".join(f"{name}={self.site.host}" for name in self.names)

    def url(self, name: str, path: str = "/") -> str:
        return f"http://{name}:{self.site.port}{path}"

    @property
    def urls(self) -> list[str]:
        return [self.url(name) for name in self.names]

    @property
    def asked(self) -> Counter[tuple[str, str]]:
        return Counter((hit.headers["Host"].partition(":")[0], hit.path) for hit in list(self.site.log))

    @property
    def everything(self) -> dict[tuple[str, str], int]:
        return {(name, path): 1 for name in self.names for path in ("/robots.txt", *self.paths)}

    def down(self) -> None:
        """Nobody listens there any more."""
        self.site.close()

    def up(self, web: Web) -> None:
        """At the same address and port again."""
        before, self.site = self.site, Site(self.site.host, self.site.port)
        self.site.log = before.log
        web.sites.append(self.site)
        self._fill(self.site)


class _PatientLine(Line):
    def wait(self, draw: Draw, until: float) -> Start | budgets.BudgetAnswer | None:
        def drawn(standing: int, left_s: float, lost: int) -> StartLot | budgets.BudgetAnswer:
            found = draw(standing, left_s, lost)
            return replace(found, ends=found.ends + LATE_S) if isinstance(found, StartLot) else found

        start = super().wait(drawn, until)
        with self._lock:
            self._lot = StartLot()
        return start._replace(at=start.at + LATE_S) if isinstance(start, Start) else start


class _PatientLines(Lines):
    """Each start is drawn, and the database alone keeps the gaps: its rows are moved into the past, and our clock is
    not."""

    line = _PatientLine

    def of(self, budgets: Hashable, gap_s: float) -> Line:
        return super().of(budgets, 0.0)


def unhurried(worker: Worker) -> Worker:
    """Sends although a start has passed: for tests that move the clock and do not judge gaps, on a busy machine."""
    return replace(
        worker,
        send=lambda request: worker.send(request._replace(not_after=None)),
        starts=replace(worker.starts, lines=_PatientLines(worker.monotonic)),
    )


def names(n: int, of: str = "host{}.test") -> list[str]:
    return [of.format(number) for number in range(n)]


def gaps(log: list[Hit]) -> list[float]:
    """Between the starts, as the origin saw them."""
    starts = sorted(hit.started for hit in log)
    return [later_ - earlier for earlier, later_ in itertools.pairwise(starts)]
