"""The files that a program behind the guard finds: what is shown, which it cannot write, and nothing else."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from app.browser.guard import LAUNCHER, SHOWN, UID, command
from app.browser.process import BrowserProcess
from app.browser.values import Chromium
from tests.browser.processes import below, status

USER = 12_345
ROOT = {"dev", "etc", "proc", "usr", "var", "bin", "sbin", "lib", "lib32", "lib64", "libx32", "nix"}
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root may start it as another user, and look into it")


@pytest.fixture
def folder(reachable_tmp: Path, request: pytest.FixtureRequest) -> Iterator[Path]:
    """One that everybody may enter."""
    made = reachable_tmp / f"shown-{abs(hash(request.node.name))}"
    made.mkdir()
    made.chmod(0o755)
    yield made
    shutil.rmtree(made)


def says(folder: Path, script: str, user: int | None) -> str:
    """What a program in this folder writes to its pipe, behind the guard, started by this user."""
    launcher, program = folder / "launcher.py", folder / "own" / "program"
    program.parent.mkdir()
    shutil.copy(LAUNCHER, launcher)
    program.write_text(f"#!/bin/sh\nexec >&4 2>&4\n{script}\n")
    program.chmod(0o755)
    (read, unused), (ours, theirs) = os.pipe(), os.pipe()
    argv = command([str(program)], read, theirs)
    python = sys.executable if user is None else "/usr/bin/python3"
    who = {} if user is None else {"user": user, "group": user, "extra_groups": []}
    launched = subprocess.Popen(
        [python, "-I", "-S", str(launcher), argv[-1]],
        stdin=subprocess.PIPE,
        pass_fds=(read, theirs),
        **who,  # type: ignore[call-overload]  # as Popen takes them
    )
    with launched, os.fdopen(ours, encoding="utf-8") as said:
        for each in (read, unused, theirs):
            os.close(each)
        return said.read()


@pytest.mark.parametrize("user", [None, pytest.param(USER, marks=as_root)])
def test_a_program_finds_what_is_shown_and_nothing_else(folder: Path, user: int | None) -> None:
    if user is not None and not os.access("/usr/bin/python3", os.X_OK):
        pytest.skip("no Python that an ordinary user may run")
    (folder / "secret").write_text("not for Chromium")
    own = (folder / "own" / "program").parts[1]
    found = says(folder, f"ls -1 / | sed s,^,root:,; ls -1 {folder} /etc /dev | sed s,^,inside:,; id -u", user)
    lines = found.splitlines()
    assert {line.removeprefix("root:") for line in lines if line.startswith("root:")} <= {*ROOT, own}
    inside = {line.removeprefix("inside:") for line in lines if line.startswith("inside:")} - {""}
    in_etc = {Path(each).name for each in SHOWN if each.startswith("/etc/")}
    headings = {f"{folder}:", "/etc:", "/dev:"}
    assert inside <= {"own", "null", "zero", "urandom", "shm", *in_etc, *headings}
    assert "own" in inside
    assert lines[-1] == str(user or (UID if os.geteuid() == 0 else os.geteuid()))


WRITES = ["/x", "/usr/x", "/etc/x", "/dev/x", "/var/x", "/bin/x", "/tmp/x", "{own}/x", "{own}/program", "/etc/fonts/x"]


@pytest.mark.parametrize("user", [None, pytest.param(USER, marks=as_root)])
def test_it_can_write_to_its_one_folder_alone(folder: Path, user: int | None) -> None:
    """Its own program's too, which belongs to whoever starts it."""
    if user is not None:
        os.chown(folder, user, user)
    paths = " ".join([*WRITES, "/dev/shm/x"]).format(own=folder / "own")
    script = f"for path in {paths}; do (echo x > $path) 2>/dev/null && echo wrote $path; done; echo end"
    assert says(folder, script, user).splitlines() == ["wrote /dev/shm/x", "end"]


def test_what_is_written_to_devices_goes_nowhere_and_processes_are_its_own(folder: Path) -> None:
    script = "echo x > /dev/null && head -c 2 /dev/zero | od -An -tx1; echo $$; ls -d /proc/[0-9]* | wc -l"
    zeros, pid, processes = says(folder, script, None).split("\n")[:3]
    assert zeros.split() == ["00", "00"]
    assert pid == "1"
    assert int(processes) < 5


@as_root
def test_chromium_is_neither_us_nor_the_user_of_postgres(chromium: Chromium) -> None:
    browser = BrowserProcess(chromium.path)
    try:
        pids = below(browser.pid) - {browser.pid}
        assert {status(pid)["Uid"].split()[0] for pid in pids} == {str(UID)}
        found: set[str] = set()
        for pid in pids:
            with suppress(OSError):  # it has ended
                found |= {str(each) for each in os.listdir(f"/proc/{pid}/root")}
        assert "usr" in found, "its sandbox leaves some processes no root at all, but not the first"
        assert found <= ROOT
    finally:
        browser.end()


def test_the_program_is_named_as_it_is_beyond_links(folder: Path) -> None:
    (folder / "chrome").symlink_to("/bin/sh")
    launch = json.loads(command([str(folder / "chrome"), "--flag"])[-1])
    assert launch["argv"] == [os.path.realpath("/bin/sh"), "--flag"]
    assert str(folder) not in launch["shown"]
