"""`.ci/run` judges rightly, ends in time and says how, and leaves nothing running: with a Makefile of stand-ins."""

import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
GOOD = dict.fromkeys(("check", "faults-quick", "coverage"), "@echo $@ $(ARGS)")
# Fails the first time only: nothing is tried a second time.
ONCE = "@echo $@ $(ARGS); test -e $@.failed || { touch $@.failed; exit 1; }"
HANGS = "@echo check; sleep 1000"
LEFT = "@setsid sleep 1000 </dev/null >/dev/null 2>&1 & echo $$! >left"


def start(folder: Path, **targets: str) -> subprocess.Popen[str]:
    (folder / ".ci").mkdir()
    shutil.copy(ROOT / ".ci/run", folder / ".ci/run")
    rules = "".join(f"{name}:\n\t{recipe}\n" for name, recipe in {**GOOD, **targets}.items())
    (folder / "Makefile").write_text(f".PHONY: {' '.join(GOOD)}\n{rules}")
    return subprocess.Popen(
        [folder / ".ci/run"],
        env={**_environment(), "CI_MOST_S": "5" if HANGS in targets.values() else "600", "CI_LOOKS": "2"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _environment() -> dict[str, str]:
    """Ours, but for what a `make` that runs the tests tells the one below it."""
    return {
        name: value for name, value in os.environ.items() if name not in {"MAKEFLAGS", "MAKELEVEL", "MFLAGS", "ARGS"}
    }


def last(said: str) -> str:
    """Without the seconds."""
    return said.splitlines()[-1].rpartition(" after ")[0]


# stand-ins → exit code, what ran, the last line
@pytest.mark.parametrize(
    ("targets", "code", "ran", "line"),
    [
        ({}, 0, ["check", "faults-quick", "coverage"], "ci: exit 0 at coverage"),
        ({"faults-quick": ONCE}, 2, ["check", "faults-quick"], "ci: exit 2 at faults-quick"),
        ({"coverage": "@exit 3"}, 0, ["check", "faults-quick"], "ci: exit 0 at coverage"),
        ({"faults-quick": "@exit 3"}, 2, ["check"], "ci: exit 2 at faults-quick"),
        ({"check": "@exit 3"}, 2, [], "ci: exit 2 at check"),
        ({"check": HANGS}, 124, ["check"], "ci: exit 124 at check"),
    ],
)
def test_it_runs_them_in_turn_and_its_last_line_says_how_it_ended(
    tmp_path: Path, targets: dict[str, str], code: int, ran: list[str], line: str
) -> None:
    run = start(tmp_path, **targets)
    out, said = run.communicate(timeout=120)
    assert (run.returncode, [each.strip() for each in out.splitlines()], last(said)) == (code, ran, line)


def test_what_is_left_running_is_named_and_ended_and_fails_it(tmp_path: Path) -> None:
    run = start(tmp_path, **{"faults-quick": LEFT})
    _, said = run.communicate(timeout=120)
    pid = int((tmp_path / "left").read_text())
    assert f"ci: left running: {pid} sleep 1000" in said
    assert (run.returncode, last(said)) == (1, "ci: exit 1 at coverage")
    assert not Path(f"/proc/{pid}/cmdline").exists() or not Path(f"/proc/{pid}/cmdline").read_bytes(), "it is dead"


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 130)])
def test_a_signal_ends_what_runs_and_is_recorded(tmp_path: Path, sent: signal.Signals, code: int) -> None:
    (tmp_path / "begun").write_text("begun\n")
    # What says it is what the signal ends. A shell that says so starts `sleep` next, and dash loses a signal to a child
    # that it forks: nothing ended before the minute after which `timeout` kills.
    run = start(tmp_path, check="@tail -f begun")
    assert run.stdout is not None
    while run.stdout.readline() != "begun\n":
        pass
    run.send_signal(sent)
    _, said = run.communicate(timeout=120)
    assert (run.returncode, last(said)) == (code, f"ci: exit {code} at check")
    assert f"ci: {sent.name} at check" in said
