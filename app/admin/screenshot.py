"""Takes a picture of a page as our browser shows it: from its document in the archive, or its answer in `renders`.

A document that a browser made is shown as it is, its scripts off: they have run. An answer is opened. What the page
asks for is answered from the archive of its crawl. Nothing is sent, unless the caller says `load`: then the answer is
opened, and the rest is asked for as a rendering does, by scope, robots.txt and address, in the turns of its hosts.
"""

import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime

from sqlalchemy import Engine

from app.admin import captures
from app.admin.crawls import find as find_crawl
from app.admin.rendering import here
from app.admin.robots_report import canonical
from app.browser.page import Browsers
from app.browser.values import Answer, Ask, Bounds, BrowserDeath, BrowserProblem, PlainResponse, Refused, SubRequest
from app.config import Settings
from app.crawl.state.canon import make_canon
from app.crawl.state.setup import make_sender, make_worker
from app.crawl.state.worker import Worker
from app.errors import ArchiveMissing, InputError, SegmentElsewhere, ServiceError
from app.features.archive.read import Archive
from app.features.render import at_host
from app.features.render.cache import asking
from app.features.render.requests import TOO_MANY, HostsAsked, as_asked, judged
from app.features.render.serve import user_agent
from app.features.render.take_in import KEPT_HEADERS
from app.model import Capture, CaptureKind, Refusal, Url
from app.model.page import RENDERED_TYPE
from app.model.render import RenderEnding, RenderRefusal
from app.policy import media_type
from app.policy.scope import judge
from app.runtime.process_name import process_name
from app.store import captures as capture_rows
from app.store import crawls, db, hosts, renders
from app.store.crawls import Crawl, make_scope


@dataclass(frozen=True, slots=True, kw_only=True)
class Screenshot:
    """A picture of a page.

    png         of its first window
    fetched_at  of the answer that it shows; None: it waits for a browser, and is not in the archive
    capture     what it shows;   is_rendered: that is what a browser made of the page
    unanswered  requests of the page that were not answered;   asked: those that were judged
    """

    url: str
    crawl: str
    png: bytes
    ending: RenderEnding
    fetched_at: datetime | None
    capture: int | None
    is_rendered: bool
    asked: int
    unanswered: int


@dataclass(frozen=True, slots=True)
class _Kept:
    crawl: Crawl
    opened: PlainResponse
    capture: Capture | None = None


def take(
    engine: Engine,
    settings: Settings,
    text: str,
    *,
    crawl: str | None = None,
    at: str | None = None,
    plain: bool = False,
    load: bool = False,
) -> Screenshot:
    """Take a picture of a URL's page.   at, plain: as of `captures.show`

    load: open its answer, and let it ask its hosts for what is not kept.

    Raises InputError where nothing is kept or there is no browser, ServiceError, ArchiveMissing.
    """
    found = here(settings)
    if isinstance(found, BrowserProblem):
        raise InputError("--screenshot", found.line)
    url = canonical(settings, text, engine=engine)
    kept = _kept(engine, settings, url, crawl=crawl, at=at, plain=plain or load)
    browsers = Browsers(found.path, most=1)
    try:
        with _answers(engine, settings, kept, load) as ask:
            bounds = Bounds(wall_s=settings.render_s, requests=settings.render_requests)
            shown = browsers.render(kept.opened, ask, bounds, user_agent=user_agent(settings), screenshot=True)
    finally:
        browsers.close()
    if isinstance(shown, BrowserDeath) or shown.screenshot is None:
        why = shown.cause if isinstance(shown, BrowserDeath) else "it gave no picture"
        raise ServiceError("the browser", f"{why}; try again, or see tiptoe doctor")
    return Screenshot(
        url=kept.opened.url if kept.capture is None else kept.capture.url,
        crawl=kept.crawl.name,
        png=shown.screenshot,
        ending=shown.ending,
        fetched_at=kept.capture and kept.capture.fetched_at,
        capture=kept.capture and kept.capture.id,
        is_rendered=kept.capture is not None and kept.capture.kind == CaptureKind.RENDERED,
        asked=shown.asked,
        unanswered=shown.asked - shown.answered,
    )


def _kept(engine: Engine, settings: Settings, url: Url, *, crawl: str | None, at: str | None, plain: bool) -> _Kept:
    """The document from the archive, else the answer that waits for a browser. Raises InputError."""
    try:
        found = captures.show(engine, settings, url.text, crawl=crawl, at=at, plain=plain)
    except InputError:
        waits = None if at else _waiting(engine, url, crawl)
        if waits is None:
            raise
        return waits
    capture, answer = found.capture, found.answer
    if capture.kind == CaptureKind.RENDERED:
        opened = PlainResponse(
            url=answer.at or capture.url,
            status=answer.status,
            headers={"content-type": RENDERED_TYPE, "content-security-policy": "script-src 'none'"},
            body=answer.body,
        )
        return _Kept(find_crawl(engine, found.crawl), opened, capture)
    kind = answer.header("content-type") or capture.content_type
    essence = media_type.of(kind, answer.body)
    kind = kind or essence
    if capture.kind != CaptureKind.PAGE or not media_type.is_html(essence):
        raise InputError(url.text, f"is not an HTML page in the archive, but {capture.kind} of {kind}")
    headers = {name: value for name in KEPT_HEADERS if (value := answer.header(name)) is not None}
    opened = PlainResponse(
        url=capture.url, status=answer.status, headers={**headers, "content-type": kind}, body=answer.body
    )
    return _Kept(find_crawl(engine, found.crawl), opened, capture)


def _waiting(engine: Engine, url: Url, crawl: str | None) -> _Kept | None:
    """The answer with which the page waits in `renders`."""
    with db.transaction(engine) as tx:
        every = {each.id: each for each in crawls.every(tx)}
        host_id = hosts.ids(tx, [url.host]).get(url.host)
        rows = [] if host_id is None else renders.plain_of_url(tx, host_id=host_id, key=url.key)
    for row in rows:
        if crawl in {None, every[row.crawl_id].name}:
            body = zlib.decompress(row.body)
            opened = PlainResponse(url=row.url, status=row.status, headers=row.headers, body=body)
            return _Kept(every[row.crawl_id], opened)
    return None


@contextmanager
def _answers(engine: Engine, settings: Settings, kept: _Kept, load: bool) -> Iterator[Ask]:
    """The function that answers what the page asks for."""
    from_archive = _FromArchive(engine, settings, kept.crawl)
    if not load:
        yield from_archive
        return
    sender = make_sender(settings)
    worker = make_worker(settings, engine=engine, send=sender.send, where=sender.where, name=process_name())
    try:
        own = canonical(settings, kept.opened.url, engine=engine).host
        yield _OrSent(from_archive, worker, HostsAsked(own))
    finally:
        worker.stop()
        sender.close()


class _FromArchive:
    """Answers with the latest capture of what is asked for, in the page's crawl; refuses the rest."""

    def __init__(self, engine: Engine, settings: Settings, crawl: Crawl) -> None:
        self.crawl = crawl
        self._engine, self._archive, self._canon = engine, Archive(engine, settings), make_canon(settings)

    def __call__(self, asked: SubRequest) -> Answer | Refused:
        url = as_asked(self._canon, asked.url)
        if asked.method != "GET" or isinstance(url, Refusal):
            return Refused(RenderRefusal.OFFLINE)
        try:
            with db.transaction(self._engine) as tx:
                host_id = hosts.ids(tx, [url.host]).get(url.host)
                if host_id is None:
                    return Refused(RenderRefusal.OFFLINE)
                rows = capture_rows.of_url(tx, host_id=host_id, crawl_id=self.crawl.id, key=url.key, n=1)
            answer = self._archive.read(rows[0]) if rows else None
        except (ArchiveMissing, SegmentElsewhere):
            answer = None
        if answer is None or answer.truncated:
            return Refused(RenderRefusal.OFFLINE)
        headers = {
            name.lower(): value
            for name, value in answer.headers
            if name.lower() not in {"content-encoding", "content-length", "set-cookie", "transfer-encoding"}
        }
        return Answer(status=answer.status, headers=headers, body=answer.body)


class _OrSent:
    """Answers from the archive, else by a request in its host's turn, of as many hosts as a rendering may ask."""

    def __init__(self, from_archive: _FromArchive, worker: Worker, hosts_asked: HostsAsked) -> None:
        self._hosts = hosts_asked
        self._from_archive = from_archive
        self._worker = replace(worker, stays=replace(worker.stays, parking=None, gatherer=None))
        self._scope = make_scope(from_archive.crawl)

    def __call__(self, asked: SubRequest) -> Answer | Refused:
        kept = self._from_archive(asked)
        if isinstance(kept, Answer):
            return kept
        worker = self._worker
        url = judged(asked, worker.canon, lambda each: judge(self._scope, each, 0) is None)
        if isinstance(url, Refused):
            return url
        if not self._hosts.may_ask(url.host):
            return TOO_MANY
        until = worker.monotonic() + worker.settings.render_s
        return at_host.fetch_elsewhere(worker, url, self._from_archive.crawl.id, asking(asked), until=until)
