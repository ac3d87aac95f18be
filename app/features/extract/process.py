"""One process that runs handlers: it is started, gets pages, and is judged when it ends over one.

A thread that hangs cannot be killed, nor one that takes all memory; a process can. It is a fresh interpreter, and
never has the passwords of our services. `app.features.extract.child` is its other end.
"""

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from app.errors import InputError, ServiceError
from app.features.extract.wire import Wire, WireBroken
from app.model.handler import HandlerSpec
from app.runtime.environment import allowed

START_S = 60.0  # its modules may import a lot
MARGIN_S = 5.0  # on a busy machine; the process ends itself at its deadline
PAGES_MOST = 5_000  # then a fresh one: a handler may leak
SAID_BYTES = 16_384
STDERR = 2
_FROM_OUTSIDE = frozenset({signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT})


@dataclass(frozen=True, slots=True, kw_only=True)
class PageForHandler:
    """A page on its way to a handler's process.

    values  for `app.features.extract.child`;   body: of the answer, after the document where a browser made one
    """

    values: Mapping[str, Any]
    body: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Handled:
    """The answer of one handler about one page.

    failed  misfit, raised, memory, deadline, exit or killed; None: it came to its end
    cause   a line for a person;   traceback: where it was
    ms      milliseconds that the handler took, by the clock
    """

    handler: str
    items: Sequence[Mapping[str, Any]] = ()
    follows: Sequence[Mapping[str, Any]] = ()
    failed: str | None = None
    cause: str | None = None
    traceback: str | None = None
    ms: float = 0.0


@dataclass(slots=True, kw_only=True)
class HandlerProcess:
    """A process with loaded handlers. One thread uses it at a time. Made by `start`.

    margin_s  seconds beyond a deadline, after which it is killed if it has not ended itself
    """

    process: "subprocess.Popen[bytes]"
    wire: Wire
    said: Any
    specs: dict[str, HandlerSpec] = field(default_factory=dict)
    margin_s: float = MARGIN_S
    pages: int = 0
    is_broken: bool = False

    @property
    def is_usable(self) -> bool:
        return not self.is_broken and self.pages < PAGES_MOST and self.process.poll() is None

    def handle(
        self,
        page: PageForHandler,
        handler: str,
        *,
        deadline_s: float,
        before: Callable[[int], PageForHandler | None],
    ) -> Handled:
        """Run a handler on a page.

        deadline_s  seconds that it may take
        before      reads the page as it was before a capture, for a handler that asks
        """
        self.pages += 1
        self._forget_said()
        within_s, began = deadline_s + self.margin_s, time.monotonic()
        try:
            self.wire.send(
                {"page": page.values, "handler": handler, "deadline_s": deadline_s}, page.body, within_s=within_s
            )
            answer = self._answer(before, began, within_s)
        except (WireBroken, TimeoutError) as error:
            self.is_broken = True
            return self._death(handler, error, deadline_s, time.monotonic() - began)
        self.is_broken = answer.failed == "memory"
        return answer

    def end(self) -> None:
        """End the process and all that it started."""
        self.is_broken = True
        self.wire.close()
        if self.process.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        if self.said is not None:
            self.said.close()

    def _answer(self, before: Callable[[int], PageForHandler | None], began: float, within_s: float) -> Handled:
        while True:
            answer, _ = self.wire.receive(within_s=max(began + within_s - time.monotonic(), 0.0))
            if "before" not in answer:
                return _handled(answer, (time.monotonic() - began) * 1000)
            earlier = before(answer["before"])
            left_s = max(began + within_s - time.monotonic(), 0.1)
            if earlier is None:
                self.wire.send({}, within_s=left_s)
            else:
                self.wire.send({"page": earlier.values}, earlier.body, within_s=left_s)

    def _death(self, handler: str, error: Exception, deadline_s: float, took_s: float) -> Handled:
        """Judge how it ended."""
        if isinstance(error, TimeoutError):
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            code = -signal.SIGALRM
        else:
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(self.margin_s)
            found = self.process.poll()
            code = -signal.SIGALRM if found is None else found
        kind, cause = _ended(code, deadline_s)
        return Handled(handler=handler, failed=kind, cause=cause, traceback=self._tail(), ms=took_s * 1000)

    def _forget_said(self) -> None:
        """Drop what was printed over earlier pages. Both processes write at one place in the file."""
        if self.said is not None:
            os.ftruncate(self.said.fileno(), 0)
            os.lseek(self.said.fileno(), 0, os.SEEK_SET)

    def _tail(self) -> str:
        if self.said is None:
            return ""
        size = os.fstat(self.said.fileno()).st_size
        return os.pread(self.said.fileno(), SAID_BYTES, max(size - SAID_BYTES, 0)).decode("utf-8", "replace")


def specs_of(sources: Sequence[str], *, memory_bytes: int, variables: Sequence[str] = ()) -> list[HandlerSpec]:
    """The handlers of modules and files, loaded in a process that ends again. Raises InputError, ServiceError."""
    made = start(sources, memory_bytes=memory_bytes, variables=variables)
    made.end()
    return list(made.specs.values())


def start(
    sources: Sequence[str], *, memory_bytes: int, variables: Sequence[str] = (), shows: bool = False
) -> HandlerProcess:
    """Start a process and let it load its handlers.

    sources    modules and files
    variables  names of ours that it gets beside those of every process (`app.runtime.environment`)
    shows      what handlers print goes to our standard error

    Raises InputError for handlers that cannot be loaded, ServiceError where no process can be started.
    """
    ours, theirs = socket.socketpair()
    said = None if shows else tempfile.TemporaryFile()  # noqa: SIM115  # open as long as the process runs
    python = [
        sys.executable,
        "-P",
        "-B",
        "-u",
        "-m",
        "app.features.extract.child",
    ]  # unbuffered: what was printed outlasts it
    argv = [*python, str(theirs.fileno()), str(memory_bytes), *sources]
    try:
        process = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=said or STDERR,
            stderr=said or STDERR,
            pass_fds=[theirs.fileno()],
            env=allowed(os.environ, variables),
            process_group=0,
        )
    except OSError as error:
        ours.close()
        raise ServiceError("a process for handlers", f"cannot be started: {error.strerror or error}") from error
    finally:
        theirs.close()
    made = HandlerProcess(process=process, wire=Wire(ours), said=said)
    try:
        return _ready(made, ", ".join(sources))
    except BaseException:
        made.end()
        raise


def _ready(made: HandlerProcess, sources: str) -> HandlerProcess:
    """Wait for its handlers."""
    try:
        hello, _ = made.wire.receive(within_s=START_S)
    except TimeoutError:
        raise InputError(
            sources, f"did not import within {START_S:.0f} s; do less when the module is imported"
        ) from None
    except WireBroken:
        with suppress(subprocess.TimeoutExpired):
            made.process.wait(MARGIN_S)
        _, cause = _ended(made.process.poll() or 0, START_S)
        raise InputError(sources, f"does not import: it {cause}; correct it") from None
    if "refused" in hello:
        what, _, remedy = hello["refused"].partition(": ")
        raise InputError(what, remedy)
    for each in hello["handlers"]:
        each["match"] = tuple(each["match"])
        made.specs[each["name"]] = HandlerSpec(**each)
    return made


def _handled(answer: Mapping[str, Any], ms: float) -> Handled:
    try:
        return Handled(ms=ms, **answer)
    except TypeError:
        raise WireBroken from None


def _ended(code: int, deadline_s: float) -> tuple[str, str]:
    """(kind, cause) of a process that ended over a page."""
    if code == -signal.SIGALRM:
        return "deadline", f"took longer than {deadline_s:g} s"
    if code >= 0:
        return "exit", f"ended its process with code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    if -code in _FROM_OUTSIDE:
        return "killed", f"was killed by {name}: by an operator, or for want of memory"
    return "exit", f"died of {name}"
