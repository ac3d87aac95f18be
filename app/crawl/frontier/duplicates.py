"""Exact duplicates (promise C1): documents that say what another of the crawl says, byte for byte or in their text.

All are noted, but for pages that a browser is to open: an app's have one shell, and differ by what it shows.
Within a host, the same bytes make the URL an alias of the first that had them. Its links are not followed again where
that loses nothing or stops a trap: in the same folder they lead to the same URLs, and a document that repeats itself in
ever deeper folders is one. The same bytes on another host are a mirror: noted, and crawled for its own sake.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from sqlalchemy import Connection

from app.crawl.state.batch import Batch
from app.model.page import NO_BYTES
from app.policy.lifecycle import UrlEvent, UrlState, url_after
from app.store import pages
from app.store.pages import CopiedPage, PageRow, Renewed, Where
from app.store.url_rows import Result

_Row = TypeVar("_Row", PageRow, Renewed)


def note(batches: Sequence[Batch], tx: Connection) -> set[Where]:
    """Note the duplicates of batches that are settled together, make aliases of those on the same host.

    Returns those whose links are not to be followed.
    """
    rows = {
        (row["host_id"], row["crawl_id"], row["key"]): row
        for row in (reading.page for batch in batches for reading in batch.found.readings)
        if row is not None and row["body_bytes"] > 0 and not row.get("awaits")
    }
    if not rows:
        return set()
    before = _noted_before(batches, tx, rows)
    rows = dict(sorted(rows.items(), key=lambda item: item[0] in before))  # an original stays one: it comes first
    worded = {where: row for where, row in rows.items() if row["text_sha256"] != NO_BYTES}
    stored_body, stored_text = (_staying(batches, stored) for stored in pages.originals(tx, list(rows.values())))
    same_body = _within(rows, _body) | stored_body
    same_text = _within(worded, _text) | {where: of for where, of in stored_text.items() if where in worded}
    same_text = {where: of for where, of in same_text.items() if where not in same_body}
    pages.note_duplicates(tx, [*_notes(rows, same_text, "text"), *_notes(rows, same_body, "body")])
    pages.forget_duplicates(tx, before - same_body.keys() - same_text.keys())
    here = {where: of.url for where, of in same_body.items() if of.host_id == where[0]}
    if here:
        for result in (result for batch in batches for result in batch.results):
            of_url = here.get((result["host_id"], result["crawl_id"], result["key"]))
            if of_url is not None:
                _make_alias(result, of_url)
    return {where for where, of_url in here.items() if _folder(rows[where]["url"]).startswith(_folder(of_url))}


def _staying(batches: Sequence[Batch], stored: Mapping[Where, CopiedPage]) -> dict[Where, CopiedPage]:
    """Originals that the batches leave where they are: a page that moves is at home where it moves to."""
    if not stored:
        return {}
    leaving = {
        (result["host_id"], result["crawl_id"], result["key"])
        for result in (result for batch in batches for result in batch.results)
        if result["moved"] or result["state"] == UrlState.GONE
    }
    return {where: of for where, of in stored.items() if (of.host_id, where[1], of.key) not in leaving}


def note_texts(tx: Connection, rows: Sequence[Renewed]) -> None:
    """Note pages whose text was read again, and is another's now. Their hosts are locked."""
    worded = {(row["host_id"], row["crawl_id"], row["key"]): row for row in rows if row["text_sha256"] != NO_BYTES}
    worded = {where: worded[where] for where in worded.keys() - pages.noted_duplicates(tx, worded)}
    if worded:
        _, stored = pages.originals(tx, list(worded.values()))
        pages.note_duplicates(tx, list(_notes(worded, _within(worded, _text) | stored, "text")))


def _noted_before(batches: Sequence[Batch], tx: Connection, rows: Mapping[Where, PageRow]) -> set[Where]:
    """Those that are noted as duplicates from an earlier round."""
    if not any(fetch["reason"] == "recrawl" for batch in batches for fetch in batch.fetches):
        return set()
    return pages.noted_duplicates(tx, rows)


def _within(rows: Mapping[Where, _Row], digest: Callable[[_Row], bytes]) -> dict[Where, CopiedPage]:
    """Duplicates among the batches themselves: of the first that has the same."""
    first: dict[tuple[int, bytes], CopiedPage] = {}
    same: dict[Where, CopiedPage] = {}
    for where, row in rows.items():
        of = first.setdefault((row["crawl_id"], digest(row)), CopiedPage(row["url"], row["host_id"], row["key"]))
        if of.url != row["url"]:
            same[where] = of
    return same


def _notes(rows: Mapping[Where, _Row], same: Mapping[Where, CopiedPage], kind: str) -> Iterable[Mapping[str, object]]:
    return [
        {
            "host_id": where[0],
            "crawl_id": where[1],
            "key": where[2],
            "url": rows[where]["url"],
            "kind": kind,
            "of_url": of.url,
            "of_host_id": of.host_id,
            "of_key": of.key,
        }
        for where, of in same.items()
    ]


def _make_alias(result: Result, of_url: str) -> None:
    result["state"] = url_after(UrlState.QUEUED, UrlEvent.ALIASED).value
    result["alias_of"] = of_url
    result["due_s"] = None


def _folder(url: str) -> str:
    """A URL up to the last slash of its path: what relative links are joined to."""
    path = url.partition("?")[0]
    return path[: path.rindex("/") + 1]


def _body(row: PageRow) -> bytes:
    return row["body_sha256"]


def _text(row: PageRow | Renewed) -> bytes:
    return row["text_sha256"]
