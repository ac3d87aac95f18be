"""Names the phase that a crawl is in, so that a healthy one never looks dead. Pure."""

from dataclasses import dataclass

from app.model.reasons import HostWait
from app.words import counted, span

EARLY_S = 30.0
FIRST_PAGES = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """A crawl's phase: in a word, what it means, and whether somebody has to do something."""

    word: str
    means: str
    is_trouble: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """The facts that a phase is judged by.

    requests   of the last seconds;   failed: of these;   queued: at most some
    running    visits of its hosts;   is_served: any visit of the fleet runs
    waits_for  what most of its next hosts wait for, as in v_host_status; None: no host waits
    next_s     seconds to the first contact of these; None: unknown
    stopped    why its archive cannot be written
    """

    state: str
    active_s: float
    pages: int
    requests: int
    failed: int
    running: int
    is_served: bool
    queued: int
    waits_for: str | None
    next_s: float | None = None
    keeps_fresh: bool = False
    stopped: str | None = None


def phase_of(now: Progress) -> Phase:
    """The phase of an active crawl."""
    if now.stopped is not None and not now.requests:
        return Phase(word="stopped", means=f"nothing is fetched: {now.stopped}", is_trouble=True)
    if not now.queued and not now.requests:
        return _nothing_queued(now)
    if now.requests and now.failed == now.requests:
        return Phase(word="failing", means="every request of the last seconds failed: see its errors", is_trouble=True)
    if not now.pages and not now.requests:
        return _before_the_first_page(now)
    if now.pages < FIRST_PAGES and now.active_s < EARLY_S:
        return Phase(word="first pages", means="links are being found; the rate grows with the hosts that are met")
    if now.requests:
        return Phase(word="crawling", means="pages are coming in")
    return _quiet(now)


def _nothing_queued(now: Progress) -> Phase:
    if now.keeps_fresh:
        return Phase(word="up to date", means="nothing is queued; pages are fetched again when they are due")
    return Phase(word="ending", means="nothing is queued; it ends once retries are done")


def _before_the_first_page(now: Progress) -> Phase:
    if now.running:
        return Phase(word="first contact", means="robots.txt is fetched before anything else, then the host's delay")
    if now.active_s < EARLY_S:
        return Phase(word="starting", means="hosts are offered to workers")
    return _quiet(now)


def _quiet(now: Progress) -> Phase:
    """Nothing was fetched in the last seconds."""
    wait = None if now.waits_for is None else HostWait.of(now.waits_for)
    if wait in {HostWait.DUE, HostWait.OFFERED} and not now.is_served:
        means = "hosts are due and no worker takes them up: start `tiptoe up`, or a worker and beat"
        return Phase(word="no worker", means=means, is_trouble=True)
    if now.running:
        return Phase(word="waiting", means="visits run, and none of their requests ended in the last seconds")
    if wait in {HostWait.RESTING, HostWait.PAUSED}:
        return Phase(word="resting", means=f"most of its next hosts are {now.waits_for}{_first(now)}")
    if wait in {HostWait.DUE, HostWait.OFFERED}:
        return Phase(word="waiting", means="its hosts are due; workers are busy with others")
    if wait is HostWait.DELAY:
        return Phase(word="waiting", means=f"hosts are between two requests, as their delays ask{_first(now)}")
    return Phase(word="quiet", means=f"no request in the last seconds; {counted(now.queued, 'URL')} queued")


def _first(now: Progress) -> str:
    return "" if now.next_s is None or now.next_s <= 0 else f"; the first contact is in {span(now.next_s)}"
