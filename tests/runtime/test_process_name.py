"""A process's name is its own, and a process id means something within one table of processes."""

import os
import shutil
import socket
import subprocess
import sys

import pytest

from app.runtime.process_name import is_alive, machine, process_name

TELL = "from app.runtime.process_name import machine; print(machine())"


def told(*before: str) -> str:
    return subprocess.run([*before, sys.executable, "-c", TELL], capture_output=True, text=True, check=True).stdout


def test_processes_of_one_machine_know_each_other() -> None:
    assert told() == f"{machine()}\n"
    assert machine().startswith(f"{socket.gethostname()}:")
    assert process_name() == f"{machine()}:{os.getpid()}"


@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("unshare") is None, reason="it takes root and unshare")
def test_containers_of_one_name_do_not() -> None:
    """Both have a first process, and neither can see the other's."""
    assert told("unshare", "--pid", "--fork", "--mount-proc") != f"{machine()}\n"


def test_a_process_lives_until_it_has_ended() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        name = f"{machine()}:{child.pid}"
        assert is_alive(name)
    assert not is_alive(name)
