"""Judges a URL by a stored copy of robots.txt: what a visit's gate would decide now, and why. Pure."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import assert_never

from sqlalchemy import Engine

from app.admin.waiting import when
from app.config import Settings
from app.crawl.state.canon import WHY_NO_SEED, make_canon
from app.errors import InputError, is_ours, raised
from app.model import Refusal, Url
from app.policy import robots, tdm
from app.policy.robots import Availability, InForce, Robots
from app.policy.tdm import NO_SIGNALS, RobotsSignals
from app.store import db, parameters
from app.store.robots import Stored
from app.words import counted


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruling:
    """The decision of robots.txt about a URL.

    allowed       None: the origin's file was never fetched, or reading it fails by a bug (`detail`)
    availability  available; unavailable: there is none, all is allowed; unreachable: `phase` holds
    phase         what is in force (rules, copy, allow_all, disallow_all);   phase_until: unless the file is fetched
                  before
    rule, line    the line that decided; None when none did
    is_too_costly  the file's patterns are too much work for the URL, which is not fetched
    failures      times in a row that it was out of reach;   failures_most: with so many, a crawl that ends gives it up
    has_copy      the file was fetched once;   copied_at: when its content was
    visit_time    hours (UTC) in which the site wants visits;   opens_at: when they begin, None within them
    host          the main mirror that the file names (`Host:`), which decides nothing
    opt_out       text and data mining: the signals about the URL in the file, and in the origin's tdmrep.json if
                  fetched
    expires_at    when the file is asked for again
    """

    url: str
    origin: str
    allowed: bool | None
    availability: str | None = None
    phase: InForce | None = None
    phase_until: datetime | None = None
    failures: int = 0
    failures_most: int = 0
    has_copy: bool = False
    group: str | None = None
    rule: str | None = None
    line: int | None = None
    is_too_costly: bool = False
    crawl_delay_s: float | None = None
    visit_time: str | None = None
    opens_at: datetime | None = None
    sitemaps: tuple[str, ...] = ()
    host: str | None = None
    opt_out: str | None = None
    status: int | None = None
    detail: str | None = None
    fetched_at: datetime | None = None
    expires_at: datetime | None = None
    copied_at: datetime | None = None
    unreachable_since: datetime | None = None
    now: datetime | None = None

    def sentence(self) -> str:
        """The decision and its reason, for a person."""
        if self.allowed is None and self.detail is not None:
            return f"not known: {self.origin}/robots.txt: {self.detail}; report it to Tiptoe's makers, with the file"
        if self.allowed is None:
            return f"not known: {self.origin}/robots.txt was not fetched yet; a visit does that before anything else"
        word = "allowed" if self.allowed else "refused"
        match self.phase:
            case InForce.DISALLOW_ALL:
                return f"{word}: robots.txt is out of reach ({self._trouble}): complete disallow (RFC 9309)"
            case InForce.ALLOW_ALL if self.availability == Availability.UNREACHABLE:
                return (
                    f"{word}: robots.txt is out of reach ({self._trouble}), but the host answers: everything is allowed"
                )
            case InForce.ALLOW_ALL:
                return f"{word}: the site has no robots.txt (status {self.status})"
            case InForce.RULES | InForce.COPY | None:
                return f"{word}: {self._by_the_file()}"
            case _:
                assert_never(self.phase)

    def in_force(self) -> str | None:
        """The phase of a file out of reach, and what follows it; None for a file that is not."""
        if self.unreachable_since is None or self.now is None:
            return None
        why = f"because robots.txt has been out of reach since {self.unreachable_since.isoformat(' ', 'seconds')}"
        if self.phase is InForce.ALLOW_ALL:
            return f"everything is allowed {why}: the host answers, its robots.txt alone does not"
        if self.phase_until is None:
            return f"complete disallow {why}: the host does not answer; {self._given_up()}"
        until = when(self.phase_until, self.now)
        if self.phase is InForce.COPY:
            copied = f" of {self.copied_at.isoformat(' ', 'seconds')}" if self.copied_at else ""
            return f"last good copy{copied} in force {why}; until {until}"
        if self.has_copy:
            return f"complete disallow {why}; until {until}, then the last good copy decides"
        then = f"one that keeps fresh waits until {until}, then everything is allowed, if the host answers"
        return f"complete disallow {why}; {self._given_up()}; {then}"

    def visiting(self) -> str | None:
        """The visit time, and when it begins, for a person."""
        if self.visit_time is None or self.now is None:
            return None
        return f"{self.visit_time} UTC, " + (f"opens {when(self.opens_at, self.now)}" if self.opens_at else "open now")

    def asked_again(self) -> str | None:
        """The earliest time at which a visit asks for the file again, before its next page."""
        if self.expires_at is None or self.now is None:
            return None
        return when(self.expires_at, self.now)

    def _given_up(self) -> str:
        most = counted(self.failures_most, "failure")
        return f"a crawl that ends gives up after {most} in a row ({self.failures:,} so far)"

    @property
    def _trouble(self) -> str:
        return self.detail or str(self.status)

    def _by_the_file(self) -> str:
        if self.is_too_costly:
            return f"too_costly: the patterns of group {self.group} are too much work for this URL; nobody knows"
        if self.rule is not None:
            return f"line {self.line}, {self.rule} (group {self.group})"
        return f"no line of group {self.group} applies to it" if self.group else "no group applies to us"


def canonical(settings: Settings, text: str, *, engine: Engine | None = None) -> Url:
    """Canonicalise a URL. Raises InputError for one that we cannot crawl.

    engine: to look its row up; parameters that its host has dropped are left out of it then, as they are of its key
    """
    canon = make_canon(settings)
    if engine is not None:
        with db.transaction(engine) as tx:
            canon.drop(parameters.of_hosts(tx))
    url = canon.canonicalise(text)
    if isinstance(url, Refusal):
        raise InputError(f"URL {text!r}", WHY_NO_SEED.get(url, url.value))
    return url


def ruling(
    stored: Sequence[Stored], url: Url, settings: Settings, *, parse: Callable[[bytes, str], Robots] = robots.parse
) -> Ruling:
    """Judge a URL. Pure. A file that we cannot read, by a bug, decides nothing: its ruling says why.

    stored: the files of its host's origins
    """
    for row in stored:
        if (row.scheme, row.port) == (url.origin.scheme, url.origin.port):
            try:
                return _by(row, url, settings, parse)
            except Exception as error:
                if is_ours(error):
                    raise
                why = raised("reading it", error)
                return Ruling(url=url.text, origin=str(url.origin), allowed=None, detail=why, now=row.now)
    return Ruling(url=url.text, origin=str(url.origin), allowed=None)


def opt_out(row: Stored, target: str, settings: Settings) -> str | None:
    """The signals of an origin's files about text and data mining of `target`, a path and query. Pure."""
    by_the_file = robots.in_force(row.standing, settings) in {InForce.RULES, InForce.COPY}
    file = RobotsSignals(row.body or b"", settings.product_token) if by_the_file else NO_SIGNALS
    return tdm.text([*file.of(target), *tdm.of_tdmrep(row.tdmrep or b"", target)])


def _by(row: Stored, url: Url, settings: Settings, parse: Callable[[bytes, str], Robots]) -> Ruling:
    phase, rules = robots.in_force_rules(row.standing, settings, lambda: parse(row.body or b"", settings.product_token))
    decision = rules.judge(url)
    by_the_file = phase in {InForce.RULES, InForce.COPY}
    away_s = rules.visit_time.until_start_s(row.now) if rules.visit_time else 0.0
    return Ruling(
        url=url.text,
        origin=str(url.origin),
        allowed=decision.allowed,
        availability=row.availability,
        phase=phase,
        phase_until=_until(row, phase, settings),
        failures=row.failures,
        failures_most=settings.failures_most(answered=row.answered),
        has_copy=row.body is not None,
        group=decision.group,
        rule=decision.rule if by_the_file else None,
        line=decision.line,
        is_too_costly=decision.is_too_costly,
        crawl_delay_s=row.crawl_delay_s,
        visit_time=str(rules.visit_time) if rules.visit_time else None,
        opens_at=row.now + timedelta(seconds=away_s) if away_s else None,
        sitemaps=row.sitemaps,
        host=rules.host,
        opt_out=opt_out(row, url.target, settings),
        status=row.status,
        detail=row.detail or None,
        fetched_at=row.fetched_at,
        expires_at=row.expires_at,
        copied_at=row.copied_at if row.body is not None else None,
        unreachable_since=row.unreachable_since,
        now=row.now,
    )


def _until(row: Stored, phase: InForce, settings: Settings) -> datetime | None:
    """The end of the phase if the file stays out of reach; None: it has none. Database times only."""
    since, away_s = row.unreachable_since, row.standing.unreachable_for_s
    if since is None or away_s is None or phase is InForce.ALLOW_ALL:
        return None
    has_copy = row.body is not None
    ends = [settings.robots_disallow_s] * has_copy + [max(settings.robots_disallow_s, settings.robots_copy_s)]
    ahead = [since + timedelta(seconds=seconds) for seconds in ends if seconds > away_s]
    return ahead[0] if ahead else None
