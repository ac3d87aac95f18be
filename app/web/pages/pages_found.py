"""The pages of what was found: a list of it, search by words, items of handlers, traps and duplicates for review."""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from app.admin.board import lists
from app.admin.board.lists import PageKind
from app.admin.extract import status as extract_status
from app.errors import InputError
from app.features.search import find as searches
from app.features.search.find import Hit
from app.store import board, db
from app.web.board import board_of
from app.web.render import page
from app.words import none_of

CRAWLS = 200


def pages(request: Request) -> Response:
    """Pages of a crawl whose texts are stored, by host."""
    shared, query = board_of(request), request.query_params
    with db.transaction(shared.engine) as tx:
        crawls = [line.name for line in board.crawls(tx, CRAWLS)]
    crawl = query.get("crawl") or next(iter(crawls), "")
    asked = {"find": query.get("find", "").strip(), "language": query.get("language", "").strip()}
    kind = _kind(query.get("kind", ""))
    lot = None
    if crawl:
        after, found = query.get("after", ""), asked["find"] or None
        lot = lists.pages(
            shared.engine, crawl, find_text=found, language=asked["language"] or None, kind=kind, after=after
        )
    more: dict[str, Any] = {"kinds": list(PageKind), "kind": kind, "keeps_text": shared.settings.keep_text}
    crawls = crawls if crawl in crawls or not crawl else [crawl, *crawls]
    return page(request, "pages.html", lot=lot, crawl=crawl, crawls=crawls, asked=asked, **more)


def _kind(asked: str) -> PageKind | None:
    try:
        return PageKind(asked) if asked else None
    except ValueError:
        raise InputError(f"kind {asked!r}", none_of(asked, list(PageKind))) from None


def search(request: Request) -> Response:
    """Pages of a crawl by their words."""
    shared, query = board_of(request), request.query_params
    with db.transaction(shared.engine) as tx:
        crawls = sorted(board.crawls(tx, CRAWLS), key=lambda line: not line.search)  # those that are indexed first
    crawl, asked = query.get("crawl") or (crawls[0].name if crawls else ""), query.get("q", "").strip()
    found, wrong = None, None
    if crawl and asked:
        try:
            found = searches.search_pages(shared.engine, shared.settings, crawl, asked, limit=20)
        except InputError as error:
            wrong = str(error)
    hits = [(hit, _parts(hit)) for hit in found.hits] if found else []
    return page(request, "search.html", found=found, hits=hits, crawls=crawls, crawl=crawl, asked=asked, wrong=wrong)


def items(request: Request) -> Response:
    """Items, and how handlers fare."""
    shared, query = board_of(request), request.query_params
    crawl, handler = query.get("crawl") or None, query.get("handler") or None
    lot = lists.items(shared.engine, crawl=crawl, handler=handler, after=query.get("after", ""))
    handlers = extract_status(shared.engine, crawl)
    return page(request, "items.html", lot=lot, handlers=handlers, crawl=crawl, handler=handler)


def traps(request: Request) -> Response:
    """Patterns that are refused as traps."""
    lot = lists.traps(board_of(request).engine, after=request.query_params.get("after", ""))
    return page(request, "traps.html", lot=lot)


def duplicates(request: Request) -> Response:
    """Pages that repeat another."""
    lot = lists.duplicates(board_of(request).engine, after=request.query_params.get("after", ""))
    return page(request, "duplicates.html", lot=lot)


def _parts(hit: Hit) -> list[tuple[str, bool]]:
    """The passage of a hit in parts: (text, whether it was found)."""
    text, at, parts = hit.passage or "", 0, []
    for start, end in hit.marked:
        parts += [(text[at:start], False), (text[start:end], True)]
        at = end
    return [part for part in [*parts, (text[at:], False)] if part[0]]
