"""Names the phase that a crawl is in, so that a healthy one never looks dead. Pure."""

from dataclasses import dataclass

from app.words import counted

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

    requests   of the last seconds;   running: visits of the fleet;   queued: at most some
    waits_for  what most hosts wait for, as in v_host_status; None: no host waits
    """

    state: str
    active_s: float
    pages: int
    requests: int
    running: int
    queued: int
    waits_for: str | None
    stopped: str | None = None


def phase_of(now: Progress) -> Phase:
    """The phase of an active crawl."""
    if now.stopped is not None:
        return Phase(word="stopped", means=f"nothing is fetched: {now.stopped}", is_trouble=True)
    if not now.queued and not now.requests:
        return Phase(word="ending", means="nothing is queued; it ends once retries are done")
    if not now.pages and not now.requests:
        return _before_the_first_page(now)
    if now.pages < FIRST_PAGES and now.active_s < EARLY_S:
        return Phase(word="first pages", means="links are being found; the rate grows with the hosts that are met")
    if now.requests:
        return Phase(word="crawling", means="pages are coming in")
    return _quiet(now)


def _before_the_first_page(now: Progress) -> Phase:
    if now.running:
        return Phase(word="first contact", means="robots.txt is fetched before anything else, then the host's delay")
    if now.active_s < EARLY_S:
        return Phase(word="starting", means="hosts are offered to workers")
    return _quiet(now)


def _quiet(now: Progress) -> Phase:
    """Nothing was fetched in the last seconds."""
    because = now.waits_for or ""
    if because in {"due", "offered"} and not now.running:
        means = "hosts are due and no worker takes them up: start `tiptoe up`, or a worker and beat"
        return Phase(word="no worker", means=means, is_trouble=True)
    if because.startswith("resting") or because == "paused":
        return Phase(word="resting", means=f"most of its hosts are {because}; see hosts for until when")
    if now.running or because == "delay":
        return Phase(word="waiting", means="hosts are between two requests, as their delays ask")
    return Phase(word="quiet", means=f"no request in the last seconds; {counted(now.queued, 'URL')} queued")
