"""A command in a terminal of 80 columns, and what it shows as a drawing (SVG)."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Iterator, Mapping, Sequence
from io import StringIO

from rich.console import Console
from rich.text import Text

COLUMNS = 80
LINES = 24
PATIENCE_S = 180.0
# What rich.live writes before it draws a screen anew: back to the first line of the one before, erasing
# (rich.live_render).
_ANEW = re.compile(r"\r\x1b\[2K(?:\x1b\[1A\x1b\[2K)*")
_BLANKS = re.compile(r"(?m)^ +| {2,}")
_MODES = re.compile(r"\x1b\[\?\d+[hl]")  # the cursor is hidden, and shown again
_FONT = "ui-monospace, 'SF Mono', Menlo, Consolas, 'DejaVu Sans Mono', 'Liberation Mono', monospace"
# rich's own (rich._export_format), but for its fonts, which it would fetch from elsewhere.
_DRAWING = f"""\
<svg class="rich-terminal" viewBox="0 0 {{width}} {{height}}" xmlns="http://www.w3.org/2000/svg">
<style>
.{{unique_id}}-matrix {{{{ font-family: {_FONT}; font-size: {{char_height}}px; line-height: {{line_height}}px; }}}}
.{{unique_id}}-title {{{{ font-size: 18px; font-weight: bold; font-family: {_FONT}; }}}}
{{styles}}
</style>
<defs>
<clipPath id="{{unique_id}}-clip-terminal"><rect x="0" y="0" width="{{terminal_width}}" height="{{terminal_height}}"/></clipPath>
{{lines}}
</defs>
{{chrome}}
<g transform="translate({{terminal_x}}, {{terminal_y}})" clip-path="url(#{{unique_id}}-clip-terminal)">
{{backgrounds}}
<g class="{{unique_id}}-matrix">
{{matrix}}
</g>
</g>
</svg>
"""


def screens(command: Sequence[str], env: Mapping[str, str]) -> Iterator[str]:
    """What a terminal shows of it, each time that it is drawn anew; the last is what is left when it has ended.

    Raises CalledProcessError for another exit code than 0.
    """
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
    with subprocess.Popen(
        command,
        env={**env, "TERM": "xterm-256color"},
        stdin=follower,
        stdout=follower,
        stderr=follower,
        start_new_session=True,
    ) as process:
        os.close(follower)
        drawn = ""
        try:
            for wrote in _read(leader):
                *whole, drawn = _ANEW.split(drawn + wrote)
                yield from map(_plain, whole)
        except BaseException:
            os.killpg(process.pid, signal.SIGTERM)
            raise
        finally:
            os.close(leader)
        yield _plain(drawn)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command, drawn)


def drawing(command: str, shown: str) -> str:
    """An SVG of a terminal in which the command was typed, and which shows this.

    Raises ValueError for a line that is longer than the terminal is wide.
    """
    console = Console(record=True, width=COLUMNS, file=StringIO(), force_terminal=True, color_system="truecolor")
    text = Text.from_ansi(shown.strip("\n"))
    for line in text.split("\n"):
        line.rstrip()
        if line.cell_len > COLUMNS:
            raise ValueError(f"{command}: {line.plain!r} is longer than {COLUMNS} columns")
    text.highlight_regex(
        _BLANKS, "dim"
    )  # a run of its own, and so not drawn: some viewers drop blanks that begin a run
    console.print(Text.assemble(("$ ", "dim"), (command, "bold")), soft_wrap=True)
    console.print(text, soft_wrap=True)
    return console.export_svg(title="", code_format=_DRAWING)


def _read(leader: int) -> Iterator[str]:
    """Text as it comes, until the last holder of the other end has gone. Raises TimeoutError."""
    deadline, left = time.monotonic() + PATIENCE_S, b""
    while select.select([leader], [], [], max(deadline - time.monotonic(), 0))[0]:
        try:
            wrote = os.read(leader, 65536)
        except OSError:  # EIO: Linux' way to say so
            wrote = b""
        if not wrote:
            yield left.decode()
            return
        *lines, left = (left + wrote).split(b"\n")  # no character is cut in two
        yield "".join(line.decode() + "\n" for line in lines)
    raise TimeoutError("the command did not end")


def _plain(shown: str) -> str:
    return _MODES.sub("", shown).replace("\r\n", "\n")
