"""Reads documents in a process that they may crash, hang or fill: `python -m app.runtime.reader BYTES`.

It is told of each on standard input: a line of JSON (`Job`), then the document's bytes. It answers on standard output with a
line of JSON (`Answer`), the first of which is empty: it is ready. It knows no settings, no network, no database. Its bounds are
the kernel's, so that they hold within C too: BYTES of address space; for each document some processor time, then SIGPROF ends
it, and some time at all, then SIGALRM does, for when there is no parent left to do it. `reader_pool` starts and judges it.
"""

import faulthandler
import json
import os
import resource
import signal
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import datetime
from io import BytesIO
from itertools import chain
from pathlib import Path
from typing import BinaryIO, TypedDict

from lxml import etree

from app.model.page import Page
from app.parse.html import html
from app.parse.sitemap.sitemap import Child, Entry, Reading, SitemapKind

SAID_BYTES = 64 * 1024  # of standard error: a file, which may not grow beyond
READ_ERROR_CHARS = 200


class PageOptions(TypedDict):
    """The arguments of `app.parse.html.html.read`."""

    content_type: str | None
    content_language: str | None
    token: str
    max_links: int
    want_text: bool


class Job(TypedDict):
    """bytes: that follow.   cpu_s, wall_s: what they may take.   page: None for a sitemap."""

    bytes: int
    cpu_s: float
    wall_s: float
    page: PageOptions | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """What a sitemap says: to be used as a `Reading` that is over."""

    kind: SitemapKind
    problem: str | None
    pages: list[Entry]
    children: list[Child]

    @property
    def entries(self) -> int:
        return len(self.pages) + len(self.children)

    def __iter__(self) -> Iterator[Entry | Child]:
        return chain(self.children, self.pages)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One of them, or none when it is ready.   failed: what the parser did instead, such as "raised KeyError: …"."""

    page: Page | None = None
    sitemap: Listing | None = None
    failed: str | None = None


def main(memory_bytes: int) -> None:
    """Until standard input ends."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever a library prints is no answer
    confine(memory_bytes)
    _tell(answers, _encoded(Answer()))
    while line := sys.stdin.buffer.readline():
        try:
            told = _encoded(_read(json.loads(line), sys.stdin.buffer))
        except (MemoryError, etree.XSLTApplyError):  # our stylesheet is sound: libxslt fails for memory alone
            told = _encoded(Answer(failed=f"needed more than {memory_bytes >> 20} MiB"))
        except Exception as error:  # noqa: BLE001  # whatever a parser raises is what we are here to tell
            told = _encoded(Answer(failed=f"raised {type(error).__name__}: {error}"[:READ_ERROR_CHARS]))
        _set_timers(0.0, 0.0)
        _tell(answers, told)


def confine(memory_bytes: int) -> None:
    """Bounds of this process, for good. Elsewhere than on Linux that of memory is refused or not kept, and not set."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (SAID_BYTES, SAID_BYTES))
    for number in (signal.SIGPROF, signal.SIGALRM):
        signal.signal(number, signal.SIG_DFL)
    faulthandler.enable()  # where it died goes to standard error
    if sys.platform == "linux":
        _, most = resource.getrlimit(resource.RLIMIT_AS)
        limit = memory_bytes if most == resource.RLIM_INFINITY else min(memory_bytes, most)
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        with suppress(OSError):  # where memory runs out for all, this goes before a worker does
            Path("/proc/self/oom_score_adj").write_text("1000")


def _read(job: Job, stream: BinaryIO) -> Answer:
    body = stream.read(job["bytes"])
    _set_timers(job["cpu_s"], job["wall_s"])
    if job["page"] is not None:
        return Answer(page=html.read(body, **job["page"]))
    reading = Reading(BytesIO(body))
    values = list(reading)
    return Answer(
        sitemap=Listing(
            kind=reading.kind,
            problem=reading.problem,
            pages=[value for value in values if isinstance(value, Entry)],
            children=[value for value in values if isinstance(value, Child)],
        )
    )


def _set_timers(cpu_s: float, wall_s: float) -> None:
    """0: off."""
    signal.setitimer(signal.ITIMER_PROF, cpu_s)
    signal.setitimer(signal.ITIMER_REAL, wall_s)


def _encoded(answer: Answer) -> bytes:
    return json.dumps(asdict(answer), default=_plain).encode() + b"\n"


def _plain(value: object) -> object:
    match value:
        case frozenset():
            return sorted(value)
        case datetime():
            return value.isoformat()
    raise TypeError(f"not for JSON: {value!r}")


def _tell(answers: BinaryIO, line: bytes) -> None:
    answers.write(line)
    answers.flush()


if __name__ == "__main__":
    with suppress(BrokenPipeError, KeyboardInterrupt):  # nobody is there any more
        main(int(sys.argv[1]))
