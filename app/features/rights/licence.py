"""Licence files that robots.txt or a page names: asked for once a day, at the pace of their host, for the whole fleet.

A file is a request like any other: robots.txt of its origin allows it, it has its own slot, and the guard of addresses
looks at it. One at another host is asked for under that host's borrowed lease. Whatever the answer, the pages follow;
a licence that was not read leaves their verdicts unknown.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

import structlog

from app.crawl.request import send, slots
from app.crawl.request.fetch_log import Sending
from app.crawl.request.learn import trouble
from app.crawl.robots import ask, obtain
from app.crawl.robots.ask import RobotsAnswer
from app.crawl.robots.obtain import NoRules
from app.crawl.robots.tdmrep import AGAIN_S, AGAIN_UNKNOWN_S, SHARE
from app.crawl.state.origins import HostOrigins
from app.crawl.state.part import SettlePart
from app.crawl.state.visit import Visit, outlast
from app.crawl.state.worker import Worker
from app.features.rights import rows, rsl
from app.features.rights.purpose import UNREAD
from app.features.rights.rows import LicenceRow
from app.features.rights.rsl import LicenceTerms, RslReading
from app.model import Origin, Reply, Request, RequestKind, RestReason, Url
from app.policy import robots
from app.policy.host import queue_for, registrable_domain
from app.policy.outcome import is_host_trouble
from app.policy.robots import Robots
from app.policy.tdm import LICENCE, Signal
from app.store import db, hosts
from app.store import robots as robots_store
from app.store.url_rows import Due

NOTES = "rights"
MARK = f"{LICENCE}="
_NAMED = re.compile(r"license=(\S+) \(")  # of a line of `tdm.text`
MOST = 4  # files of a visit; a site that names more has most of them unread
MOST_REDIRECTS = 3
_log = structlog.get_logger()


@dataclass(slots=True, kw_only=True)
class HeldLicence:
    """A licence file as a visit knows it.   terms: None: not read;   ask_at: monotonic second of the next request"""

    terms: LicenceTerms | None
    problem: str
    ask_at: float


@dataclass(slots=True, kw_only=True)
class Notes:
    """The licences of a visit's host.

    known   by URL
    wanted  URLs that pages named, and that nobody asked for yet
    """

    known: dict[str, HeldLicence] = field(default_factory=dict)
    wanted: dict[str, None] = field(default_factory=dict)


LICENCES: SettlePart[LicenceRow] = SettlePart(
    name="licences",
    rank=185,
    write=lambda settling: rows.keep_licences(settling.tx, settling.rows(LICENCES)),
    words=lambda row: f"the licence {row['url']}",
    stays=True,
)


def notes_of(origins: HostOrigins) -> Notes:
    found: Notes = origins.notes.setdefault(NOTES, Notes())
    return found


def is_open(visit: Visit, due: Due, url: Url) -> bool:
    """Whether the licences that robots.txt, the page as it was, or pages before it name are known, or cannot be.

    False: leave; it is too early to ask, or an answer closed the host. Raises LeaseLost.
    """
    notes = notes_of(visit.origins)
    named = [each.value for each in visit.origins.robots[url.origin].signals.licences]
    for written in [*named, *_NAMED.findall(due.opt_out or ""), *notes.wanted]:
        file = visit.worker.canon.join(url.text, written)
        if not isinstance(file, Url):
            notes.wanted.pop(written, None)
            continue
        known = _known(visit.worker, notes, file.text, url.host)
        if known.ask_at <= visit.now() and not _ask(visit, file, known):
            return False
        notes.wanted.pop(written, None)
        if visit.rest.is_blocked:
            return False
    return True


def statements(worker: Worker, origins: HostOrigins, url: Url, named: Sequence[Signal]) -> list[Signal]:
    """The statements about a URL in the licence files that these name. One that was not read is asked for next."""
    found: list[Signal] = []
    for each in dict.fromkeys(signal.value for signal in named if signal.name == LICENCE):
        file = worker.canon.join(url.text, each)
        if not isinstance(file, Url):
            continue
        notes = notes_of(origins)
        known = _known(worker, notes, file.text, url.host)
        if known.terms is not None:
            found += known.terms.of(url)
            continue
        found.append(Signal(source=f"RSL {file.text}: {known.problem}", name=UNREAD, reserved=False, value=file.text))
        if known.ask_at <= worker.monotonic() and len(notes.wanted) < MOST:
            notes.wanted[file.text] = None
    return found


def _known(worker: Worker, notes: Notes, file: str, host: str) -> HeldLicence:
    """The file as the visit, or the database, knows it."""
    known = notes.known.get(file)
    if known is None:
        if len(notes.known) >= 2 * MOST:
            return HeldLicence(terms=None, problem="is one of too many that its site names", ask_at=float("inf"))
        with db.transaction(worker.engine) as tx:
            row = rows.licences(tx, [file]).get(file)
        if row is None:
            known = HeldLicence(terms=None, problem="was not asked for yet", ask_at=worker.monotonic())
        else:
            contents = None if row.contents is None else rsl.of_rows(row.contents)
            again_s = AGAIN_UNKNOWN_S if row.contents is None else AGAIN_S
            known = HeldLicence(
                terms=None if contents is None else LicenceTerms(contents, file, host),
                problem=row.problem or "",
                ask_at=worker.monotonic() - row.age_s + again_s,
            )
        notes.known[file] = known
    return known


def _ask(visit: Visit, file: Url, known: HeldLicence) -> bool:
    """Ask for a file, as robots.txt of its origin allows, and follow its redirects in the same way.

    False: the visit is to leave, and nothing was sent. Raises LeaseLost.
    """
    found = _answer(visit, file, None)
    if found is None:
        return False
    at, requests = file, 1
    while isinstance(found, Reply) and requests <= MOST_REDIRECTS and not visit.rest.is_blocked:
        target = ask.target_of(visit.worker.canon, at, found)
        if target is None:
            break
        at, requests = target, requests + 1
        found = _answer(visit, at, ask.LONGEST_HOP_WAIT_S) or "redirects, and is not to be had at this host's delay"
    problem = found if isinstance(found, str) else None
    _note(visit, file, known, found if isinstance(found, Reply) else None, problem, requests)
    return True


def _answer(visit: Visit, file: Url, longest_s: float | None) -> Reply | str | None:
    """The answer; a line where its host may not be contacted now, or its robots.txt refuses it.

    longest_s: to wait for the slot; None: as for a page. Returns None if there was no slot, and nothing was sent.
    Raises LeaseLost.
    """
    if file.host != visit.lease.host:  # its robots.txt, and the file
        outlast(visit.worker, visit.lease, 2 * (ask.LONGEST_SLOT_WAIT_S + visit.worker.settings.robots_deadline_s))
    rules = _rules(visit, file.origin)
    if rules is NoRules.WAIT:
        return None
    if not isinstance(rules, Robots):
        return "is not asked for: robots.txt of its origin is out of reach"
    if not rules.allowed(file.target):
        return "is not asked for: robots.txt of its origin refuses it"
    reply = _reply(visit, file, longest_s)
    if isinstance(reply, Reply):
        held = notes_of(visit.origins).known.get(file.text)
        is_known = held is not None and held.terms is not None
        visit.worker.hooks.rules_answered(visit=visit, reply=reply, is_known=is_known)
    return reply


def _reply(visit: Visit, file: Url, longest_s: float | None) -> Reply | str | None:
    """The answer; a line where its host may not be contacted now. None: there was no slot, and nothing was sent."""
    settings = visit.worker.settings
    request = Request(
        url=file.text,
        kind=RequestKind.LICENCE,
        max_body_bytes=rsl.MAX_BYTES + 1,
        deadline_s=settings.robots_deadline_s,
        keeps_coded=any(visit.worker.hooks.keeps_coded(visit=visit, due=visit.picked.current)),
    )
    if file.host != visit.lease.host:
        reply, _ = ask.send_elsewhere(visit, file, request)
        return f"is at {file.host}, which may not be contacted now" if reply is None else reply
    wait = slots.take if longest_s is None else partial(slots.wait, longest_s=longest_s)
    slot = wait(visit, file, deadline_s=settings.robots_deadline_s)
    sent = send.send(visit, slot, Sending(request, file, "new")) if slot is not None else None
    if sent is None:
        return None
    reply, outcome, _ = sent
    if is_host_trouble(outcome):
        trouble(visit, reply, RestReason(outcome.value))
    else:
        visit.pace.serve(reply.status)
    return reply


def _rules(visit: Visit, origin: Origin) -> Robots | NoRules:
    """robots.txt of an origin: of the visit's host, or of another one, whose file may be asked for first."""
    if origin.host == visit.lease.host:
        return obtain.of(visit, origin)
    worker = visit.worker
    row = {
        "name": origin.host,
        "domain": registrable_domain(origin.host),
        "queue": queue_for(origin.host, worker.settings.queues),
    }
    with db.transaction(worker.engine) as tx:
        host_id = hosts.ensure(tx, rows=[row], delay_s=worker.settings.default_delay_s)[origin.host]
        stored = [each for each in robots_store.of_host(tx, host_id) if (each.scheme, each.port) == origin[::2]]
    if stored and stored[0].expires_at > stored[0].now:
        body = stored[0].body or b""
        _, rules = robots.in_force_rules(stored[0].standing, worker.settings, lambda: worker.robots.parsed(body))
        return rules
    url = ask.url_of(worker.canon, origin)
    request = Request(
        url=url.text,
        kind=RequestKind.ROBOTS,
        max_body_bytes=robots.MAX_BYTES + 1,
        deadline_s=worker.settings.robots_deadline_s,
    )
    reply, _ = ask.send_elsewhere(visit, url, request)
    if reply is None or 300 <= (reply.status or 0) < 400:  # its own visit follows redirects
        return NoRules.SHUT
    fetched = ask.judge(worker, visit.lease, RobotsAnswer(reply=reply), None)
    with db.transaction(worker.engine) as tx:
        hosts.lock(tx, [host_id])
        robots_store.store(tx, [(host_id, origin, fetched)])
    match fetched.availability:
        case robots.Availability.AVAILABLE:
            return worker.robots.parsed(fetched.body or b"")
        case robots.Availability.UNAVAILABLE:
            return robots.ALLOW_ALL
        case _:
            return NoRules.SHUT


def _note(visit: Visit, file: Url, known: HeldLicence, reply: Reply | None, problem: str | None, requests: int) -> None:
    """Note the result in the visit and the batch. A file that could not be had leaves what was read before."""
    reading = RslReading(None, problem) if reply is None else _reading(reply)
    has_answer = reply is not None and _is_answer(reply)
    contents = reading.contents
    if contents is not None:
        known.terms, known.problem = LicenceTerms(contents, file.text, visit.lease.host), ""
    else:
        known.terms, known.problem = None if has_answer else known.terms, reading.problem or ""
        _log.info("licence.unread", url=file.text, why=known.problem)
    again_s = AGAIN_S if has_answer else AGAIN_UNKNOWN_S
    known.ask_at = visit.now() + max(again_s, SHARE * requests * visit.pace.delay_s)
    row: LicenceRow = {
        "url": file.text,
        "contents": None if contents is None else rsl.as_rows(contents),
        "problem": reading.problem,
        "status": reply.status if reply is not None and has_answer else None,
        "at": visit.lease.database_time(visit.now()),
    }
    visit.batch.add(LICENCES, row)


def _is_answer(reply: Reply) -> bool:
    """Whether the site said what is there, or that nothing is: an error of its server says neither."""
    return reply.is_told and reply.status is not None and reply.status < 500 and reply.status != 429


def _reading(reply: Reply) -> RslReading:
    """A licence is read from a whole 2xx alone."""
    if not reply.is_told or reply.status is None:
        return RslReading(None, f"could not be had: {reply.failure or reply.detail}")
    if not 200 <= reply.status < 300 or reply.is_part:
        return RslReading(None, f"could not be had: status {reply.status}")
    if reply.truncated:
        return RslReading(None, f"is larger than {rsl.MAX_BYTES >> 10} KiB")
    return rsl.read(reply.body)
