"""What is left of a browser whose worker or launcher is killed: nothing. And who may start one."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from app.browser.connection import DevToolsPipe
from app.browser.guard import LAUNCHER, command
from app.browser.process import FLAGS, BrowserProcess, measure
from app.browser.values import Chromium
from tests.browser.processes import below, interfaces, is_running, named, status
from tests.faults.waiting import until

ROOT = Path(__file__).parents[2]
USER = 12_345


def python_of(user: int) -> str:
    """An interpreter that an ordinary user may run; ours may be in a folder of root's."""
    for path in (sys.executable, "/usr/bin/python3"):
        try:
            subprocess.run([path, str(LAUNCHER), ""], user=user, capture_output=True, check=False, timeout=30)
            return path
        except OSError:
            continue
    pytest.skip("no Python that an ordinary user may run")


def test_an_ordinary_user_has_the_same_guard(chromium: Chromium) -> None:
    """Started by a user without any privilege: the browser answers, and its networks are empty."""
    if os.geteuid():
        pytest.skip("all these tests run as an ordinary user")
    theirs_in, ours_out = os.pipe()
    ours_in, theirs_out = os.pipe()
    argv = command([chromium.path, *FLAGS], theirs_in, theirs_out)
    launcher = subprocess.Popen(
        [python_of(USER), *argv[1:]],
        stdin=subprocess.PIPE,
        pass_fds=(theirs_in, theirs_out),
        user=USER,
        group=USER,
        extra_groups=[],
    )
    os.close(theirs_in)
    os.close(theirs_out)
    pipe = DevToolsPipe(ours_in, ours_out)
    with launcher:
        pipe.send("Browser.getVersion", {}, None, time.monotonic() + 30)
        assert pipe.events.get(timeout=30)["result"]["product"].startswith("Chrome/")
        pids = below(launcher.pid)
        assert len(named(pids, "--type=")) >= 3
        assert {status(pid)["Uid"].split()[0] for pid in pids} == {str(USER)}
        assert [found for pid in pids if (found := interfaces(pid)) not in (None, {"lo": 0})] == []
        launcher.kill()
    pipe.close()
    until(lambda: not any(map(is_running, pids)), "nothing is left")


WORKER = """
import sys, time
from app.browser.page import Browsers
from app.browser.values import Bounds
from tests.browser.site import Site, plain
def wait(request):
    print("open", flush=True)
    sys.stdin.read()
Browsers(sys.argv[1]).render(plain("/react/"), Site(wait), Bounds(wall_s=300), user_agent="T")
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_nothing_is_left_of_a_worker_that_is_killed(chromium: Chromium, number: signal.Signals) -> None:
    worker = subprocess.Popen(
        [sys.executable, "-c", WORKER, chromium.path],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with worker:
        assert worker.stdout is not None
        assert worker.stdout.readline() == "open\n"
        pids = below(worker.pid)
        assert len(named(pids, "--type=")) >= 4
        worker.send_signal(number)
        worker.wait(30)
        until(lambda: not any(map(is_running, pids)), "nothing is left")


def test_nothing_is_left_of_a_launcher_that_is_killed(chromium: Chromium) -> None:
    browser = BrowserProcess(chromium.path)
    pids = measure(browser.pid).pids
    assert len(pids) >= 4
    assert {tuple(interfaces(pid) or ()) for pid in pids} == {("lo",)}
    os.kill(browser.pid, signal.SIGKILL)
    until(lambda: not any(map(is_running, pids)), "nothing is left")
    browser.end()
    assert not browser.is_alive


def test_a_launcher_that_was_waited_for_is_not_killed_by_its_number(
    chromium: Chromium, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process may have the number by then."""
    browser = BrowserProcess(chromium.path)
    os.kill(browser.pid, signal.SIGKILL)
    until(lambda: not browser.is_alive, "it has ended, and was waited for")
    killed: list[int] = []
    monkeypatch.setattr(os, "kill", lambda pid, _: killed.append(pid))
    browser.end()
    assert killed == []
