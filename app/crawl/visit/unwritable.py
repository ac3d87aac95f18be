"""Mends a batch that Postgres refuses for a value in it: finds the rows at fault, and replaces them by rows it accepts.

Otherwise the visit would be lost with its lease, and be repeated with the same result for as long as the crawl runs.
Each part of the batch is tried by itself, in a transaction that is rolled back; of many rows halves, until each at
fault is alone, or MOST_TRIES are spent: then what is left of the refused ones goes. A URL at fault is quarantined with
the cause; an origin whose robots.txt is at fault, with all its URLs. A link is left out, and so is what the visit
learned of its URLs; a line of the log keeps only our own values. Only errors of SQLSTATE 22, 23 or 54 are handled here:
a full disk and an outage are no row's fault.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

import structlog

from app.crawl.frontier.give_up import GIVE_UP, GivingUp
from app.crawl.state.batch import Batch, Findings, ReadDocument, RobotsNews
from app.crawl.state.visit import Visit
from app.errors import DETAIL_CHARS, Unwritable
from app.model import Cause, Origin
from app.model.reasons import words
from app.policy.lifecycle import UrlEvent, UrlState, url_after
from app.policy.robots import Availability
from app.store.fetches import Fetch
from app.store.robots import Fetched
from app.store.url_rows import Result
from app.words import counted

_log = structlog.get_logger()
MOST_TRIES = 1_000  # of the rows of one kind, each a transaction
AGAIN_S = 3_600.0  # until a robots.txt that cannot be stored is asked for again
_SAID_BY_THE_SITE = ("address", "status", "location", "retry_after", "content_type", "etag", "last_modified")

T = TypeVar("T")
# Tries to write a batch and rolls back. Returns why Postgres refuses it, None when it accepts it.
Refuses = Callable[[Visit, Batch], Unwritable | None]
# The same of a batch that has these fields alone.
Fault = Callable[..., Unwritable | None]


def mend(visit: Visit, refuses: Refuses) -> None:
    """Remove from the visit's batch, or replace, the rows that Postgres refuses."""
    batch, host, started = visit.batch, visit.lease.host, visit.batch.started

    def fault(**fields: Any) -> Unwritable | None:
        return refuses(visit, replace(Batch(started=started), **fields))

    if _is_left_out(host, fault(), "what its URLs have brought"):  # it is the visit's, and no part's
        visit.picked.learned()
    _mend_robots_news(visit, fault)
    for place, result in enumerate(batch.results):
        if error := fault(results=[result]):
            batch.results[place] = _quarantined(host, batch, result, error)
    for place, row in enumerate(batch.fetches):
        if error := fault(fetches=[row]):
            batch.fetches[place] = _bare(host, row, error)
    _mend_found(host, batch, fault)
    for part, rows in batch.parts.items():
        rows[:] = _accepted(host, rows, partial(_of_part, fault, part), part.words, part.mended or _nothing)


def _mend_robots_news(visit: Visit, fault: Fault) -> None:
    news, host = visit.batch.robots, visit.lease.host
    for origin, fetched in list(news.files):
        if error := fault(robots=RobotsNews(files=[(origin, fetched)])):
            _mend_robots(visit, origin, fetched, error)
    for place, (origin, asked) in enumerate(news.tdmrep):
        if _is_left_out(host, fault(robots=RobotsNews(tdmrep=[(origin, asked)])), str(origin)):
            news.tdmrep[place] = origin, replace(asked, body=None)


def _mend_found(host: str, batch: Batch, fault: Fault) -> None:
    """Documents, and links: a link that Postgres refuses is left out."""
    found = batch.found
    for place, reading in enumerate(found.readings):
        found.readings[place] = _mended_reading(host, batch, reading, fault)
    found.admissions = _accepted(
        host,
        found.admissions,
        lambda some: fault(found=Findings(admissions=some)),
        lambda each: each.url.text,
    )
    found.suppressions = dict(
        _accepted(
            host,
            list(found.suppressions.items()),
            lambda some: fault(found=Findings(suppressions=dict(some))),
            lambda each: each[1]["url"],
        )
    )


def _of_part(fault: Fault, part: object, rows: list[Any]) -> Unwritable | None:
    return fault(parts={part: rows})


def _nothing(_: object, __: Unwritable) -> None:
    """Nothing stands for the row."""


def _accepted(
    host: str,
    rows: Sequence[T],
    fault: Callable[[list[T]], Unwritable | None],
    words: Callable[[T], str],
    mended: Callable[[T, Unwritable], T | None] = _nothing,
) -> list[T]:
    """The rows that Postgres accepts, in their order, and what stands for others.

    mended  what stands for a row that is refused; None: it is left out
    """
    accepted: list[T] = []
    lots, tries = [list(rows)], 0
    while lots:
        lot = lots.pop()
        error, tries = (fault(lot) if lot else None), tries + 1
        if error is None:
            accepted += lot
        elif len(lot) > 1 and tries < MOST_TRIES:
            middle = len(lot) // 2
            lots += [lot[middle:], lot[:middle]]  # the first half comes next
        else:
            more = f", and {counted(len(lot) - 1, 'row')} behind it" if len(lot) > 1 else ""
            _is_left_out(host, error, words(lot[0]) + more)
            accepted += [stands for row in lot if (stands := mended(row, error)) is not None]
    return accepted


def _mended_reading(host: str, batch: Batch, reading: ReadDocument, fault: Fault) -> ReadDocument:
    """The document, if it can be stored, and those of its links that can be admitted."""
    page = reading.page
    error = fault(found=Findings(readings=[ReadDocument(page=page, links=[])])) if page is not None else None
    if page is not None and error is not None:
        for place, result in enumerate(batch.results):
            if (result["crawl_id"], result["key"]) == (page["crawl_id"], page["key"]):
                batch.results[place] = _quarantined(host, batch, result, error)
        return ReadDocument(page=None, links=[])
    links = _accepted(
        host,
        reading.links,
        lambda some: fault(found=Findings(readings=[ReadDocument(page=None, links=some)])),
        lambda each: each.url.text,
    )
    return ReadDocument(page=page, links=links)


def _quarantined(host: str, batch: Batch, result: Result, error: Unwritable) -> Result:
    """The result as a quarantined URL, without any value that came from the site."""
    _log.error("settle.url_refused", host=host, key=result["key"].hex(), error=str(error))
    batch.tally(result["crawl_id"]).failed += 1
    bare: dict[str, object] = dict.fromkeys(Result.__annotations__)
    kept = ("host_id", "crawl_id", "key", "attempts", "network_failures", "server_failures", "parse_failures")
    bare |= {name: result[name] for name in kept}  # type: ignore[literal-required]  # names of Result
    bare |= {
        "state": url_after(UrlState.QUEUED, UrlEvent.EXHAUSTED).value,
        "cause": Cause.UNWRITABLE,
        "detail": str(error)[:DETAIL_CHARS],
        "retrying": False,
        "fetched": True,
        "changed": False,
    }
    return bare  # type: ignore[return-value]  # it has all names of Result


def _mend_robots(visit: Visit, origin: Origin, fetched: Fetched, error: Unwritable) -> None:
    """Replace rules that cannot be stored, and so not be shared with the fleet, by complete disallow; the URLs end."""
    _log.error("settle.robots_refused", host=visit.lease.host, origin=str(origin), error=str(error))
    why = str(error)[:DETAIL_CHARS]
    bare = replace(
        fetched,
        availability=Availability.UNREACHABLE.value,
        revalidated=False,
        status=None,
        detail=words(Cause.ROBOTS_UNWRITABLE, why),
        body=None,
        etag=None,
        last_modified=None,
        fresh_s=AGAIN_S,
        failures=1,
        crawl_delay_raw=None,
        crawl_delay_s=None,
        sitemaps=(),
    )
    batch = visit.batch
    batch.robots.files = [(each, bare if each == origin else was) for each, was in batch.robots.files]
    batch.robots.renewed = [each for each in batch.robots.renewed if each != origin]
    batch.add(
        GIVE_UP,
        GivingUp(state=UrlState.QUARANTINED, cause=Cause.ROBOTS_UNWRITABLE, detail=why, prefix=f"{origin}/"),
    )
    file = visit.origins.robots[origin]
    visit.origins.robots[origin] = replace(
        file,
        rules=None,
        availability=Availability.UNREACHABLE,
        status=None,
        failures=1,
        fresh_until=file.asked + AGAIN_S,
        unreachable_from=file.asked,
        body_sha256=None,
        etag=None,
        last_modified=None,
        crawl_delay_s=None,
    )
    visit.picked.drop_origin(f"{origin}/")


def _bare(host: str, row: Fetch, error: Unwritable) -> Fetch:
    """The row of the log without any value that came from the site: the request was made, so it is logged."""
    _log.error("settle.fetch_refused", host=host, url=row["url"], error=str(error))
    bare = row.copy()
    for name in _SAID_BY_THE_SITE:
        bare[name] = None  # type: ignore[literal-required]  # a name of Fetch
    bare["detail"] = str(error)[:DETAIL_CHARS]
    return bare


def _is_left_out(host: str, error: Unwritable | None, what: str) -> bool:
    if error is not None:
        _log.error("settle.row_refused", host=host, what=what, error=str(error))
    return error is not None
