"""Runs handlers on one page, and keeps nothing: the loop in which a handler is written.

The page comes from the archive; one that is not there is fetched, as politely as any other.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any

from sqlalchemy import Engine

from app.admin import by_hand, crawls
from app.admin.extract import Handlers
from app.config import Settings
from app.crawl.request import send, slots
from app.crawl.request.fetch_log import Sending
from app.crawl.robots import obtain
from app.crawl.robots.obtain import NoRules
from app.crawl.state.canon import make_canon
from app.crawl.state.setup import make_sender, make_worker
from app.crawl.state.worker import Worker
from app.crawl.visit import settle
from app.errors import ArchiveMissing, InputError, LeaseLost, SegmentElsewhere
from app.features.archive.read import Archive
from app.features.extract import child, process
from app.features.extract.handlers import DeclaredHandler, registered
from app.features.extract.page import CrawledPage
from app.features.extract.process import Handled, PageForHandler
from app.features.extract.run import for_handler
from app.features.rights.rows import answers_of
from app.model import Capture, Refusal, Reply, Request, Url, VisitEnding
from app.parse.html.html import MEDIA_TYPES
from app.policy.document import document_of, documents
from app.runtime.process_name import process_name
from app.store import captures, db, extractions, hosts
from app.store import crawls as crawls_store


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """The items and links of one handler.   failed: why it did not come to its end"""

    handler: str
    items: Sequence[Mapping[str, Any]]
    follows: Sequence[str]
    failed: str | None
    traceback: str | None
    ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """Handlers on one page.   source: where the page is from, for a person"""

    url: str
    source: str
    handlers: Sequence[Tried]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sample:
    page: PageForHandler
    source: str
    capture: Capture | None = None
    crawl: str = ""


def run(engine: Engine, settings: Settings, wanted: Handlers, text: str, crawl_name: str | None = None) -> Trial:
    """Run the handlers on the page of this URL. What they print goes to standard error.

    Raises InputError for what is no URL, for a page that no handler matches, and for one that cannot be had.
    """
    url = _url(settings, text)
    started = _start(settings, wanted.sources)
    try:
        fitting = [name for name in wanted.names if name in started.specs and started.specs[name].fits(url.text)]
        if not fitting:
            spec = started.specs[wanted.names[0]]
            raise InputError(f"handler {spec.name}", f"its match {' | '.join(spec.match)} is not found in {url.text}")
        sample = _archived(engine, settings, url, crawl_name) or _fetched(engine, settings, url)
        tried = []
        for name in fitting:
            if not started.is_usable:
                started.end()
                started = _start(settings, wanted.sources)
            before = partial(_before, engine, settings, sample)
            tried.append(_tried(_handle(settings, started, sample.page, name, before)))
        return Trial(url=url.text, source=sample.source, handlers=tried)
    finally:
        started.end()


def names_for_prompt(
    engine: Engine, settings: Settings, text: str, crawl_name: str | None = None
) -> tuple[dict[str, Any], str]:
    """The names that a Python prompt over the page of this URL has, and where the page is from, for a person.

    page, css, xpath, and items: it takes a handler's file, read anew each time, or a function, and returns what it
    yields. Raises InputError as `run` does.
    """
    url = _url(settings, text)
    sample = _archived(engine, settings, url, crawl_name) or _fetched(engine, settings, url)
    page = child.page_of(dict(sample.page.values), sample.page.body, lambda: None)

    def items(handler: str | Callable[..., Any]) -> list[Mapping[str, Any]]:
        if callable(handler):
            return _items_of_function(handler, page)
        return _items_of_file(settings, handler, url, sample.page)

    return {"page": page, "css": page.css, "xpath": page.xpath, "items": items}, f"{url.text}: {sample.source}"


def _items_of_function(function: Callable[..., Any], page: CrawledPage) -> list[Mapping[str, Any]]:
    """Items of a function that was typed at the prompt, which runs in this process."""
    model = next((each.items for each in registered() if each.function is function), None)
    name = getattr(function, "__name__", "?")
    declared = DeclaredHandler(name=name, function=function, match=(), version=1, items=model, place="")
    return _items_of(child.run(declared, page))


def _items_of_file(settings: Settings, source: str, url: Url, page: PageForHandler) -> list[Mapping[str, Any]]:
    """Items of all handlers in a file that match the URL."""
    started = _start(settings, (source,))
    try:
        names = [name for name, spec in started.specs.items() if spec.fits(url.text)]
        tried = [_handle(settings, started, page, name, lambda _: None) for name in names]
    finally:
        started.end()
    return [item for each in tried for item in _items_of({"items": each.items, "cause": each.cause})]


def _start(settings: Settings, sources: Sequence[str]) -> process.HandlerProcess:
    """A process with these handlers, whose prints go to our standard error."""
    return process.start(
        sources, memory_bytes=settings.handler_memory_bytes, variables=settings.handler_variables, shows=True
    )


def _handle(
    settings: Settings,
    started: process.HandlerProcess,
    page: PageForHandler,
    name: str,
    before: Callable[[int], PageForHandler | None],
) -> Handled:
    deadline_s = started.specs[name].deadline_s or settings.handler_deadline_s
    return started.handle(page, name, deadline_s=deadline_s, before=before)


def _items_of(answer: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The items of a handler's answer. Raises InputError where it failed."""
    if answer.get("cause"):
        raise InputError("the handler", answer["cause"])
    return list(answer["items"])


def _url(settings: Settings, text: str) -> Url:
    """The URL as it is crawled. Raises InputError."""
    url = make_canon(settings).canonicalise(text)
    if isinstance(url, Refusal):
        raise InputError(f"url {text}", "is not a URL that can be crawled; write it in full, as https://example.org/")
    return url


def _tried(handled: Handled) -> Tried:
    return Tried(
        handler=handled.handler,
        items=handled.items,
        follows=[str(link["url"]) for link in handled.follows],
        failed=handled.cause,
        traceback=handled.traceback or None,
        ms=handled.ms,
    )


def _archived(engine: Engine, settings: Settings, url: Url, crawl_name: str | None) -> _Sample | None:
    """The latest document of the page that can be read here, of one crawl or of all."""
    wanted = crawls.find(engine, crawl_name).id if crawl_name else None
    with db.transaction(engine) as tx:
        host_id = hosts.ids(tx, [url.host]).get(url.host)
        if host_id is None:
            return None
        found = [
            (capture, crawl.name)
            for crawl in crawls_store.every(tx)
            if wanted in (None, crawl.id)
            for capture in _documents(captures.of_url(tx, host_id=host_id, crawl_id=crawl.id, key=url.key))
        ]
    archive = Archive(engine, settings)
    for capture, name in sorted(found, key=lambda pair: pair[0].fetched_at, reverse=True):
        try:
            with db.transaction(engine) as tx:
                rights = answers_of(tx, [place := (capture.host_id, capture.crawl_id, capture.key)])
            page = for_handler(archive, name, capture, rights[place])
        except (ArchiveMissing, SegmentElsewhere):
            continue
        source = f"from the archive of {name}, fetched {capture.fetched_at:%Y-%m-%d %H:%M} UTC"
        return _Sample(page=page, source=source, capture=capture, crawl=name)
    return None


def _documents(found: Sequence[Capture]) -> list[Capture]:
    """Its document, and earlier ones, for where its segment is on another machine. A 304 has none of its own."""
    whole = [each for each in found if each.status != 304]
    latest = document_of(whole)
    return [] if latest is None else [latest, *documents(whole, latest)]


def _before(engine: Engine, settings: Settings, sample: _Sample, capture_id: int) -> PageForHandler | None:
    if sample.capture is None:
        return None
    with db.transaction(engine) as tx:
        capture = extractions.before(tx, crawl_id=sample.capture.crawl_id, id=capture_id)
    try:
        return capture and for_handler(Archive(engine, settings), sample.crawl, capture)
    except (ArchiveMissing, SegmentElsewhere):
        return None


def _fetched(engine: Engine, settings: Settings, url: Url) -> _Sample:
    """The page as its site serves it now. Raises InputError for one that may not be fetched, or is no page."""
    sender = make_sender(settings)
    try:
        worker = make_worker(settings, engine=engine, send=sender.send, where=sender.where, name=process_name())
        reply = _ask(worker, url)
    finally:
        sender.close()
    if reply.status is None or not 200 <= reply.status < 300 or reply.failure is not None:
        why = (
            f"its site answered with status {reply.status}" if reply.status else f"there was no answer ({reply.detail})"
        )
        raise InputError(f"url {url.text}", f"is not in the archive, and {why}")
    values = {
        "url": url.text,
        "crawl": "",
        "status": reply.status,
        "headers": [list(line) for line in reply.headers.items()],
        "fetched_at": datetime.now(UTC).isoformat(),
        "is_cut": reply.truncated,
        "capture": 0,
    }
    return _Sample(page=PageForHandler(values=values, body=reply.body), source="fetched now, and not kept")


def _ask(worker: Worker, url: Url) -> Reply:
    """One request, after robots.txt, at the host's pace. It leaves a line in the fetch log, like every other."""
    visit = by_hand.take_up_now(worker, url)
    settings, sent = worker.settings, None
    try:
        rules = obtain.of(visit, url.origin, authorised=True)
        may = not isinstance(rules, NoRules) and rules.permits(url)
        slot = slots.wait(visit, url, by_hand.WAIT_S, settings.request_deadline_s) if may else None
        if slot is not None:
            request = Request(
                url=url.text,
                wanted_types=MEDIA_TYPES,
                max_body_bytes=settings.max_body_bytes,
                deadline_s=settings.request_deadline_s,
                authorised=True,
            )
            sent = send.send(visit, slot, Sending(request, url, "new"))
        settle.leave(visit, VisitEnding.TRIED)
    except LeaseLost:
        settle.log_fenced(visit)
        raise
    if isinstance(rules, NoRules):
        raise InputError(f"url {url.text}", f"may not be fetched: its robots.txt cannot be had now; {rules.value}")
    if not may:
        decision = rules.judge(url)
        line = f"line {decision.line} of robots.txt, {decision.rule}"
        why = "robots.txt is too costly to judge it by" if decision.is_too_costly else line
        raise InputError(f"url {url.text}", f"may not be fetched: {why}")
    if sent is None:
        raise by_hand.not_now(visit, url)
    return sent[0]
