"""script: run Python in a folder of its own, as a person does with a script that imports tiptoe."""

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent

import pytest

from tests.acceptance.conftest import PATIENCE_S, Ran, Tiptoe, tiptoe, web

__all__ = ["tiptoe", "web"]  # the fixtures


@dataclass(frozen=True)
class Script:
    """Scripts beside the home of `tiptoe`, with its settings."""

    tiptoe: Tiptoe

    @property
    def folder(self) -> Path:
        return self.tiptoe.home.parent

    def start(self, text: str, *arguments: str) -> subprocess.Popen[str]:
        (self.folder / "script.py").write_text(dedent(text))
        return self.python("script.py", *arguments)

    def run(self, text: str, *arguments: str) -> Ran:
        return ended(self.start(text, *arguments))

    def python(self, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, *arguments],
            env=self.tiptoe.env,
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )


def ended(process: subprocess.Popen[str]) -> Ran:
    out, err = process.communicate(timeout=PATIENCE_S)
    return Ran(process.returncode, out, err)


@pytest.fixture
def script(tiptoe: Tiptoe) -> Script:
    return Script(tiptoe)
