"""`tiptoe page show URL --screenshot FILE.png`: a picture of a page, by our own browser."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from app.cli.out import done, write_file
from app.words import counted

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from app.config import Settings


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture that is asked for.

    load   the page may ask its hosts for what is not kept
    plain  it shows the site's answer, even where a browser made a document of it
    """

    file: Path
    load: bool
    plain: bool = False


def chosen_picture(
    screenshot: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.png",
            help="Take a picture of the page from what is kept of it. No request is sent, and images are left out.",
        ),
    ] = None,
    load: Annotated[
        bool,
        typer.Option(
            "--load",
            help="With --screenshot: let the page ask its hosts for scripts and data, at their pace and by robots.txt.",
        ),
    ] = False,
) -> Picture | None:
    """The picture that is asked for. Raises InputError for --load without one."""
    from app.errors import InputError

    if load and screenshot is None:
        raise InputError("--load", "says what a picture may ask for; add --screenshot FILE.png")
    return None if screenshot is None else Picture(screenshot, load)


def take(
    engine: "Engine",
    settings: "Settings",
    url: str,
    picture: Picture,
    *,
    crawl: str | None,
    at: str | None,
    as_json: bool,
) -> None:
    """Take the picture and write it to a new file. Raises InputError."""
    from app.admin import screenshot

    file = picture.file
    _reserve(file)
    try:
        found = screenshot.take(engine, settings, url, crawl=crawl, at=at, plain=picture.plain, load=picture.load)
        write_file(file, found.png)
    except BaseException:
        file.unlink(missing_ok=True)
        raise
    lacks = (
        ""
        if picture.load
        else "; --load opens the answer and sends them"
        if found.is_rendered
        else "; --load sends them"
    )
    made = f", as a browser left it (capture {found.capture})" if found.is_rendered else ""
    requests = f"; {counted(found.unanswered, 'request')} of the page not answered{lacks}" if found.unanswered else ""
    done(
        f"{file}: picture of {found.url}, in {found.crawl}{made}{requests}",
        as_json=as_json,
        file=file,
        url=found.url,
        crawl=found.crawl,
        fetched_at=found.fetched_at,
        capture=found.capture,
        is_rendered=found.is_rendered,
        ending=found.ending,
        asked=found.asked,
        unanswered=found.unanswered,
    )


def _reserve(file: Path) -> None:
    """Make the file, so that nobody waits for a picture that cannot be written. Raises InputError."""
    from app.errors import InputError

    if os.path.lexists(file):
        raise InputError(f"{file}", "exists already; choose another name, or remove it")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.open("xb").close()
    except OSError as error:
        raise InputError(f"{file}", f"cannot be written ({error.strerror}); choose another folder") from None
