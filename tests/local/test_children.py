"""Children: their own process group, their end with their parent, the stop that becomes a kill."""

import os
import signal
import subprocess
import sys
import time
import weakref
from operator import attrgetter
from pathlib import Path
from threading import Event

import pytest

from app.local import children
from app.local.children import heed_interrupts, interruptible, spawn, stop
from tests.faults.waiting import until

SOURCE = Path(__file__).parents[2]
ENDINGS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
DEAF = "trap '' TERM; echo ready; sleep 60 & wait; sleep 60"
PARENT = """
import os, signal, sys, time
from pathlib import Path
from app.local.children import spawn
print(spawn(["sleep", "60"], env=os.environ, log_path=Path(sys.argv[1]), death_signal=signal.SIGTERM).pid, flush=True)
time.sleep(60)
"""

INTERRUPTED = """
import os, signal, sys
from pathlib import Path
from app.local.children import spawn
for number in (signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, signal.default_int_handler)
os.register_at_fork(**{sys.argv[2]: lambda: signal.raise_signal(int(sys.argv[3]))})
try:
    spawn(["true"], env=os.environ, log_path=Path(sys.argv[1]), death_signal=signal.SIGKILL)
except KeyboardInterrupt:
    sys.exit(130)
"""


def shell(script: str, log: Path) -> "subprocess.Popen[bytes]":
    child = spawn(["/bin/sh", "-c", script], env=os.environ, log_path=log, death_signal=signal.SIGKILL)
    while child.poll() is None and "ready" not in log.read_text():
        time.sleep(0.01)
    return child


def group_exists(leader: int) -> bool:
    try:
        os.killpg(leader, 0)
    except ProcessLookupError:
        return False
    return True


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().split()[2] != "Z"
    except FileNotFoundError:
        return False


def test_child_leads_its_own_group_and_logs(tmp_path: Path) -> None:
    child = shell("echo ready; exec sleep 60", tmp_path / "log")
    assert os.getpgid(child.pid) == child.pid
    stop(child, signal=signal.SIGTERM, timeout_s=10)
    assert child.returncode == -signal.SIGTERM
    stop(child, signal=signal.SIGTERM, timeout_s=10)  # twice does no harm


def test_child_that_does_not_listen_is_killed_with_its_children(tmp_path: Path) -> None:
    child = shell(DEAF, tmp_path / "log")
    stop(child, signal=signal.SIGTERM, timeout_s=0.1)
    assert child.returncode == -signal.SIGKILL
    until(lambda: not group_exists(child.pid), "its children have ended")  # its sleep is init's to bury


@pytest.mark.skipif(sys.platform != "linux", reason="PR_SET_PDEATHSIG is Linux'")
def test_child_ends_with_a_killed_parent(tmp_path: Path) -> None:
    argv = [sys.executable, "-c", PARENT, str(tmp_path / "log")]
    with subprocess.Popen(argv, cwd=SOURCE, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        assert is_alive(pid)
        parent.kill()
    until(lambda: not is_alive(pid), "the child has ended")


def test_missing_program_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        spawn(["/no/such"], env={}, log_path=tmp_path / "log", death_signal=signal.SIGKILL)


def test_long_log_is_set_aside_at_the_next_start(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with log.open("wb") as file:
        file.truncate(children.LOG_BYTES_MAX + 1)
    stop(shell("echo ready", log), signal=signal.SIGTERM, timeout_s=10)
    assert (tmp_path / "log.1").stat().st_size > children.LOG_BYTES_MAX
    assert log.read_text() == "ready\n"


@pytest.mark.parametrize("number", ENDINGS, ids=attrgetter("name"))
@pytest.mark.parametrize("when", ["before", "after_in_parent"])
def test_ctrl_c_in_the_middle_of_a_start_is_not_lost(tmp_path: Path, when: str, number: signal.Signals) -> None:
    """Python drops what a hook of a fork raises, and the handler of a signal may run in one."""
    argv = [sys.executable, "-c", INTERRUPTED, str(tmp_path / "log"), when, str(int(number))]
    code = subprocess.run(argv, cwd=SOURCE, timeout=60, check=False).returncode
    assert code == 130, f"{number.name} did not interrupt it: its code is 130 where it does"


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("number", ENDINGS, ids=attrgetter("name"))
def test_ctrl_c_in_a_callback_of_python_is_not_lost(number: signal.Signals) -> None:
    with interruptible():
        thing = Event()
        mark = weakref.ref(thing, lambda _: signal.raise_signal(number))
        heed_interrupts()
        del thing  # what the callback raises is printed and dropped
        with pytest.raises(KeyboardInterrupt):  # not raised: the process ignores the signal, or forgot it
            heed_interrupts()
    assert mark() is None
    heed_interrupts()
