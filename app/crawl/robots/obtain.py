"""Obtains robots.txt before anything else of its origin: from the database while it is fresh, else from the site.

Fetching it (`robots_fetch`) is a request like any other, at the host's own pace. `app.policy.robots.in_force` decides which
rules hold while it is out of reach; this module keeps them up to date in the visit and, through the batch, in the database.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from hashlib import sha256
from typing import Literal

from sqlalchemy import Connection

from app.crawl.request import slots
from app.crawl.robots import ask
from app.crawl.robots.ask import RobotsAnswer
from app.crawl.state.robots_file import RobotsFile
from app.crawl.state.slot import Slot
from app.crawl.state.visit import Stay
from app.model import Origin, Url
from app.policy import robots
from app.policy.robots import Availability, InForce, Robots
from app.store import db
from app.store import robots as robots_store
from app.store.robots import Fetched

# On a host with a delay of hours a copy must stay fresh beyond the next page, or no page would ever be fetched.
FRESH_DELAYS = 2.5

Verdict = Robots | Literal["wait", "shut"]


def load(stay: Stay, tx: Connection) -> None:
    """Load into the visit what the database knows of the host's origins."""
    for row in robots_store.pace_of_host(tx, stay.host_id, at=stay.taken.now):
        origin = Origin(row.scheme, stay.taken.name, row.port)
        away_s = row.unreachable_for_s
        file = RobotsFile(
            availability=Availability(row.availability),
            status=row.status,
            failures=row.failures,
            asked=stay.anchor - row.age_s,
            fresh_until=stay.anchor + row.fresh_s,
            unreachable_from=None if away_s is None else stay.anchor - away_s,
            body_sha256=row.body_sha256,
            etag=row.etag,
            last_modified=row.last_modified,
            crawl_delay_s=row.crawl_delay_s,
        )
        stay.robots[origin] = _enforce(stay, file, partial(_body, stay, tx, origin))


def of(stay: Stay, origin: Origin) -> Verdict:
    """The rules in force. "shut": no page of the origin for now. "wait": leave; it is too early to ask for the rules, or
    the answer closed the host."""
    file = stay.robots.get(origin)
    if file is None or file.fresh_until <= stay.now():
        url = ask.url_of(stay, origin)
        slot = slots.take(stay, url, stay.kit.settings.robots_deadline_s)
        if slot is None:
            return "wait"
        file = _ask(stay, origin, file, url, slot)
        if file is None:
            return "wait"
    if file.rules is None or stay.shut(file) is not None:
        return "shut"
    return "wait" if stay.is_blocked else file.rules


def doubt(stay: Stay, origin: Origin) -> None:
    """Ask for robots.txt again before the next page, after a 403 or 429: the site may have changed its rules (promise R4).
    Not within an hour of the last request. A file out of reach is asked for repeatedly anyway."""
    file = stay.robots[origin]
    again = file.asked + stay.kit.settings.robots_recheck_s
    if file.availability is not Availability.UNREACHABLE and again < file.fresh_until:
        file.fresh_until = again
        stay.batch.doubted_robots.add(origin)


def awaits_copy(stay: Stay, file: RobotsFile) -> bool:
    """Whether the file is out of reach, and its last good copy is in force or will be."""
    away_s = 0.0 if file.unreachable_from is None else stay.now() - file.unreachable_from
    return file.body_sha256 is not None and away_s < stay.kit.settings.robots_copy_s


def _ask(stay: Stay, origin: Origin, known: RobotsFile | None, url: Url, slot: Slot) -> RobotsFile | None:
    """Ask the site, and add its answer to the visit and the batch. None: the slot had passed, and nothing was sent."""
    answer = ask.follow(stay, known, url, slot)
    if answer is None:
        return None
    fetched = ask.judge(stay, answer, known)
    file = _enforce(stay, _file(answer, fetched, known), partial(_bytes, stay, origin, fetched))
    could_be_had = file.availability is not Availability.UNREACHABLE
    # While the file is out of reach it is asked for every hour: only a new phase can allow what was refused before.
    if known is not None and (could_be_had or _decides(stay, file, file.asked) != _decides(stay, known, known.asked)):
        stay.batch.renewed_robots.append(origin)
    stay.robots[origin] = file
    stay.set_pace()
    if could_be_had:
        stay.answered, stay.failures = True, 0
        least_s = FRESH_DELAYS * stay.delay_s
        fetched = replace(fetched, fresh_s=max(fetched.fresh_s, least_s))
        file.fresh_until = max(file.fresh_until, file.asked + least_s)
    stay.batch.robots.append((origin, fetched))
    stay.batch.doubted_robots.discard(origin)
    return file


def _file(answer: RobotsAnswer, fetched: Fetched, known: RobotsFile | None) -> RobotsFile:
    """The file after an answer, before it is decided which rules are in force."""
    asked = answer.reply.ended_s
    file = RobotsFile(
        availability=Availability(fetched.availability),
        status=fetched.status,
        failures=fetched.failures,
        asked=asked,
        fresh_until=asked + fetched.fresh_s,
        unreachable_from=None,
        body_sha256=None if fetched.body is None else sha256(fetched.body).digest(),
        etag=fetched.etag,
        last_modified=fetched.last_modified,
        crawl_delay_s=fetched.crawl_delay_s,
    )
    if file.availability is Availability.UNREACHABLE:
        since = known.unreachable_from if known else None
        file.unreachable_from = asked if since is None else since
    if known is not None and (fetched.revalidated or file.availability is Availability.UNREACHABLE):
        return replace(
            file,
            body_sha256=known.body_sha256,
            etag=known.etag,
            last_modified=known.last_modified,
            crawl_delay_s=known.crawl_delay_s,
        )
    return file


def _enforce(stay: Stay, file: RobotsFile, body: Callable[[], bytes]) -> RobotsFile:
    """Set the rules in force now, for the length of a visit. A copy's rules end when the copy does.

    body: reads the copy; called only when this process has not parsed it lately.
    """
    book, digest = stay.kit.robots, file.body_sha256 or b""
    decides, rules = robots.in_force_rules(
        file.standing(stay.now()), stay.kit.settings, lambda: book.known(digest) or book.parsed(body())
    )
    file.rules = None if decides is InForce.DISALLOW_ALL else rules
    if decides in {InForce.RULES, InForce.COPY}:
        file.signals = book.signals(digest, body)
    if decides is InForce.COPY and file.unreachable_from is not None:
        file.fresh_until = min(file.fresh_until, file.unreachable_from + stay.kit.settings.robots_copy_s)
    return file


def _decides(stay: Stay, file: RobotsFile, moment: float) -> InForce:
    return robots.in_force(file.standing(moment), stay.kit.settings)


def _bytes(stay: Stay, origin: Origin, fetched: Fetched) -> bytes:
    """The body just fetched; else the copy that a 304 confirms or that replaces it, which may be only in the database."""
    if fetched.body is not None:
        return fetched.body
    with db.transaction(stay.kit.engine) as tx:
        return _body(stay, tx, origin)


def _body(stay: Stay, tx: Connection, origin: Origin) -> bytes:
    return robots_store.body(tx, host_id=stay.host_id, scheme=origin.scheme, port=origin.port)
