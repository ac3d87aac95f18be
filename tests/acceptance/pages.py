"""The code blocks of the docs, as they stand on their pages, and a shell that they are typed into."""

import os
import re
import signal
import subprocess
import textwrap
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.acceptance.conftest import PATIENCE_S, until

ROOT = Path(__file__).parents[2]
PAGES = (
    *("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "bench/README.md", "tests/fuzz/README.md"),
    *sorted(f"docs/{page.name}" for page in (ROOT / "docs").glob("*.md")),
)
_BLOCK = re.compile(r"^(?P<indent> *)```(?P<language>.*)\n(?P<text>(?:.*\n)*?)(?P=indent)```$", re.MULTILINE)
_EXAMPLE = re.compile(r"^\| `tiptoe [a-z -]+` \| .* \| `(.+)` \|$", re.MULTILINE)
_IN_THE_BACKGROUND = re.compile(r"(\s+&)?(\s+#.*)?$")
_FENCE = re.compile(r"^ *```", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A fenced block. page: relative to the root.   line: of its fence, from 1."""

    page: str
    line: int
    language: str
    text: str

    @property
    def commands(self) -> list[str]:
        """One a line; those that end in a backslash go on in the next. Lines that only comment are none."""
        lines = re.sub(r"\\\n *", "", self.text).splitlines()
        return [line for line in lines if line.strip() and not line.lstrip().startswith("#")]


def blocks(page: str) -> list[Block]:
    """Of one page, in its order. Every fence is part of one, or it raises."""
    text = (ROOT / page).read_text()
    found = [
        Block(
            page=page,
            line=text.count("\n", 0, match.start()) + 1,
            language=match["language"],
            text=textwrap.dedent(match["text"]),
        )
        for match in _BLOCK.finditer(text)
    ]
    assert len(_FENCE.findall(text)) == 2 * len(found), f"{page}: a block is not closed"
    return found


def examples(page: str) -> list[str]:
    """The last cell of each row that documents a command: what to type."""
    return [cell.replace("\\|", "|") for cell in _EXAMPLE.findall((ROOT / page).read_text())]


@dataclass(slots=True, kw_only=True)
class Shell:
    """bash, a line at a time, as a person types: what a line exports and where it goes hold for the next ones."""

    folder: Path
    env: dict[str, str]
    running: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def type(self, line: str) -> tuple[int, str]:
        """Its exit code, and what it wrote to both outputs."""
        state = self.folder / "state"
        script = f"{line}\ncode=$?; {{ pwd; env -0; }} >{state}; exit $code"
        with subprocess.Popen(
            ["bash", "-c", f"set -o pipefail\n{script}"],
            env=self.env,
            cwd=self.env["PWD"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        ) as process:
            try:
                wrote, _ = process.communicate(timeout=PATIENCE_S)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                raise
        where, _, env = state.read_text().partition("\n")
        self.env = dict(entry.split("=", 1) for entry in env.split("\0") if entry) | {"PWD": where}
        return process.returncode, wrote

    def start(self, line: str, ready: str) -> None:
        """A command that runs until it is ended: wait for what it says when it is ready."""
        log = self.folder / f"started-{len(self.running)}.log"
        with log.open("wb") as out:
            process = subprocess.Popen(
                ["bash", "-c", f"exec {_IN_THE_BACKGROUND.sub('', line)}"],
                env=self.env,
                cwd=self.env["PWD"],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,
            )
        self.running.append(process)
        until(lambda: process.poll() is not None or ready in log.read_text(), f"{line} says {ready!r}")
        assert process.poll() is None, f"{line} ended: {log.read_text()}"

    def end(self) -> None:
        """Whatever is running, as Ctrl-C ends it. Flower may lose one that comes early: it gets more, each minute."""
        for process in self.running:
            process.send_signal(signal.SIGINT)
        for process in self.running:
            for _ in range(5):
                try:
                    process.wait(PATIENCE_S / 5)
                    break
                except subprocess.TimeoutExpired:
                    if "flower" in str(process.args):
                        process.send_signal(signal.SIGINT)
            else:
                os.killpg(process.pid, signal.SIGKILL)
                raise AssertionError(f"{process.args!r} does not end")


@contextmanager
def shell(folder: Path, env: Mapping[str, str]) -> Iterator[Shell]:
    """Stands in `folder`, and ends what was started."""
    made = Shell(folder=folder, env={**env, "PWD": str(folder)})
    try:
        yield made
    finally:
        made.end()
