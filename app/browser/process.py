"""One browser's process: started behind the guard, asked whether it is in order, measured, killed."""

import os
import queue
import subprocess
import tempfile
import time
from contextlib import suppress
from typing import Any, Final

from app.browser import guard
from app.browser.connection import BrowserGone, BrowserHung, DevToolsPipe
from app.browser.flags import FLAGS, UNSAFE
from app.browser.tree import TreeUse, command_lines, held_bytes, measure
from app.browser.values import BrowserProblem

START_S: Final = 30.0
LOOK_S: Final = 1.0
BUSY: Final = "see whether the machine is busy"
_SAID_BYTES: Final = 4_000
_WATCHED: Final = [{"type": kind} for kind in ("service_worker", "shared_worker")]


class NotStarted(Exception):
    """No browser came of it.   problem: why, and the remedy"""

    def __init__(self, problem: BrowserProblem) -> None:
        super().__init__(problem.line)
        self.problem = problem


class BrowserProcess:
    """A running browser. One thread uses it at a time.

    pages     opened so far
    began_at  monotonic
    """

    def __init__(self, executable: str) -> None:
        """Start it, and wait until it answers. Raises `NotStarted`."""
        self.pages = 0
        self.began_at = time.monotonic()
        self._pids, self._looked_at = frozenset[int](), 0.0
        self._said = tempfile.TemporaryFile()  # noqa: SIM115  # open as long as the process runs
        theirs_in, ours_out = os.pipe()
        ours_in, theirs_out = os.pipe()
        argv = guard.command([executable, *FLAGS], theirs_in, theirs_out)
        try:
            self._process = subprocess.Popen(
                argv,
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=self._said,
                pass_fds=(theirs_in, theirs_out),
                process_group=0,
            )
        except OSError as error:
            os.close(ours_in)
            os.close(ours_out)
            self._said.close()
            raise NotStarted(
                BrowserProblem(f"the guard of Chromium did not start: {error}", "see the system's log")
            ) from error
        finally:
            os.close(theirs_in)
            os.close(theirs_out)
        self.connection = DevToolsPipe(ours_in, ours_out)
        self._check()

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    @property
    def pid(self) -> int:
        """The launcher's number. All processes of the browser are below it."""
        return self._process.pid

    def use(self) -> TreeUse:
        return measure(self._process.pid)

    def memory_bytes(self) -> int:
        """Memory of its processes, as in `use`. New ones are found within a second: it takes a look at all."""
        now = time.monotonic()
        if now - self._looked_at >= LOOK_S:
            self._pids, self._looked_at = self.use().pids, now
        return held_bytes(self._pids)

    def kill(self) -> None:
        """End the browser at once, with all that it started, and free what it held here. A second time does nothing."""
        if self._said.closed:
            return
        self._process.kill()  # its namespace's first process dies of it; after a wait the number is another's
        self._process.wait()
        assert self._process.stdin is not None
        self._process.stdin.close()
        self.connection.close()
        self._said.close()

    def _check(self) -> None:
        try:
            self._answer("Browser.getVersion", {})
            # Pages and workers that nobody opened are held before their first step: see `app.browser.targets`.
            watch = {"autoAttach": True, "waitForDebuggerOnStart": True, "flatten": True, "filter": _WATCHED}
            self._answer("Target.setAutoAttach", watch)
        except BrowserGone as gone:
            problem = self._problem(gone)
            self.kill()
            raise NotStarted(problem) from None
        lines = command_lines(self.use().pids)
        if found := {flag for line in lines for flag in line} & set(UNSAFE):
            self.kill()
            flags = b", ".join(sorted(found)).decode()
            finding = f"Chromium was started with {flags}, by a wrapper or by its configuration"
            raise NotStarted(BrowserProblem(finding, "remove it there (Debian: /etc/chromium.d)"))

    def _answer(self, method: str, params: dict[str, Any]) -> None:
        until = self.began_at + START_S
        number = self.connection.send(method, params, None, until)
        while True:
            try:
                message = self.connection.events.get(timeout=max(until - time.monotonic(), 0.001))
            except queue.Empty:
                raise BrowserHung(f"no answer within {START_S:.0f} s") from None
            if message is None:
                raise BrowserGone("it ended")
            if message.get("id") == number:
                return

    def _problem(self, gone: BrowserGone) -> BrowserProblem:
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(1.0)
        said = os.pread(self._said.fileno(), os.fstat(self._said.fileno()).st_size, 0)[-_SAID_BYTES:]
        code = self._process.poll()
        if code is not None and (found := guard.lacking(said, code)) is not None:
            return found
        if b"No usable sandbox" in said:
            return guard.problem("sandbox", "Chromium says: No usable sandbox")
        if isinstance(gone, BrowserHung):  # what it said is not why
            return BrowserProblem(f"Chromium did not start: {gone}", BUSY, is_slowness=True)
        last = said.decode("utf-8", "replace").strip().splitlines()
        return BrowserProblem(
            f"Chromium did not start: {last[-1] if last else gone}", "run `tiptoe doctor`, or another Chromium"
        )
