"""A pool of processes that read documents apart from the worker, which survives whatever a document does to them.

A thread that hangs cannot be killed, nor one that takes all memory; a process can. Each is a fresh interpreter: a fork
of a worker with threads may hang by itself. It reads document after document, since a start takes as long as reading
200, until `PAGES_MOST`, until it has been idle for a while, or until a document ends it. Values travel as JSON: an
attacker who controls such a process can falsify the pages that it reads, and no more than that.
"""

import os
import sys
import threading
import time
from collections.abc import Sequence
from io import BytesIO
from typing import BinaryIO, Literal

import structlog

from app.model import Page
from app.runtime.reader import Job, Listing, MarkdownOptions, PageOptions, ReaderAnswer
from app.runtime.reader_process import NONSENSE, Death, ReaderProcess

_log = structlog.get_logger()
ARGV = (sys.executable, "-P", "-m", "app.runtime.reader")  # -P: not the `app` of the working folder
MOST = 2
IDLE_S = 10.0
PATIENCE = 3.0  # a busy machine is not a document's fault


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
        patience: float = PATIENCE,
        most: int = MOST,
        argv: Sequence[str] = ARGV,
    ) -> None:
        self._deadline_s = deadline_s
        self._patience = patience
        self._memory_bytes = memory_bytes
        self._argv = (*argv, str(memory_bytes))
        self.most = most
        self._room = threading.BoundedSemaphore(most)
        self._lock = threading.Lock()
        self._idle: dict[ReaderProcess, float] = {}  # since when, in monotonic seconds
        self._timer: threading.Timer | None = None  # runs while one is idle

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
        found = self._ask(BytesIO(body), len(body), within_s, page=options, by=by)
        if not isinstance(found, ReaderAnswer):
            return found
        return found.page or NONSENSE

    def markdown(
        self, body: bytes, options: MarkdownOptions, *, within_s: float
    ) -> str | Death | Literal["busy", "none"]:
        """Write a page as Markdown like `app.parse.markdown.of`. "busy", "none" and deaths: as for a page."""
        found = self._ask(BytesIO(body), len(body), within_s, markdown=options)
        if not isinstance(found, ReaderAnswer):
            return found
        return NONSENSE if found.markdown is None else found.markdown

    def sitemap(self, stream: BinaryIO, *, within_s: float) -> Listing | Death | Literal["busy", "none"]:
        """Read a sitemap like `app.parse.sitemap.sitemap.Reading`, from the start of the stream to its end."""
        size = stream.seek(0, os.SEEK_END)
        stream.seek(0)
        found = self._ask(stream, size, within_s)
        if not isinstance(found, ReaderAnswer):
            return found
        return found.sitemap or NONSENSE

    def close(self) -> None:
        """End the idle readers."""
        with self._lock:
            idle, self._idle = self._idle, {}
            timer, self._timer = self._timer, None
        if timer is not None:
            timer.cancel()
        for reader in idle:
            reader.dismiss()

    def _ask(
        self,
        body: BinaryIO,
        size: int,
        within_s: float,
        *,
        page: PageOptions | None = None,
        markdown: MarkdownOptions | None = None,
        by: tuple[str, str] | None = None,
    ) -> ReaderAnswer | Death | Literal["busy", "none"]:
        until = time.monotonic() + within_s
        if not self._room.acquire(timeout=max(within_s / 2, 0)):
            return "busy"
        try:
            reader = self._from_idle() or self._start()
            if reader is None:
                return "none"
            left_s = until - time.monotonic()
            if left_s < within_s / 4:
                self._keep(reader)
                return "busy"
            wall_s = min(left_s, self.patience_s)
            job = Job(bytes=size, cpu_s=min(self._deadline_s, wall_s), wall_s=wall_s, page=page)
            if markdown is not None:
                job["markdown"] = markdown
            if by is not None:
                job["by_plugin"], job["reader"] = by
            found = reader.read(job, body)
            if isinstance(found, ReaderAnswer) and not reader.is_worn:
                self._keep(reader)
            else:
                reader.dismiss()
            return found
        finally:
            self._room.release()

    def _start(self) -> "ReaderProcess | None":
        reader = None
        try:
            reader = ReaderProcess(self._argv, self._memory_bytes)
            if reader.is_ready():
                return reader
            why = reader.end().cause
        except OSError as error:
            why = str(error)
        _log.error("reader.not_started", why=why)
        if reader is not None:
            reader.dismiss()
        return None

    def _from_idle(self) -> "ReaderProcess | None":
        while True:
            with self._lock:
                if not self._idle:
                    return None
                reader, _ = self._idle.popitem()
            if reader.is_alive:
                return reader
            reader.dismiss()

    def _keep(self, reader: "ReaderProcess") -> None:
        with self._lock:
            self._idle[reader] = time.monotonic()
            if self._timer is None:  # one for all: a thread for each document would take a tenth of its reading
                self._look_in(IDLE_S)

    def _look_in(self, seconds: float) -> None:
        """Look for readers that were idle for long, so many seconds from now. The lock is held."""
        self._timer = threading.Timer(seconds, self._retire)
        self._timer.daemon = True
        self._timer.start()

    def _retire(self) -> None:
        with self._lock:
            long_ago = time.monotonic() - IDLE_S
            worn = [reader for reader, since in self._idle.items() if since <= long_ago]
            for reader in worn:
                del self._idle[reader]
            self._timer = None
            if self._idle:
                self._look_in(min(self._idle.values()) - long_ago)
        for reader in worn:
            reader.dismiss()
