"""Processes that read documents apart from the worker, which survives whatever a document does to them.

A reader reads document after document, since a start takes as long as reading 200, until `PAGES_MOST`, until it has
been idle for a while, or until a document ends it. Values travel as JSON: an attacker who controls such a process can
falsify the pages that it reads, and no more than that.
"""

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import BinaryIO, Literal

import structlog
from pydantic import TypeAdapter, ValidationError

from app.model import Page
from app.sandbox.child import PYTHON, ChildProcess, ProcessPool
from app.sandbox.reader import Job, Listing, MarkdownOptions, PageOptions, ReaderAnswer
from app.sandbox.wire import WireBroken

_log = structlog.get_logger()
ARGV = (*PYTHON, "-m", "app.sandbox.reader")
PAGES_MOST = 1_000  # then a fresh one: a parser may leak
START_S = 20.0
SAID_CHARS = 4_000
_answer = TypeAdapter(ReaderAnswer)


@dataclass(frozen=True, slots=True, kw_only=True)
class Death:
    """How a reader ended over a document.

    cause     a line for a person
    is_proof  only the document can be the cause; False: the machine or an operator may be
    said      the end of what it wrote to standard error
    """

    cause: str
    is_proof: bool
    said: str = ""


NONSENSE = Death(cause="parser made no sense", is_proof=True)


class ReaderNotStarted(Exception):
    """A reader cannot be started."""


class ReaderProcess:
    """A reader's process. One thread uses it at a time."""

    def __init__(self, argv: Sequence[str], memory_bytes: int) -> None:
        """Start it, and wait until it is ready. Raises ReaderNotStarted."""
        try:
            self._child = ChildProcess(argv, (str(memory_bytes),))
        except OSError as error:
            raise ReaderNotStarted(str(error)) from error
        self._child.begin(START_S)
        try:
            self._child.receive()
        except WireBroken:
            why = self._death(START_S, 0.0).cause
            self.end()
            raise ReaderNotStarted(why) from None

    @property
    def is_alive(self) -> bool:
        return self._child.is_alive

    @property
    def is_worn(self) -> bool:
        return self._child.documents >= PAGES_MOST

    def read(self, job: Job, body: bytes | BinaryIO) -> ReaderAnswer | Death:
        """Read a document. After a death it is not to be used again."""
        try:
            answer = self._child.ask(json.dumps(job).encode(), body, within_s=job["wall_s"])
        except WireBroken:
            return self._death(job["wall_s"], job["cpu_s"])
        try:
            found = _answer.validate_json(answer)
        except ValidationError:
            found = ReaderAnswer(failed="made no sense")
        if found.failed is not None:
            return Death(cause=f"parser {found.failed}", is_proof=True, said=self._child.said()[-SAID_CHARS:])
        return found

    def end(self) -> None:
        self._child.end()

    def _death(self, wall_s: float, cpu_s: float) -> Death:
        """Judge how it ended."""
        ending = self._child.ended()
        match ending.how:
            case "clock":
                cause = f"gave no answer within {wall_s:.3g} s"
            case "processor":
                cause = f"took longer than {cpu_s:.3g} s"
            case "exit":
                cause = f"ended with code {ending.what}"
            case "garbled":
                cause = "made no sense"
            case "killed" | "signal":
                cause = f"died: signal {ending.what}"
        is_proof = ending.how not in {"clock", "killed"}
        return Death(cause=f"parser {cause}", is_proof=is_proof, said=ending.said[-SAID_CHARS:])


class Readers:
    """The pool: at most `most` readers at once, none until one is needed. Threads share it.

    deadline_s    processor time for a document; patience times as much by the clock
    memory_bytes  address space of a reader
    argv          what starts one, BYTES excepted
    """

    def __init__(
        self,
        *,
        deadline_s: float,
        memory_bytes: int,
        patience: float = 3.0,  # a busy machine is not a document's fault
        most: int = 2,
        argv: Sequence[str] = ARGV,
    ) -> None:
        self._deadline_s = deadline_s
        self._patience = patience
        self.most = most
        self._pool = ProcessPool(partial(ReaderProcess, argv, memory_bytes), idle_s=10.0, most=most)

    @property
    def patience_s(self) -> float:
        """Seconds that a document may take by the clock."""
        return self._patience * self._deadline_s

    def page(
        self, body: bytes, options: PageOptions, *, within_s: float, by: tuple[str, str] | None = None
    ) -> Page | Death | Literal["busy", "none"]:
        """Read a page like `app.parse.html.html.read`, or return how the reader ended over it.

        by        a plugin's name and its reader, "module:function", which reads it in place of ours

        within_s  for everything; "busy" when half of it passes before a reader is free, or nearly all before it has
                  started
        "none"    a reader cannot be started: not the document's fault
        """
        found = self._ask(body, within_s, page=options, by=by)
        if not isinstance(found, ReaderAnswer):
            return found
        return found.page or NONSENSE

    def markdown(
        self, body: bytes, options: MarkdownOptions, *, within_s: float
    ) -> str | Death | Literal["busy", "none"]:
        """Write a page as Markdown like `app.parse.markdown.of`. "busy", "none" and deaths: as for a page."""
        found = self._ask(body, within_s, markdown=options)
        if not isinstance(found, ReaderAnswer):
            return found
        return NONSENSE if found.markdown is None else found.markdown

    def sitemap(self, stream: BinaryIO, *, within_s: float) -> Listing | Death | Literal["busy", "none"]:
        """Read a sitemap like `app.parse.sitemap.sitemap.Reading`, from the start of the stream to its end."""
        found = self._ask(stream, within_s)
        if not isinstance(found, ReaderAnswer):
            return found
        return found.sitemap or NONSENSE

    def close(self) -> None:
        """End the idle readers, and the others once they have read."""
        self._pool.close()

    def _ask(
        self,
        body: bytes | BinaryIO,
        within_s: float,
        *,
        page: PageOptions | None = None,
        markdown: MarkdownOptions | None = None,
        by: tuple[str, str] | None = None,
    ) -> ReaderAnswer | Death | Literal["busy", "none"]:
        until = time.monotonic() + within_s
        try:
            with self._pool.lent(within_s / 2) as reader:
                left_s = until - time.monotonic()
                if reader is None or left_s < within_s / 4:
                    return "busy"
                wall_s = min(left_s, self.patience_s)
                job = Job(cpu_s=min(self._deadline_s, wall_s), wall_s=wall_s, page=page)
                if markdown is not None:
                    job["markdown"] = markdown
                if by is not None:
                    job["by_plugin"], job["reader"] = by
                found = reader.read(job, body)
                if isinstance(found, Death):
                    reader.end()
                return found
        except ReaderNotStarted as error:
            _log.error("reader.not_started", why=str(error))
            return "none"
