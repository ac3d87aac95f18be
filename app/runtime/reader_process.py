"""Starts one process that reads documents, sends it documents, and judges how it ended."""

import json
import os
import select
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import IO, BinaryIO

from pydantic import TypeAdapter, ValidationError

from app.runtime.environment import allowed
from app.runtime.reader import SAID_BYTES, Job, ReaderAnswer

PAGES_MOST = 1_000  # then a fresh one: a start takes as long as reading 200, and a parser may leak
START_S = 20.0
LEAVE_S = 1.0
SAID_CHARS = 2_000
_PIECE_BYTES = 256 * 1024

# A process that ends by one of these may have been killed by an operator, or by a kernel without memory.
_FROM_OUTSIDE = frozenset({signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT})


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


class ReaderProcess:
    """A reader's process. One thread uses it at a time."""

    def __init__(self, argv: Sequence[str], memory_bytes: int) -> None:
        """Start the process. Raises OSError."""
        self._documents = 0
        self._answer_bytes_most = memory_bytes
        self._is_overdue = False
        self._said = tempfile.TemporaryFile()  # noqa: SIM115  # open as long as the process runs
        try:
            self._process = subprocess.Popen(
                argv,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._said,
                env=allowed(os.environ),
                process_group=0,
                bufsize=0,
            )
        except OSError:
            self._said.close()
            raise
        stdin, _ = self._pipes()
        os.set_blocking(stdin.fileno(), False)

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    @property
    def is_worn(self) -> bool:
        return self._is_overdue or self._documents >= PAGES_MOST

    def is_ready(self) -> bool:
        """Whether it is ready; waits for it."""
        return self._answered(None, None, START_S) == ReaderAnswer()

    def read(self, job: Job, body: BinaryIO) -> ReaderAnswer | Death:
        self._documents += 1
        found = self._answered(job, body, job["wall_s"])
        if found is None:
            return self.end(job)
        if found.failed is not None:
            return Death(cause=f"parser {found.failed}", is_proof=True, said=self._tail())
        return found

    def end(self, job: Job | None = None) -> Death:
        """End the process, and judge how it ended over this job."""
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
        """Let the process end by itself, then kill what is left of its group."""
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

    def _answered(self, job: Job | None, body: BinaryIO | None, within_s: float) -> ReaderAnswer | None:
        """Its answer. None: it ended, or was killed at the deadline."""
        until = time.monotonic() + max(within_s, 0)
        if job is not None and body is not None:
            self._tell(job, body, until)
        line = self._line(until)
        try:
            return _answer.validate_json(line) if line.endswith(b"\n") else None
        except ValidationError:
            return ReaderAnswer(failed="made no sense")

    def _tell(self, job: Job, body: BinaryIO, until: float) -> None:
        """Send a document, as much of it as the process takes."""
        pipe = self._pipes()[0].fileno()
        with suppress(BrokenPipeError):
            for piece in _pieces(job, body):
                left = memoryview(piece)
                while left:
                    if not self._is_in_time(pipe, select.POLLOUT, until):
                        return
                    left = left[os.write(pipe, left) :]

    def _line(self, until: float) -> bytes:
        """The next line of its answers; without its end where the process ended before, or was killed."""
        pipe, line = self._pipes()[1].fileno(), bytearray()
        while not line.endswith(b"\n") and len(line) < self._answer_bytes_most:
            if not self._is_in_time(pipe, select.POLLIN, until) or not (piece := os.read(pipe, _PIECE_BYTES)):
                break
            line += piece
        return bytes(line)

    def _is_in_time(self, pipe: int, event: int, until: float) -> bool:
        """Wait for a pipe. False: the process was killed at the deadline."""
        waiting = select.poll()
        waiting.register(pipe, event)
        if not self._is_overdue and not waiting.poll(1000 * max(until - time.monotonic(), 0)):
            self._is_overdue = True
            self._kill_group()
        return not self._is_overdue

    def _kill_group(self) -> None:
        """Kill its process group. Nothing waits for it meanwhile, so its id is still its own."""
        if self._process.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)

    def _pipes(self) -> tuple[IO[bytes], IO[bytes]]:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        return stdin, stdout

    def _tail(self) -> str:
        file = self._said.fileno()  # its offset is the process's too
        return os.pread(file, SAID_BYTES, 0).decode("utf-8", "replace")[-SAID_CHARS:]


NONSENSE = Death(cause="parser made no sense", is_proof=True)


def _pieces(job: Job, body: BinaryIO) -> Iterator[bytes]:
    yield json.dumps(job).encode() + b"\n"
    while piece := body.read(_PIECE_BYTES):
        yield piece


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)
