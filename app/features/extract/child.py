"""Runs handlers in a process that they may crash, hang or fill.

    python -m app.features.extract.child SOCKET BYTES SOURCE…

It loads the handlers and tells which there are, or the line why not. Then it receives page after page, calls the
handler that is asked for, and answers with its items and links, or how it failed. It knows no settings and no
database; an earlier body of a page it asks from its parent. `app.sandbox.inside` has its bounds, and
`app.features.extract.process` starts and judges it.
"""

import importlib
import itertools
import os
import socket
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import orjson

from app.errors import InputError
from app.features.extract.clean import encoded
from app.features.extract.handlers import DeclaredHandler, Follow
from app.features.extract.items import Misfit, adapter, as_json, said
from app.features.extract.load import load, spec
from app.features.extract.page import OF_THE_ANSWER, CrawledPage, Headers
from app.features.rights.purpose import UNKNOWN
from app.sandbox import inside
from app.sandbox.wire import Wire, WireBroken

ITEMS_MOST = 10_000  # of a handler and page
FOLLOWS_MOST = 5_000
TRACEBACK_CHARS = 8_000
CAUSE_CHARS = 500
_OURS = str(Path(__file__).parent)


def main(wire: Wire, memory_bytes: int, sources: list[str]) -> None:
    """Answer until the parent is gone."""
    inside.confine(memory_bytes)
    with suppress(ModuleNotFoundError):
        importlib.import_module("tiptoe")  # before a folder of that name, such as a clone, can stand for it
    sys.path.append(os.getcwd())
    try:
        handlers = {each.name: each for each in load(sources)}
        told = [asdict(spec(each)) for each in handlers.values()]
    except InputError as error:
        wire.send(encoded({"refused": str(error)}))
        return
    _warm(handlers.values())
    wire.send(encoded({"handlers": told}))
    while True:
        text, body = wire.receive()
        job = orjson.loads(text)
        inside.set_timers(job["deadline_s"])
        answer = run(
            handlers[job["handler"]], page_of(job["page"], body, partial(_earlier, job["page"]["capture"], wire))
        )
        inside.set_timers(0.0)
        wire.send(encoded(answer))


def _warm(handlers: Iterable[DeclaredHandler]) -> None:
    """Import what the first page would, so that this does not count against its deadline."""
    for name in ("parsel", "app.parse.html.html", "app.policy.url"):
        with suppress(ModuleNotFoundError):
            importlib.import_module(name)
    for each in handlers:
        if each.items is not None:
            adapter(each.items)


def run(handler: DeclaredHandler, page: CrawledPage) -> dict[str, Any]:
    """Call one handler with one page. Returns its answer: items and links, or how it failed. Never raises."""
    try:
        items, follows = _collect(handler, page)
    except Misfit as error:
        return _failure(handler, "misfit", str(error))
    except MemoryError as error:
        return _failure(
            handler, "memory", f"needed more than {inside.memory_bytes() >> 20:,} MiB{_place(error)}", error
        )
    except BaseException as error:  # noqa: BLE001  # the user's code may raise anything, such as CancelledError
        if type(error).__name__ == "ValidationError" and hasattr(error, "error_count"):  # it made the item itself
            return _failure(handler, "misfit", said(error, getattr(error, "title", "item")))
        return _failure(handler, "raised", f"raised {type(error).__name__}: {error}{_place(error)}", error)
    return {"handler": handler.name, "items": items, "follows": follows}


def _collect(handler: DeclaredHandler, page: CrawledPage) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    items: list[dict[str, Any]] = []
    follows: list[dict[str, Any]] = []
    for found in _yielded(handler.function(page)):
        if isinstance(found, Follow):
            follows.append(asdict(found))
        else:
            items.append(as_json(found, handler.items))
        if len(items) > ITEMS_MOST or len(follows) > FOLLOWS_MOST:
            raise Misfit(f"yielded more than {ITEMS_MOST:,} items or {FOLLOWS_MOST:,} links for one page")
    return items, follows


def _yielded(found: object) -> Iterator[object]:
    """The series that a handler returned: a generator, a list, one item, or nothing."""
    if found is None:
        return iter(())
    if isinstance(found, Mapping | Follow | str | bytes) or not isinstance(found, Iterable):
        return itertools.chain((found,))
    return iter(found)


def _failure(handler: DeclaredHandler, kind: str, cause: str, error: BaseException | None = None) -> dict[str, Any]:
    told = "" if error is None else "".join(traceback.format_exception(type(error), error, _own(error)))
    cause = " ".join(cause.split())[:CAUSE_CHARS]
    return {"handler": handler.name, "failed": kind, "cause": cause, "traceback": told[-TRACEBACK_CHARS:]}


def _own(error: BaseException) -> Any:
    """The traceback without our own frames at its top."""
    frame = error.__traceback__
    while frame is not None and frame.tb_frame.f_code.co_filename.startswith(_OURS) and frame.tb_next is not None:
        frame = frame.tb_next
    return frame


def _place(error: BaseException) -> str:
    own = _own(error)
    return "" if own is None else f" ({Path(own.tb_frame.f_code.co_filename).name}:{own.tb_lineno})"


def page_of(values: dict[str, Any], octets: bytes, earlier: Callable[[], CrawledPage | None]) -> CrawledPage:
    """Make the page that a handler gets.   octets: the document that a browser made, then the answer's body"""
    cut, rendered_at = values.get("document_bytes", 0), values.get("rendered_at")
    page = CrawledPage(
        url=values["url"],
        crawl=values["crawl"],
        status=values["status"],
        headers=Headers([(name, value) for name, value in values["headers"]]),
        fetched_at=datetime.fromisoformat(values["fetched_at"]),
        body=octets[cut:],
        is_cut=values["is_cut"],
        rendered_at=datetime.fromisoformat(rendered_at) if rendered_at else None,
        rights=values.get("rights", UNKNOWN),
        _document=octets[:cut],
        _document_url=values.get("at"),
        _earlier=earlier,
    )
    if not values.get("has_answer", True):
        for name in OF_THE_ANSWER:
            object.__delattr__(page, name)
    return page


def _earlier(capture: int, wire: Wire) -> CrawledPage | None:
    """Ask the parent for the page as it was before this capture."""
    wire.send(encoded({"before": capture}))
    text, body = wire.receive()
    answer = orjson.loads(text)
    if "page" not in answer:
        return None
    return page_of(answer["page"], body, partial(_earlier, answer["page"]["capture"], wire))


if __name__ == "__main__":
    with suppress(WireBroken, KeyboardInterrupt):  # the parent is gone
        main(Wire(socket.socket(fileno=int(sys.argv[1]))), int(sys.argv[2]), sys.argv[3:])
