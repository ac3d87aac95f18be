"""The index of words for `tiptoe search`. One query of search.sql each, in the caller's transaction.

`app.store.pages.keep` queues the pages of crawls that are searched; beat indexes them (`janitor`).

Each page is split into words by the text search configuration of its language, of those that this Postgres has. The
codes are ISO 639-1's, as the first subtag of a BCP 47 tag has them; the configurations are Postgres' own, all by
Snowball (https://www.postgresql.org/docs/current/textsearch-psql.html). A language without one is split into words and
not stemmed. Languages that are written without spaces (Chinese, Japanese, Thai) are split at punctuation alone.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any, Final, NamedTuple

import psycopg
from sqlalchemy import Connection

from app.errors import InputError
from app.policy import words
from app.store import db
from app.store.url_rows import Where, places

_sql = db.queries("search", __file__)
CHARACTERS = 100_000  # of a text that are indexed: a tsvector holds 1 MiB, whatever the words are
MARKS = "\ue000\ue001"  # private characters around the words that were found; taken out of the text first
SAMPLE = 300  # pages, the newest
COMMON = 0.12  # share of these: one match in eight pages costs less to meet than to look up
# MaxFragments: without it, a passage begins with the first word that was found.
_PASSAGE = f'MaxFragments=1, MaxWords=35, MinWords=15, ShortWord=0, StartSel="{MARKS[0]}", StopSel="{MARKS[1]}"'
_CONFIGS: Final[Mapping[str, str]] = {
    "ar": "arabic",
    "ca": "catalan",
    "da": "danish",
    "de": "german",
    "el": "greek",
    "en": "english",
    "es": "spanish",
    "et": "estonian",
    "eu": "basque",
    "fi": "finnish",
    "fr": "french",
    "ga": "irish",
    "hi": "hindi",
    "hu": "hungarian",
    "hy": "armenian",
    "id": "indonesian",
    "it": "italian",
    "lt": "lithuanian",
    "nb": "norwegian",
    "ne": "nepali",
    "nl": "dutch",
    "nn": "norwegian",
    "no": "norwegian",
    "pt": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "sr": "serbian",
    "sv": "swedish",
    "ta": "tamil",
    "tr": "turkish",
    "yi": "yiddish",
}


class Switched(NamedTuple):
    """A crawl whose pages are yet to be queued (search), or whose words are yet to be deleted: hosts above an id."""

    crawl_id: int
    search: bool
    search_from: int


class HostLot(NamedTuple):
    """Hosts up to an id.   is_last: there are none above"""

    until: int
    is_last: bool


class IndexedLot(NamedTuple):
    """Pages that were taken from the queue, those that leave it, and those whose words were written.

    are_waiting  there were any in the queue, those that others hold included
    """

    taken: int
    done: int
    put: int
    are_waiting: bool


class AskedWords(NamedTuple):
    """A search as some configurations read it.

    query, loose  tsqueries: all of it, and the part that the index answers by itself
    includes      it names a word; False: it only excludes
    """

    query: str
    loose: str
    includes: bool
    configs: Sequence[str]


class FoundRow(NamedTuple):
    """A page that was found, the best first. Without any, one row that has counts alone.

    read    matches of the index that were looked at;   ranked: of these, pages that match in full and repeat no other
    passage words of the text around what was found, as they are indexed, and these between MARKS
    text    of the page; None: it is not kept any more
    """

    read: int
    ranked: int
    rank: float | None
    url: str | None
    title: str | None
    language: str | None
    fetched_at: datetime | None
    changed_at: datetime | None
    passage: str | None
    text: str | None


def switched(tx: Connection) -> list[Switched]:
    return db.run(tx, _sql["switched"]).of(Switched)


def next_hosts(tx: Connection, *, after: int, n: int) -> HostLot:
    return db.run(tx, _sql["next_hosts"], {"after": after, "n": n}).of(HostLot)[0]


def await_settles(tx: Connection, *, after: int, until: int) -> None:
    """Wait for settles at these hosts that may not know of a switch yet. Lock order: hosts come first."""
    db.run(tx, _sql["await_settles"], {"after": after, "until": until})


def carry_out(tx: Connection, crawl: Switched, lot: HostLot) -> None:
    """Queue the pages of some hosts, or delete their words; note how far it is done."""
    hosts = {"crawl_id": crawl.crawl_id, "after": crawl.search_from, "until": lot.until}
    db.run(tx, _sql["queue_hosts"] if crawl.search else _sql["forget_hosts"], hosts)
    db.run(tx, _sql["switched_until"], {**hosts, "search": crawl.search, "is_last": lot.is_last})


def waiting(tx: Connection, *, crawl_id: int, most: int) -> int:
    """The number of a crawl's pages in the queue, at most `most`."""
    return int(db.run(tx, _sql["waiting"], {"crawl_id": crawl_id, "most": most}).scalar_one())


def backlog(tx: Connection) -> int:
    """About how many pages are in the queue: how far its newest is from its oldest."""
    return int(db.run(tx, _sql["backlog"]).scalar_one())


def configs(tx: Connection) -> list[str]:
    """The text search configurations of this Postgres."""
    return [row.name for row in db.run(tx, _sql["configs"])]


def index_some(tx: Connection, *, crawl_id: int | None, n: int, stemmers: dict[str, str]) -> IndexedLot:
    """Index at most n pages of the queue, of one crawl or of all."""
    rows = db.rows_param([{"language": language, "config": config} for language, config in stemmers.items()])
    spelling = {"invisible": words.INVISIBLE, "separators": words.separators(), "long_run": words.LONG_RUN}
    where = {"crawl_id": crawl_id, "n": n, "stemmers": rows, "characters": CHARACTERS, **spelling}
    return db.run(tx, _sql["index_some"], where).of(IndexedLot)[0]


def forget(tx: Connection, pages: Collection[Where]) -> None:
    """Delete the words of pages, which stay."""
    if pages:
        db.run(tx, _sql["forget"], {"rows": places(pages)})


def asked(tx: Connection, text: str, configs: Sequence[str]) -> list[AskedWords]:
    """Read a text by each configuration; configurations for which no word is left are left out."""
    where = {"words": words.asked(text), "configs": list(configs)}
    return db.run(tx, _sql["asked"], where).of(AskedWords)


def find(
    tx: Connection, asked: Sequence[AskedWords], *, crawl_id: int, host_id: int | None, n: int, most: int
) -> list[FoundRow]:
    """The n best of the `most` newest matches.

    Where many of the newest pages have the words, matches are taken from these: the index would name most of the crawl.
    """
    where = {
        "asked": db.rows_param([each._asdict() for each in asked]),
        "crawl_id": crawl_id,
        "host_id": host_id,
    }
    share = db.run(tx, _sql["share"], {**where, "n": SAMPLE}).one()
    is_common = share.seen == SAMPLE and share.hits >= COMMON * SAMPLE
    found = _find(tx, where, n=n, most=most, by_time=is_common)
    if is_common and found[0].read < most:  # older pages have them less often
        return _find(tx, where, n=n, most=most, by_time=False)
    return found


def _find(tx: Connection, where: Mapping[str, Any], *, n: int, most: int, by_time: bool) -> list[FoundRow]:
    values = {
        "n": n,
        "most": most,
        "by_time": by_time,
        "walk": round(2 * most / COMMON),
        "characters": CHARACTERS,
        "invisible": words.INVISIBLE + MARKS,
        "separators": words.separators(),
        "long_run": words.LONG_RUN,
        "options": _PASSAGE,
    }
    return db.run(tx, _sql["find"], {**where, **values}).of(FoundRow)


@contextmanager
def bounded(tx: Connection, timeout_s: float) -> Iterator[None]:
    """Bound the queries within: by time, and to the index of words. Raises InputError where they take longer."""
    db.run(tx, _sql["bound"], {"timeout_ms": str(round(timeout_s * 1000))})
    try:
        yield
    except psycopg.errors.QueryCanceled as error:
        remedy = f"takes more than {timeout_s:g} s; add a rarer word, or search one host with --host"
        raise InputError("this search", remedy) from error


def stemmers(available: Collection[str]) -> dict[str, str]:
    """{language: configuration} of the languages that have one among the `available`."""
    return {language: config for language, config in _CONFIGS.items() if config in available}


def stemming(available: Collection[str]) -> list[str]:
    """The configurations that pages may be indexed by."""
    return sorted({"simple", *stemmers(available).values()})


def drop_crawl(tx: Connection, crawl_id: int) -> int:
    """Delete the pages of a crawl from the queue. Returns how many."""
    return db.run(tx, _sql["drop_crawl"], {"crawl_id": crawl_id}).rowcount
