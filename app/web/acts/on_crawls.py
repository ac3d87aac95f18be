"""Acts on crawls: make, edit, add seeds, pause, resume, start, finish, retry, delete."""

from collections.abc import Sequence

from app.admin import crawls, deletion, edit, seeds
from app.errors import InputError
from app.model import CrawlSpec, RequestKind
from app.web.acts.act import Act, Fields, FormField, Values, lines, text
from app.web.acts.crawl_form import AS_OF, change_of, edit_fields, make_fields, mark_of, values_of
from app.web.board import Board
from app.words import counted


def name_of(board: Board, fields: Fields) -> str:
    """The name of a new crawl that was given none: the host of its first seed."""
    found = seeds.read(board.settings, lines(fields, "seeds"))
    return found.urls[0].host if found.urls else ""


def _make(board: Board, subject: str, fields: Fields) -> str:
    found = seeds.read(board.settings, lines(fields, "seeds"))
    if not found.urls:
        why = found.bad[0].why if found.bad else "write one URL per line, such as https://example.org/"
        raise InputError("the seeds", why)
    warnings = seeds.check(board.settings, found)
    spec = change_of(fields).of(CrawlSpec())
    crawl = crawls.create(board.engine, subject, spec)
    added = seeds.add_urls(board.engine, board.settings, crawl, found.urls)
    return "; ".join([f"made with {counted(added.added, 'seed')}", *warnings])


def _seeds(board: Board, subject: str, fields: Fields) -> str:
    crawl = crawls.find(board.engine, subject)
    found = seeds.read(board.settings, lines(fields, "seeds"))
    if not found.urls:
        why = found.bad[0].why if found.bad else "write one URL per line, such as https://example.org/"
        raise InputError("the seeds", why)
    warnings = seeds.check(board.settings, found)
    kind = RequestKind.SITEMAP if fields.get("sitemap") else RequestKind.PAGE
    added = seeds.add_urls(board.engine, board.settings, crawl, found.urls, kind=kind)
    return "; ".join([f"{counted(added.added, 'seed')} added, {added.known:,} known already", *warnings])


def _edit(board: Board, subject: str, fields: Fields) -> str:
    shown = text(fields, AS_OF)
    if shown is not None and shown != mark_of(crawls.find(board.engine, subject).spec):
        raise InputError(subject, "was changed since this form was opened; look at it, or send again to overwrite it")
    crawl = edit.edit(board.engine, board.settings, subject, change_of(fields))
    return f"changed; it is {crawl.state}"


def _pause(board: Board, subject: str, _: Fields) -> str:
    return "paused" if crawls.pause(board.engine, subject) else "paused already"


def _resume(board: Board, subject: str, _: Fields) -> str:
    return "active" if crawls.resume(board.engine, subject) else "active already"


def _start(board: Board, subject: str, fields: Fields) -> str:
    if fields.get("again"):
        crawl = crawls.start_round(board.engine, subject, board.settings)
    else:
        crawl = crawls.start(board.engine, subject)
    return f"active, round {crawl.round}"


def _finish(board: Board, subject: str, _: Fields) -> str:
    return "finished" if crawls.finish(board.engine, subject) else "finished already"


def _retry_failed(board: Board, subject: str, _: Fields) -> str:
    return f"{counted(crawls.retry_failed(board.engine, subject), 'URL')} queued again"


def _delete(board: Board, subject: str, fields: Fields) -> str:
    if text(fields, "name") != subject:
        raise InputError(f"name {fields.get('name', '')[:80]!r}", f"is not the crawl's; type {subject} to delete it")
    deletion.delete(board.engine, board.settings, subject)
    return "deleted"


def _seed_fields(_: Board, __: str) -> Sequence[FormField]:
    return (
        FormField(name="seeds", label="URLs, one per line", kind="lines", is_needed=True),
        FormField(name="sitemap", label="They are sitemaps or feeds, whose pages are the seeds", kind="check"),
    )


def _start_fields(_: Board, __: str) -> Sequence[FormField]:
    return (FormField(name="again", label="Another round: everything is due again, with validators", kind="check"),)


def _delete_fields(_: Board, subject: str) -> Sequence[FormField]:
    return (FormField(name="name", label=f"Type the crawl's name, {subject}", is_needed=True),)


def _now(board: Board, subject: str) -> Values:
    spec = crawls.find(board.engine, subject).spec
    return {**values_of(spec), AS_OF: mark_of(spec)}


ACTS = (
    Act(
        key="crawl.make",
        title="New crawl",
        says="A crawl begins at these URLs as soon as a worker is free. It asks for robots.txt first, sends one "
        "request at a time to a host, and keeps the host's delay.",
        do=_make,
        leads="crawl",
        asks=make_fields,
        fills=lambda board, subject: values_of(CrawlSpec()),
    ),
    Act(
        key="crawl.edit",
        title="Edit",
        says="{subject} changes to this. Queued URLs are judged again before they are fetched; nothing that was "
        "fetched is lost.",
        do=_edit,
        leads="crawl",
        asks=edit_fields,
        fills=_now,
    ),
    Act(
        key="crawl.seeds",
        title="Add seeds",
        says="{subject} starts from these URLs too, and its scope grows to hold them. A finished crawl becomes active.",
        do=_seeds,
        leads="crawl",
        asks=_seed_fields,
    ),
    Act(
        key="crawl.pause",
        title="Pause",
        says="Nothing more of {subject} is fetched until it is resumed; requests that run end first. Other crawls "
        "continue.",
        do=_pause,
        leads="crawl",
        undo=("crawl.resume", {}),
    ),
    Act(
        key="crawl.resume",
        title="Resume",
        says="{subject} resumes where it stopped; its clock starts anew.",
        do=_resume,
        leads="crawl",
        undo=("crawl.pause", {}),
    ),
    Act(
        key="crawl.start",
        title="Start again",
        says="{subject} becomes active; its clock starts anew.",
        do=_start,
        leads="crawl",
        asks=_start_fields,
        undo=("crawl.finish", {}),
    ),
    Act(
        key="crawl.finish",
        title="Finish",
        says="{subject} ends now. Nothing is deleted: pages, frontier and log stay, and it can be started again.",
        do=_finish,
        leads="crawl",
        undo=("crawl.start", {}),
    ),
    Act(
        key="crawl.retry_failed",
        title="Retry what was given up",
        says="The URLs that {subject} gave up are queued again, with attempts from 0. A finished crawl becomes active.",
        do=_retry_failed,
        leads="crawl",
    ),
    Act(
        key="crawl.delete",
        title="Delete",
        says="{subject} ends, and its URLs, pages, refused links, counts and archive are deleted for good. Hosts stay, "
        "and so does the log of requests, for the audit. This cannot be undone, and may take minutes.",
        do=_delete,
        leads="crawl",
        asks=_delete_fields,
        is_grave=True,
        is_slow=True,
    ),
)
