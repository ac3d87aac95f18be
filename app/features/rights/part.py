"""Records what owners state about the uses of their pages, by the hooks: with each answer, as it stood then.

As soon as a file of a site opts out, its pages are withdrawn from crawls that honour it, before any look at them. A
robots.txt or a licence that was read whole just now counts, and none that could not be had. What one settle has no time
for is withdrawn by the next look at each page.
"""

from collections.abc import Mapping, Sequence

from sqlalchemy import Connection

from app.crawl.page.attempt import Attempt, PageRead
from app.crawl.page.preferences import Wishes
from app.crawl.state.origins import HostOrigins
from app.crawl.state.part import SettlePart, SettleStep
from app.crawl.state.settling import Settling
from app.crawl.state.visit import Visit
from app.crawl.state.worker import Worker
from app.features.rights import licence, purpose, rows
from app.features.rights.licence import LICENCES, NOTES, Notes, notes_of
from app.features.rights.purpose import PAYMENT, UNREAD
from app.features.rights.rows import RightsRow, WithdrawnRow
from app.hooks import answers
from app.model import Cause, Origin, Outcome, Url
from app.model.reasons import KEPT_OUT
from app.policy import header_fields, tdm
from app.policy.robots import Availability
from app.policy.robots_match import Work
from app.policy.tdm import LICENCE, RobotsSignals, Signal
from app.store.url_rows import Due, Where

MOST_S = 1.0  # patterns may cost 20 ms a page; the settle holds its host meanwhile


def withdraw(settling: Settling) -> None:
    """Withdraw the pages that a file opts out of, of the hosts whose files were read in this settle."""
    for visit in settling.visits:
        speaking = _speaking(visit)
        if speaking:
            found = _withdrawn(settling.tx, visit, speaking)
            if found:
                settling.drop([(row["host_id"], row["crawl_id"], row["key"]) for row in found])
                rows.keep_out(settling.tx, found)
                rows.withdraw(settling.tx, found)


def _speaking(visit: Visit) -> dict[Origin, RobotsSignals]:
    """The origins whose files were read just now and state anything."""
    files = visit.batch.robots.files
    if not files and not visit.batch.rows(LICENCES):
        return {}
    asked = {origin for origin, each in files if each.availability == Availability.AVAILABLE and not each.revalidated}
    if any(row["contents"] is not None for row in visit.batch.rows(LICENCES)):
        asked |= set(visit.origins.robots)
    found = {origin: visit.origins.robots[origin].signals for origin in asked}
    return {origin: signals for origin, signals in found.items() if not signals.is_silent}


def _withdrawn(tx: Connection, visit: Visit, speaking: Mapping[Origin, RobotsSignals]) -> list[WithdrawnRow]:
    notes, until, found = notes_of(visit.origins), visit.now() + MOST_S, list[WithdrawnRow]()
    for crawl_id, key, text in rows.honouring(tx, visit.host_id, n=5_000):  # pages that one settle looks at
        url = visit.worker.canon.canonicalise(text)
        if not isinstance(url, Url) or url.origin not in speaking:
            continue
        said = _said(notes, url, speaking[url.origin])
        if tdm.reserved(said):
            words = tdm.text(said) or ""
            found.append({"host_id": visit.host_id, "crawl_id": crawl_id, "key": key, "url": text, "words": words})
        if visit.now() > until:
            break
    return found


def _said(notes: Notes, url: Url, signals: RobotsSignals) -> list[Signal]:
    """The statements of robots.txt about a URL, and of the licences that it names as far as the visit knows them."""
    found = list(signals.of(url.target))
    held = [notes.known.get(each.value) for each in found if each.name == LICENCE]
    return found + [each for known in held if known is not None and known.terms for each in known.terms.of(url)]


def _write(settling: Settling) -> None:
    rows.keep(settling.tx, settling.rows(RIGHTS))


def _resolve(settling: Settling) -> None:
    """Give pages that named a licence before it was read the verdicts by what it states."""
    for visit in settling.visits:
        read = [row["url"] for row in visit.batch.rows(LICENCES)]
        if not read:
            continue
        resolved, work = [], Work()
        for row in rows.waiting(settling.tx, visit.host_id, read):
            page = visit.worker.canon.canonicalise(row["url"])
            if isinstance(page, Url):
                row["statements"] = _resolved(licence.notes_of(visit.origins), page, row["statements"], work)
                resolved.append(row)
            if work.left < 0:  # the others wait for their next look
                break
        rows.keep(settling.tx, resolved)


def _resolved(notes: Notes, page: Url, before: Sequence[Signal], work: Work) -> list[Signal]:
    """The statements of before, with those of licences in place of the note that they had not been read."""
    found: list[Signal] = []
    for each in before:
        known = notes.known.get(each.value) if each.name == UNREAD else None
        found += known.terms.of(page, work) if known is not None and known.terms is not None else [each]
    return found


RIGHTS: SettlePart[RightsRow] = SettlePart(
    name="rights", rank=186, write=_write, words=lambda row: f"what the owner of {row['url']} states"
)
RETURNED: SettlePart[Where] = SettlePart(
    name="returned",
    rank=187,
    write=lambda settling: rows.give_back(settling.tx, settling.rows(RETURNED)),
    words=lambda _: "a page that may be kept again",
)
WITHDRAWN: SettlePart[WithdrawnRow] = SettlePart(
    name="withdrawn",
    rank=188,  # before the step that notes pages for handlers
    write=lambda settling: rows.withdraw(settling.tx, settling.rows(WITHDRAWN)),
    words=lambda row: f"that the owner of {row['url']} keeps it out",
)
_AS_BEFORE = frozenset({None, Outcome.PAGE, Outcome.UNCHANGED})


@answers
def steps() -> Sequence[SettleStep]:
    return [
        LICENCES,
        RIGHTS,
        SettleStep(name="rights_resolved", rank=187, write=_resolve),
        RETURNED,
        WITHDRAWN,
        SettleStep(name="withdrawn_by_site", rank=189, write=withdraw),
    ]


@answers
def is_open(visit: Visit, due: Due, url: Url) -> bool | None:
    """None, at once, for a site that names no licence: most do not."""
    is_named = due.opt_out is not None and licence.MARK in due.opt_out
    if not is_named and not visit.origins.robots[url.origin].signals.licences and NOTES not in visit.origins.notes:
        return None
    return licence.is_open(visit, due, url)


@answers
def statements(worker: Worker, origins: HostOrigins, url: Url, named: Sequence[Signal]) -> Sequence[Signal]:
    return licence.statements(worker, origins, url, named)


@answers
def page_read(visit: Visit, read: PageRead) -> None:
    _record(visit, read.attempt.due, read.wished)
    _withdraw(visit, read.attempt.due, read.wished)


@answers
def answered(visit: Visit, attempt: Attempt) -> None:
    """A 304 confirms what stands, and its header may add to it; a 402 asks for a price."""
    if attempt.outcome is Outcome.UNCHANGED and attempt.brought.wished is not None:
        _record(visit, attempt.due, attempt.brought.wished, is_confirmed=True)
        _withdraw(visit, attempt.due, attempt.brought.wished)
    elif attempt.outcome is Outcome.PAYMENT_REQUIRED:
        asks = Signal(source="status 402", name=PAYMENT, reserved=True, value=header_fields.price(attempt.reply) or "")
        _add(visit, attempt.due, [asks])


def _withdraw(visit: Visit, due: Due, wished: Wishes) -> None:
    """Note that the owner keeps the page out, or that it may be kept again. Most pages cost these comparisons."""
    if wished.kept_out is not None:
        by_robots = wished.kept_out is Cause.NOINDEX
        row: WithdrawnRow = {
            "host_id": visit.host_id,
            "crawl_id": due.crawl_id,
            "key": due.key,
            "url": due.url,
            "words": (wished.directives if by_robots else wished.opt_out) or wished.kept_out.value,
        }
        visit.batch.add(WITHDRAWN, row)
    elif due.cause in KEPT_OUT or due.outcome not in _AS_BEFORE:
        visit.batch.add(RETURNED, (visit.host_id, due.crawl_id, due.key))


def _record(visit: Visit, due: Due, wished: Wishes, *, is_confirmed: bool = False) -> None:
    """Put the statements into the batch. A page without any, now and before, costs this look."""
    is_silent = not wished.signals and wished.directives is None
    if is_silent and due.opt_out is None and due.directives is None and due.cause != Cause.PAYMENT:
        return
    said = [*purpose.of_directives(wished.directives), *wished.signals]
    if wished.kept_out is Cause.NOINDEX and not any(each.name in {"noindex", "none"} for each in said):
        said += purpose.of_keeping_out(wished.directives)
    _add(visit, due, said, is_confirmed=is_confirmed)


def _add(visit: Visit, due: Due, said: Sequence[Signal], *, is_confirmed: bool = False) -> None:
    row: RightsRow = {
        "host_id": visit.host_id,
        "crawl_id": due.crawl_id,
        "key": due.key,
        "url": due.url,
        "statements": said,
        "is_confirmed": is_confirmed,
    }
    visit.batch.add(RIGHTS, row)


@answers
def hosts_deleted(tx: Connection, crawl_id: int, after: int, until: int) -> None:
    rows.hosts_deleted(tx, crawl_id, after=after, until=until)
