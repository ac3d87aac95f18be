"""Statements, verdicts and licence files as rows. One query of rights.sql each, in the caller's transaction."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from typing import Any, NamedTuple, TypedDict

from sqlalchemy import Connection

from app.features.rights.purpose import UNREAD, Purpose, verdicts
from app.model import Cause
from app.policy.tdm import LICENCE, SIGNAL, USAGE, Signal
from app.store import db
from app.store.url_rows import Where
from app.store.url_rows import places as places_of

MOST_BEFORE = 200  # statements: each 304 may name new uses in its header, and those of before stand, too
_sql = db.queries("rights", __file__)
_OF_DOCUMENT = frozenset(
    {"TDMRep meta", "link element", "Link header", "TDMRep header", f"{USAGE} header", f"{SIGNAL} header"}
)


class LicenceRow(TypedDict):
    """The result of a request for a licence file.

    contents  as `rsl.as_rows` writes them; None: nobody knows what it states
    status    None: no answer; what was read before stays
    """

    url: str
    contents: list[dict[str, Any]] | None
    problem: str | None
    status: int | None
    at: datetime


class KnownLicence(NamedTuple):
    """A licence file on record.   age_s: since the last attempt"""

    url: str
    contents: list[dict[str, Any]] | None
    problem: str | None
    age_s: float


class RightsRow(TypedDict):
    """The statements of the owner of a page. No statement: it may have had some before.

    is_confirmed  by a 304, which has no document: what that one states stands
    """

    host_id: int
    crawl_id: int
    key: bytes
    url: str
    statements: Sequence[Signal]
    is_confirmed: bool


class WithdrawnRow(TypedDict):
    """A page that its owner keeps out.   words: the statement by which"""

    host_id: int
    crawl_id: int
    key: bytes
    url: str
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Withdrawal:
    """The tombstone of a page.   confirmed_at: when another answer said so, too"""

    crawl: str
    url: str
    words: str
    withdrawn_at: datetime
    confirmed_at: datetime | None


class StatedThen(NamedTuple):
    """The statements about a URL in a crawl, from a moment on."""

    crawl: str
    url: str
    since: datetime
    said: list[Signal]


class StatedSet(NamedTuple):
    """A set of statements, and how many pages of a host have it."""

    crawl: str
    pages: int
    example: str
    said: list[Signal]


def signals(said: Sequence[Mapping[str, Any]]) -> list[Signal]:
    return [Signal(**each) for each in said]


def licences(tx: Connection, urls: Sequence[str]) -> dict[str, KnownLicence]:
    return {row.url: row for row in db.run(tx, _sql["licences"], {"urls": list(urls)}).of(KnownLicence)}


def keep_licences(tx: Connection, rows: Sequence[LicenceRow]) -> None:
    db.run(tx, _sql["keep_licences"], {"rows": db.rows_param(rows)})


def keep(tx: Connection, rows: Sequence[RightsRow]) -> None:
    """Note statements; of several of a page in one settle the last stands."""
    last = {(row["host_id"], row["crawl_id"], row["key"]): row for row in rows}
    before = _before(tx, [row for row in last.values() if row["is_confirmed"]])
    sets: dict[str, dict[str, Any]] = {}
    noted = []
    for (host_id, crawl_id, key), row in last.items():
        stated = [*row["statements"], *of_document(before.get((host_id, crawl_id, key), ()), row["statements"])]
        said = _set(stated)
        sets[said["sha256"]] = said
        noted.append(
            {
                "host_id": host_id,
                "crawl_id": crawl_id,
                "key": key,
                "url": row["url"],
                "said": said["sha256"],
                "is_silent": not stated,
            }
        )
    if noted:
        db.run(tx, _sql["keep_statements"], {"rows": db.rows_param(list(sets.values()))})
        db.run(tx, _sql["keep_rights"], {"rows": db.rows_param(noted)})


def _before(tx: Connection, rows: Sequence[RightsRow]) -> dict[tuple[int, int, bytes], list[Signal]]:
    """The statements on record of these pages."""
    found: dict[tuple[int, int, bytes], list[Signal]] = {}
    for crawl_id in sorted({row["crawl_id"] for row in rows}):
        places = [(row["host_id"], row["key"].hex()) for row in rows if row["crawl_id"] == crawl_id]
        for (host_id, key), said in of_pages(tx, crawl_id, places).items():
            found[host_id, crawl_id, bytes.fromhex(key)] = said
    return found


def of_document(before: Sequence[Signal], now: Sequence[Signal]) -> list[Signal]:
    """The statements of before that the last document and its header made, and those of licences that they named.

    Those that stand now in their place replace them. Of more than MOST_BEFORE, reservations first, the latest stay.
    """
    replaced = {(each.source, each.name) for each in now}
    made = [each for each in before if each.source in _OF_DOCUMENT and (each.source, each.name) not in replaced]
    sources = {each.source for each in now}
    if any(each.name == LICENCE for each in made):
        made += [each for each in before if each.source.startswith("RSL ") and each.source not in sources]
    return made if len(made) <= MOST_BEFORE else sorted(made, key=lambda each: not each.reserved)[:MOST_BEFORE]


def _set(statements: Sequence[Signal]) -> dict[str, Any]:
    """A set of statements as a row."""
    said = [
        {"source": each.source, "name": each.name, "value": each.value, "reserved": each.reserved}
        for each in dict.fromkeys(statements)
    ]
    found = verdicts(statements)
    return {
        "sha256": sha256(db.rows_param(said)).hexdigest(),
        "said": said,
        **{purpose.value.replace("-", "_"): found[purpose].answer.value for purpose in Purpose},
        "decided": {purpose.value: found[purpose].words for purpose in Purpose if found[purpose].by is not None},
        "unread": sorted({each.value for each in statements if each.name == UNREAD}),
    }


def waiting(tx: Connection, host_id: int, urls: Sequence[str]) -> list[RightsRow]:
    """Pages whose statements name a licence that had not been read, at most MOST_WAITING."""
    # Pages of a host whose verdicts a licence that was read changes, in one settle.
    found = db.run(tx, _sql["waiting"], {"host_id": host_id, "urls": list(urls), "n": 1_000})
    return [
        {
            "host_id": host_id,
            "crawl_id": row.crawl_id,
            "key": bytes(row.key),
            "url": row.url,
            "statements": signals(row.said),
            "is_confirmed": False,
        }
        for row in found
    ]


def withdraw(tx: Connection, rows: Sequence[WithdrawnRow]) -> None:
    """Note pages that their owners keep out, and delete their items and links. A second note confirms the first."""
    last = {(row["host_id"], row["crawl_id"], row["key"]): row for row in rows}
    where = {"rows": db.rows_param(list(last.values()))}
    db.run(tx, _sql["withdraw"], where)
    db.run(tx, _sql["erase_handled"], where)
    db.run(tx, _sql["erase"], where)


def honouring(tx: Connection, host_id: int, *, n: int) -> list[tuple[int, bytes, str]]:
    """Pages of a host in crawls that honour opt-outs: crawl, key and URL."""
    found = db.run(tx, _sql["honouring"], {"host_id": host_id, "n": n})
    return [(row.crawl_id, bytes(row.key), row.url) for row in found]


def keep_out(tx: Connection, rows: Sequence[WithdrawnRow]) -> None:
    """Note why the pages of these URLs are kept out: a file of their site opts out."""
    db.run(tx, _sql["keep_out"], {"rows": db.rows_param(rows), "cause": Cause.SITE_OPTED_OUT.value})


def give_back(tx: Connection, pages: Sequence[Where]) -> None:
    """Take away the notes of pages that may be kept again."""
    db.run(tx, _sql["return"], {"rows": places_of(pages)})


def withdrawn(tx: Connection, *, host_id: int, key: bytes) -> list[Withdrawal]:
    """The tombstones of a URL, by crawl."""
    return [Withdrawal(**row._asdict()) for row in db.run(tx, _sql["withdrawn"], {"host_id": host_id, "key": key})]


def of_url(tx: Connection, *, host_id: int, key: bytes) -> list[StatedThen]:
    rows = db.run(tx, _sql["of_url"], {"host_id": host_id, "key": key})
    return [StatedThen(row.crawl, row.url, row.since, signals(row.said)) for row in rows]


def kept(tx: Connection, *, host_id: int, key: bytes) -> list[str]:
    """The crawls that have a URL as a page."""
    return [row.crawl for row in db.run(tx, _sql["kept"], {"host_id": host_id, "key": key})]


def of_host(tx: Connection, host_id: int) -> list[StatedSet]:
    """Sets of statements of a host's pages, those of the most pages first; MOST_SETS at most."""
    rows = db.run(tx, _sql["of_host"], {"host_id": host_id, "n": 50})  # shown of a host
    return [StatedSet(row.crawl, row.pages, row.example, signals(row.said)) for row in rows]


def of_pages(tx: Connection, crawl_id: int, places: Sequence[tuple[int, str]]) -> dict[tuple[int, str], list[Signal]]:
    """The statements about pages of a crawl.   places: host, and key in hex"""
    rows = db.rows_param([{"host_id": host_id, "key": key} for host_id, key in places])
    found = db.run(tx, _sql["of_pages"], {"rows": rows, "crawl_id": crawl_id})
    return {(row.host_id, row.key): signals(row.said) for row in found}


def answers_of(tx: Connection, pages: Sequence[Where]) -> dict[Where, dict[str, str]]:
    """The answer for each purpose, of each of these pages."""
    found: dict[Where, dict[str, str]] = {}
    for crawl_id in sorted({crawl_id for _, crawl_id, _ in pages}):
        of_crawl = list(dict.fromkeys((host_id, key) for host_id, each, key in pages if each == crawl_id))
        said = of_pages(tx, crawl_id, [(host_id, key.hex()) for host_id, key in of_crawl])
        for host_id, key in of_crawl:
            verdict = verdicts(said.get((host_id, key.hex()), ()))
            found[host_id, crawl_id, key] = {each.value: verdict[each].answer.value for each in Purpose}
    return found


def by_crawl(tx: Connection, crawl_id: int) -> dict[tuple[str, str], int]:
    """How many pages of a crawl have each verdict, by purpose and answer."""
    return {(row.purpose, row.answer): row.pages for row in db.run(tx, _sql["by_crawl"], {"crawl_id": crawl_id})}


def hosts_deleted(tx: Connection, crawl_id: int, *, after: int, until: int) -> None:
    """Delete the rows of a crawl that is deleted, of the hosts with ids above `after`, up to `until`."""
    db.run(tx, _sql["hosts_deleted"], {"crawl_id": crawl_id, "after": after, "until": until})
