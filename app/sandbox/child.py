"""One process of the sandbox: it is started, gets documents, and is judged when it ends over one.

A thread that hangs cannot be killed, nor one that takes all memory; a process can. It is a fresh interpreter, as a
fork of a worker with threads may hang by itself, and it gets a list of our environment, without our services'
passwords. Its bounds and its frames are those of `app.sandbox.wire`.

A pool of processes: threads borrow them, none runs until one is needed, and none stays for long without work.
"""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, BinaryIO, Final, Generic, Literal, Protocol, TypeVar

from app.sandbox.wire import Garbled, Wire, WireBroken

PYTHON: Final = (sys.executable, "-P")  # -P: not the `app` of the working folder
NAMES: Final = frozenset({"PATH", "LANG", "TMPDIR", "TZ", "VIRTUAL_ENV", "HOME"})
PREFIXES: Final = ("PYTHON", "LC_", "LD_", "DYLD_", "MALLOC_")  # what an interpreter and the loader need to start
END_S: Final = 5.0  # that it may take to end, once it has closed its socket
ANSWER_BYTES: Final = 256 * 1024 * 1024
SAID_BYTES: Final = 16_384
STDERR: Final = 2

# A process that ends by one of these may have been killed by an operator, or by a kernel without memory.
_FROM_OUTSIDE: Final = frozenset({signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT})


def allowed(ours: Mapping[str, str], also: Collection[str] = ()) -> dict[str, str]:
    """The variables of our environment that a process gets which reads what strangers sent, runs others' code, or
    serves. Ours holds passwords, and whatever else its operator keeps there.   also: further names"""
    return {name: value for name, value in ours.items() if name in NAMES or name in also or name.startswith(PREFIXES)}


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessEnding:
    """How a process ended over a document.

    how   clock, processor: at its deadline;   killed: maybe by an operator or the kernel;   signal: by another one;
          exit: by itself;   garbled: it was ended, as it wrote what is no answer
    what  the signal's name, or the exit code
    said  the end of what it wrote to standard output and error
    """

    how: Literal["clock", "processor", "killed", "signal", "exit", "garbled"]
    what: str
    said: str


class ChildProcess:
    """A process and the socket to it. One thread uses it at a time.

    documents  that it has got
    """

    def __init__(
        self,
        argv: Sequence[str],
        arguments: Sequence[str] = (),
        *,
        variables: Collection[str] = (),
        margin_s: float = 0.0,
        shows: bool = False,
    ) -> None:
        """Start it. Raises OSError.

        arguments  those after the number of its socket
        variables  names of ours that it gets beside the usual ones
        margin_s   seconds beyond a deadline, after which it is killed if it has not ended itself
        shows      what it prints goes to our standard error
        """
        self.documents = 0
        self.margin_s = margin_s
        self._until = 0.0
        self._is_overdue = self._is_garbled = False
        self._said: Any = None if shows else tempfile.TemporaryFile()  # noqa: SIM115  # open as long as the process runs
        ours, theirs = socket.socketpair()
        try:
            self._process = subprocess.Popen(
                [*argv, str(theirs.fileno()), *arguments],
                stdin=subprocess.DEVNULL,
                stdout=self._said or STDERR,
                stderr=self._said or STDERR,
                pass_fds=[theirs.fileno()],
                env=allowed(os.environ, variables),
                process_group=0,
            )
        except OSError:
            ours.close()
            if self._said is not None:
                self._said.close()
            raise
        finally:
            theirs.close()
        self._wire = Wire(ours, ANSWER_BYTES)

    @property
    def is_alive(self) -> bool:
        return not (self._is_overdue or self._is_garbled or self._has_ended())

    def begin(self, within_s: float) -> None:
        """Begin an exchange: what is sent and received until the next one has to be there within so many seconds."""
        self._until = time.monotonic() + max(within_s, 0) + self.margin_s

    def ask(self, text: bytes, body: bytes | BinaryIO, *, within_s: float) -> bytes:
        """Send a document, and receive the text of its answer, or of its question. Raises WireBroken."""
        self.documents += 1
        self._forget_said()
        self.begin(within_s)
        with suppress(WireBroken):  # it may have answered before it ended
            self.send(text, body)
        return self.receive()

    def send(self, text: bytes, body: bytes | BinaryIO = b"") -> None:
        """Raises WireBroken."""
        try:
            self._wire.send(text, body, until=self._until)
        except TimeoutError:
            self._kill_overdue()
            raise WireBroken from None

    def receive(self) -> bytes:
        """Raises WireBroken."""
        try:
            return self._wire.receive(until=self._until)[0]
        except TimeoutError:
            self._kill_overdue()
            raise WireBroken from None
        except Garbled:
            self._is_garbled = True
            raise

    def ended(self) -> ProcessEnding:
        """Judge how it ended, and end it where it has not. To be asked once its wire is broken."""
        if not self._is_overdue and not self._is_garbled:
            until = time.monotonic() + END_S
            while not self._has_ended() and time.monotonic() < until:
                time.sleep(0.005)
            self._is_overdue = not self._has_ended()
        self._kill_group()
        code, said = self._process.wait(), self.said()
        if self._is_garbled:
            return ProcessEnding(how="garbled", what="", said=said)
        if self._is_overdue or code == -signal.SIGALRM:
            return ProcessEnding(how="clock", what="SIGALRM", said=said)
        if code >= 0:
            return ProcessEnding(how="exit", what=str(code), said=said)
        if code == -signal.SIGPROF:
            return ProcessEnding(how="processor", what="SIGPROF", said=said)
        return ProcessEnding(how="killed" if -code in _FROM_OUTSIDE else "signal", what=_name(-code), said=said)

    def said(self) -> str:
        """The end of what it printed over this document."""
        if self._said is None:
            return ""
        file = self._said.fileno()
        size = os.fstat(file).st_size
        return os.pread(file, SAID_BYTES, max(size - SAID_BYTES, 0)).decode("utf-8", "replace")

    def end(self) -> None:
        """End the process and all that it started. A second time does nothing."""
        self._wire.close()
        self._kill_group()
        self._process.wait()
        if self._said is not None:
            self._said.close()

    def _forget_said(self) -> None:
        """Drop what was printed over earlier documents. Both processes write at one place in the file."""
        if self._said is not None and os.lseek(self._said.fileno(), 0, os.SEEK_CUR):
            os.ftruncate(self._said.fileno(), 0)
            os.lseek(self._said.fileno(), 0, os.SEEK_SET)

    def _has_ended(self) -> bool:
        """Whether it has ended. It is not waited for where that can be helped: its group is to be killed by its id."""
        if self._process.returncode is None and hasattr(os, "waitid"):
            return os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        return self._process.poll() is not None

    def _kill_overdue(self) -> None:
        self._is_overdue = True
        self._kill_group()

    def _kill_group(self) -> None:
        """Kill its process group. Nothing waits for it meanwhile, so its id is still its own."""
        if self._process.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"SIG{number}"


class Member(Protocol):
    """A process that a pool keeps.   is_worn: it is not to be lent again"""

    @property
    def is_alive(self) -> bool: ...

    @property
    def is_worn(self) -> bool: ...

    def end(self) -> None: ...


M = TypeVar("M", bound=Member)


class ProcessPool(Generic[M]):
    """Processes that are lent to one thread each.

    start   starts one; what it raises, borrowing raises
    idle_s  one that is not borrowed for so long is ended
    most    at once
    """

    def __init__(self, start: Callable[[], M], *, idle_s: float, most: int = sys.maxsize) -> None:
        self._start = start
        self._idle_s = idle_s
        self._room = threading.BoundedSemaphore(most)
        self._lock = threading.Lock()
        self._idle: dict[M, float] = {}  # since when, in monotonic seconds
        self._timer: threading.Timer | None = None  # runs while one is idle
        self._is_closed = False

    @contextmanager
    def lent(self, within_s: float | None = None) -> Iterator[M | None]:
        """A process, given back in the end; ended first where an exception comes. None: as for `borrow`."""
        member = self.borrow(within_s)
        if member is None:
            yield None
            return
        try:
            yield member
        except BaseException:
            member.end()
            raise
        finally:
            self.give_back(member)

    def borrow(self, within_s: float | None = None) -> M | None:
        """A process that is alive, to be given back. None: all were taken for so long."""
        if not self._room.acquire(timeout=None if within_s is None else max(within_s, 0)):
            return None
        try:
            return self._from_idle() or self._start()
        except BaseException:
            self._room.release()
            raise

    def give_back(self, member: M) -> None:
        """Keep a process for the next thread, or end it where it is dead or worn."""
        try:
            is_kept = member.is_alive and not member.is_worn
            with self._lock:
                is_kept = is_kept and not self._is_closed
                if is_kept:
                    self._idle[member] = time.monotonic()
                    if self._timer is None:  # one for all: a thread for each document would take a tenth of its reading
                        self._look_in(self._idle_s)
            if not is_kept:
                member.end()
        finally:
            self._room.release()

    def close(self) -> None:
        """End the idle processes; those that are lent end when they are given back."""
        with self._lock:
            self._is_closed = True
            idle, self._idle = self._idle, {}
            timer, self._timer = self._timer, None
        if timer is not None:
            timer.cancel()
        for member in idle:
            member.end()

    def _from_idle(self) -> M | None:
        while True:
            with self._lock:
                if not self._idle:
                    return None
                member, _ = self._idle.popitem()
            if member.is_alive:
                return member
            member.end()

    def _look_in(self, seconds: float) -> None:
        """Look for processes that were idle for long, so many seconds from now. The lock is held."""
        self._timer = threading.Timer(seconds, self._retire)
        self._timer.daemon = True
        self._timer.start()

    def _retire(self) -> None:
        with self._lock:
            long_ago = time.monotonic() - self._idle_s
            old = [member for member, since in self._idle.items() if since <= long_ago]
            for member in old:
                del self._idle[member]
            self._timer = None
            if self._idle:
                self._look_in(min(self._idle.values()) - long_ago)
        for member in old:
            member.end()
