"""Writes a crawl's pages into files while it runs: `tiptoe crawl … --to PLACE`.

A pass writes what was fetched since the pass before. Rows are stamped before they are committed: each pass looks back
a while, and skips what it has written. The last pass of a run looks back as far as an increment of `tiptoe export`.
"""

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, BinaryIO, Final

import orjson
from sqlalchemy import Engine

from app.config import Settings
from app.errors import InputError
from app.features.export import columns, formats, markdown, plan, progress, rows, target
from app.features.export.columns import ExportColumn, ExportKind
from app.features.export.progress import ExportState
from app.features.export.rows import Bodies, ExportRows, first
from app.features.export.target import ExportPlace
from app.store import db, server
from app.store.crawls import Crawl

LOOK_BACK: Final = timedelta(seconds=60)
JSONL: Final = "jsonl"
_BEGIN: Final = b'{"url":"'  # of a page's line


@dataclass(slots=True, kw_only=True)
class PageFollower:
    """Writes pages as they come.

    place    the folder that files go to
    file     of JSON lines, in that folder; None: a Markdown file for each page
    state    how far a folder is
    since    pages fetched from then on are yet to be looked at; None: all
    written  when each page was fetched that stands in a file, by URL
    """

    engine: Engine
    settings: Settings
    crawl: Crawl
    place: ExportPlace
    file: BinaryIO | None
    state: ExportState
    since: datetime | None
    written: dict[str, datetime]

    def look(self, meanwhile: Callable[[], object] = lambda: None, *, is_last: bool = False) -> None:
        """Write what is new.   meanwhile: called after each batch;   is_last: look back further, for late commits

        Raises InputError where the place cannot be written, ServiceError.
        """
        with db.transaction(self.engine) as tx:
            now = server.now(tx)
        since = self.since if self.since is None or not is_last else min(self.since, now - plan.OVERLAP)
        chosen = columns_of(self.file is None)
        with target.writing(self.place):
            for batch in self._rows(chosen, since).batches():
                self._write([dict(zip((column.name for column in chosen), row, strict=True)) for row in batch])
                meanwhile()
            if self.file is None:
                self.state.next_since = (now - plan.OVERLAP).isoformat()
                progress.keep(self.place, self.state)
        self.since = now - LOOK_BACK
        self.written = {url: at for url, at in self.written.items() if at >= now - 2 * plan.OVERLAP}

    def _rows(self, chosen: tuple[ExportColumn, ...], since: datetime | None) -> ExportRows:
        made = Bodies(self.engine, self.settings, self.crawl, chosen, whole=False)
        where = {**columns.parse(ExportKind.PAGES, ()), "with_text": True, "with_duplicates": False, "since": since}
        return ExportRows(
            engine=self.engine,
            kind=ExportKind.PAGES,
            crawl_id=self.crawl.id,
            columns=chosen,
            where=where,
            after=first(ExportKind.PAGES),
            furnish=made.furnish if made.wanted else None,
            is_wanted=lambda page: self.written.get(page["url"]) != page["fetched_at"],
        )

    def _write(self, pages: list[dict[str, Any]]) -> None:
        if self.file is not None:
            _append(self.file, b"".join(map(formats.line, pages)))
        for page in pages:
            if self.file is None:
                target.put(self.place, *markdown.file_of(page))
            self.written[page["url"]] = page["fetched_at"]


def columns_of(is_markdown: bool) -> tuple[ExportColumn, ...]:
    """The columns of a page that is written as it comes: those that an export has unless others are named."""
    if is_markdown:
        return columns.with_all(ExportKind.PAGES, columns.choose(ExportKind.PAGES, markdown.FRONT), markdown.NEEDED)
    return columns.choose(ExportKind.PAGES, usually=plan.texts())


def check(to: str) -> None:
    """Whether pages can be written there as they come. Raises InputError."""
    if to.startswith("s3://"):
        raise InputError(f"--to {to}", "is in an object store; name a folder or a .jsonl file, or use tiptoe export")
    with target.opened(to, endings=(JSONL,)) as (place, name):
        rows.check(columns_of(name is None))
        if name is None and place.get(progress.NAME) is None and any(Path(to).iterdir()):
            raise InputError(f"--to {to}", "holds other files; name a new folder")
        if name is not None and os.path.lexists(to) and not stat.S_ISREG(os.lstat(to).st_mode):
            raise InputError(f"--to {to}", "is a link, or no plain file; name another")


@contextmanager
def following(engine: Engine, settings: Settings, crawl: Crawl, to: str) -> Iterator[PageFollower]:
    """Context in which a crawl's pages are written into a folder, or into a file that ends in .jsonl.

    A later run goes on: a folder remembers how far it is, and a file's lines tell. Raises InputError.
    """
    with target.opened(to, endings=(JSONL,)) as (place, name), ExitStack() as stack:
        since, written, file = None, dict[str, datetime](), None
        wish = {"what": "pages as they come", "crawl": [crawl.id, crawl.name]}
        state = ExportState(wish=wish, next_since="", after=first(ExportKind.PAGES))
        if name is None:
            state = progress.recall(place, wish) or state
            since = datetime.fromisoformat(state.next_since) if state.next_since else None
        else:
            file = stack.enter_context(_plain(to))
            written = _recalled(file, to)
        yield PageFollower(
            engine=engine,
            settings=settings,
            crawl=crawl,
            place=place,
            file=file,
            state=state,
            since=since,
            written=written,
        )


def _plain(to: str) -> BinaryIO:
    """Open a file to append to. Raises InputError for a link, which in a shared folder may lead to another of ours."""
    try:
        return open(to, "a+b", opener=lambda path, flags: os.open(path, flags | os.O_NOFOLLOW, 0o666))
    except OSError as error:
        raise InputError(f"--to {to}", f"cannot be opened ({error.strerror}); name another file") from error


def _append(file: BinaryIO, lines: bytes) -> None:
    """Append these lines, or none of them where the disk does not take all. Raises OSError."""
    end = file.seek(0, os.SEEK_END)
    left = memoryview(lines)
    try:
        while left:
            left = left[os.write(file.fileno(), left) :]
    except OSError:
        os.ftruncate(file.fileno(), end)
        raise


def _recalled(file: BinaryIO, to: str) -> dict[str, datetime]:
    """The pages whose lines the file holds. A torn last line, of a run that was killed, is cut off."""
    file.seek(0)
    written, whole = dict[str, datetime](), 0
    for line in file:
        if not line.endswith(b"\n") and line.startswith(_BEGIN[: len(line)]):
            break
        try:
            page = orjson.loads(line)
            written[page["url"]] = datetime.fromisoformat(page["fetched_at"])
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(f"--to {to}", "holds other lines than pages of a crawl; name another file") from error
        whole += len(line)
    file.truncate(whole)
    return written
