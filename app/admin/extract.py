"""Runs handlers over the archive, reports how far they are, and gives failed pages another try."""

import re
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from os.path import isfile  # Path.is_file raises for a name that is too long
from pathlib import Path
from typing import Any

from sqlalchemy import Engine

from app.admin import crawls
from app.config import Settings
from app.errors import InputError
from app.features.extract import process
from app.features.extract.handlers import registered
from app.features.extract.process import handler_pool, processors
from app.features.extract.run import Runner
from app.features.extract.write import Extraction, Follower
from app.model.handler import HandlerSpec
from app.store import db, extractions, items
from app.store.crawls import Crawl
from app.store.extractions import RECENT_S, Failed, HandlerCounts, Left
from app.words import none_of

PAGES_AT_ONCE = 5_000
LOOK_S = 0.25
EXAMPLES_MOST = 3  # of a cause
# As app.features.extract.child writes causes.
MISFITS = "item does not fit: "
_FAULT = re.compile(rf"(?:^{MISFITS}|; )(?P<field>[^:;]+): (?P<why>.+?) \(got (?P<value>.{{1,60}}?)\)(?=; |$)")
_RAISED = re.compile(r"raised (?P<error>\w+)\b.*(?P<line>\(\S+:\d+\))")


@dataclass(frozen=True, slots=True, kw_only=True)
class Handlers:
    """Handlers that a command names.   sources: modules and files to load;   names: those that are meant"""

    sources: tuple[str, ...]
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractProgress:
    """A run so far.

    left           pages still to be handled;   elsewhere: of these, on another machine's disk
    failed_before  pages that failed before this run and were left alone; counted at its end
    """

    handler: str
    done: int
    failed: int
    left: int
    elsewhere: int
    seconds: float
    failed_before: int = 0

    @property
    def pages_per_s(self) -> float:
        return (self.done + self.failed) / self.seconds if self.seconds else 0.0

    @property
    def left_s(self) -> float | None:
        return self.left / self.pages_per_s if self.pages_per_s else None


@dataclass(frozen=True, slots=True, kw_only=True)
class HandlerStatus:
    """A handler and version: pages and items.

    stale    items that are out of date
    per_s    pages a second, in the last minute
    left_s   seconds for those that wait, at that rate; None: it stands still
    """

    handler: str
    version: int
    done: int = 0
    waiting: int = 0
    failed: int = 0
    retrying: int = 0
    elsewhere: int = 0
    would_follow: int = 0
    items: int = 0
    stale: int = 0
    per_s: float = 0.0
    left_s: float | None = None
    mean_ms: float | None = None


@dataclass(slots=True)
class FailureCause:
    """Failures of one cause: of a field whose values do not fit, or raised at one line.

    cause      of the latest, without the value that did not fit
    count      pages; one whose item has several faults counts for each
    field      of the item, with its model; None: of no field
    values     some of those that did not fit, as Python writes them
    urls       some of the pages;   traceback: of the latest
    """

    handler: str
    cause: str
    count: int = 0
    values: list[str] = field(default_factory=list)
    urls: list[str] = field(default_factory=list)
    traceback: str | None = None
    field: str | None = None  # last: above it the name is that of dataclasses


def named(settings: Settings, text: str) -> Handlers:
    """The handler of this name among those of TIPTOE_HANDLERS, or all of a file. Raises InputError."""
    if _is_file(text):
        return Handlers(sources=(text,), names=tuple(each.name for each in loaded(settings, (text,))))
    own = Path(f"{text}.py")
    sources = settings.handlers or ((str(own),) if isfile(own) else ())
    if not sources:
        raise InputError(
            f"handler {text}", "TIPTOE_HANDLERS names no module or file; name a file, such as ./books.py, or set it"
        )
    known = [each.name for each in loaded(settings, sources)]
    if text not in known:
        raise InputError(f"handler {text!r}", none_of(text, known))
    return Handlers(sources=tuple(sources), names=(text,))


def loaded(settings: Settings, sources: Sequence[str]) -> list[HandlerSpec]:
    """The handlers of modules and files. Raises InputError for those that do not load."""
    return process.specs_of(sources, memory_bytes=settings.handler_memory_bytes, variables=settings.handler_variables)


def run(
    engine: Engine,
    settings: Settings,
    wanted: Handlers,
    crawl: Crawl,
    *,
    follow: bool = False,
    again: bool = False,
    told: Callable[[ExtractProgress], None] = lambda _: None,
) -> list[ExtractProgress]:
    """Run handlers over a crawl's archive, without a request. Returns how each ended. Raises InputError, ServiceError.

    follow  the links they yield are admitted; else they are only recorded
    again   pages that the handler's version has handled already, too
    """
    pool = handler_pool(
        wanted.sources, memory_bytes=settings.handler_memory_bytes, variables=settings.handler_variables
    )
    try:
        with pool.lent() as lent:
            specs = [lent.specs[name] for name in wanted.names if name in lent.specs] if lent is not None else []
        ended = []
        for spec in specs:
            make_due(engine, crawl, spec, follow=follow, again=again)
            shared = Extraction(
                engine=engine,
                settings=settings,
                pool=pool,
                admit=Follower(engine, settings).admit,
                crawl_id=crawl.id,
                handler=spec.name,
            )
            done = _work(shared, told)
            standing = sum(each.failed for each in status(engine, crawl.name) if each.handler == spec.name)
            ended.append(replace(done, failed_before=max(standing - done.failed, 0)))
        return ended
    finally:
        pool.close()


def make_due(engine: Engine, crawl: Crawl, spec: HandlerSpec, *, follow: bool, again: bool) -> int:
    """Make the pages of a crawl's archive due for a handler, some at a time. Returns how many are."""
    after, total = (0, b""), 0
    while True:
        with db.transaction(engine) as tx:
            found = extractions.pages(tx, crawl_id=crawl.id, after=after, n=PAGES_AT_ONCE)
            total += extractions.due(tx, found, [spec], named=True, again=again, admits=follow)
        if len(found) < PAGES_AT_ONCE:
            return total
        after = (found[-1].host_id, bytes(found[-1].key))


def _work(shared: Extraction, told: Callable[[ExtractProgress], None]) -> ExtractProgress:
    """Let as many threads as there are processors handle what is due, until nothing can be."""
    assert shared.handler is not None
    began = time.monotonic()
    with ThreadPoolExecutor(processors()) as threads:
        at_work = [threads.submit(_until_done, shared) for _ in range(processors())]
        try:
            while not all(each.done() for each in at_work):
                shared.stopping.wait(LOOK_S)
                told(_progress(shared, began))
            for each in at_work:
                each.result()
        finally:
            shared.stopping.set()
    return _progress(shared, began)


def _until_done(shared: Extraction) -> None:
    """Handle rows until none is left, or those that are left can be read on another machine alone."""
    runner = Runner(shared)
    try:
        while not shared.stopping.is_set():
            runner.run()
            left = _left(shared)
            if left.waiting <= left.elsewhere:
                return
            shared.stopping.wait(LOOK_S)  # some rest after a failure, some are with other workers
    except BaseException:
        shared.stopping.set()
        raise
    finally:
        runner.close()


def _progress(shared: Extraction, began: float) -> ExtractProgress:
    left = _left(shared)
    return ExtractProgress(
        handler=shared.handler or "",
        done=shared.ended["done"],
        failed=shared.ended["failed"],
        left=left.waiting,
        elsewhere=left.elsewhere,
        seconds=time.monotonic() - began,
    )


def _left(shared: Extraction) -> Left:
    assert shared.crawl_id is not None
    assert shared.handler is not None
    with db.transaction(shared.engine) as tx:
        return extractions.left(tx, crawl_id=shared.crawl_id, handlers=[shared.handler])


def is_extracting(engine: Engine, crawl_id: int, handlers: Sequence[str]) -> bool:
    """Whether pages of a crawl wait for these handlers, and can be read here."""
    with db.transaction(engine) as tx:
        left = extractions.left(tx, crawl_id=crawl_id, handlers=handlers)
    return left.waiting > left.elsewhere


def status(engine: Engine, crawl_name: str | None = None) -> list[HandlerStatus]:
    """Pages and items of each handler and version. Raises InputError for a crawl that there is not."""
    crawl_id = crawls.find(engine, crawl_name).id if crawl_name else None
    with db.transaction(engine) as tx:
        pages = {(each.handler, each.version): each for each in extractions.status(tx, crawl_id=crawl_id)}
        counts = {(each.handler, each.version): each for each in items.status(tx, crawl_id=crawl_id)}
    found = []
    for key in sorted(pages.keys() | counts.keys()):
        made = counts.get(key)
        numbers: dict[str, Any] = {"items": made.items, "stale": made.stale} if made else {}
        found.append(HandlerStatus(handler=key[0], version=key[1], **numbers, **_pages(pages.get(key))))
    return found


def names_of(engine: Engine, settings: Settings, text: str) -> tuple[str, ...]:
    """The handlers that a name, or a file, means. Raises InputError for a name that there is not."""
    if _is_file(text):
        return named(settings, text).names
    check_known(engine, settings, text)
    return (text,)


def _is_file(text: str) -> bool:
    return text.endswith(".py") or "/" in text


def check_known(engine: Engine, settings: Settings, handler: str) -> None:
    """Raises InputError with the names that there are, unless there is a handler of this name.

    It had a page, is declared by the script that asks, or can be loaded.
    """
    known = {each.handler for each in status(engine)} | {each.name for each in registered()}
    if handler in known or isfile(f"{handler}.py"):
        return
    if settings.handlers:
        known |= {each.name for each in loaded(settings, settings.handlers)}
    if handler not in known:
        raise InputError(f"handler {handler!r}", none_of(handler, sorted(known)))


def _pages(counts: HandlerCounts | None) -> dict[str, Any]:
    if counts is None:
        return {}
    per_s = counts.lately / RECENT_S
    names = ("done", "waiting", "failed", "retrying", "elsewhere", "would_follow", "mean_ms")
    left_s = counts.waiting / per_s if per_s and counts.waiting else None
    return {name: getattr(counts, name) for name in names} | {"per_s": per_s, "left_s": left_s}


def causes(engine: Engine, handler: str, crawl_name: str | None = None) -> list[FailureCause]:
    """Why a handler failed, the most frequent cause first; of its latest failures."""
    crawl_id = crawls.find(engine, crawl_name).id if crawl_name else None
    with db.transaction(engine) as tx:
        failed: list[Failed] = extractions.failures(tx, handler=handler, crawl_id=crawl_id, n=1_000)
    found: dict[str, FailureCause] = {}
    for each in failed:
        for key, fault in _faults(each).items():
            cause = found.setdefault(key, fault)
            cause.count += 1
            if len(cause.urls) < EXAMPLES_MOST:
                cause.urls.append(each.url)
            if len(cause.values) < EXAMPLES_MOST:
                cause.values += [value for value in fault.values if value not in cause.values]
    return sorted(found.values(), key=lambda cause: -cause.count)


def _faults(failed: Failed) -> dict[str, FailureCause]:
    """The causes of one failure, by what they are told apart by: the field, or the error and its line."""
    found: dict[str, FailureCause] = {}
    for fault in _FAULT.finditer(failed.cause) if failed.cause.startswith(MISFITS) else ():
        name = re.sub(r"\.\d+(?=\.|$)", "[]", fault["field"])
        cause = FailureCause(failed.handler, f"{MISFITS}{name}: {fault['why']}", field=name, values=[fault["value"]])
        found.setdefault(name, cause)
    if found:
        return found
    raised = _RAISED.fullmatch(failed.cause)
    key = f"{raised['error']} {raised['line']}" if raised else failed.cause
    return {key: FailureCause(failed.handler, failed.cause, traceback=failed.traceback)}


def retry(engine: Engine, handler: str | None = None, crawl_name: str | None = None) -> int:
    """Make failed pages due again, for workers or for the next run. Returns how many."""
    crawl_id = crawls.find(engine, crawl_name).id if crawl_name else None
    with db.transaction(engine) as tx:
        return extractions.retry(tx, handler=handler, crawl_id=crawl_id)
