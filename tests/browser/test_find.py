"""Finding a browser: each thing that may be lacking gives one line, with a remedy."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from app.browser import guard
from app.browser.find import LEAST_BYTES, find, trial
from app.browser.launcher import LACKING
from app.browser.process import BrowserProcess, NotStarted, command_lines
from app.browser.values import BrowserProblem, Chromium


def program(folder: Path, says: str) -> str:
    path = folder / "chromium"
    path.write_text(f"#!/bin/sh\n{says}\n")
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize(
    # a program → what is found
    ("says", "finding"),
    [
        ("echo Chromium 98.0.4758.102 built on Debian", "is Chromium 98.0.4758.102"),
        ("echo coreutils 9.1", "is no Chromium"),
        ("echo 'cannot open display' >&2; exit 1", "is no Chromium: cannot open display"),
        ("true", "is no Chromium: it says no version"),
        ("printf '\\377'", "is no Chromium: it says no version"),  # not UTF-8
    ],
)
def test_a_program_that_cannot_be_it(tmp_path: Path, says: str, finding: str) -> None:
    found = find(program(tmp_path, says))
    assert isinstance(found, BrowserProblem)
    assert finding in found.finding
    assert "apt-get install chromium" in found.remedy
    assert "\n" not in found.line


def test_a_path_without_a_program(tmp_path: Path) -> None:
    found = find(str(tmp_path / "none"))
    assert isinstance(found, BrowserProblem)
    assert (found.finding, found.is_absence) == (f"{tmp_path}/none is not a program", False)


def test_no_browser_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that has none in the usual places, seen by a process whose folders are empty."""
    code = "from app.browser.find import find; import sys; found = find(None); print(found.is_absence, found.line)"
    hide = "".join(f"mount -t tmpfs none {folder}; " for folder in ("/usr/lib/chromium",) if Path(folder).is_dir())
    if os.geteuid() or not shutil.which("unshare"):
        pytest.skip("hiding the browser needs root and unshare")
    environment = {"PATH": str(tmp_path), "HOME": str(tmp_path), "PYTHONPATH": str(Path(__file__).parents[2])}
    script = f'{hide} exec env -i {" ".join(f"{k}={v}" for k, v in environment.items())} {sys.executable} -c "{code}"'
    said = subprocess.run(
        ["unshare", "--mount", "sh", "-c", script], capture_output=True, text=True, check=True, timeout=60
    )
    assert said.stdout.startswith("True no Chromium was found; apt-get install chromium")


def test_too_little_memory(chromium: Chromium) -> None:
    assert find(chromium.path, free_bytes=LEAST_BYTES) == chromium
    found = find(chromium.path, free_bytes=LEAST_BYTES - 1)
    assert isinstance(found, BrowserProblem)
    assert found.finding == "700.0 MB of memory are free, and a browser needs 700.0 MB"


@pytest.mark.parametrize(
    # how many users there are, the words for what is lacking
    ("users", "finding"),
    [
        ("1", "Chromium would have to run as root"),
        ("65535", "Chromium's sandbox cannot work here"),
    ],
)
def test_a_place_where_the_guard_cannot_work(users: str, finding: str) -> None:
    """No user namespace may be made within one that has none to give, as in many containers."""
    if os.geteuid():
        pytest.skip("only root can make such a place")
    code = "from app.browser.guard import check; print(check().line)"
    argv = [sys.executable, str(Path(__file__).with_name("inside.py")), users, sys.executable, "-c", code]
    said = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=60, cwd=Path(__file__).parents[2])
    assert said.stdout.startswith(finding), said.stderr
    assert "; " in said.stdout
    assert said.stdout.count("\n") == 1


@pytest.mark.parametrize("step", ["namespaces", "folders", "privileges", "sandbox", "network", "user", "program"])
def test_every_step_of_the_launcher_has_words_and_a_remedy(step: str) -> None:
    said = b"chatter\n" + json.dumps({"lacking": step, "why": "Operation not permitted"}).encode() + b"\n"
    found = guard.lacking(said, LACKING)
    assert found is not None
    assert "(Operation not permitted)" in found.finding
    assert found.remedy


def test_an_end_of_the_programs_own_is_not_the_guards() -> None:
    assert guard.lacking(b"", LACKING) is None
    assert guard.lacking(b'{"lacking": "user", "why": "x"}', 1) is None


def test_a_browser_that_was_started_without_its_sandbox_is_refused(chromium: Chromium) -> None:
    with tempfile.TemporaryDirectory() as folder:  # that user nobody may enter, as it may not enter those of pytest
        Path(folder).chmod(0o755)
        path = program(Path(folder), f'exec {chromium.path} --no-sandbox "$@"')
        with pytest.raises(NotStarted, match="started with --no-sandbox, by a wrapper") as refused:
            BrowserProcess(path)
    assert "/etc/chromium.d" in refused.value.problem.remedy


# a process: with the title that Chromium sets a moment after its start, and as the kernel has it before
@pytest.mark.parametrize(
    ("program", "arguments"),
    [("/bin/cat", ["chromium --no-sandbox --headless"]), ("/bin/sh", ["sh", "-c", "read line", "--no-sandbox"])],
)
def test_a_switch_is_found_however_a_process_names_itself(program: str, arguments: list[str]) -> None:
    with subprocess.Popen(arguments, executable=program, stdin=subprocess.PIPE) as waiting:
        while not (words := command_lines(frozenset({waiting.pid}))[0]):
            assert waiting.poll() is None  # the kernel has no arguments of it for a moment
    assert b"--no-sandbox" in words


def test_a_program_that_ends_at_once_is_a_problem(tmp_path: Path) -> None:
    found = trial(Chromium(path="/bin/false", version="156.0"))
    assert found is not None
    assert found.finding.startswith("Chromium did not start")


def test_the_browser_of_this_machine_renders(chromium: Chromium) -> None:
    assert trial(chromium) is None
