"""The changes of a crawl: a page, which new ones join as they come, their stream of events, and an Atom feed."""

import asyncio
import re
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Final
from xml.sax.saxutils import escape, quoteattr

import orjson
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from app.admin import webhooks
from app.admin.changes import Changes, ChangesWish, PageChange, PageChangeKind, changes, latest
from app.errors import InputError, ServiceError, TiptoeError
from app.features.changes.webhooks import Webhook
from app.store import board, db
from app.web.board import Pulse, board_of
from app.web.pages.pages_found import CRAWLS
from app.web.render import page
from app.words import harmless

SHOWN: Final = 100
AT_ONCE: Final = 200
EVERY_S, PING_S = 1.0, 15.0
STREAMS_MOST: Final = 50


def show(request: Request) -> Response:
    """The latest changes of a crawl, newest first, and its webhooks."""
    shared, query = board_of(request), request.query_params
    with db.transaction(shared.engine) as tx:
        crawls = [line.name for line in board.crawls(tx, CRAWLS)]
    crawl, kind = query.get("crawl") or next(iter(crawls), ""), query.get("kind", "")
    found, cursor, hooks = list[PageChange](), "", list[Webhook]()
    if crawl:
        found, cursor = latest(shared.engine, crawl, ChangesWish(kinds=[kind] if kind else ()), n=SHOWN)
        hooks = webhooks.listed(shared.engine, crawl)
    return page(
        request,
        "changes.html",
        found=found,
        cursor=cursor,
        hooks=[(each, webhooks.shown_url(each.url)) for each in hooks],
        crawl=crawl,
        crawls=crawls if crawl in crawls or not crawl else [crawl, *crawls],
        kind=kind,
        kinds=list(PageChangeKind),
        most=SHOWN,
    )


def atom(request: Request) -> Response:
    """The latest changes of a crawl as a feed (RFC 4287). An entry's id is the cursor of its change."""
    shared, query = board_of(request), request.query_params
    crawl, kind = query.get("crawl", ""), query.get("kind", "")
    found, _ = latest(shared.engine, crawl, ChangesWish(kinds=[kind] if kind else ()), n=SHOWN)
    link = str(request.url)
    updated = found[0].at.isoformat() if found else "1970-01-01T00:00:00+00:00"
    lines = [
        '<?xml version="1.0" encoding="utf-8"?>',
        '<feed xmlns="http://www.w3.org/2005/Atom">',
        f"<title>{_text(f'Changes of {crawl}')}</title><id>{_text(link)}</id><updated>{updated}</updated>",
        f'<link rel="self" href={quoteattr(link)}/><author><name>Tiptoe</name></author>',
        *map(_entry, found),
        "</feed>",
    ]
    return Response("\n".join(lines), media_type="application/atom+xml")


async def stream(request: Request) -> Response:
    """The changes of a crawl as server-sent events, from `since` or Last-Event-ID on; without them, from now on.

    An event's id is its cursor: a browser that lost its connection goes on where it was.
    """
    shared, query = board_of(request), request.query_params
    if ChangeStream.watching >= STREAMS_MOST:
        return PlainTextResponse("too many viewers; close some\n", 503, headers={"retry-after": "30"})
    since = request.headers.get("last-event-id") or query.get("since") or None
    wish = ChangesWish(since=since, kinds=[kind] if (kind := query.get("kind")) else ())

    def opened() -> Changes:
        if since is not None:
            return changes(shared.engine, shared.settings, query.get("crawl", ""), wish)
        _, cursor = latest(shared.engine, query.get("crawl", ""), wish, n=1)
        return changes(
            shared.engine, shared.settings, query.get("crawl", ""), ChangesWish(since=cursor, kinds=wish.kinds)
        )

    return ChangeStream(opened, shared.pulse)


class ChangeStream(StreamingResponse):
    """A stream of changes. It holds a seat, and no connection to Postgres while it waits.   watching: streams

    The seat is taken before it asks Postgres where it begins: of many who come at once none is missed in the count.
    """

    watching = 0

    def __init__(self, opened: Callable[[], Changes], pulse: Pulse) -> None:
        self._opened, self._pulse = opened, pulse
        super().__init__((), media_type="text/event-stream", headers={"x-accel-buffering": "no"})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Raises InputError and ServiceError before anything is sent."""
        with self._seat():
            self.body_iterator = events(await run_in_threadpool(self._opened), self._pulse)
            await super().__call__(scope, receive, send)

    @classmethod
    @contextmanager
    def _seat(cls) -> Iterator[None]:
        cls.watching += 1
        try:
            yield
        finally:
            cls.watching -= 1


async def events(found: Changes, pulse: Pulse) -> AsyncGenerator[str, None]:
    """Yield the messages of a stream of changes, until it is closed or cannot go on."""
    yield "retry: 3000\n\n"
    waited_s = 0.0
    while not pulse.is_closed:
        lot, error = await run_in_threadpool(_lot, found)
        for each in lot:
            yield f"id: {each.cursor}\nevent: change\ndata: {_data(each)}\n\n"
        if isinstance(error, InputError):  # it cannot go on; while a service is away it waits
            yield f"event: ended\ndata: {orjson.dumps({'why': str(error)}).decode()}\n\n"
            return
        if lot:
            waited_s = 0.0
        elif waited_s >= PING_S:
            yield ": \n\n"
            waited_s = 0.0
        if len(lot) < AT_ONCE:
            await asyncio.sleep(EVERY_S)
            waited_s += EVERY_S


def _lot(found: Changes) -> tuple[list[PageChange], TiptoeError | None]:
    """The next changes, and the error that ended them: those before it are handed out."""
    lot: list[PageChange] = []
    try:
        lot.extend(islice(found.found, AT_ONCE))
    except (InputError, ServiceError) as error:
        return lot, error
    return lot, None


def _data(each: PageChange) -> str:
    said = {"change": each.change, "at": each.at, "url": each.url, "host": each.host, "title": each.title}
    return orjson.dumps(said | ({"why": each.why} if each.why else {})).decode()


def _entry(each: PageChange) -> str:
    said = f"{each.change}: {each.title or each.url}"
    return (
        f"<entry><id>urn:tiptoe:{each.cursor}</id><title>{_text(said)}</title><updated>{each.at.isoformat()}</updated>"
        f"<link href={quoteattr(_text(each.url, is_escaped=True))}/><category term={quoteattr(each.change)}/>"
        f"<summary>{_text(each.why or each.change)}</summary></entry>"
    )


def _text(text: str, *, is_escaped: bool = False) -> str:
    """A text without what XML cannot hold (1.0, 2.2)."""
    shown = re.sub("[\ufffe\uffff]", "\N{REPLACEMENT CHARACTER}", harmless(text))
    return shown if is_escaped else escape(shown)
