"""Judges sites by their answers of the last day: which hosts fail, how, and what to do about it.

A host fails where at least half of what it was asked for did; a page that is missing (404, 410) is an answer. It reads
the newest requests of the log alone, as the list of errors does, so that their numbers agree.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Final

from sqlalchemy import Connection

from app.features.changes import webhooks
from app.features.changes.webhooks import shown_url
from app.model import Failure
from app.store import board
from app.store.board import FAILED_ROWS, Row
from app.words import counted

NAMED: Final = 5  # hosts in a sentence
FEW: Final = 10  # requests: of fewer no share is judged, but a host's
HOURS: Final = 24
NOTABLE: Final = 0.2  # share of the requests that failed
RARE: Final = 0.05  # share of the hosts that fail: some always do

_SLOWER = "it is asked more slowly by itself; `tiptoe host slow HOST 30` asks even less"
_UNWANTED = "it does not want this crawler: say who you are (TIPTOE_CONTACT), and ask its owner"
_OF_THE_HOST: Final = frozenset({*Failure, "HTTP 429"})  # they say more of the host than of its robots.txt
_REMEDIES: Final = {
    Failure.DNS: "check how the name is spelt, and the resolver: `tiptoe doctor`",
    Failure.ADDRESS: "it leads to an address that is not contacted: `--allow-network` if it is yours",
    Failure.REFUSED: "nothing listens there: check the port, and whether the site has moved",
    Failure.CONNECT_TIMEOUT: "it does not answer: a firewall may drop us, or the site is gone",
    Failure.TLS: "its certificate is not valid: it is the site's to mend",
    Failure.TIMEOUT: "it answers too slowly: TIPTOE_REQUEST_DEADLINE_S allows more",
    Failure.RESET: "it closes the connection: it may be overloaded, or refuse crawlers; ask its owner",
    Failure.CUT: "its answers break off: it is the site's to mend, and what came is not kept",
    Failure.PROTOCOL: "its answers are malformed: check the port; else it is the site's to mend",
    "HTTP 429": _SLOWER,
    "HTTP 503": _SLOWER,
    "HTTP 401": "it wants a login: leave these paths out with `tiptoe crawl edit NAME --exclude`",
    "HTTP 407": "a proxy wants a login",
    "HTTP 403": _UNWANTED,
    "HTTP 451": "it may not be read for legal reasons: leave it out",
    "challenged": _UNWANTED,
    "soft_blocked": _UNWANTED,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class HostFailures:
    """A host with failed requests. classes: kind, class_, requests, last_at, url, detail; the most frequent first

    hours: failed requests in each of the last HOURS hours, the oldest first
    """

    host: str
    requests: int
    failed: int
    is_failing: bool
    classes: Sequence[Row]
    hours: Sequence[int]

    @property
    def how(self) -> str:
        """The most frequent failure, in words."""
        return how(self.classes[0])


@dataclass(frozen=True, slots=True, kw_only=True)
class Failures:
    """Failures of the last day. hosts: those with failures, the worst first, cut at FAILED_ROWS; the numbers are of all

    asked_hosts, failing_hosts: how many were asked, and fail;   requests, failed: sent, and failed
    """

    hosts: Sequence[HostFailures] = field(default=())
    asked_hosts: int = 0
    failing_hosts: int = 0
    requests: int = 0
    failed: int = 0

    @property
    def is_notable(self) -> bool:
        """Whether a person has to hear of it."""
        return bool(self.failing_hosts) or (self.requests >= FEW and self.failed >= NOTABLE * self.requests)

    @property
    def is_rare(self) -> bool:
        """Whether so few hosts fail as do in every crawl of many."""
        return self.failing_hosts <= RARE * self.asked_hosts and self.failed < NOTABLE * self.requests

    @property
    def point(self) -> str:
        """The number: `3 of 10 hosts fail`; where none does, requests."""
        if self.failing_hosts:
            verb = "fails" if self.failing_hosts == 1 else "fail"
            return f"{self.failing_hosts:,} of {counted(self.asked_hosts, 'host')} {verb}"
        return f"{self.failed:,} of {counted(self.requests, 'request')} failed"

    @property
    def names(self) -> str:
        """The hosts that fail most, and how: `a.example (reset), b.example (HTTP 503 for robots.txt)`."""
        worst = [each for each in self.hosts if each.is_failing] or self.hosts
        named = ", ".join(f"{each.host} ({each.how})" for each in worst[:NAMED])
        more = (self.failing_hosts or len(self.hosts)) - min(len(worst), NAMED)
        return named + (f", and {counted(more, 'other')}" if more > 0 else "")


NOTHING_FAILED: Final = Failures()


def failures(tx: Connection, crawl_id: int | None = None) -> Failures:
    """Read what failed of late, of all hosts or those of a crawl."""
    return of_rows(board.failing(tx, crawl_id=crawl_id, rows=FAILED_ROWS))


def of_rows(rows: Sequence[Row]) -> Failures:
    """Sum up rows of `board.failing`."""
    if not rows:
        return NOTHING_FAILED
    first = rows[0]
    return Failures(
        hosts=[_host(list(of)) for _, of in groupby(rows, key=lambda row: row["host"])],
        asked_hosts=first["hosts"],
        failing_hosts=first["failing"],
        requests=first["asked"],
        failed=first["failed"],
    )


def findings(found: Failures) -> list[str]:
    """Write what a verdict on a crawl has to say of its hosts; nothing where nothing is notable."""
    return [f"{found.point}: {found.names}; `tiptoe web` shows each under Errors"] if found.is_notable else []


def how(row: Row) -> str:
    """A failure in words: `reset`, `HTTP 503 for robots.txt`."""
    return f"{row['class_']}{' for robots.txt' if row['kind'] == 'robots' else ''}"


def remedy(row: Row) -> str:
    """Say what to do about failures of this kind and class."""
    if row["kind"] == "robots" and row["class_"] not in _OF_THE_HOST:
        return "without its robots.txt no page of it is fetched; that is asked for again, ever more seldom"
    return _REMEDIES.get(row["class_"], "it is the site's to mend; it is tried again, ever more seldom")


def _host(rows: Sequence[Row]) -> HostFailures:
    first = rows[0]
    ago = Counter(hours for row in rows for hours in row["hours_ago"])
    return HostFailures(
        host=first["host"],
        requests=first["of_host"],
        failed=first["failed_of_host"],
        is_failing=first["is_failing"],
        classes=rows,
        hours=[ago[HOURS - 1 - hour] for hour in range(HOURS)],
    )


def subscribers(tx: Connection) -> list[dict[str, object]]:
    """Subscribers that do not take what they are sent: id, crawl, url, failures, failing_since, why."""
    return [
        {
            "id": each.id,
            "crawl": each.crawl,
            "url": shown_url(each.url),
            "failures": each.failures,
            "failing_since": each.failing_since,
            "why": each.why,
        }
        for each in webhooks.listed(tx)
        if each.failures
    ]
