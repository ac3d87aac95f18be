"""Withdraws pages of crawls that honour opt-outs as soon as a file of their site opts out, before any look at them.

A robots.txt or a licence that was read whole just now counts, and none that could not be had. What one settle has no
time for is withdrawn by the next look at each page.
"""

from collections.abc import Mapping

from sqlalchemy import Connection

from app.crawl.state.settling import Settling
from app.crawl.state.visit import Visit
from app.features.rights import rows
from app.features.rights.licence import LICENCES, Notes, notes_of
from app.features.rights.rows import WithdrawnRow
from app.model import Origin, Url
from app.policy import tdm
from app.policy.robots import Availability
from app.policy.tdm import LICENCE, Signal
from app.policy.tdm_robots import RobotsSignals

MOST_PAGES = 5_000  # of a host, that one settle looks at
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
    for crawl_id, key, text in rows.honouring(tx, visit.host_id, n=MOST_PAGES):
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
