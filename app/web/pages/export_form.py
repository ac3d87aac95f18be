"""Export as a form: what `tiptoe export` writes, as one file to be saved; Markdown as a zip of a file for each page.

The file is whole before its first octet is sent, so what is wrong is said on the form, and no half of one is saved.
It stands in the folder for temporary files meanwhile, with ROWS_MOST rows at most; AT_ONCE are made at a time.
"""

import shutil
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from app.admin import crawls
from app.errors import InputError, ServiceError
from app.features.export.columns import FILTERS, ExportKind
from app.features.export.export import export_rows
from app.features.export.formats import ExportFormat
from app.features.export.plan import CONTENTS, ExportWish
from app.web.board import board_of
from app.web.pages.capture import SAVED, named, plain_name
from app.web.render import page

ROWS_MOST: Final = 250_000
AT_ONCE: Final = 2
making = threading.BoundedSemaphore(AT_ONCE)


def ask(request: Request) -> Response:
    """The form. Raises InputError for an unknown crawl."""
    return _form(request, crawls.find(board_of(request).engine, request.query_params.get("crawl", "")).name)


def save(request: Request) -> Response:
    """The file; or the form with what is wrong."""
    name = crawls.find(board_of(request).engine, request.query_params.get("crawl", "")).name
    if not making.acquire(blocking=False):
        return _form(request, name, f"{AT_ONCE} exports are being made; try again when one is saved", 429)
    folder = TemporaryDirectory(prefix="tiptoe-export-")  # removed with its last reader, also where none came
    try:
        file = _made(request, name, Path(folder.name))
    except (InputError, ServiceError, OSError) as error:
        folder.cleanup()
        return _form(request, name, str(error), 400 if isinstance(error, InputError) else 500)
    finally:
        making.release()
    headers = {**SAVED, "content-length": f"{file.stat().st_size}", "content-disposition": named(file.name)}
    return StreamingResponse(_chunks(folder, file), headers=headers)


def _made(request: Request, crawl: str, folder: Path) -> Path:
    """Write the export. Raises InputError, ServiceError, OSError."""
    shared, query = board_of(request), request.query_params
    what, form = query.get("what") or ExportKind.PAGES, query.get("format") or ExportFormat.JSONL
    is_zip = form == ExportFormat.MARKDOWN
    file = folder / f"{plain_name(f'{crawl}-{what}')}.{'zip' if is_zip else form}"
    wish = ExportWish(
        what=what,
        crawl=crawl,
        form=form,
        to=str(folder / "pages" if is_zip else folder / f"rows.{form}"),
        columns=tuple(each.strip() for each in query.get("columns", "").split(",") if each.strip()),
        where=tuple(line.strip() for line in query.get("where", "").splitlines() if line.strip()),
        since=query.get("since", "").strip() or None,
        spreadsheet=bool(query.get("spreadsheet")),
        content=query.get("content") or CONTENTS[0],
    )
    export_rows(shared.engine, shared.settings, wish, lambda rows: check_rows(rows, crawl, what))
    if is_zip:
        shutil.make_archive(str(file.with_suffix("")), "zip", wish.to)
    else:
        Path(wish.to).rename(file)
    return file


def check_rows(rows: int, crawl: str, what: str) -> None:
    """Raise InputError where there are too many for a file of a browser."""
    if rows > ROWS_MOST:
        remedy = (
            f"has more than {ROWS_MOST:,} rows; narrow it, or run `tiptoe export {what} --crawl {crawl} --to FOLDER/`"
        )
        raise InputError("export here", remedy)


def _chunks(folder: "TemporaryDirectory[str]", file: Path) -> Iterator[bytes]:
    with folder, file.open("rb") as opened:
        while chunk := opened.read(256 * 1024):
            yield chunk


def _form(request: Request, crawl: str, wrong: str | None = None, status: int = 200) -> Response:
    empty = dict.fromkeys(("where", "columns", "since", "spreadsheet"), "")
    asked: Mapping[str, Any] = {**empty, "what": "pages", "format": "jsonl", "content": "main", **request.query_params}
    filters = {kind: ", ".join(f"{each.name}{each.operator}…" for each in FILTERS[kind]) for kind in ExportKind}
    more: dict[str, Any] = {"kinds": list(ExportKind), "forms": list(ExportFormat), "contents": CONTENTS}
    return page(
        request,
        "export.html",
        status=status,
        crawl=crawl,
        asked=asked,
        wrong=wrong,
        filters=filters,
        rows_most=ROWS_MOST,
        **more,
    )
