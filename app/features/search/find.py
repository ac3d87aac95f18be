"""Searches the pages of a crawl by their words: each page's words stemmed by its language, the newest matches
ranked.

Index: writes the words of pages for `tiptoe search`, after their settle and beside the crawl.

Several processes take different pages, for some seconds at most; those that wait longer make nobody wait. A crawl that
was switched on has all its pages queued, a lot of hosts at a time, by one process; of one that was switched off the
words are deleted.
"""

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

import structlog
from sqlalchemy import Connection, Engine

from app.config import Settings
from app.errors import InputError
from app.features.search import rows
from app.features.search.rows import MARKS, AskedWords, FoundRow, IndexedLot, Switched
from app.policy import words
from app.policy.url import hostname
from app.store import crawls, db, hosts, server
from app.store.crawls import Crawl

RANKED = 2_000  # matches, the newest: to rank one takes some 0.05 ms
LIMIT_MOST = 1_000
ASKED_MOST = 1_000  # characters
_log = structlog.get_logger()
QUEUE_MOST = 10_000  # pages in the queue above which no further hosts are queued


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A page that was found.

    passage   part of its text around what was found; None: its text is not kept any more
    marked    (start, end) of the words in the passage that were found, in characters
    """

    rank: float
    url: str
    title: str | None
    language: str | None
    fetched_at: datetime
    changed_at: datetime
    passage: str | None
    marked: Sequence[tuple[int, int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """The answer to a search.

    matches   pages that match, among those that were ranked; duplicates and pages that are gone are left out
    is_all    False: there are more matches; the newest `RANKED` of them were looked at
    waiting   pages of the crawl that are not indexed yet, and so cannot be found; at most WAITING_MOST
    is_queued False: pages of before `--search` are still to be queued; `waiting` is too low
    hits      the best
    """

    crawl: str
    words: str
    matches: int
    is_all: bool
    waiting: int
    is_queued: bool
    hits: Sequence[Hit]


def search_pages(
    engine: Engine,
    settings: Settings,
    name: str,
    asked: str,
    *,
    limit: int = 10,
    host: str | None = None,
    timeout_s: float = 20.0,
) -> SearchResult:
    """The best pages of a crawl for these words. The latest pages are indexed first, for 2 s at most.

    asked: words, as for a search engine: all of them; "in quotes": side by side; or; -without.
    Raises InputError: no such crawl, no search, no host, or nothing to search for.
    """
    crawl = _searched(engine, settings, name)
    _check(asked, limit)
    index_pages(engine, crawl_id=crawl.id, within_s=2.0)
    with db.transaction(engine) as tx:
        host_id = _host_id(tx, host)
        with rows.bounded(tx, timeout_s):
            read = _read(tx, asked)
            found = rows.find(tx, read, crawl_id=crawl.id, host_id=host_id, n=limit, most=RANKED)
    with db.transaction(engine) as tx:
        waiting = rows.waiting(tx, crawl_id=crawl.id, most=1_000_000)
        is_queued = all(each.crawl_id != crawl.id for each in rows.switched(tx))
    return SearchResult(
        crawl=name,
        words=asked,
        matches=found[0].ranked,
        is_all=found[0].read < RANKED,
        waiting=waiting,
        is_queued=is_queued,
        hits=[_hit(row) for row in found if row.url is not None],
    )


def index_all(engine: Engine, settings: Settings, name: str, report: Callable[[int], None]) -> int:
    """Index all pages of a crawl. report: gets the pages indexed so far, every 2 s. Returns how many."""
    crawl = _searched(engine, settings, name)
    pages = 0
    while True:
        indexed = index_pages(engine, crawl_id=crawl.id, within_s=2.0)
        pages += indexed.pages
        if indexed.is_whole:
            return pages
        report(pages)
        if not indexed.pages:  # beat indexes at this moment
            time.sleep(0.25)


def _searched(engine: Engine, settings: Settings, name: str) -> Crawl:
    with db.transaction(engine) as tx:
        crawl = crawls.named(tx, name)
    if not crawl.search:
        raise InputError(f"crawl {name}", f"its pages are not indexed; run: tiptoe crawl edit {name} --search")
    if not settings.keep_text:
        raise InputError("TIPTOE_KEEP_TEXT=false", "no text is kept, so none can be found; set it to true")
    return crawl


def _check(asked: str, limit: int) -> None:
    if not asked.strip():
        raise InputError("the words to search for", "are missing; write one or more, such as: polite crawler")
    if len(asked) > ASKED_MOST:
        raise InputError(f"{asked[:40]}…", f"is longer than {ASKED_MOST:,} characters; use fewer words")
    if not 1 <= limit <= LIMIT_MOST:
        raise InputError(f"--limit {limit}", f"is out of range; use 1 to {LIMIT_MOST:,}")


def _host_id(tx: Connection, host: str | None) -> int | None:
    if host is None:
        return None
    name = hostname(host)
    found = hosts.ids(tx, [name]).get(name)
    if found is None:
        raise InputError(f"--host {host}", "no crawl knows this host; tiptoe host list shows them")
    return found


def _read(tx: Connection, asked: str) -> list[AskedWords]:
    """Read a search by each configuration. Raises InputError where it names nothing."""
    read = rows.asked(tx, asked, rows.stemming(rows.configs(tx)))
    if not read:
        raise InputError(f"{asked!r}", "has no word to search for; letters and digits make words")
    included = [each for each in read if each.includes]
    if not included:
        raise InputError(f"{asked!r}", "only excludes; add a word that pages must have")
    return included


def _hit(row: FoundRow) -> Hit:
    assert row.url is not None
    assert row.rank is not None
    assert row.fetched_at is not None
    assert row.changed_at is not None
    passage, marked = _passage(row.passage, row.text or "") if row.passage is not None else (None, [])
    return Hit(
        rank=row.rank,
        url=row.url,
        title=row.title,
        language=row.language,
        fetched_at=row.fetched_at,
        changed_at=row.changed_at,
        passage=passage,
        marked=marked,
    )


def _passage(marked: str, text: str) -> tuple[str, list[tuple[int, int]]]:
    """The part of a text that a passage was made from, with its own signs; and where the words are that were found."""
    start, stop = MARKS[0], MARKS[1]
    spans: list[tuple[int, int]] = []
    found: list[str] = []
    for each in marked:
        if each == start:
            spans.append((len(found), len(found)))
        elif each == stop and spans:
            spans[-1] = (spans[-1][0], len(found))
        elif each not in MARKS:
            found.append(each)
    indexed = "".join(found)
    visible = text.translate(dict.fromkeys(map(ord, words.INVISIBLE + MARKS)))
    at = words.plain(visible).find(indexed)
    return re.sub(r"\s", " ", visible[at : at + len(indexed)] if at >= 0 else indexed), spans


@dataclass(slots=True, kw_only=True)
class Indexed:
    """Pages whose words were written.   is_whole: nothing of what was asked for is left"""

    pages: int = 0
    is_whole: bool = False


def index_pages(engine: Engine, *, crawl_id: int | None = None, within_s: float = 4.0) -> Indexed:
    """Index pages for so long, of one crawl or of all; not those that another process indexes."""
    until = time.monotonic() + within_s
    with db.transaction(engine) as tx:
        known = rows.stemmers(rows.configs(tx))
    found = Indexed()
    while True:
        switched = _carry_out(engine, crawl_id)
        lot = _index_lot(engine, crawl_id, known)
        found.pages += lot.put
        if lot.are_waiting and not lot.done:  # settles, or others who index, hold all of them
            break
        if not lot.taken and not any(switched):
            found.is_whole = not switched
            break
        if time.monotonic() > until:
            break
    if found.pages:
        _log.info("index.written", pages=found.pages)
    return found


def _index_lot(engine: Engine, crawl_id: int | None, known: dict[str, str]) -> IndexedLot:
    """Index the next pages of the queue."""
    with db.transaction(engine) as tx:
        # A settle that wants one of these pages waits for 0.1 s.
        return rows.index_some(tx, crawl_id=crawl_id, n=50, stemmers=known)


def _carry_out(engine: Engine, crawl_id: int | None) -> list[bool]:
    """The next hosts of each crawl that was switched, and whether it was done here."""
    with db.transaction(engine) as tx:
        crawls = [crawl for crawl in rows.switched(tx) if crawl_id in (None, crawl.crawl_id)]
    return [_carry_out_lot(engine, crawl) for crawl in crawls]


def _carry_out_lot(engine: Engine, crawl: Switched) -> bool:
    with db.transaction(engine) as tx:
        if crawl.search and rows.waiting(tx, crawl_id=crawl.crawl_id, most=QUEUE_MOST) == QUEUE_MOST:
            return False
        lot = rows.next_hosts(tx, after=crawl.search_from, n=1_000)
        rows.await_settles(tx, after=crawl.search_from, until=lot.until)
    with db.transaction(engine) as tx:
        is_ours = server.be_alone(tx, "search") and crawl in rows.switched(tx)  # nobody has done it meanwhile
        if is_ours:
            rows.carry_out(tx, crawl, lot)
    return is_ours
