"""Browsers as processes: how they are guarded, replaced and lost, and that none is left behind."""

import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from app.browser.page import LEAST_S, READ_S, Browsers, OpenPage
from app.browser.process import BrowserProcess, Wear
from app.browser.values import Answer, Bounds, BrowserDeath, Chromium, Refused, Rendering, SubRequest
from app.model.render import RenderEnding, RenderRefusal
from tests.browser.processes import PROC, below, named, status
from tests.browser.site import Site, plain
from tests.faults.waiting import until

AMPLE = Bounds(wall_s=60)
RARE = pytest.mark.faults  # the rest: with the faults
START_S = 10
SECCOMP_FILTER = "2"  # proc(5)


def title(found: Rendering | BrowserDeath) -> str:
    assert isinstance(found, Rendering), found
    return found.title


def looking(look: Callable[[], object]) -> Site:
    """A site that looks once, at its first request."""
    seen: list[SubRequest] = []

    def once(request: SubRequest) -> None:
        seen.append(request)
        if len(seen) == 1:
            look()

    return Site(once)


def test_a_browser_is_nobody_sandboxed_and_alone(browsers: Browsers) -> None:
    """Of every process: not root, no capability, no new privileges, a network of its own. Renderers have a filter."""
    found: list[tuple[int, dict[str, str]]] = []
    lines: list[bytes] = []

    def look() -> None:
        pids = named(below(), "/chrom")
        found.extend((pid, status(pid)) for pid in pids if "launcher.py" not in str(cmdline(pid)))
        lines.extend(cmdline(pid) for pid, _ in found)

    assert title(browsers.render(plain("/react/"), looking(look), AMPLE, user_agent="Tiptoe")) == "Shop: 3 lamps"
    assert len(found) >= 5
    assert {("0" in each["Uid"].split(), each["NoNewPrivs"]) for _, each in found} == {(False, "1")}
    assert {each["CapEff"] for _, each in found if int(each["NSpid"].split()[-1]) == 1} <= {
        "0" * 16,
        "000001ffffffffff",
    }
    renderers = [each for (_, each), line in zip(found, lines, strict=True) if b"--type=renderer" in line]
    assert renderers
    assert {each["Seccomp"] for each in renderers} == {SECCOMP_FILTER}
    assert not [line for line in lines if b"--no-sandbox\0" in line or b"--remote-debugging-port" in line]


def launchers() -> set[int]:
    """Of this process: one a browser. Those of the module's pool are retired whenever they were idle for long."""
    return set(named(below(), "launcher.py"))


def cmdline(pid: int) -> bytes:
    return (PROC / str(pid) / "cmdline").read_bytes()


def test_a_browser_opens_no_port_and_leaves_no_file(browsers: Browsers) -> None:
    listening: list[list[str]] = []
    before = set(os.listdir("/tmp")) | set(os.listdir("/dev/shm"))

    def look() -> None:
        pids = named(below(), "--type=")
        listening.extend(
            [line.split()[3] for line in (PROC / str(pid) / "net/tcp").read_text().splitlines()[1:]] for pid in pids
        )

    browsers.render(plain("/react/"), looking(look), AMPLE, user_agent="Tiptoe")
    assert listening
    assert not any(listening)
    made = (set(os.listdir("/tmp")) | set(os.listdir("/dev/shm"))) - before
    assert not [name for name in made if "chrom" in name.lower() or "profile" in name]


def test_a_browser_that_is_killed_costs_its_page_one_attempt(browsers: Browsers) -> None:
    def kill() -> None:
        for pid in named(below(), "--type=renderer")[:1] or pytest.fail("no renderer"):
            first = int(status(pid)["PPid"])
            while "launcher.py" not in str(cmdline(int(status(first)["PPid"]))):
                first = int(status(first)["PPid"])
            os.kill(first, signal.SIGKILL)

    found = browsers.render(plain("/react/"), looking(kill), AMPLE, user_agent="Tiptoe")
    assert isinstance(found, BrowserDeath)
    assert (found.is_proof, found.problem) == (False, None)
    assert title(browsers.render(plain("/react/"), Site(), AMPLE, user_agent="Tiptoe")) == "Shop: 3 lamps"


def test_a_renderer_that_somebody_killed_proves_nothing(browsers: Browsers) -> None:
    def kill() -> None:
        for pid in named(below(), "--type=renderer"):
            os.kill(pid, signal.SIGKILL)

    found = browsers.render(plain("/react/"), looking(kill), AMPLE, user_agent="Tiptoe")
    assert isinstance(found, BrowserDeath)
    assert (found.cause, found.is_proof) == ("browser died: its renderer is gone: killed", False)


@RARE
def test_a_browser_that_hangs_is_killed_at_its_deadline(browsers: Browsers) -> None:
    def stop() -> None:
        for pid in named(below(), "/chrom"):
            if "launcher.py" not in str(cmdline(pid)):
                os.kill(pid, signal.SIGSTOP)

    found = browsers.render(plain("/react/"), looking(stop), Bounds(wall_s=1), user_agent="Tiptoe")
    assert isinstance(found, BrowserDeath)
    assert not found.is_proof
    assert title(browsers.render(plain("/react/"), Site(), AMPLE, user_agent="Tiptoe")) == "Shop: 3 lamps"


@RARE
def test_a_page_that_takes_its_browser_down_harms_no_other(chromium: Chromium) -> None:
    """Two at once: one is out of memory, the other one waits for its answer until that has happened."""
    browsers = Browsers(chromium.path)
    is_dead = threading.Event()
    found: list[Rendering | BrowserDeath] = []
    try:
        hungry = threading.Thread(
            target=lambda: (
                found.append(
                    browsers.render(
                        plain("/hostile/memory.html"),
                        Site(),
                        Bounds(wall_s=60, memory_bytes=500_000_000),
                        user_agent="T",
                    )
                ),
                is_dead.set(),
            )
        )
        hungry.start()
        other = browsers.render(
            plain("/react/"),
            looking(lambda: until(is_dead.is_set, "the other page is dead")),
            AMPLE,
            user_agent="Tiptoe",
        )
        hungry.join()
    finally:
        browsers.close()
    assert title(other) == "Shop: 3 lamps"
    assert found == [BrowserDeath(cause="page took more than 500 MB", is_proof=True)]


@pytest.mark.parametrize(
    # a bound of the pool → whether the second page has the browser of the first
    ("wear", "is_kept"),
    [
        (Wear(), True),
        (Wear(pages=1), False),
        pytest.param(Wear(age_s=0.0), False, marks=RARE),
        pytest.param(Wear(idle_bytes=1), False, marks=RARE),
    ],
)
def test_a_browser_is_replaced_when_it_is_worn(chromium: Chromium, wear: Wear, is_kept: bool) -> None:
    browsers = Browsers(chromium.path, most=1, wear=wear)
    seen: list[set[int]] = []
    before = launchers()
    try:
        for _ in range(2):
            browsers.render(
                plain("/react/"),
                looking(lambda: seen.append(launchers() - before)),
                AMPLE,
                user_agent="T",
            )
    finally:
        browsers.close()
    assert [len(each) for each in seen] == [1, 1]
    assert (seen[0] == seen[1]) is is_kept
    assert launchers() <= before


def test_an_idle_browser_is_retired(chromium: Chromium) -> None:
    before, seen = launchers(), list[set[int]]()
    browsers = Browsers(chromium.path, idle_s=0.1)
    browsers.render(plain("/react/"), looking(lambda: seen.append(launchers())), AMPLE, user_agent="Tiptoe")
    assert len(seen[0] - before) == 1
    until(lambda: launchers() <= before, "the browser is retired")
    browsers.close()


def test_a_page_that_is_open_at_the_close_ends_with_its_browser(chromium: Chromium) -> None:
    before = launchers()
    browsers = Browsers(chromium.path)
    found = browsers.render(plain("/react/"), looking(browsers.close), AMPLE, user_agent="Tiptoe")
    assert title(found) == "Shop: 3 lamps"
    assert launchers() <= before


@RARE
def test_an_answer_that_comes_after_the_page_goes_nowhere(browsers: Browsers) -> None:
    is_over = threading.Event()

    def late(_: SubRequest) -> Answer | Refused:
        is_over.wait(30)
        return Answer(status=200, headers={}, body=b"document.title = 'late'")

    found = browsers.render(plain("/react/"), late, Bounds(wall_s=6), user_agent="Tiptoe")
    is_over.set()
    assert isinstance(found, Rendering)
    assert found.refused[RenderRefusal.TIME] >= 1
    assert title(browsers.render(plain("/react/"), Site(), AMPLE, user_agent="Tiptoe")) == "Shop: 3 lamps"


class Swelling(BrowserProcess):
    """A browser that is measured as holding far too much from some moment on."""

    swells_at = float("inf")

    def memory_bytes(self) -> int:
        return super().memory_bytes() if time.monotonic() < self.swells_at else 10**12


def test_memory_is_watched_while_the_document_is_read(chromium: Chromium) -> None:
    """Its reading takes most of a second; it is measured four times in that."""
    browser = Swelling(chromium.path)
    try:
        bounds = Bounds(wall_s=8)  # that a busy machine needs to show it
        page = OpenPage(browser, plain("/hostile/shadows.html"), Site(), bounds, "Tiptoe")
        browser.swells_at = time.monotonic() + bounds.wall_s
        found = page.render(screenshot=False)
        assert found == BrowserDeath(cause="page took more than 1,500 MB", is_proof=True)
    finally:
        browser.end()


@RARE
def test_the_start_of_a_browser_is_of_its_pages_time(chromium: Chromium, reachable_tmp: Path) -> None:
    """Its host's lease does not last longer because a busy machine is slow to start a browser."""
    slow = reachable_tmp / "slow-chromium"
    slow.write_text(f'#!/bin/sh\nsleep {START_S}\nexec {chromium.path} "$@"\n')
    slow.chmod(0o755)
    pool = Browsers(str(slow))
    bounds = Bounds(wall_s=START_S + READ_S + LEAST_S)
    try:
        found = pool.render(plain("/hostile/endless-later.html"), Site(), bounds, user_agent="Tiptoe")
    finally:
        pool.close()
    assert isinstance(found, Rendering), found
    assert found.ending is RenderEnding.DEADLINE
    assert found.wall_s < bounds.wall_s
