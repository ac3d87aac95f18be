"""One browser's process: started behind the guard, asked whether it is in order, measured, killed.

`FLAGS` are the switches that Chromium is started with: the kernel denies the network, these keep Chromium from trying.
`measure` reads in `/proc` (proc(5)) what a process and all that it started hold and have used.
"""

import os
import queue
import subprocess
import tempfile
import time
from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from app.browser import guard
from app.browser.connection import BrowserGone, BrowserHung, DevToolsPipe
from app.browser.guard import PROFILE
from app.browser.values import BrowserProblem
from app.sandbox.child import allowed

_TICKS_S: Final = 1 / os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeUse:
    """Use of a tree of processes.

    memory_bytes  resident, the program's own pages aside; memory that two share counts for both
    cpu_s         of user and system, of ended processes too
    """

    pids: frozenset[int]
    memory_bytes: int
    cpu_s: float


def measure(root: int) -> TreeUse:
    """Measure the tree below a process. Processes that end meanwhile are left out."""
    children: dict[int, list[int]] = defaultdict(list)
    cpu: dict[int, float] = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        with suppress(OSError):
            fields = _stat(int(name))
            children[int(fields[1])].append(int(name))
            cpu[int(name)] = sum(map(int, fields[11:15])) * _TICKS_S
    found, ahead = set[int](), list(children[root])
    while ahead:
        pid = ahead.pop()
        found.add(pid)
        ahead += children[pid]
    return TreeUse(
        pids=frozenset(found),
        memory_bytes=held_bytes(frozenset(found)),
        cpu_s=sum(cpu[pid] for pid in found),
    )


def held_bytes(pids: frozenset[int]) -> int:
    """Memory of these processes, as in `TreeUse`. Those that ended meanwhile hold nothing."""
    return sum(map(_held_bytes, pids))


def command_lines(pids: frozenset[int]) -> list[list[bytes]]:
    """The words of each process's command. Chromium writes its own anew, with blanks between them instead of NULs."""
    found = []
    for pid in pids:
        with suppress(OSError), open(f"/proc/{pid}/cmdline", "rb") as file:
            found.append(file.read().replace(b"\0", b" ").split())
    return found


def _stat(pid: int) -> list[str]:
    """The fields after the name, which may hold spaces and parentheses: state, parent and so on."""
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
        return file.read().rpartition(")")[2].split()


def _held_bytes(pid: int) -> int:
    with suppress(OSError), open(f"/proc/{pid}/status", "rb") as file:
        # Not RssFile: all of them share the program's own pages.
        return sum(int(line.split()[1]) * 1024 for line in file if line.startswith((b"RssAnon:", b"RssShmem:")))
    return 0


_FEATURES_OFF: Final = (
    "AutofillServerCommunication",
    "CertificateTransparencyComponentUpdater",
    "HttpsFirstBalancedModeAutoEnable",
    "HttpsUpgrades",  # a page of http: would be asked for with https:
    "InterestFeedContentSuggestions",
    "MediaRouter",
    "OptimizationHints",
    "PreloadTopChromeWebUI",  # a renderer of 100 MB that nobody sees
    "Prerender2",
    "SpareRendererForSitePerProcess",
    "Translate",
    "WebUIOmniboxAimPopup",
    "WebUIOmniboxFullPopup",
    "WebUIOmniboxPopup",
)
FLAGS: Final = (
    "--headless",
    "--remote-debugging-pipe",  # no port is opened
    f"--user-data-dir={PROFILE}",
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--force-webrtc-ip-handling-policy",
    "--no-proxy-server",
    "--disable-quic",
    "--disable-background-networking",
    "--disable-breakpad",
    "--disable-client-side-phishing-detection",
    "--disable-component-update",
    "--disable-crash-reporter",
    "--disable-default-apps",
    "--disable-domain-reliability",
    "--disable-extensions",
    "--disable-sync",
    "--metrics-recording-only",
    "--no-default-browser-check",
    "--no-first-run",
    "--no-startup-window",
    "--no-pings",
    "--deny-permission-prompts",
    "--disable-notifications",
    "--disable-3d-apis",
    "--disable-gpu",
    "--mute-audio",
    "--hide-scrollbars",
    "--password-store=basic",
    # Timers and frames at their own pace, as if somebody looked at the page.
    "--disable-background-timer-throttling",
    "--disable-backgrounding-occluded-windows",
    "--disable-renderer-backgrounding",
    "--window-size=1280,1024",
    f"--disable-features={','.join(_FEATURES_OFF)}",
    "--js-flags=--max-old-space-size=512",
)
UNSAFE: Final = (b"--no-sandbox", b"--disable-seccomp-filter-sandbox", b"--disable-setuid-sandbox", b"--single-process")


START_S: Final = 30.0
BUSY: Final = "see whether the machine is busy"
_WATCHED: Final = [{"type": kind} for kind in ("service_worker", "shared_worker")]


class NotStarted(Exception):
    """No browser came of it.   problem: why, and the remedy"""

    def __init__(self, problem: BrowserProblem) -> None:
        super().__init__(problem.line)
        self.problem = problem


@dataclass(frozen=True, slots=True, kw_only=True)
class Wear:
    """Bounds of a browser's life: pages, seconds, and octets held without a page (a fresh one holds 150 MB)."""

    pages: int = 200
    age_s: float = 1_800.0
    idle_bytes: int = 600_000_000


class BrowserProcess:
    """A running browser. One thread uses it at a time.

    pages     opened so far
    began_at  monotonic
    """

    def __init__(self, executable: str, wear: Wear = Wear()) -> None:  # frozen
        """Start it, and wait until it answers. Raises `NotStarted`."""
        self.pages = 0
        self._wear = wear
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
                env=allowed(os.environ),
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
    def is_worn(self) -> bool:
        return (
            self.pages >= self._wear.pages
            or time.monotonic() - self.began_at >= self._wear.age_s
            or self.use().memory_bytes > self._wear.idle_bytes
        )

    @property
    def pid(self) -> int:
        """The launcher's number. All processes of the browser are below it."""
        return self._process.pid

    def use(self) -> TreeUse:
        return measure(self._process.pid)

    def memory_bytes(self) -> int:
        """Memory of its processes, as in `use`. New ones are found within a second: it takes a look at all."""
        now = time.monotonic()
        if now - self._looked_at >= 1.0:
            self._pids, self._looked_at = self.use().pids, now
        return held_bytes(self._pids)

    def end(self) -> None:
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
            self.end()
            raise NotStarted(problem) from None
        lines = command_lines(self.use().pids)
        if found := {flag for line in lines for flag in line} & set(UNSAFE):
            self.end()
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
        said = os.pread(self._said.fileno(), os.fstat(self._said.fileno()).st_size, 0)[-4_000:]
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
