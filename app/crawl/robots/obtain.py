"""robots.txt before anything else: the origin's file, from the database while it is fresh, else from the site.

Fetching it (`robots_fetch`) is a contact like any other, at the host's own pace. What decides while it cannot be had is
`app.policy.robots.in_force`; here this is kept up to date in the visit and, by the batch, in the database.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from hashlib import sha256
from typing import Literal

from sqlalchemy import Connection

from app.crawl.request import slots
from app.crawl.robots import ask
from app.crawl.robots.ask import Answer
from app.crawl.state.robots_file import RobotsFile
from app.crawl.state.slot import Slot
from app.crawl.state.visit import Stay
from app.model import Origin, Url
from app.policy import robots
from app.policy.robots import Availability, InForce, Robots
from app.store import db
from app.store import robots as robots_store
from app.store.robots import Fetched

# On a host with a delay of hours a copy must outlast the next page, or there would never be one.
FRESH_DELAYS = 2.5

Verdict = Robots | Literal["wait", "shut"]


def load(stay: Stay, tx: Connection) -> None:
    """What the database knows of the host's origins, into the stay."""
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
    """The rules in force. "shut": no page of the origin for now; "wait": the turn to ask for them has not come, or their
    answer closed the host: leave."""
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
    """After a 403 or 429 on a page the site may have written down what it wants (SPEC R4): robots.txt is asked for before
    the next page, but not within an hour of the last time. One that cannot be had is asked for all the while anyway."""
    file = stay.robots[origin]
    again = file.asked + stay.kit.settings.robots_recheck_s
    if file.availability is not Availability.UNREACHABLE and again < file.fresh_until:
        file.fresh_until = again
        stay.batch.doubted_robots.add(origin)


def awaits_copy(stay: Stay, file: RobotsFile) -> bool:
    """It cannot be had, and its last good copy will be in force after a while, or is."""
    away_s = 0.0 if file.unreachable_from is None else stay.now() - file.unreachable_from
    return file.body_sha256 is not None and away_s < stay.kit.settings.robots_copy_s


def _ask(stay: Stay, origin: Origin, known: RobotsFile | None, url: Url, slot: Slot) -> RobotsFile | None:
    """Ask the site, and put what it says into the stay and the batch. None: nothing was asked, the slot had passed."""
    answer = ask.follow(stay, known, url, slot)
    if answer is None:
        return None
    fetched = ask.judge(stay, answer, known)
    file = _enforce(stay, _file(answer, fetched, known), partial(_bytes, stay, origin, fetched))
    could_be_had = file.availability is not Availability.UNREACHABLE
    # Asked for every hour while it cannot be had: only the phase can allow what was refused at the last attempt.
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


def _file(answer: Answer, fetched: Fetched, known: RobotsFile | None) -> RobotsFile:
    """The file after an answer; what is in force is not decided yet."""
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
    """Put in force what decides now, for the time of a visit; it does not outstay the time of a copy.

    body: reads the copy, which is asked for only when this process has not parsed it lately.
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
    """The file just fetched; or the copy that a 304 confirms or that stands in for it, which may be in the database alone."""
    if fetched.body is not None:
        return fetched.body
    with db.transaction(stay.kit.engine) as tx:
        return _body(stay, tx, origin)


def _body(stay: Stay, tx: Connection, origin: Origin) -> bytes:
    return robots_store.body(tx, host_id=stay.host_id, scheme=origin.scheme, port=origin.port)
