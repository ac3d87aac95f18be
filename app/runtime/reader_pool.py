"""Processes that read one document at a time apart from the worker, which outlives whatever the document does to them.

A thread that hangs cannot be killed, nor one that takes all memory; a process can. Each is a fresh interpreter: a fork of a
worker with threads may hang by itself. It reads document after document, since to start one takes as long as to read ten, until
`PAGES_MOST`, until it has been idle for a while, or until one that it does not get over. Values travel as JSON: who has taken
such a process over can lie about a page, and no more than that.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from io import BytesIO
from shutil import copyfileobj
from typing import BinaryIO, Literal

import structlog
from pydantic import TypeAdapter, ValidationError

from app.model import Page
from app.runtime.reader import SAID_BYTES, Answer, Job, Listing, PageOptions

_log = structlog.get_logger()
ARGV = (sys.executable, "-P", "-m", "app.runtime.reader")  # -P: not the `app` of the working folder
MOST = 2
PAGES_MOST = 50
IDLE_S = 10.0
START_S = 20.0
LEAVE_S = 1.0
PATIENCE = 3.0  # a busy machine is no document's fault
SAID_CHARS = 2_000
# Whose end by one of these may be another's doing: an operator's, or that of a kernel without memory.
_FROM_OUTSIDE = frozenset({signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT})
# What an interpreter needs to start. Not the rest: there are passwords in a worker's environment.
_KEPT_NAMES = frozenset({"PATH", "LANG", "TMPDIR", "VIRTUAL_ENV", "HOME"})
_KEPT_PREFIXES = ("PYTHON", "LC_", "LD_", "DYLD_", "MALLOC_")
_answer = TypeAdapter(Answer)


@dataclass(frozen=True, slots=True, kw_only=True)
class Death:
    """How a reader ended over a document.

    cause     a line for a person
    is_proof  only the document can have done it; False: the machine may have, or somebody on it
    said      the end of what it wrote to standard error
    """

    cause: str
    is_proof: bool
    said: str = ""


class Readers:
    """At most `most` at once; none until one is needed. Shared by threads.

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
        self._room = threading.BoundedSemaphore(most)
        self._lock = threading.Lock()
        self._idle: dict[_Reader, threading.Timer] = {}

    @property
    def patience_s(self) -> float:
        """How long a document may take by the clock."""
        return self._patience * self._deadline_s

    def page(self, body: bytes, options: PageOptions, *, within_s: float) -> Page | Death | Literal["busy", "none"]:
        """As `app.parse.html.html.read`; or how the reader ended over it.

        within_s  for everything; "busy" when half of it passes with waiting for a free reader, or nearly all with starting it
        "none"    a reader cannot be started: no document's fault
        """
        found = self._ask(BytesIO(body), len(body), options, within_s)
        if not isinstance(found, Answer):
            return found
        return found.page or _NONSENSE

    def sitemap(self, stream: BinaryIO, *, within_s: float) -> Listing | Death | Literal["busy", "none"]:
        """As `app.parse.sitemap.sitemap.Reading` of the stream, from its start to its end."""
        size = stream.seek(0, os.SEEK_END)
        stream.seek(0)
        found = self._ask(stream, size, None, within_s)
        if not isinstance(found, Answer):
            return found
        return found.sitemap or _NONSENSE

    def close(self) -> None:
        """End those that are idle."""
        with self._lock:
            idle, self._idle = self._idle, {}
        for reader, timer in idle.items():
            timer.cancel()
            reader.dismiss()

    def _ask(
        self, body: BinaryIO, size: int, options: PageOptions | None, within_s: float
    ) -> Answer | Death | Literal["busy", "none"]:
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
            job = Job(bytes=size, cpu_s=min(self._deadline_s, wall_s), wall_s=wall_s, page=options)
            found = reader.read(job, body)
            if isinstance(found, Answer) and not reader.is_worn:
                self._keep(reader)
            else:
                reader.dismiss()
            return found
        finally:
            self._room.release()

    def _start(self) -> "_Reader | None":
        reader = None
        try:
            reader = _Reader(self._argv, self._memory_bytes)
            if reader.is_ready():
                return reader
            why = reader.end().cause
        except OSError as error:
            why = str(error)
        _log.error("reader.not_started", why=why)
        if reader is not None:
            reader.dismiss()
        return None

    def _from_idle(self) -> "_Reader | None":
        while True:
            with self._lock:
                if not self._idle:
                    return None
                reader, timer = self._idle.popitem()
            timer.cancel()
            if reader.is_alive:
                return reader
            reader.dismiss()

    def _keep(self, reader: "_Reader") -> None:
        timer = threading.Timer(IDLE_S, self._let_go, (reader,))
        timer.daemon = True
        with self._lock:
            self._idle[reader] = timer
        timer.start()

    def _let_go(self, reader: "_Reader") -> None:
        with self._lock:
            is_idle = self._idle.pop(reader, None) is not None
        if is_idle:
            reader.dismiss()


class _Reader:
    """One process. Used by one thread at a time."""

    def __init__(self, argv: Sequence[str], memory_bytes: int) -> None:
        """Raises OSError."""
        self._documents = 0
        self._answer_bytes_most = memory_bytes
        self._is_overdue = False
        self._said = tempfile.TemporaryFile()  # noqa: SIM115  # open as long as the process is
        try:
            self._process = subprocess.Popen(
                argv,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._said,
                env=_environment(os.environ),
                process_group=0,
            )
        except OSError:
            self._said.close()
            raise

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    @property
    def is_worn(self) -> bool:
        return self._is_overdue or self._documents >= PAGES_MOST

    def is_ready(self) -> bool:
        """Wait for it."""
        return self._answered(None, None, START_S) == Answer()

    def read(self, job: Job, body: BinaryIO) -> Answer | Death:
        self._documents += 1
        found = self._answered(job, body, job["wall_s"])
        if found is None:
            return self.end(job)
        if found.failed is not None:
            return Death(cause=f"parser {found.failed}", is_proof=True, said=self._tail())
        return found

    def end(self, job: Job | None = None) -> Death:
        """Whatever is left of it ends. How it did, over this job."""
        self._kill_group()
        code = self._process.wait()
        said = self._tail()
        if self._is_overdue or code == -signal.SIGALRM:
            within_s = START_S if job is None else job["wall_s"]
            return Death(cause=f"parser gave no answer within {within_s:.3g} s", is_proof=False, said=said)
        if code == -signal.SIGPROF and job is not None:
            return Death(cause=f"parser took longer than {job['cpu_s']:.3g} s", is_proof=True, said=said)
        if code < 0:
            return Death(cause=f"parser died: signal {_name(-code)}", is_proof=-code not in _FROM_OUTSIDE, said=said)
        return Death(cause=f"parser ended with code {code}", is_proof=True, said=said)

    def dismiss(self) -> None:
        """It ends, by itself if it likes; nothing of it is left."""
        stdin, stdout = self._pipes()
        with suppress(BrokenPipeError):
            stdin.close()
        try:
            self._process.wait(LEAVE_S)
        except subprocess.TimeoutExpired:
            self._kill_group()
            self._process.wait()
        stdout.close()
        self._said.close()

    def _answered(self, job: Job | None, body: BinaryIO | None, within_s: float) -> Answer | None:
        """None: it ended, or was ended at the deadline, which breaks a pipe that blocks at either end."""
        stdin, stdout = self._pipes()
        killer = threading.Timer(max(within_s, 0), self._kill_overdue)
        killer.daemon = True
        killer.start()
        try:
            with suppress(BrokenPipeError):
                if job is not None and body is not None:
                    stdin.write(json.dumps(job).encode() + b"\n")
                    copyfileobj(body, stdin)
                    stdin.flush()
            line = stdout.readline(self._answer_bytes_most)
        finally:
            killer.cancel()
            killer.join()
        try:
            return _answer.validate_json(line) if line.endswith(b"\n") else None
        except ValidationError:
            return Answer(failed="made no sense")

    def _kill_overdue(self) -> None:
        self._is_overdue = True
        self._kill_group()

    def _kill_group(self) -> None:
        """Nobody waits for it meanwhile, so its id is its own."""
        if self._process.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)

    def _pipes(self) -> tuple[BinaryIO, BinaryIO]:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        return stdin, stdout  # type: ignore[return-value]

    def _tail(self) -> str:
        file = self._said.fileno()  # its offset is the process's too
        return os.pread(file, SAID_BYTES, 0).decode("utf-8", "replace")[-SAID_CHARS:]


_NONSENSE = Death(cause="parser made no sense", is_proof=True)


def _environment(ours: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in ours.items() if name in _KEPT_NAMES or name.startswith(_KEPT_PREFIXES)}


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)
