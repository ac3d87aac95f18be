"""The pages of what was found: search by words, items that handlers extracted, and traps and duplicates for review."""

from starlette.requests import Request
from starlette.responses import Response

from app.admin import search as searches
from app.admin.board import lists
from app.admin.extract import status as extract_status
from app.admin.search import Hit
from app.errors import InputError
from app.store import board, db
from app.web.board import board_of
from app.web.render import page

CRAWLS = 200
LIMIT = 20


def search(request: Request) -> Response:
    """Pages of a crawl by their words."""
    shared, query = board_of(request), request.query_params
    crawl, asked = query.get("crawl", ""), query.get("q", "").strip()
    with db.transaction(shared.engine) as tx:
        crawls = [line.name for line in board.crawls(tx, CRAWLS)]
    found, wrong = None, None
    if crawl and asked:
        try:
            found = searches.search_pages(shared.engine, shared.settings, crawl, asked, limit=LIMIT)
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
