"""Reasons as closed types: how a visit ended, why a host rests or waits, why a URL or a crawl ended.

Code decides by the member and never reads the `detail` beside it. docs/reasons.md lists the members; `words` is how a
person sees both.
"""

from enum import StrEnum
from typing import NamedTuple


class VisitEnding(StrEnum):
    """`visits.ending`; `visits.detail` says more of those that name another reason.

    The first two are no endings of a visit.
    """

    CLOSED = "closed"  # it never began: the offer had been taken up, or had run out
    PARKED = "parked"  # it goes on later: it waits for its turn, or for a settle with others
    DELAY = "delay"  # the host's next turn is further away than a visit waits
    LONG_ENOUGH = "long enough"
    NOTHING_DUE = "nothing due"
    RESTS = "rests"  # the host does, for the reason in the detail
    WAITS = "waits"  # an origin of the host may not be fetched from yet, for the reason in the detail
    ADDRESS_RESTS = "its address rests"
    BLOCKED_ADDRESS = "blocked address"
    READERS_BUSY = "readers busy"
    PAUSED = "paused"
    STOPS = "worker stops"
    TRIED = "tried"  # `tiptoe extract try` fetched one page, for nobody but itself
    ROBOTS_CHECK = "robots check"  # `tiptoe robots check` asked for robots.txt, and no page
    RENDERED = "rendered"  # a browser opened a page of the host, or asked it for a file of another's page
    POSTGRES_AWAY = "Postgres was away"
    ARCHIVE_STOPPED = "archive stopped"  # what it fetched could not be kept
    IN_DOUBT = "in doubt"  # nobody knows whether its last settle was written: its row is marked lost
    FENCED = "fenced"  # its lease was lost: its requests alone are logged
    LOST = "lost"  # it ended without a word; the sweep says so


class RestReason(StrEnum):
    """`hosts.resting_because`; `hosts.resting_detail` says more."""

    RATE_LIMITED = "rate_limited"
    UNAVAILABLE = "unavailable"
    UNREACHABLE = "unreachable"
    CHALLENGED = "challenged"
    PAYMENT = "asks for payment"  # again and again
    RESET = "reset"  # its connections are
    RETRY_AFTER = "Retry-After on a redirect"
    BREAKER = "breaker"
    ROBOTS_OUT_OF_REACH = "robots.txt out of reach"
    VISIT_TIME = "visit-time of robots.txt"
    QUIET_HOURS = "quiet hours"  # an operator's
    PAGE_BUDGET = "page budget"  # its crawls', spent or granted to other visits
    SLOW_SHARE = "the slow hosts' share of threads"
    ADDRESS_BUDGET = "address budget"
    NETWORK_BUDGET = "network budget"
    DOMAIN_BUDGET = "domain budget"
    ALL_BUDGET = "all budget"  # the fleet's ceiling
    ADDRESS_RESTS = "address rests"
    NETWORK_RESTS = "network rests"
    LATE = "late for its start"
    NOT_SENT = "request not sent"  # for a reason of ours
    OTHER = "other"  # in the words of an earlier version


# A host that comes when a shared budget told it to: it does not queue again.
TICKETS = frozenset(
    {
        RestReason.ADDRESS_BUDGET,
        RestReason.NETWORK_BUDGET,
        RestReason.DOMAIN_BUDGET,
        RestReason.ALL_BUDGET,
        RestReason.ADDRESS_RESTS,
        RestReason.NETWORK_RESTS,
    }
)


class Cause(StrEnum):
    """`urls.cause`: why a URL was refused or quarantined, or its page kept out of `pages`; `urls.detail` says more."""

    ROBOTS = "robots.txt"
    TOO_COSTLY = "too_costly"  # robots.txt has so many patterns with stars that nobody knows what it says of this URL
    ROBOTS_OUT_OF_REACH = "robots.txt out of reach"
    ROBOTS_UNWRITABLE = "robots.txt cannot be written"
    NO_URL = "no URL of ours any more"
    OUT_OF_SCOPE = "out of the crawl's scope since it was admitted"
    BLOCKED_ADDRESS = "blocked address"
    REDIRECTS_TO_ITSELF = "redirects to itself"
    REDIRECTS_NOWHERE = "redirects to no URL of ours"
    REDIRECTS_RESPELT = "redirects between spellings of itself"
    FAILED = "failed too often"
    HOST_FAILS = "host fails"
    HOST_OUT_OF_REACH = "host out of reach"
    CHALLENGED = "challenged"
    PAYMENT = "asks for payment"  # which is never made; detail: the price
    UNREADABLE = "cannot be read"
    POISON = "poison"
    UNWRITABLE = "what came of it cannot be written"
    LIST_UNWRITABLE = "what it lists cannot be written"
    TRAP = "trap"
    EXTENSION = "extension"  # it ends like a file, and none of its host's URLs that end so was a page
    FORCED = "forced"  # it waits for a fetch that no trap refuses
    NOINDEX = "kept out of pages: noindex"
    OPTED_OUT = "kept out of pages: it opts out of text and data mining"
    SITE_OPTED_OUT = "kept out of pages: its site opts out of text and data mining"
    EMPTY = "kept out of pages: it has no body"
    OTHER = "other"  # in the words of an earlier version


KEPT_OUT = frozenset({Cause.NOINDEX, Cause.OPTED_OUT, Cause.SITE_OPTED_OUT})  # its owner wants no copy kept


class CrawlEnding(StrEnum):
    """`crawls.ended_because`: why a crawl is finished; `crawls.ended_detail` says more."""

    DONE = "done"  # no URL of it is in an open state
    MAX_PAGES = "max_pages"  # it reached this budget, and so for the next two
    MAX_BYTES = "max_bytes"
    MAX_SECONDS = "max_seconds"
    OPERATOR = "operator"
    OTHER = "other"  # in the words of an earlier version


# Budgets that a crawl stays at when it is started again: it needs a larger one first. Its clock starts anew.
STANDING_BUDGETS = frozenset({CrawlEnding.MAX_PAGES, CrawlEnding.MAX_BYTES})


class HostWait(StrEnum):
    """The beginning of `v_host_status.waits_for`; a rest names its reason behind a colon, an offer its queue."""

    DELAY = "delay"
    DUE = "due"
    RESTING = "resting"
    PAUSED = "paused"
    VISITED = "being visited"
    OFFERED = "offered"
    NOTHING = "nothing queued"

    @classmethod
    def of(cls, waits_for: str) -> "HostWait":
        """Read the view's text. Raises StopIteration for one that the view does not say: a bug."""
        return next(each for each in cls if waits_for.startswith(each))


class Rest(NamedTuple):
    """Why a host rests, and more of it for a person."""

    reason: RestReason
    detail: str | None = None

    @property
    def words(self) -> str:
        return words(self.reason, self.detail)


def words(reason: str, detail: str | None) -> str:
    """A reason as a person sees it. An earlier version's stands in its own words."""
    if reason == RestReason.OTHER and detail:
        return detail
    return f"{reason}: {detail}" if detail else str(reason)
