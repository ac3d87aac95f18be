"""Acts on one URL: another try, and out of the frontier."""

from collections.abc import Sequence

from app.admin import explain, second_try
from app.web.acts.act import Act, Fields, FormField, text
from app.web.board import Board


def _retry(board: Board, subject: str, fields: Fields) -> str:
    force = bool(fields.get("force"))
    names = second_try.retry(board.engine, board.settings, subject, text(fields, "crawl"), force=force)
    return "; ".join([f"queued in {', '.join(names)}", *second_try.hindrances(board.engine, names)])


def _forget(board: Board, subject: str, fields: Fields) -> str:
    names = explain.forget(board.engine, board.settings, subject, text(fields, "crawl"))
    return f"forgotten in {', '.join(names)}"


_CRAWL = FormField(name="crawl", label="Crawl", hint="Empty: every crawl that knows it")


def _retry_fields(_: Board, __: str) -> Sequence[FormField]:
    return (_CRAWL, FormField(name="force", label="Fetch it even if it is taken for a trap", kind="check"))


def _forget_fields(_: Board, __: str) -> Sequence[FormField]:
    return (_CRAWL,)


ACTS = (
    Act(
        key="url.retry",
        title="Queue again",
        says="{subject} is queued now, whatever its state, with attempts from 0. Its host's pace and robots.txt hold.",
        do=_retry,
        leads="url",
        asks=_retry_fields,
    ),
    Act(
        key="url.forget",
        title="Forget",
        says="{subject} leaves the frontier. The log keeps its requests; a link that is found later may bring it back.",
        do=_forget,
        leads="url",
        asks=_forget_fields,
    ),
)
