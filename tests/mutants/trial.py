"""A copy of the tree, one mutant in it at a time, and the tests that are to notice it."""

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.mutants.mutant import ROOT, Mutant

_LEFT_OUT = shutil.ignore_patterns(".*", "__pycache__", "*.egg-info", "build", "dist", "node_modules")
_FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.MULTILINE)
_PASSED, _STOPPED = 0, 2
END_S = 30.0  # for pytest to stop what its fixtures started


class Fate(Enum):
    KILLED = "killed"
    SURVIVED = "survived"
    TIMED_OUT = "timed out"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """by: the test that failed first."""

    fate: Fate
    by: str = ""


class NoVerdict(Exception):
    """The tests say nothing about mutants: they fail without one, or cannot run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Copy:
    """A tree that nobody else works in. seed: of the inputs that hypothesis makes."""

    root: Path
    seed: int

    def check(self, tests: Sequence[str], timeout_s: float) -> None:
        """The tests pass as long as nothing is changed. Raises NoVerdict."""
        verdict = self._run(tests, timeout_s)
        if verdict.fate is not Fate.SURVIVED:
            told = f"{verdict.fate.value} {verdict.by}".strip()
            raise NoVerdict(f"{' '.join(tests)} without any mutant: {told}; mend that first, or give it more --timeout")

    def judge(self, mutant: Mutant, tests: Sequence[str], timeout_s: float) -> Verdict:
        """The file is as it was afterwards."""
        path = self.root / mutant.path
        source = path.read_text()
        path.write_text(mutant.cut.apply(source))
        try:
            return self._run(tests, timeout_s)
        finally:
            path.write_text(source)

    def _run(self, tests: Sequence[str], timeout_s: float) -> Verdict:
        options = ["-q", "-x", "-p", "no:cacheprovider", "--no-header", "--tb=no", f"--hypothesis-seed={self.seed}"]
        running = subprocess.Popen(
            [sys.executable, "-m", "pytest", *options, *tests],
            cwd=self.root,
            # No bytecode: two mutants of one second and one size would be one to Python.
            env={**os.environ, "PYTHONPATH": str(self.root), "PYTHONDONTWRITEBYTECODE": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        try:
            told, _ = running.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            _end(running)
            return Verdict(fate=Fate.TIMED_OUT)
        except BaseException:
            _end(running)
            raise
        if running.returncode == _PASSED:
            return Verdict(fate=Fate.SURVIVED)
        if running.returncode not in {1, _STOPPED}:
            raise NoVerdict(f"pytest {' '.join(tests)} ended with {running.returncode}: {told.strip()[-2_000:]}")
        failed = _FAILED.search(told)
        return Verdict(fate=Fate.KILLED, by=failed[1] if failed else "it cannot be imported")


@contextmanager
def copied(seed: int, source: Path = ROOT) -> Iterator[Copy]:
    """Without what is hidden: no history, no environment, no crawls."""
    with TemporaryDirectory(prefix="tiptoe-mutants-") as folder:
        # As root, Postgres runs as nobody, and is to find its way.
        Path(folder).chmod(0o711)
        root = Path(folder) / "tree"
        shutil.copytree(source, root, ignore=_LEFT_OUT, symlinks=True)
        yield Copy(root=root, seed=seed)


def _end(running: subprocess.Popen[str]) -> None:
    """pytest stops what it started, or all of its group is ended."""
    running.send_signal(signal.SIGINT)
    try:
        running.communicate(timeout=END_S)
    except subprocess.TimeoutExpired:
        os.killpg(running.pid, signal.SIGKILL)
        running.communicate()
